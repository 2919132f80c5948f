//! `acsm compare` as a user runs it.

mod against_replay;
mod contract;
mod files;
mod open_loop;
mod refusals;

use std::path::Path;

use serde_json::Value;

use crate::runner;

/// The report of a comparison that must succeed.
fn compare(options: &str, files: &[&Path]) -> Value {
    runner::json(&format!("compare --json --quiet {options}"), files)
}

/// A report without what depends on the machine's speed.
fn without_seconds(mut report: Value) -> Value {
    for list in ["runs", "other_sizes"] {
        for run in report[list].as_array_mut().expect("a list of runs") {
            run.as_object_mut().unwrap().remove("seconds").expect("the contract has seconds");
        }
    }
    report
}
