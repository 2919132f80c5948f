//! `acsm replay`: captures through the state machine.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;

use super::alert_destination::{AlertDestination, ExistingFile};
use super::input_args::InputArgs;
use super::progress::Progress;
use super::run_args::{RunArgs, outcome};
use super::seed_args::SeedArgs;
use super::{Usage, signals, stderr};
use crate::engine::{Observer, OverloadEvent, Request, RunPlan, run as run_engine};
use crate::report::alert::{AlertOutput, AlertTarget, Names};
use crate::report::overload::OverloadMessage;
use crate::report::replay::{Context, Summary, text};
use crate::report::trace::TraceReport;
use crate::seed::Seed;

const EXAMPLES: &str = "\
Examples:
  acsm replay day/*.pcap.gz                     alerts for the operator of a network
  acsm replay --preset paper traffic.pcap       as in the papers: FIN and RST of pairs, in a kBF
  acsm replay --verify --backend sbf x.pcap     with the error rates of the filter
  acsm replay --alerts - x.pcap | jq -r .alert.signature
  acsm replay --watch 192.0.2.1,192.0.2.2 x.pcap
  acsm replay --pending none x.pcap             flows enter the store with their first packet
  acsm replay --memory 16MiB --flows 2M --verify --json x.pcap | jq .errors

State is kept from file to file. The same input, options and --seed give the same output,
with any number of --workers. Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// Follow the state of every flow in captures; raise alerts, measure errors
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct ReplayArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    seed: SeedArgs,
}

/// Replays all captures, then prints the summary.
pub fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    // Wrong options are reported before the seed is known, for which a pipe may have to be waited for.
    let (plan, sizing) = args.run.plan(Seed::default())?;
    let quiet = args.run.quiet;
    let mut source = args.input.open()?;
    let destination = args.run.alert_destination(AlertDestination::TextOnStdout);
    let target = open(&destination, &args.input)?;
    let stop = source.progress().stop_flag();
    signals::stop_on_signals(&stop)?;
    let seed = args.seed.choose(&mut source);
    let plan = RunPlan { seed, keyer: args.run.rules.keyer(seed), ..plan };
    let mut sink = AlertOutput::new(Names::new(&plan), args.run.rules.min_severity, target);
    let started = Instant::now();
    let progress = Progress::new(source.progress(), quiet || destination.is_terminal());
    let mut observer = ReplayObserver { progress, quiet };
    let parser = args.input.parser();
    let result = run_engine(&plan, &mut source, &parser, &mut sink, &stop, &mut observer);
    drop(observer);
    let Some(outcome) = outcome(result, &destination)? else { return Ok(ExitCode::SUCCESS) };

    let trace = TraceReport::new(&outcome.frames, &source.link_types(), source.damages());
    let seconds = started.elapsed().as_secs_f64();
    let prediction = args.run.predict(&plan, &sizing, &outcome);
    let context = Context { plan: &plan, sizing, prediction, trace, seconds };
    let summary = Summary { seed: Some(seed), ..Summary::new(&outcome, context) };
    if !quiet {
        stderr::warn_of_damage(source.damages());
        signals::warn_of_interruption(&stop);
    }
    args.run.print_summary(&destination, &summary, |mut out| {
        if destination == AlertDestination::TextOnStdout && summary.alerts.total > 0 {
            writeln!(out)?;
        }
        text::write(&mut out, &summary, &outcome)
    })?;
    match outcome.failure {
        Some(error) => Err(error).context("reading ended early; the summary covers what was read"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Shows progress, and what happens to the store.
struct ReplayObserver {
    progress: Progress,
    quiet: bool,
}

impl Observer for ReplayObserver {
    fn batch(&mut self, frames: u64) -> Request {
        self.progress.tick(frames);
        Request::Continue
    }

    fn overload(&mut self, event: &OverloadEvent) {
        if !self.quiet {
            let message = OverloadMessage(event);
            self.progress.above(|| stderr::message(format_args!("acsm: warning: {message}")));
        }
    }
}

/// Opens the output for alerts, unless it is one of the captures.
fn open(destination: &AlertDestination, input: &InputArgs) -> anyhow::Result<AlertTarget> {
    if destination.file().is_some_and(|path| input.reads(path)) {
        let name = destination.name();
        return Err(Usage::new(anyhow::anyhow!("{name} would be read and overwritten")).into());
    }
    destination.open(ExistingFile::Replace)
}
