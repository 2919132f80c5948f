//! What the documentation tells people to type works: every `acsm …` line in a `sh` block of
//! README.md and docs/*.md is run, in order, one folder a document, and must succeed; so is a
//! `printf …` that makes a file for it. A `text` block right after shows what the last of them
//! prints, `…` standing for what is left out. Blocks tagged `sh,norun` (needs root, or a file of
//! the reader's) or `console` are not looked at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What commands may read by a relative path; each document gets its own copy.
const BUNDLED: &[&str] = &["traces", "rules"];

/// What a document has its reader do and see.
#[derive(Debug, PartialEq)]
enum Step {
    Type(String),
    See(String),
}

#[test]
fn commands_of_the_documentation_work_and_print_what_it_shows() {
    let mut failures = vec![];
    for document in documents() {
        let steps = steps(&fs::read_to_string(&document).unwrap());
        eprintln!("{}: {} steps", document.display(), steps.len());
        let folder = folder_with_bundled_files();
        let mut printed = String::new();
        for step in steps {
            match step {
                Step::Type(command) => match run(&command, folder.path()) {
                    Ok(output) => printed = output,
                    Err(failure) => failures.push(format!("{}: {failure}", document.display())),
                },
                Step::See(line) if printed.contains(&line) => {}
                Step::See(line) => {
                    failures.push(format!("{}: not printed: {line}", document.display()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    found.push(root().join("README.md"));
    found.sort();
    found
}

/// The lines to type of the blocks tagged exactly `sh`, continued lines joined, and the lines to
/// see of the `text` blocks that follow such a block.
fn steps(markdown: &str) -> Vec<Step> {
    let (mut steps, mut unfinished) = (vec![], String::new());
    let (mut open_block, mut last_block) = (None, "");
    for line in markdown.lines().map(str::trim) {
        match (line.strip_prefix("```"), open_block) {
            (Some(tag), None) => open_block = Some(tag),
            (Some(_), Some(tag)) => (open_block, last_block) = (None, tag),
            (None, Some("sh")) => {
                unfinished.push_str(line.trim_end_matches('\\'));
                if line.ends_with('\\') {
                    continue;
                }
                let command = std::mem::take(&mut unfinished);
                if command.starts_with("acsm ") || command.starts_with("printf ") {
                    steps.push(Step::Type(command));
                }
            }
            (None, Some("text")) if last_block == "sh" => {
                let shown = line.trim_start_matches('…').trim();
                if !shown.is_empty() {
                    steps.push(Step::See(shown.to_owned()));
                }
            }
            (None, _) => {}
        }
    }
    steps
}

fn folder_with_bundled_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for bundled in BUNDLED.iter().filter(|bundled| root().join(bundled).is_dir()) {
        fs::create_dir(folder.path().join(bundled)).unwrap();
        for entry in fs::read_dir(root().join(bundled)).unwrap() {
            let file = entry.unwrap();
            fs::copy(file.path(), folder.path().join(bundled).join(file.file_name())).unwrap();
        }
    }
    folder
}

/// What a command prints. Through a shell, since people type pipes and redirections too.
fn run(command: &str, folder: &Path) -> Result<String, String> {
    let built = Path::new(env!("CARGO_BIN_EXE_acsm")).parent().unwrap();
    let path = format!("{}:{}", built.display(), std::env::var("PATH").unwrap_or_default());
    let output =
        Command::new("sh").args(["-c", command]).current_dir(folder).env("PATH", path).output();
    let output = output.map_err(|error| format!("`{command}`: {error}"))?;
    let talk = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(format!("{}{talk}", String::from_utf8_lossy(&output.stdout))),
        false => Err(format!("`{command}`: {}\n{talk}", output.status)),
    }
}

#[test]
fn finds_what_to_type_and_see() {
    let markdown = "acsm prose\n```sh\ncd x   # no\nacsm one  # said\nacsm two \\\n  --three\n```\n\
                    ```sh,norun\nacsm live\n```\n```console\n$ acsm shown\nacsm\n```\n\
                    ```text\nof console\n```\n1. list\n   ```sh\n   acsm four | head\n   ```\n\
                    ```text\n  Trace\n…\n… of four\n```\n```text\nof nothing\n```\n";
    let typed = |text: &str| Step::Type(text.to_owned());
    let seen = |text: &str| Step::See(text.to_owned());
    let expected = [
        typed("acsm one  # said"),
        typed("acsm two --three"),
        typed("acsm four | head"),
        seen("Trace"),
        seen("of four"),
    ];
    assert_eq!(steps(markdown), expected);
}

#[test]
fn runs_the_built_binary_and_sees_it_fail() {
    let folder = folder_with_bundled_files();
    assert!(folder.path().join("traces/mixed.pcap").is_file());
    let version = run("acsm --version", folder.path()).unwrap();
    assert!(version.starts_with("acsm "), "{version}");
    let failure = run("acsm no-such-verb", folder.path()).unwrap_err();
    assert!(failure.contains("exit status: 2") && failure.contains("no-such-verb"), "{failure}");
}
