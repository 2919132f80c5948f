//! `acsm compare` as a user runs it.

mod against_replay;
mod contract;
mod files;
mod open_loop;
#[allow(dead_code)] // each test program uses a part of it
#[path = "../replay/program.rs"]
mod program;
mod refusals;

use std::path::Path;

use serde_json::Value;

/// The report of a comparison that must succeed.
fn compare(options: &str, files: &[&Path]) -> Value {
    program::json(&format!("compare --json --quiet {options}"), files)
}

/// A report without what depends on the machine's speed.
fn without_seconds(mut report: Value) -> Value {
    for run in report["runs"].as_array_mut().expect("runs") {
        run.as_object_mut().unwrap().remove("seconds").expect("the contract has seconds");
    }
    report
}
