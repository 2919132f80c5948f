//! `acsm replay`: captures through the state machine.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;

use super::input::InputArgs;
use super::progress::Progress;
use super::run_args::{RUN, RunArgs};
use super::{Usage, output, signals};
use crate::engine::run as run_engine;
use crate::report::alert::{AlertOutput, AlertTarget, LineOutput, Names};
use crate::report::replay::{Context, Summary};
use crate::report::trace::TraceReport;

const EXAMPLES: &str = "\
Examples:
  acsm replay --preset operator day/*.pcap.gz   what is odd on a network you look after
  acsm replay traffic.pcap                      as the papers: FIN and RST of pairs, in a kBF
  acsm replay --verify --backend sbf x.pcap     and how often the filter was wrong
  acsm replay --alerts - x.pcap | jq -r .alert.signature
  acsm replay --watch 192.0.2.1,192.0.2.2 x.pcap
  acsm replay --preset operator --gate bloom-1 flood.pcap    a SYN flood takes no room in the store
  acsm replay --memory 16MiB --flows 2M --verify --json x.pcap | jq .errors

State carries over from file to file. Same input, same options, same --seed: same output,
whatever --workers is. Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// Follow the state of every flow in a capture; raise alerts, count errors
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct ReplayArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    run: RunArgs,

    /// Keys the hashes; another seed errs on other flows
    #[arg(long, help_heading = RUN, value_name = "N", default_value = "1")]
    seed: u64,
}

/// Replays everything, then sums up.
pub fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let (plan, sizing) = args.run.plan(args.seed)?;
    let quiet = args.run.quiet;
    let mut source = args.input.open()?;
    let names = Names { rules: &plan.rules, backend: plan.store.backend.name() };
    let mut sink = AlertOutput::new(names, args.run.rules.min_severity, alert_target(args)?);
    let stop = source.progress().stop_flag();
    signals::stop_on_signals(&stop)?;
    let started = Instant::now();
    let progress = Progress::new(source.progress(), quiet || args.run.alerts_on_terminal());
    let tick = |packets| progress.tick(packets);
    let result = run_engine(&plan, &mut source, &args.input.parser(), &mut sink, &stop, tick);
    drop(progress);
    let Some(outcome) = args.run.outcome(result)? else { return Ok(ExitCode::SUCCESS) };

    let trace = TraceReport::new(&outcome.frames, &source.link_types(), source.damages());
    let seconds = started.elapsed().as_secs_f64();
    let prediction = args.run.predict(&plan, &sizing, &outcome);
    let context = Context { plan: &plan, sizing, prediction, trace, seconds };
    let summary = Summary::new(&outcome, context);
    if !quiet {
        output::warn_of_damage(source.damages());
        signals::warn_of_interruption(&stop);
    }
    args.run.print(&summary, &outcome)?;
    match outcome.failure {
        Some(error) => Err(error).context("reading ended early; the summary covers what was read"),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn alert_target(args: &ReplayArgs) -> anyhow::Result<AlertTarget> {
    Ok(match &args.run.alerts {
        Some(path) if path == Path::new("-") => AlertTarget::Eve(LineOutput::stdout()),
        Some(path) if args.input.reads(path) => {
            let name = args.run.alerts_name();
            let both = anyhow::anyhow!("{name} would be read and overwritten");
            return Err(Usage::new(both).into());
        }
        Some(path) => {
            let file = File::create(path).with_context(|| args.run.alerts_name())?;
            AlertTarget::Eve(LineOutput::file(file))
        }
        None if args.run.json => AlertTarget::Nowhere,
        None => AlertTarget::Text {
            lines: LineOutput::stdout(),
            colours: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
        },
    })
}
