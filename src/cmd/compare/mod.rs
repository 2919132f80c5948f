//! `acsm compare`: the errors and the memory of stores, on the user's own traffic.
//!
//! `args` are the options with the list of stores, `runs` the runs that follow from them and the memory
//! they need, `report` the output.

mod args;
mod report;
mod runs;

pub use args::CompareArgs;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, bail};

use super::progress::{Progress, stopwatch_nanos};
use super::{Usage, signals, stderr};
use crate::capture::FileSource;
use crate::engine::compare::{ComparePlan, Comparison, Load, compare};
use crate::seed::Seed;
use args::Flows;
use runs::MemoryNeed;

/// Initial capacity of the exact table if the flows have not been counted.
const FIRST_FLOWS: usize = 1 << 16;

/// Phases that `--warm-up` leaves out: after two of them everything that could age has done so.
const WARM_UP_EPOCHS: u32 = 2;

/// Runs the comparison, then prints the report.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    runs::check(args).map_err(Usage::new)?;
    let mut plan = plan(args)?;
    if let Some(directory) = &args.out {
        report::prepare_directory(directory)?;
    }
    let counted = match args.flows {
        Flows::Auto => Some(count_flows(args, &plan)?),
        Flows::Count(_) => None,
    };
    let flows = match args.flows {
        Flows::Count(flows) => flows,
        Flows::Auto => counted.as_ref().map_or(0, |load| load.flows_peak).max(1),
    };
    let mut source = open(args)?;
    let packets = |load: &Load| load.lookups_absent + load.lookups_extant.iter().sum::<u64>();
    plan.seeds = args.seeds(&mut source, counted.as_ref().map(packets));
    let states = plan.active.rules.machine.states().len();
    let runs = runs::runs(args, &plan.seeds, states, flows).map_err(Usage::new)?;
    let need = MemoryNeed::new(&runs, counted.as_ref().map_or(flows, |load| load.flows_total));
    if !args.quiet {
        stderr::message(format_args!("acsm: {}", need.describe(runs.plans.len())));
    }
    need.check(args.memory_limit).map_err(Usage::new)?;

    plan.runs = runs.plans;
    plan.flows_expected = counted.map_or(FIRST_FLOWS, |load| load.flows_total as usize);
    let outcome = pass(args, &plan, &mut source)?;
    let report = report::report(args, &plan, (&source, &outcome), runs.labels)?;
    if !args.quiet {
        stderr::warn_of_damage(source.damages());
        report::warn(&report);
    }
    report::print(args, &report)?;
    match outcome.failure {
        Some(error) => Err(error).context("reading ended early; the report covers what was read"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The plan without its runs and seeds.
fn plan(args: &CompareArgs) -> anyhow::Result<ComparePlan> {
    let keyer = args.rules.keyer(Seed::default());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(ComparePlan {
        runs: Vec::new(),
        seeds: Vec::new(),
        active: Arc::new(args.rules.active(keyer.kind)?),
        keyer,
        phase: args.shape.phase(args.rules.preset),
        timed: args.any_store().expire.is_timed(),
        startup_nanos: args.shape.startup_nanos(args.rules.preset),
        touch_absent: args.shape.touches_absent(),
        warm_up_epochs: if args.warm_up { WARM_UP_EPOCHS } else { 0 },
        threads: args.workers.map_or(cores.min(16), usize::from),
        flows_expected: FIRST_FLOWS,
        stopwatch: stopwatch_nanos,
    })
}

/// A first pass that counts the flows.
fn count_flows(args: &CompareArgs, plan: &ComparePlan) -> anyhow::Result<Load> {
    let is_pipe = |path: &Path| {
        path.as_os_str() == "-"
            || path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
    };
    if let Some(pipe) = args.input.files.iter().find(|path| is_pipe(path)) {
        let pipe = pipe.display();
        let twice = anyhow::anyhow!("{pipe} can be read only once: say --flows N in place of auto");
        return Err(Usage::new(twice).into());
    }
    let mut source = open(args)?;
    let seeds = vec![args.seed.choose(&mut source)];
    let plan = ComparePlan { seeds, warm_up_epochs: 0, ..plan.clone() };
    let outcome = pass(args, &plan, &mut source)?;
    if let Some(error) = outcome.failure {
        return Err(error).context("flows could not be counted");
    }
    if source.progress().stop_flag().load(Ordering::Relaxed) {
        bail!("interrupted while counting flows: nothing has been compared yet");
    }
    Ok(outcome.load)
}

/// Opens the captures; signals end the reading from here on.
fn open(args: &CompareArgs) -> anyhow::Result<FileSource> {
    let source = args.input.open()?;
    signals::stop_on_signals(&source.progress().stop_flag())?;
    Ok(source)
}

/// One pass of all runs of `plan` over the captures.
fn pass(
    args: &CompareArgs,
    plan: &ComparePlan,
    source: &mut FileSource,
) -> anyhow::Result<Comparison> {
    let stop = source.progress().stop_flag();
    let progress = Progress::new(source.progress(), args.quiet);
    let mut tick = |packets| progress.tick(packets);
    let outcome = compare(plan, source, &args.input.parser(), &stop, &mut tick)?;
    drop(progress);
    if !plan.runs.is_empty() && !args.quiet {
        signals::warn_of_interruption(&stop);
    }
    Ok(outcome)
}
