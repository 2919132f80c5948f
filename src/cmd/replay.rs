//! `acsm replay`: captures through the state machine.

use std::cell::RefCell;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;

use super::alert_destination::{AlertDestination, ExistingFile};
use super::incident_command::TellingSink;
use super::input_args::InputArgs;
use super::progress::Progress;
use super::replay_observer::{ReplayObserver, SharedOutput, StatsWriter};
use super::run_args::{OUTPUT, RunArgs, outcome};
use super::seed_args::SeedArgs;
use super::{Usage, output, signals, stderr};
use crate::engine::{RunPlan, RunResult, run as run_engine};
use crate::machine::RuleKind;
use crate::report::alert::{AlertOutput, AlertTarget, Names, TextAlerts};
use crate::report::replay::text::{self, Page};
use crate::report::replay::{Context, Summary, incidents};
use crate::report::trace::TraceReport;
use crate::seed::Seed;
use crate::units::parse_duration_nanos;

const EXAMPLES: &str = "\
Examples:
  acsm replay day/*.pcap.gz                     incidents, and a summary
  acsm replay --incident 1 day/*.pcap.gz        the first of them in full
  acsm replay --all x.pcap                      every alert, one line each
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

    /// Write a `stats` event among EVE lines after every TIME of packet time (60s)
    #[arg(long, help_heading = OUTPUT, value_name = "TIME", requires = "alerts", value_parser = parse_duration_nanos)]
    stats: Option<u64>,

    /// Show this incident in full, with the entry of a suppression file that silences it
    #[arg(long, help_heading = OUTPUT, value_name = "N", conflicts_with_all = ["json", "all"], value_parser = clap::value_parser!(u64).range(1..))]
    incident: Option<u64>,

    #[command(flatten)]
    seed: SeedArgs,
}

/// Replays all captures, then prints the summary.
pub fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    // Wrong options are reported before the seed is known, for which a pipe may have to be waited for.
    let (plan, sizing) = args.run.plan(Seed::default())?;
    let quiet = args.run.quiet;
    let mut source = args.input.open()?;
    let destination = args.run.alert_destination(args.default_destination());
    let target = open(&destination, &args.input)?;
    let stop = source.progress().stop_flag();
    signals::stop_on_signals(&stop)?;
    let seed = args.seed.choose(&mut source);
    let plan = RunPlan { seed, keyer: args.run.rules.keyer(seed), ..plan };
    let lines = AlertOutput::new(Names::new(&plan), args.run.rules.min_severity, target);
    let lines = RefCell::new(lines);
    let started = Instant::now();
    let progress = Progress::new(source.progress(), quiet || destination.is_terminal());
    let stats = args.stats.map(|nanos| StatsWriter::new(&plan, sizing, &lines, nanos));
    let mut observer = ReplayObserver { progress, quiet, stats };
    let (mut sink, parser) = (SharedOutput(&lines), args.input.parser());
    let command = args.run.incident_command();
    let mut sink = TellingSink { sink: &mut sink, command };
    let result = run_engine(&plan, &mut source, &parser, &mut sink, &stop, &mut observer);
    let failure = observer.stats.as_mut().and_then(StatsWriter::take_failure);
    drop(observer);
    drop(sink);
    let result = failure.map_or(result, |failure| Err(failure.into()));
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
    print(args, &plan, &destination, &summary, &outcome)?;
    match outcome.failure {
        Some(error) => Err(error).context("reading ended early; the summary covers what was read"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Prints the summary, or the incident that was asked for.
fn print(
    args: &ReplayArgs,
    plan: &RunPlan,
    destination: &AlertDestination,
    summary: &Summary,
    outcome: &RunResult,
) -> anyhow::Result<ExitCode> {
    if let Some(number) = args.incident {
        let list = &outcome.alerts.incidents.list;
        let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        let incident = list.get(index).ok_or_else(|| match list.len() {
            0 => anyhow::anyhow!("--incident {number}: there is none in this capture"),
            last => anyhow::anyhow!("--incident {number}: there are 1 to {last} in this capture"),
        })?;
        let home = &plan.active.home;
        return output::to_stdout(|out| incidents::panel(out, incident, index + 1, home));
    }
    let input = args.input.name();
    let lines = matches!(destination, AlertDestination::TextOnStdout(_));
    let page = Page {
        plan,
        input: &input,
        shows_alerts: args.run.all || !lines,
        is_verbose: args.run.verbose,
        min_severity: args.run.rules.min_severity,
        has_numbers: true,
    };
    let marks = plan.active.rules.list.of_kind(RuleKind::Mark);
    let is_after_lines = match destination {
        AlertDestination::TextOnStdout(TextAlerts::All) => summary.alerts.total > 0,
        AlertDestination::TextOnStdout(TextAlerts::Marks) => {
            marks.iter().any(|rule| outcome.alerts.shown[usize::from(rule.0)] > 0)
        }
        _ => false,
    };
    args.run.print_summary(destination, summary, |mut out| {
        if is_after_lines {
            writeln!(out)?;
        }
        text::write(&mut out, &page, summary, outcome)
    })
}

impl ReplayArgs {
    /// Where alerts go unless `--alerts` or `--json` say so.
    fn default_destination(&self) -> AlertDestination {
        match self.incident {
            Some(_) => AlertDestination::None,
            None => AlertDestination::TextOnStdout(self.run.text_alerts()),
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
