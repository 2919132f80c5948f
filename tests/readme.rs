//! What the documentation tells people to type works: every `acsm …` line in a `sh` block of
//! README.md and docs/*.md is run, in order, one folder a document, and must succeed; so is a
//! `printf …` that makes a file for it. A block tagged `sh,norun` (needs root, or a file of the
//! reader's) or `console` (shows output) is not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What commands may read by a relative path; each document gets its own copy.
const BUNDLED: &[&str] = &["traces", "rules"];

#[test]
fn commands_of_the_documentation_work() {
    let mut failures = vec![];
    for document in documents() {
        let commands = commands(&fs::read_to_string(&document).unwrap());
        eprintln!("{}: {} commands", document.display(), commands.len());
        let folder = folder_with_bundled_files();
        for command in commands {
            if let Err(failure) = run(&command, folder.path()) {
                failures.push(format!("{}: {failure}", document.display()));
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

/// The lines to run of the blocks tagged exactly `sh`, continued lines joined.
fn commands(markdown: &str) -> Vec<String> {
    let (mut commands, mut open_block, mut unfinished) = (vec![], None, String::new());
    for line in markdown.lines().map(str::trim) {
        match (line.strip_prefix("```"), open_block) {
            (Some(tag), None) => open_block = Some(tag),
            (Some(_), Some(_)) => open_block = None,
            (None, Some("sh")) => {
                unfinished.push_str(line.trim_end_matches('\\'));
                if line.ends_with('\\') {
                    continue;
                }
                let command = std::mem::take(&mut unfinished);
                if command.starts_with("acsm ") || command.starts_with("printf ") {
                    commands.push(command);
                }
            }
            (None, _) => {}
        }
    }
    commands
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

/// Through a shell, since people type pipes and redirections too.
fn run(command: &str, folder: &Path) -> Result<(), String> {
    let built = Path::new(env!("CARGO_BIN_EXE_acsm")).parent().unwrap();
    let path = format!("{}:{}", built.display(), std::env::var("PATH").unwrap_or_default());
    let output =
        Command::new("sh").args(["-c", command]).current_dir(folder).env("PATH", path).output();
    let output = output.map_err(|error| format!("`{command}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`{command}`: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn finds_commands_in_sh_blocks_only() {
    let markdown = "acsm prose\n```sh\ncd x   # no\nacsm one  # said\nacsm two \\\n  --three\n```\n\
                    ```sh,norun\nacsm live\n```\n```console\n$ acsm shown\nacsm\n```\n\
                    ```\nacsm plain\n```\n1. list\n   ```sh\n   acsm four | head\n   ```\n";
    assert_eq!(commands(markdown), ["acsm one  # said", "acsm two --three", "acsm four | head"]);
}

#[test]
fn runs_the_built_binary_and_sees_it_fail() {
    let folder = folder_with_bundled_files();
    assert!(folder.path().join("traces/mixed.pcap").is_file());
    assert_eq!(run("acsm --version | grep -q '^acsm '", folder.path()), Ok(()));
    let failure = run("acsm no-such-verb", folder.path()).unwrap_err();
    assert!(failure.contains("exit status: 2") && failure.contains("no-such-verb"), "{failure}");
}
