//! `acsm compare`: what the approximation costs, on the user's own traffic.
//!
//! `args` are the options, `stores` the names of stores, `runs` what they come to; `memory` says
//! what that takes, `files` writes the report.

mod args;
mod files;
mod memory;
mod runs;
mod stores;

pub use args::CompareArgs;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};

use super::progress::Progress;
use super::{Usage, output, signals, stopwatch};
use crate::capture::FileSource;
use crate::engine::compare::{ComparePlan, Comparison, Load, compare};
use crate::flow::{Direction, FlowKeyKind};
use crate::machine::StateInfo;
use crate::report::compare::{CompareReport, Parameters, RunLabel, page};
use crate::report::text::grouped;
use crate::report::trace::TraceReport;
use crate::time::NANOS_PER_SEC;
use acsm_filters::{Expire, StoreSpec};
use args::Flows;
use memory::Need;

/// Flows that the exact table has room for before it grows, if nobody counted them.
const FIRST_FLOWS: usize = 1 << 16;

/// Compares everything, then reports.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    runs::check(args).map_err(Usage::new)?;
    let mut plan = plan(args)?;
    if let Some(directory) = &args.out {
        files::prepare(directory)?;
    }
    let counted = match args.flows {
        Flows::Auto => Some(count_flows(args, &plan)?),
        Flows::Count(_) => None,
    };
    let flows = match args.flows {
        Flows::Count(flows) => flows,
        Flows::Auto => counted.as_ref().map_or(0, |load| load.flows_peak).max(1),
    };
    let runs = runs::runs(args, plan.rules.machine.states().len(), flows).map_err(Usage::new)?;
    let need = Need::new(&runs, counted.as_ref().map_or(flows, |load| load.flows_total));
    if !args.quiet {
        output::say(format_args!("acsm: {}", need.describe(runs.plans.len())));
    }
    need.check(args.memory_limit).map_err(Usage::new)?;

    plan.runs = runs.plans;
    plan.flows_expected = counted.map_or(FIRST_FLOWS, |load| load.flows_total as usize);
    let (source, outcome) = pass(args, &plan)?;
    let report = report(args, &plan, (&source, &outcome), &runs.labels);
    if !args.quiet {
        output::warn_of_damage(source.damages());
        warn_of_size(&report);
    }
    print(args, &report)?;
    match outcome.failure {
        Some(error) => Err(error).context("reading ended early; the report covers what was read"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The plan without its runs.
fn plan(args: &CompareArgs) -> anyhow::Result<ComparePlan> {
    let keyer = args.rules.keyer(args.seed);
    let rules = args.rules.load(keyer.kind)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(ComparePlan {
        runs: Vec::new(),
        seeds: args.seeds(),
        shown: rules.list.on_in(args.rules.preset()),
        suppressions: args.rules.suppressions(&rules)?,
        keyer,
        phase: args.shape.phase(),
        timed: any_store(args).expire == Expire::Timer,
        startup_nanos: args.shape.idle_timeout,
        touch_absent: args.shape.touches_absent(),
        threads: args.workers.map_or(cores.min(16), usize::from),
        flows_expected: FIRST_FLOWS,
        stopwatch: stopwatch::nanos,
        rules,
    })
}

/// What is the same for all stores can be read off this one.
fn any_store(args: &CompareArgs) -> StoreSpec {
    let backend = args.backends.first().map_or(acsm_filters::Backend::Kbf, |store| store.backend);
    args.shape.spec(backend, 1)
}

/// A pass that only finds out what the trace is like.
fn count_flows(args: &CompareArgs, plan: &ComparePlan) -> anyhow::Result<Load> {
    let is_read_once = |path: &Path| {
        path.as_os_str() == "-"
            || path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
    };
    if let Some(pipe) = args.input.files.iter().find(|path| is_read_once(path)) {
        let pipe = pipe.display();
        let twice = anyhow::anyhow!("{pipe} can be read only once: say --flows N in place of auto");
        return Err(Usage::new(twice).into());
    }
    let plan = ComparePlan { seeds: vec![args.seed], ..plan.clone() };
    let (source, outcome) = pass(args, &plan)?;
    if let Some(error) = outcome.failure {
        return Err(error).context("flows could not be counted");
    }
    if source.progress().stop_flag().load(Ordering::Relaxed) {
        bail!("interrupted while counting flows: nothing has been compared yet");
    }
    Ok(outcome.load)
}

/// Drives the runs of `plan` through the captures.
fn pass(args: &CompareArgs, plan: &ComparePlan) -> anyhow::Result<(FileSource, Comparison)> {
    let mut source = args.input.open()?;
    let stop: Arc<AtomicBool> = source.progress().stop_flag();
    signals::stop_on_signals(&stop)?;
    let progress = Progress::new(source.progress(), args.quiet);
    let tick = |packets| progress.tick(packets);
    let outcome = compare(plan, &mut source, &args.input.parser(), &stop, tick)?;
    drop(progress);
    if !plan.runs.is_empty() && !args.quiet {
        signals::warn_of_interruption(&stop);
    }
    Ok((source, outcome))
}

fn report(
    args: &CompareArgs,
    plan: &ComparePlan,
    (source, outcome): (&FileSource, &Comparison),
    labels: &[RunLabel],
) -> CompareReport {
    let trace = TraceReport::new(&outcome.frames, &source.link_types(), source.damages());
    let spec = any_store(args);
    let idle = |nanos| nanos as f64 / NANOS_PER_SEC as f64;
    let parameters = Parameters {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(std::env::args_os().map(|word| word.to_string_lossy().into_owned())),
        preset: args.rules.preset().name().to_owned(),
        rules: plan.rules.file.clone(),
        flow_key: flow_key_name(plan.keyer.kind).to_owned(),
        states: plan.rules.machine.states().iter().map(state_name).collect(),
        flows: labels.first().map_or(0, |label| label.spec.flows),
        expire: spec.expire.name().to_owned(),
        idle_timeout_seconds: plan.timed.then(|| idle(args.shape.idle_timeout)),
        layout: spec.layout.name().to_owned(),
        seeds: plan.seeds.clone(),
    };
    CompareReport::new(outcome, labels, trace, parameters)
}

fn flow_key_name(kind: FlowKeyKind) -> &'static str {
    match kind {
        FlowKeyKind::Pair => "pair",
        FlowKeyKind::FiveTuple => "5-tuple",
        FlowKeyKind::Connection => "connection",
    }
}

/// The state's name, with the end it remembers if there are two of that name.
fn state_name(state: &StateInfo) -> String {
    match state.end {
        None => state.name.clone(),
        Some(Direction::Forward) => format!("{}, forward", state.name),
        Some(Direction::Backward) => format!("{}, backward", state.name),
    }
}

/// The command line that gives the same report, wherever it goes: as typed, without the options
/// that say where to.
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

/// As a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+:,./@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn warn_of_size(report: &CompareReport) {
    let (peak, flows) = (report.load.flows_peak, report.parameters.flows);
    if peak > flows || peak.saturating_mul(2) < flows {
        let (peak, flows) = (grouped(peak), grouped(flows));
        output::say(format_args!(
            "acsm: warning: stores for {flows} flows, but {peak} alive at once; --flows auto fits them"
        ));
    }
}

/// The report is data on standard output, or in files and then only their names are said.
fn print(args: &CompareArgs, report: &CompareReport) -> anyhow::Result<ExitCode> {
    if let Some(directory) = &args.out {
        for path in files::write(directory, report)? {
            if !args.quiet {
                output::say(format_args!("acsm: {}", path.display()));
            }
        }
    }
    match (args.json, &args.out) {
        (true, _) => output::json_to_stdout(report),
        (false, None) => output::to_stdout(|out| page::write(report, out)),
        (false, Some(_)) => Ok(ExitCode::SUCCESS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_as_typed_but_for_where_it_goes() {
        let typed = "target/acsm compare --out x --json --fp-rates 0.1 --workers=3 a;b";
        let words = typed.split(' ').map(str::to_owned).chain(["it's here".to_owned()]);
        assert_eq!(command(words), "acsm compare --fp-rates 0.1 'a;b' 'it'\\''s here'");
    }
}
