//! The tables of docs/*.md are those of the code: skip reasons, link types, attacks, JSON keys.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use acsm::capture::LinkType;
use acsm::capture::parse::Skip;
use acsm::generate::AttackKind;
use serde_json::Value;

fn document(name: &str) -> String {
    fs::read_to_string(format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The part of a document under a heading, up to the next one of that depth.
fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let (_, after) = document.split_once(&format!("\n## {heading}\n")).expect(heading);
    after.split("\n## ").next().unwrap()
}

/// What is in backticks in the first column of the tables of a part.
fn first_column(part: &str) -> BTreeSet<&str> {
    let cells = part.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

fn acsm(arguments: &[&str]) -> Vec<u8> {
    let mut acsm = Command::new(env!("CARGO_BIN_EXE_acsm"));
    acsm.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = acsm.output().unwrap();
    assert!(output.status.success(), "acsm {}", arguments.join(" "));
    output.stdout
}

/// Objects whose keys are data, not names of the contract.
const MAPS: [&str; 9] = [
    ".skipped",
    ".trace.skipped",
    ".alerts.by_rule",
    ".alerts.only_counted",
    // Documented once for all of their kind.
    ".other_sizes[]",
    ".pairs[].flows_wrong",
    ".pairs[].null_rate",
    ".pairs[].total_rate",
    ".pairs[].held_not_right",
];

/// The paths of all values, as jq writes them.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) if !MAPS.contains(&path) => {
            map.iter().for_each(|(key, value)| paths(value, &format!("{path}.{key}"), found));
        }
        Value::Array(items) if items.first().is_some_and(Value::is_object) => {
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

fn paths_of_document(json: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths(&serde_json::from_slice(json).unwrap(), "", &mut found);
    found
}

fn assert_same(told: BTreeSet<&str>, real: &BTreeSet<String>) {
    assert_eq!(told, real.iter().map(String::as_str).collect());
}

#[test]
fn skip_reasons_are_listed_as_they_are() {
    let captures = document("captures.md");
    let rows = Skip::ALL.map(|skip| format!("| `{}` | {} |\n", skip.name(), skip.explain()));
    assert!(captures.contains(&rows.concat()), "the table should be\n{}", rows.concat());
    let told = first_column(section(&captures, "Why a packet was skipped"));
    assert_eq!(told.len(), Skip::ALL.len());
}

#[test]
fn link_types_are_those_that_are_parsed() {
    let captures = document("captures.md");
    let known = (0..=u16::MAX).filter_map(|number| LinkType(number).name()).collect();
    assert_eq!(first_column(section(&captures, "Link types")), known);
}

#[test]
fn attacks_are_listed_with_their_rules() {
    let generate = document("generate.md");
    for kind in AttackKind::every() {
        let row = generate.lines().find(|line| line.starts_with(&format!("| `{}` |", kind.name())));
        let row = row.unwrap_or_else(|| panic!("{} is missing", kind.name()));
        let rule = kind.rule().map_or("| none |".into(), |rule| format!("| `{rule}` |"));
        assert!(row.ends_with(&rule), "{row}");
    }
    assert_eq!(first_column(section(&generate, "Attacks")).len(), AttackKind::every().count());
}

#[test]
fn inspect_prints_the_keys_that_are_documented() {
    let json = document("json.md");
    let real = paths_of_document(&acsm(&["inspect", "--json", "traces/mixed.pcap"]));
    assert_same(first_column(section(&json, "`inspect --json`")), &real);
}

#[test]
fn replay_prints_the_keys_that_are_documented() {
    let json = document("json.md");
    let told = first_column(section(&json, "`replay --json`"));
    let plain = acsm(&["replay", "--json", "traces/mixed.pcap"]);
    let verified = acsm(&["replay", "--json", "--verify", "traces/mixed.pcap"]);
    let paper = acsm(&["replay", "--json", "--preset", "paper", "traces/mixed.pcap"]);
    let attacks = acsm(&["replay", "--json", "traces/attacks.pcap.gz"]);
    let mut real = paths_of_document(&plain);
    for document in [&verified, &paper, &attacks] {
        real.extend(paths_of_document(document));
    }
    // The list of a capture without incidents.
    real.remove(".incidents");
    assert_same(told, &real);
}

#[test]
fn plan_prints_the_keys_that_are_documented() {
    let json = document("json.md");
    let real = paths_of_document(&acsm(&["plan", "--json", "--flows", "1k"]));
    assert_same(first_column(section(&json, "`plan --json`")), &real);
}

#[test]
fn compare_prints_the_keys_that_are_documented() {
    let json = document("json.md");
    let real = paths_of_document(&acsm(&["compare", "--json", "traces/mixed.pcap"]));
    assert_same(first_column(section(&json, "`compare --json`")), &real);
}

#[test]
fn kv_prints_the_keys_that_are_documented() {
    let json = document("json.md");
    let folder = tempfile::tempdir().unwrap();
    let [pairs, store] = ["pairs.tsv", "store.kv"].map(|name| folder.path().join(name));
    let [pairs, store] = [&pairs, &store].map(|path| path.to_str().unwrap());
    let lines = |line: fn(u32) -> String| (0..400).map(line).collect::<String>();
    fs::write(pairs, lines(|key| format!("key {key}\tvalue {}\n", key % 200))).unwrap();
    acsm(&["kv", "create", "-q", "-o", store, "--seed", "1", pairs]);
    let checked = acsm(&["kv", "info", "--json", store, "--check", pairs]);
    let told = first_column(section(&json, "`kv info --json`"));
    assert_same(told, &paths_of_document(&checked));

    // Smaller, so that some have several candidates.
    acsm(&["kv", "compress", "-q", store, "-o", store]);
    acsm(&["kv", "compress", "-q", store, "-o", store]);
    let mut get = Command::new(env!("CARGO_BIN_EXE_acsm"));
    get.args(["kv", "get", "--json", store]).args((0..400).map(|key| format!("key {key}")));
    let answers = get.output().unwrap().stdout;
    let mut real = BTreeSet::new();
    for line in answers.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        real.extend(paths_of_document(line));
    }
    assert_same(first_column(section(&json, "`kv get --json`")), &real);
}

#[test]
fn alerts_have_the_keys_that_are_documented() {
    let json = document("json.md");
    // What the capture cannot show: VLAN tags, flags that were not sent, the end of a cool-down, a doubtful answer.
    let unseen = [".vlan", ".tcp.ecn", ".tcp.cwr", ".acsm.left_out", ".acsm.confirmed"];
    let mut real = BTreeSet::from(unseen.map(str::to_owned));
    let replay =
        ["replay", "-q", "--alerts", "-", "--preset", "operator", "traces/attacks.pcap.gz"];
    // What these incidents do not do: become part of another.
    let mut of_incidents = BTreeSet::from([".acsm.incident.merged_into".to_owned()]);
    let lines = acsm(&replay);
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let event: Value = serde_json::from_slice(line).unwrap();
        let paths = paths_of_document(line);
        match event["acsm"]["rule"].is_null() {
            true => of_incidents.extend(paths),
            false => real.extend(paths),
        }
    }
    assert_same(first_column(section(&json, "Alerts")), &real);
    assert_same(first_column(section(&json, "Incidents")), &of_incidents);
}
