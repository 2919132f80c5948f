//! The report of a comparison: its parameters, and its output on a terminal or in files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use super::args::CompareArgs;
use crate::atomic_file;
use crate::capture::FileSource;
use crate::cmd::{output, stderr};
use crate::engine::compare::capacity::{AtCapacity, at_capacity};
use crate::engine::compare::{ComparePlan, Comparison, Load};
use crate::flow::{Direction, FlowKeyKind};
use crate::machine::StateInfo;
use crate::report::compare::{CompareReport, FILES, Parameters, RunLabel, Writer, text};
use crate::report::trace::TraceReport;
use crate::time::NANOS_PER_SEC;

/// Builds the report of a comparison.
pub fn report(
    args: &CompareArgs,
    plan: &ComparePlan,
    (source, outcome): (&FileSource, &Comparison),
    labels: Vec<RunLabel>,
) -> anyhow::Result<CompareReport> {
    let trace = TraceReport::new(&outcome.frames, &source.link_types(), source.damages());
    let spec = args.any_store();
    let seconds = |nanos| nanos as f64 / NANOS_PER_SEC as f64;
    let parameters = Parameters {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        preset: args.rules.preset.preset().name().to_owned(),
        rules: plan.active.rules.file.clone(),
        flow_key: flow_key_name(plan.keyer.kind).to_owned(),
        states: plan.active.rules.machine.states().iter().map(state_name).collect(),
        flows: labels.first().map_or(0, |label| label.spec.flows),
        expire: spec.expire.name().to_owned(),
        idle_timeout_seconds: plan
            .timed
            .then(|| seconds(args.shape.idle_timeout_nanos(args.rules.preset))),
        layout: spec.layout.name().to_owned(),
        warm_up: args.warm_up,
        seeds: plan.seeds.clone(),
    };
    let labels = with_capacity(labels, &outcome.load)?;
    Ok(CompareReport::new(outcome, &labels, trace, parameters))
}

/// The labels with what their stores answer when they are full. Stores that differ in the seed alone are
/// filled once.
fn with_capacity(
    labels: Vec<RunLabel>,
    load: &Load,
) -> anyhow::Result<Vec<(RunLabel, AtCapacity)>> {
    let extant: u64 = load.lookups_extant.iter().sum();
    let shares = load.lookups_extant.map(|count| count as f64 / extant.max(1) as f64);
    let mut all: Vec<(RunLabel, AtCapacity)> = Vec::with_capacity(labels.len());
    for label in labels {
        let known = all.iter().rev().find(|(known, _)| known.spec == label.spec);
        let full = match known {
            Some((_, full)) => *full,
            None => at_capacity(&label.spec, &shares, label.fp_rate)?,
        };
        all.push((label, full));
    }
    Ok(all)
}

fn flow_key_name(kind: FlowKeyKind) -> &'static str {
    match kind {
        FlowKeyKind::Pair => "pair",
        FlowKeyKind::FiveTuple => "5-tuple",
        FlowKeyKind::Connection => "connection",
    }
}

/// The name of a state, with its direction if there are two of that name.
fn state_name(state: &StateInfo) -> String {
    match state.end {
        None => state.name.clone(),
        Some(Direction::Forward) => format!("{}, forward", state.name),
        Some(Direction::Backward) => format!("{}, backward", state.name),
    }
}

/// The command line that repeats the report: without the options for the output and the threads.
fn command(words: impl Iterator<Item = String>) -> String {
    let mut typed = vec!["acsm".to_owned()];
    let mut words = words.skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" | "--quiet" | "-q" => {}
            "--out" | "--workers" => drop(words.next()),
            word if word.starts_with("--out=") || word.starts_with("--workers=") => {}
            word => typed.push(quoted(word)),
        }
    }
    typed.join(" ")
}

/// A word, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+:,./@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Warns of what limits the conclusions.
pub fn warn(report: &CompareReport) {
    for warning in &report.warnings {
        stderr::message(format_args!("acsm: warning: {warning}"));
    }
}

/// Prints the report on standard output, or writes the files of `--out`.
pub fn print(args: &CompareArgs, report: &CompareReport) -> anyhow::Result<ExitCode> {
    if let Some(directory) = &args.out {
        for path in write_files(directory, report)? {
            if !args.quiet {
                stderr::message(format_args!("acsm: {}", path.display()));
            }
        }
    }
    match (args.json, &args.out) {
        (true, _) => output::json_to_stdout(report),
        (false, None) => output::to_stdout(|out| text::write(report, out)),
        (false, Some(_)) => Ok(ExitCode::SUCCESS),
    }
}

/// Creates the directory of `--out`, and checks that it is writable before the work starts.
pub fn prepare_directory(directory: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write to --out {}", directory.display());
    fs::create_dir_all(directory).with_context(cannot)?;
    let trial = directory.join(".report.unfinished");
    File::create(&trial).and_then(|_| fs::remove_file(&trial)).with_context(cannot)
}

/// Writes all files, replacing those of an earlier report; returns their paths. Each file is complete
/// or absent.
fn write_files(directory: &Path, report: &CompareReport) -> anyhow::Result<Vec<PathBuf>> {
    let write_one = |&(name, writer): &(&str, Writer)| {
        let path = directory.join(name);
        atomic_file::replace(&path, |out| writer(report, out))?;
        Ok(path)
    };
    FILES.iter().map(write_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_without_output_options() {
        let typed = "target/acsm compare --out x --json --fp-rates 0.1 --workers=3 a;b";
        let words = typed.split(' ').map(str::to_owned).chain(["it's here".to_owned()]);
        assert_eq!(command(words), "acsm compare --fp-rates 0.1 'a;b' 'it'\\''s here'");
    }
}
