//! The lists of files in CONTRIBUTING.md, and the files that a packet passes in the crate documentation,
//! are those of the code.
//!
//! For each list: every file exists, and it names every store, link type, rule, format, metric or
//! command that there is. So a list that lacks nothing for the things there are will do for the next.
//! Where code shows that a file has to be touched, it must be on the list.

use std::collections::BTreeSet;
use std::process::Command;

use acsm::machine::{Rules, SHIPPED};
use acsm_filters::Backend;
use acsm_test_support::repository::{read, root};

use crate::tidy::source::{Source, has_word, source_root};
use crate::tidy::sources;

/// What stands for the new thing in paths.
const NAME: &str = "NAME";

/// The paths in the first column of the tables under a heading of CONTRIBUTING.md.
fn listed(heading: &str) -> Vec<String> {
    let document = read("CONTRIBUTING.md");
    let (_, after) = document.split_once(&format!("\n## {heading}\n")).expect(heading);
    let section = after.split("\n## ").next().unwrap_or("");
    let paths: Vec<String> = first_column(section).map(str::to_owned).collect();
    assert!(!paths.is_empty(), "{heading}: no files are listed");
    paths
}

fn first_column(section: &str) -> impl Iterator<Item = &str> {
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

/// The text of a file of a list for the thing of this name: a file, or the `mod.rs` of a folder.
fn text_of(path: &str, name: &str) -> Option<String> {
    let path = path.replace(NAME, name);
    let folder = path.trim_end_matches(".rs").to_owned() + "/mod.rs";
    [path, folder].into_iter().find(|path| root().join(path).is_file()).map(|path| read(&path))
}

/// The files of a list that do not have what `mentions` looks for in the thing of this name.
fn files_without(heading: &str, name: &str, mentions: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let is_file = |path: &String| !path.ends_with('/');
    let lacks = |path: &String| match text_of(path, name) {
        Some(text) => !mentions(path, &text),
        None => true,
    };
    let files = listed(heading).into_iter().filter(is_file).filter(lacks);
    files.map(|path| format!("{heading}: {path} does not name {name}")).collect()
}

/// The program's source files, tests aside, whose code names all of `names`.
fn sources_that_name(names: &[String]) -> BTreeSet<String> {
    let names_all = |source: &Source| {
        let code: Vec<&str> = source.numbered_code().map(|(_, line)| line).collect();
        names.iter().all(|name| code.iter().any(|line| has_word(line, name)))
    };
    let in_package = sources().into_iter().filter(|source| source_root(&source.path).is_some());
    in_package.filter(names_all).map(|source| source.path).collect()
}

fn assert_listed(heading: &str, found: BTreeSet<String>) {
    let listed: BTreeSet<String> = listed(heading).into_iter().collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "{heading}: the list lacks {missing:?}");
}

fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// `kbf` → `Kbf`.
fn capitalised(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

#[test]
fn every_file_that_is_named_exists() {
    let document = read("CONTRIBUTING.md");
    let paths = first_column(&document).filter(|path| !path.contains(NAME));
    let in_prose = document.split('`').skip(1).step_by(2).filter(|word| {
        let folders = ["src/", "crates/", "tests/", "rules/", "docs/", "scripts/"];
        let is_path = folders.iter().any(|folder| word.starts_with(folder));
        is_path && !word.contains([' ', '\n']) && !word.contains(NAME)
    });
    let gone: Vec<&str> =
        paths.chain(in_prose).filter(|path| !root().join(path).exists()).collect();
    assert!(gone.is_empty(), "not there: {gone:?}");
}

#[test]
fn a_store_is_in_every_file_of_its_list_and_in_no_other() {
    let heading = "Add a store";
    let mut complaints = vec![];
    for name in Backend::ALL.map(Backend::name) {
        let of_store = files_without(heading, name, |path, text| match path {
            _ if path.starts_with("crates/model/") => text.contains(name),
            _ => text.contains(&format!("mod {name};")) || text.contains(&capitalised(name)),
        });
        // A store that does not err has no model.
        let is_needed =
            |complaint: &String| name != "exact" || !complaint.contains("crates/model/");
        complaints.extend(of_store.into_iter().filter(is_needed));
    }
    assert_none(&complaints);
    let variants: Vec<String> =
        Backend::ALL.iter().map(|store| format!("Backend::{store:?}")).collect();
    let found = sources_that_name(&variants);
    assert!(found.contains("src/engine/build.rs"), "{found:?}");
    assert_listed(heading, found);
}

#[test]
fn epochs_are_calculated_with_in_the_files_that_are_listed() {
    let heading = "Change the aging rule";
    assert_none(&files_without(heading, "poch", |_, text| text.contains("poch")));
    let of_program = sources().into_iter().filter(|source| source.path.starts_with("src/"));
    let calculates = |source: &Source| {
        let mut code = source.numbered_code();
        code.any(|(_, line)| line.contains("epoch.0"))
    };
    assert_listed(heading, of_program.filter(calculates).map(|source| source.path).collect());
}

/// The constants of `LinkType`.
fn link_types() -> Vec<String> {
    let frame = read("src/capture/frame.rs");
    let (_, declared) = frame.split_once("\nlink_types! {\n").expect("the table of link types");
    let rows = declared.lines().take_while(|line| !line.starts_with('}'));
    rows.filter_map(|row| Some(row.split_once(" = ")?.0.trim().to_owned())).collect()
}

#[test]
fn a_link_type_is_in_every_file_of_its_list_and_in_no_other() {
    let heading = "Add a link type";
    let constants = link_types();
    assert!(constants.len() > 20, "{constants:?}");
    let mut complaints = vec![];
    for constant in &constants {
        complaints.extend(files_without(heading, constant, |path, text| {
            // Documents use the registry's names: tests/repository/docs.rs compares them.
            path.ends_with(".md") || text.lines().any(|line| has_word(line, constant))
        }));
    }
    assert_none(&complaints);
    assert_listed(heading, sources_that_name(&constants));
}

#[test]
fn a_rule_is_in_one_of_the_rules_files_and_in_its_table() {
    let listed = listed("Add a rule");
    let shipped = SHIPPED.map(|(name, _)| format!("rules/{name}.toml"));
    let files: Vec<&String> = listed.iter().filter(|path| path.ends_with(".toml")).collect();
    let (files_listed, files_shipped): (BTreeSet<_>, BTreeSet<_>) =
        (files.into_iter().collect(), shipped.iter().collect());
    assert_eq!(files_listed, files_shipped);
    let (texts, table) = (shipped.each_ref().map(|path| read(path)), read("docs/rules.md"));
    for rules in ["tcp-flags", "tcp-connection"].map(|name| Rules::load(name).unwrap()) {
        for rule in rules.list.iter() {
            let declared =
                texts.iter().filter(|text| text.lines().any(|line| has_word(line, &rule.name)));
            assert!(declared.count() >= 1, "{} is in no rules file", rule.name);
            assert!(table.contains(&format!("| `{}` |", rule.name)), "{}", rule.name);
        }
    }
    assert!(listed.iter().all(|path| !path.ends_with(".rs")), "{listed:?}");
}

#[test]
fn an_output_format_is_in_every_file_of_its_list() {
    let output = read("src/report/alert/output.rs");
    let (_, variants) = output.split_once("pub enum AlertTarget {\n").expect("the formats");
    let variants = variants.split("\n}").next().unwrap_or("").lines();
    let is_variant =
        |line: &&str| line.starts_with("    ") && line[4..].starts_with(char::is_uppercase);
    let names = variants
        .filter(is_variant)
        .map(|line| line.trim().chars().take_while(|c| c.is_alphanumeric()).collect::<String>());
    let formats: Vec<String> = names.filter(|name| name != "None").collect();
    assert_eq!(formats, ["Eve", "Text"]);
    for format in &formats {
        let name = format.to_lowercase();
        assert_none(&files_without("Add an output format for alerts", &name, |path, text| {
            path.contains(NAME) || text.contains(format) || text.contains(&format!("mod {name};"))
        }));
    }
}

/// The names after `view.` and `store.` in the code that writes metrics.
fn view_fields(metrics: &Source) -> BTreeSet<String> {
    let code = metrics.code.join("\n");
    let in_name = |c: &char| c.is_alphanumeric() || *c == '_';
    let fields = ["view.", "store."].into_iter().flat_map(|of| code.split(of).skip(1));
    let fields: BTreeSet<String> =
        fields.map(|rest| rest.chars().take_while(in_name).collect()).collect();
    assert!(fields.len() > 20, "{fields:?}");
    fields
}

#[test]
fn a_metric_is_in_every_file_of_its_list_and_in_no_other() {
    let heading = "Add a metric";
    let expected = read("tests/live/web/metrics.txt");
    let types = expected.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let metrics: Vec<&str> = types.collect();
    assert!(metrics.len() > 20, "{metrics:?}");
    for metric in &metrics {
        assert_none(&files_without(heading, metric, |path, text| {
            // The figure has a different name there: see below.
            path == "src/live/view.rs" || text.lines().any(|line| has_word(line, metric))
        }));
    }
    let view = read("src/live/view.rs");
    for field in view_fields(&Source::new("src/live/metrics.rs", &read("src/live/metrics.rs"))) {
        let declared = ["pub ", "pub fn "]
            .iter()
            .any(|kind| [":", "("].iter().any(|end| view.contains(&format!("{kind}{field}{end}"))));
        assert!(declared, "`{field}` is not in src/live/view.rs");
    }
    let names_metrics = |source: &Source| {
        source.path.starts_with("src/")
            && metrics.iter().filter(|metric| source.lines.join("\n").contains(*metric)).count() > 3
    };
    let found = sources().into_iter().filter(names_metrics).map(|source| source.path).collect();
    assert_listed(heading, found);
}

#[test]
fn a_command_is_in_every_file_of_its_list() {
    let help = Command::new(env!("CARGO_BIN_EXE_acsm")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, list) = help.split_once("Commands:\n").expect("commands");
    let rows = list.lines().take_while(|line| !line.is_empty());
    let names: Vec<&str> = rows.filter_map(|row| row.split_whitespace().next()).collect();
    let commands = names.iter().filter(|name| **name != "help");
    assert!(commands.clone().count() > 8, "{names:?}");
    for name in commands {
        assert_none(&files_without("Add a subcommand", name, |path, text| match path {
            "src/cmd/mod.rs" => {
                text.contains(&format!("{name}::run(")) && text.contains(&format!("  acsm {name} "))
            }
            _ => text.contains("pub fn run("),
        }));
    }
}

#[test]
fn the_files_of_a_packet_are_there() {
    let documentation = read("src/lib.rs");
    let (_, after) = documentation.split_once("//! # Following a packet\n").expect("the section");
    let section = after.split("//! # ").next().unwrap_or("");
    let numbered = section.lines().filter_map(|line| {
        let (number, row) = line.strip_prefix("//! ")?.trim_start().split_once(". ")?;
        Some((number.parse::<usize>().ok()?, row.split('`').nth(1)?))
    });
    let files: Vec<(usize, &str)> = numbered.collect();
    for (position, (number, path)) in files.iter().enumerate() {
        assert_eq!(*number, position + 1, "{path}");
        assert!(root().join(path).is_file(), "{path} is not there");
    }
    let distinct: BTreeSet<&str> = files.iter().map(|(_, path)| *path).collect();
    assert_eq!(distinct.len(), files.len(), "a file is listed twice");
    let told = format!("{} files", files.len());
    assert!(files.len() > 10 && section.contains(&told), "the section should say: {told}");
}
