//! Runs the program, and has it generate traces.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use acsm_test_support::repository;
use serde_json::Value;

/// A temporary folder for one test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// Writes a trace and returns its path and ground truth. `options` are separated by blanks.
    pub fn generate(&self, name: &str, options: &str) -> (PathBuf, Value) {
        let path = self.path(name);
        let output = acsm(&format!("generate -o {} {options}", path.display()), &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        let truth = std::fs::read(path.with_extension("truth.json")).unwrap();
        (path, serde_json::from_slice(&truth).unwrap())
    }
}

/// Runs `acsm` with words of `line`, then `files`.
pub fn acsm(line: &str, files: &[&Path]) -> Output {
    command(line, files).output().expect("acsm runs")
}

/// The same, not started yet. Relative paths in `line` begin at the root of the repository.
pub fn command(line: &str, files: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acsm"));
    command.args(line.split_whitespace()).args(files).current_dir(repository::root());
    command
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The one document on standard output of a run that must succeed.
pub fn json(line: &str, files: &[&Path]) -> Value {
    let output = acsm(line, files);
    assert!(output.status.success(), "{line}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The summary of `acsm replay`.
pub fn replay(options: &str, files: &[&Path]) -> Value {
    json(&format!("replay --json --quiet {options}"), files)
}

/// A summary, and the EVE lines of the same run with the alerts among them.
pub struct Run {
    pub summary: Value,
    pub alerts: Vec<Value>,
    /// The lines about incidents.
    pub incidents: Vec<Value>,
    pub eve: String,
}

/// The events of this type among EVE lines.
pub fn events_of(eve: &str, event_type: &str) -> Vec<Value> {
    let events = eve.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event_type"] == event_type).collect()
}

/// Replays with alerts in a file.
pub fn replay_with_alerts(options: &str, files: &[&Path]) -> Run {
    let folder = Folder::new();
    let path = folder.path("alerts.json");
    let summary = replay(&format!("--alerts {} {options}", path.display()), files);
    let eve = std::fs::read_to_string(path).unwrap();
    let (incidents, alerts) =
        events_of(&eve, "alert").into_iter().partition(|event| event["acsm"]["rule"].is_null());
    Run { summary, alerts, incidents, eve }
}

/// A count in a document; missing ones are 0, as rules that never fired are.
pub fn count(document: &Value, pointer: &str) -> u64 {
    match document.pointer(pointer) {
        None => 0,
        Some(value) => value.as_u64().unwrap_or_else(|| panic!("{pointer} is {value}")),
    }
}

/// Everything of a summary that must not depend on how the work was divided or how fast it went.
pub fn without_speed(mut summary: Value) -> Value {
    summary.as_object_mut().unwrap().remove("speed").expect("the contract has speed");
    summary["store"].as_object_mut().unwrap().remove("workers").expect("and workers");
    summary
}
