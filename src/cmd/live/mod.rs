//! `acsm live`: options and set-up of a live run; [`crate::live`] does the rest.
//!
//! | file | subject |
//! |---|---|
//! | `capture_args` | what to capture and what to record |
//! | `listen` | `--listen`: page and metrics over HTTP |
//! | `process` | user, capabilities, systemd |

mod capture_args;
mod listen;
mod process;

use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;

use super::alert_destination::{AlertDestination, ExistingFile};
use super::incident_command::TellingSink;
use super::run_args::{OUTPUT, RUN, RunArgs};
use super::{run_args, signals, stderr};
use crate::capture::live::InterfaceCounts;
use crate::capture::record::{Recorder, RecordingSource};
use crate::engine::{ActiveRules, RunPlan, RunResult, run as run_engine};
use crate::live::alerts::{AlertFanout, AlertSink};
use crate::live::monitor::{Actions, Monitor, MonitorContext, SignalFlags};
use crate::live::terminal::{self, Messages, Screen, ScreenContext};
use crate::live::{LiveSummary, SharedSnapshot, StoreModel, capture_page};
use crate::machine::Rules;
use crate::report::alert::{AlertTarget, Names, TextAlerts};
use crate::report::replay::text::Page;
use crate::report::replay::{Context, Summary};
use crate::report::trace::TraceReport;
use crate::seed::Seed;
use crate::units::parse_duration_nanos;
use capture_args::CaptureArgs;
use listen::{ListenArgs, WebServer};

/// `-i` is not required by clap: if it is missing, the error lists the interfaces there are.
const USAGE: &str = "acsm live [OPTIONS] --interface <IFACE>";

const EXAMPLES: &str = "\
Examples:
  acsm live -i eth0                             watch a link on a dashboard; ? lists its keys
  acsm live -i eth0 --plain                     alerts as lines of text
  acsm live -i eth0 -i eth1 | tee eve.json      two links, EVE JSON lines
  acsm live -i eth0 --alerts /var/log/acsm/eve.json
  acsm live -i eth0 --duration 5m --json        a summary after five minutes
  acsm live -i eth0 --write ring.pcap --write-size 100MiB --write-files 10
  acsm live -i eth0 --write odd.pcap --write-only alerts
  acsm live -i eth0 --filter 'not port 22'
  sudo acsm live -i eth0 --capture-threads 4 --user nobody
  acsm live -i eth0 --listen                    a page and metrics at http://127.0.0.1:9477/

It takes CAP_NET_RAW: `sudo setcap cap_net_raw+ep $(command -v acsm)`, or dist/acsm.service.
SIGINT and SIGTERM end it with a summary; SIGHUP reads the rules again and keeps the state of
flows; SIGUSR1 opens the --alerts file again. Exit codes: 0 done, 1 failed, 2 wrong usage.";

const VERIFY_COSTS: &str = "\
acsm: --verify keeps every flow in an exact table beside the store: memory follows the number
of flows, and following a packet takes 1.4 to 2 times the time";

/// Follow the state of every flow on an interface; raise alerts as they happen
#[derive(Debug, Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES, args_override_self = true)]
pub struct LiveArgs {
    #[command(flatten)]
    capture: CaptureArgs,

    #[command(flatten)]
    run: RunArgs,

    #[command(flatten)]
    listen: ListenArgs,

    /// End after this time (5m) [default: at a signal]
    #[arg(long, help_heading = RUN, value_name = "TIME", value_parser = parse_duration_nanos)]
    duration: Option<u64>,

    /// Time between `stats` events among EVE lines
    #[arg(long, help_heading = OUTPUT, value_name = "TIME", default_value = "60s", value_parser = parse_duration_nanos)]
    stats: u64,

    /// Seed of the hashes [default: random and secret; printed at the end]
    #[arg(long, help_heading = RUN, value_name = "N")]
    seed: Option<u64>,

    /// No dashboard: alerts as lines of text, also on a terminal
    #[arg(long, help_heading = OUTPUT)]
    plain: bool,
}

impl LiveArgs {
    /// On a terminal, a dashboard is shown unless another output was requested.
    fn wants_dashboard(&self) -> bool {
        let RunArgs { json, quiet, watch, .. } = &self.run;
        let lines = self.plain || *quiet || watch.is_some();
        !lines && !json && !self.run.alerts_on_stdout() && terminal::can_show_dashboard()
    }

    /// An error of opening a file, with the name of the user who may lack permission.
    fn with_user(&self, error: anyhow::Error) -> anyhow::Error {
        match &self.capture.user {
            Some(name) => error.context(format!("as --user {name}")),
            None => error,
        }
    }

    /// Where alerts go: a terminal gets text, unless a dashboard shows them; anything else gets EVE
    /// lines.
    fn alert_destination(&self, has_dashboard: bool) -> AlertDestination {
        self.run.alert_destination(match io::stdout().is_terminal() {
            _ if has_dashboard => AlertDestination::None,
            true => AlertDestination::TextOnStdout(TextAlerts::All),
            false => AlertDestination::EveOnStdout,
        })
    }

    /// The rules as their files are now, for a run that has followed `old` ones.
    fn reload_rules(&self, plan: &RunPlan, old: &Rules) -> anyhow::Result<ActiveRules> {
        let new = self.run.active(plan.keyer.kind)?;
        new.can_replace(old).map_err(anyhow::Error::msg)?;
        Ok(new)
    }
}

/// Captures until the run is ended, then prints the summary.
pub fn run(args: &LiveArgs) -> anyhow::Result<ExitCode> {
    let seed = args.seed.map_or_else(secret_seed, Ok)?;
    let (mut plan, sizing) = args.run.plan(Seed::Number(seed))?;
    plan.top_talkers = true;
    if args.run.verify && !args.run.quiet {
        stderr::message(VERIFY_COSTS);
    }
    let web = WebServer::bind(&args.listen, args.run.quiet)?;
    let source = args.capture.open(args.run.quiet)?;
    args.capture.user.as_deref().map_or(Ok(()), process::become_user)?;
    let (counts, link_types) = (source.counts(), source.link_types());
    let recorder =
        args.capture.recorder(&source, plan.keyer).map_err(|error| args.with_user(error))?;
    let recorder = recorder.as_ref();
    let mut source = RecordingSource::new(source, recorder);
    let has_dashboard = args.wants_dashboard();
    let destination = args.alert_destination(has_dashboard);
    // Appended to, so that alerts of an earlier run, or from before a log rotation, are kept.
    let open = || destination.open(ExistingFile::Append);
    let target = open().map_err(|error| args.with_user(error))?;
    let names = Names::new(&plan);
    let min_severity = args.run.rules.min_severity;
    let alerts = RefCell::new(AlertFanout::new(names, min_severity, target, recorder));
    process::drop_capabilities().context("cannot give up privileges")?;

    let signals = register_signals(has_dashboard)?;
    let shared = SharedSnapshot::new(StoreModel::new(&plan, sizing));
    let _server = web.serve(&shared)?;
    let load_rules = |old: &Rules| args.reload_rules(&plan, old).map_err(in_one_line);
    let open_alerts = || -> Result<Option<AlertTarget>, String> {
        destination.file().map(|_| open().map_err(in_one_line)).transpose()
    };
    let mut monitor = Monitor::new(MonitorContext {
        plan: &plan,
        sizing,
        alerts: &alerts,
        recorder,
        counts: counts.clone(),
        shared: shared.clone(),
        signals: signals.clone(),
        duration: args.duration.map(Duration::from_nanos),
        stats_interval: Duration::from_nanos(args.stats),
        actions: Actions { load_rules: &load_rules, open_alerts: &open_alerts, message },
        quiet: args.run.quiet,
    });
    let screen = has_dashboard.then(|| show_dashboard(&shared, &signals)).transpose()?;
    let started = Instant::now();
    process::notify_ready();
    let (mut sink, parser) = (AlertSink(&alerts), args.capture.parser());
    let mut sink = TellingSink { sink: &mut sink, command: args.run.incident_command() };
    let result = run_engine(&plan, &mut source, &parser, &mut sink, &signals.stop, &mut monitor);
    let result = alerts.borrow_mut().take_failure().map_or(result, |failure| Err(failure.into()));
    drop(screen);
    drop(sink);
    process::notify_stopping();
    recorder.iter().for_each(|recorder| recorder.borrow_mut().finish());
    let Some(outcome) = run_args::outcome(result, &destination)? else {
        return Ok(ExitCode::SUCCESS);
    };

    let trace = TraceReport::new(&outcome.frames, &link_types, &[]);
    let seconds = started.elapsed().as_secs_f64();
    // The counts of alerts are by the rules in force at the end.
    let plan = RunPlan { active: monitor.rules(), ..plan.clone() };
    let prediction = args.run.predict(&plan, &sizing, &outcome);
    let context = Context { plan: &plan, sizing, prediction, trace, seconds };
    print(args, &destination, (seed, counts.interfaces()), &outcome, context)?;
    result_of(outcome, recorder)
}

fn print(
    args: &LiveArgs,
    destination: &AlertDestination,
    (seed, interfaces): (u64, Vec<InterfaceCounts>),
    outcome: &RunResult,
    context: Context<'_>,
) -> anyhow::Result<ExitCode> {
    let plan = context.plan;
    let summary = Summary::new(outcome, context);
    let summary = LiveSummary { summary, seed: seed.to_string(), interfaces };
    let page = Page {
        plan,
        input: "live",
        shows_alerts: true,
        is_verbose: args.run.verbose,
        min_severity: args.run.rules.min_severity,
        has_numbers: false,
    };
    let page = |mut out: &mut dyn io::Write| capture_page(&mut out, &page, &summary, outcome);
    args.run.print_summary(destination, &summary, page)
}

/// An error with all its causes.
fn in_one_line(error: anyhow::Error) -> String {
    format!("{error:#}")
}

/// Whether the run and its recording succeeded; reported after the summary.
fn result_of(outcome: RunResult, recorder: Option<&RefCell<Recorder>>) -> anyhow::Result<ExitCode> {
    let failed_recording = recorder.and_then(|recorder| recorder.borrow_mut().take_failure());
    match (outcome.failure, failed_recording) {
        (Some(error), _) => {
            Err(error).context("capture ended early; the summary covers what was seen")
        }
        (None, Some((path, error))) => {
            Err(error).with_context(|| format!("recording ended early: {}", path.display()))
        }
        (None, None) => Ok(ExitCode::SUCCESS),
    }
}

/// Flags that signals set from here on.
fn register_signals(has_dashboard: bool) -> anyhow::Result<SignalFlags> {
    let mut flags = SignalFlags::default();
    if !has_dashboard {
        flags.may_exit = Arc::clone(&flags.stop);
    }
    signals::stop_or_end_on_signals(&flags.stop, &flags.may_exit)?;
    signals::note_requests(&flags.reload, &flags.reopen)?;
    Ok(flags)
}

/// A dashboard, and standard error held back while it is shown. Fields are dropped in this order.
struct Dashboard {
    _screen: Screen,
    _held: stderr::Hold,
}

/// To be called with reduced capabilities: the thread inherits them.
fn show_dashboard(shared: &SharedSnapshot, signals: &SignalFlags) -> anyhow::Result<Dashboard> {
    let held = stderr::hold();
    let (shared, signals) = (shared.clone(), signals.clone());
    let screen = Screen::start(ScreenContext { shared, signals, messages, message })
        .context("cannot show a dashboard here; try --plain")?;
    Ok(Dashboard { _screen: screen, _held: held })
}

fn message(text: &dyn Display) {
    stderr::message(text);
}

fn messages() -> Messages {
    let stderr::Log { messages, total, is_recent } = stderr::log();
    Messages { texts: messages, number: total, is_recent }
}

/// A secret seed: a sender that chooses addresses must not be able to choose collisions.
fn secret_seed() -> anyhow::Result<u64> {
    use std::io::Read as _;

    let mut bytes = [0; 8];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot read /dev/urandom for a secret seed; choose one with --seed")?;
    Ok(u64::from_le_bytes(bytes))
}
