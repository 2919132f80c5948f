//! What is in `dist/` does what it says: the unit is valid and hardened, snippets name fields that are
//! there, options exist.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a field of an alert is called in the schema, or `None` if there is no such field.
fn in_schema<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(schema, |value, name| value["properties"].get(name))
}

/// Asks systemd about the unit, with the path of the built program; `None` without systemd,
/// after a message on stderr.
fn ask_systemd(arguments: &[&str]) -> Option<Output> {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("acsm.service");
    let installed = read("dist/acsm.service");
    assert!(installed.contains("=/usr/local/bin/acsm live"));
    let here = installed.replace("/usr/local/bin/acsm", env!("CARGO_BIN_EXE_acsm"));
    fs::write(&unit, here).unwrap();
    let mut systemd = Command::new("systemd-analyze");
    match systemd.args(arguments).arg("--no-pager").arg(&unit).env("NO_COLOR", "1").output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("SKIPPED: no systemd-analyze here, the unit was not looked at: {error}");
            None
        }
    }
}

#[test]
fn the_unit_is_valid() {
    let Some(output) = ask_systemd(&["verify", "--man=no"]) else { return };
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
}

/// Ten is no protection, zero is no service. Other versions of systemd count a little differently.
#[test]
fn the_unit_is_hardened() {
    let Some(output) = ask_systemd(&["security", "--offline=true"]) else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    let (_, level) = said.split_once("Overall exposure level for acsm.service: ").expect(&said);
    let level: f64 = level.split(' ').next().unwrap().parse().unwrap();
    assert!(level < 2.0, "{said}");
}

/// The words of a script of Vector's that name a field: `.alert.severity`, but not `parse_json!(.)`.
fn fields(script: &str) -> Vec<&str> {
    let in_name = |c: char| c.is_alphanumeric() || "._\"%".contains(c);
    let words = script.split(|c: char| !in_name(c));
    words.filter_map(|word| word.strip_prefix('.')).filter(|name| !name.is_empty()).collect()
}

#[test]
fn vector_finds_the_fields_it_looks_for() {
    let config: toml::Table = read("dist/vector.toml").parse().unwrap();
    let schema: Value = serde_json::from_str(&read("docs/eve.schema.json")).unwrap();
    let parts = |kind: &str| config[kind].as_table().unwrap().clone();
    let (sources, transforms, sinks) = (parts("sources"), parts("transforms"), parts("sinks"));
    for part in transforms.values().chain(sinks.values()) {
        for input in part["inputs"].as_array().unwrap() {
            let name = input.as_str().unwrap();
            assert!(sources.contains_key(name) || transforms.contains_key(name), "{name}");
        }
    }
    let script = transforms["acsm_events"]["source"].as_str().unwrap();
    let condition = transforms["acsm_grave"]["condition"].as_str().unwrap();
    let mut named = [fields(script), fields(condition)].concat();
    // The line as Vector read it.
    named.retain(|name| *name != "message");
    assert_eq!(named, ["timestamp", "timestamp", "event_type", "alert.severity"]);
    for name in named {
        assert!(in_schema(&schema, name).is_some(), "{name}");
    }
    let kinds = &in_schema(&schema, "event_type").unwrap()["enum"];
    assert!(condition.contains(&format!(".event_type == {}", kinds[0])), "{condition}");
}

/// Not a parser of YAML; but what commonly goes wrong in it.
#[test]
fn filebeat_finds_the_fields_it_looks_for() {
    let config = read("dist/filebeat.yml");
    assert!(!config.contains('\t'), "YAML takes no tabs");
    let mut deepest = 0;
    for line in config.lines() {
        let code = line.split(" #").next().unwrap();
        let text = code.trim_start().trim_end();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let depth = code.len() - code.trim_start().len();
        assert!(depth % 2 == 0 && depth <= deepest, "indentation: {line}");
        let entry = text.strip_prefix("- ").unwrap_or(text);
        // What stands deeper belongs to a key without a value, or to an entry of a list.
        deepest = match (entry.ends_with(':'), entry.len() < text.len()) {
            (true, true) => depth + 4,
            (true, false) | (false, true) => depth + 2,
            (false, false) => depth,
        };
        assert!(entry.contains(": ") || entry.ends_with(':'), "no key: {line}");
        assert_eq!(entry.matches('"').count() % 2, 0, "quotes: {line}");
        assert_eq!(entry.matches('[').count(), entry.matches(']').count(), "brackets: {line}");
    }
    let value = |key: &str| {
        let line = config.lines().find_map(|line| line.trim().strip_prefix(key)).expect(key);
        line.trim().trim_matches(['[', ']', '"']).to_owned()
    };
    let schema: Value = serde_json::from_str(&read("docs/eve.schema.json")).unwrap();
    assert!(in_schema(&schema, &value("field:")).is_some());
    // Go writes the shape of a time as a certain moment.
    let shape = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "0").replace('+', "-");
    let time = acsm::time::Timestamp::new(1_790_000_000, 123_456_000);
    let alert = format!("{time}").replace("000Z", "+0000");
    assert_eq!(shape(&value("layouts:")), shape(&alert));
    assert_eq!(value("paths:"), "/var/log/acsm/eve.json");
}

/// Every option of the sample, also those that are commented out.
#[test]
fn the_sample_of_options_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let suppress = folder.path().join("suppress.toml");
    fs::write(&suppress, "").unwrap();
    let uncommented = |line: &str| match line.strip_prefix("# ") {
        Some(option) if option.contains(" = ") => option.to_owned(),
        _ => line.to_owned(),
    };
    let sample: Vec<String> = read("dist/live.toml").lines().map(uncommented).collect();
    assert!(sample.iter().filter(|line| line.contains(" = ")).count() >= 9, "{sample:?}");
    let sample = sample.join("\n").replace("eth0", "nonesuch0");
    let sample = sample.replace("/etc/acsm/suppress.toml", &suppress.display().to_string());
    let config = folder.path().join("live.toml");
    fs::write(&config, sample).unwrap();
    let acsm =
        Command::new(env!("CARGO_BIN_EXE_acsm")).args(["live", "--config"]).arg(config).output();
    let output = acsm.unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    let reason = if cfg!(feature = "live") { "nonesuch0" } else { "libpcap" };
    assert!(messages.contains(reason), "{messages}");
}
