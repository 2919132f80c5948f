//! `acsm live`: interfaces through the state machine.
//!
//! | file | what |
//! |---|---|
//! | `capture_args` | what to capture and what of it to keep |
//! | `desk` | where alerts arrive |
//! | `listen` | the page and metrics, over HTTP |
//! | `watcher` | views once a second, `stats` once a minute, what signals ask for |
//! | `terminal` | the dashboard's terminal |
//! | `shelf` | rules that came later |
//! | `privileges`, `notify` | giving up capabilities; telling systemd |

mod capture_args;
mod desk;
mod listen;
mod notify;
mod privileges;
mod shelf;
mod terminal;
mod watcher;

use std::cell::RefCell;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;

use super::output;
use super::run_args::{OUTPUT, RUN, RunArgs};
use crate::capture::record::{Recorder, RecordingSource};
use crate::engine::{Outcome, RunPlan, run as run_engine};
use crate::machine::Rules;
use crate::report::alert::Names;
use crate::report::live::{Board, LiveSummary, capture_page};
use crate::report::replay::{Context, Summary};
use crate::report::trace::TraceReport;
use crate::units::parse_duration_nanos;
use capture_args::CaptureArgs;
use desk::{Desk, DeskSink};
use listen::{ListenArgs, Web};
use shelf::Shelf;
use watcher::{Asked, Watched, Watcher};

/// Not told by clap: where `-i` is missing, we can tell which interfaces there are.
const USAGE: &str = "acsm live [OPTIONS] --interface <IFACE>";

const EXAMPLES: &str = "\
Examples:
  acsm live -i eth0                             watch a link on a dashboard; ? tells its keys
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

    /// Keys the hashes [default: a secret one, told at the end]
    #[arg(long, help_heading = RUN, value_name = "N")]
    seed: Option<u64>,

    /// No dashboard: alerts as lines of text, also on a terminal
    #[arg(long, help_heading = OUTPUT)]
    plain: bool,
}

impl LiveArgs {
    /// Unless another output was asked for, a terminal gets a dashboard.
    fn wants_dashboard(&self) -> bool {
        let RunArgs { json, quiet, watch, .. } = &self.run;
        let lines = self.plain || *quiet || watch.is_some();
        !lines && !json && !self.run.alerts_on_stdout() && terminal::can_show_dashboard()
    }

    /// An error of opening a file, with the user who may not be allowed what root is.
    fn whose(&self, error: anyhow::Error) -> anyhow::Error {
        match &self.capture.user {
            Some(name) => error.context(format!("as --user {name}")),
            None => error,
        }
    }
}

/// Watches until told to end, then sums up.
pub fn run(args: &LiveArgs) -> anyhow::Result<ExitCode> {
    let seed = args.seed.map_or_else(secret_seed, Ok)?;
    let (mut plan, sizing) = args.run.plan(seed)?;
    plan.top_talkers = true;
    if args.run.verify && !args.run.quiet {
        output::say(VERIFY_COSTS);
    }
    let web = Web::bind(&args.listen, args.run.quiet)?;
    let source = args.capture.open(args.run.quiet)?;
    args.capture.user.as_deref().map_or(Ok(()), privileges::become_user)?;
    let (counts, link_types) = (source.counts(), source.link_types());
    let recorder = args.capture.recorder(&source, plan.keyer).map_err(|error| args.whose(error))?;
    let recorder = recorder.as_ref();
    let mut source = RecordingSource::new(source, recorder);
    let names = Names { rules: &plan.rules, backend: plan.store.backend.name() };
    let has_dashboard = args.wants_dashboard();
    let desk = Desk::new(&args.run, names, recorder, has_dashboard);
    let desk = RefCell::new(desk.map_err(|error| args.whose(error))?);
    privileges::give_up().context("cannot give up privileges")?;

    let asked = Asked::by_signals(has_dashboard)?;
    let board = Board::default();
    let _server = web.serve(&board)?;
    let (shelf, rules) = (Shelf::default(), RefCell::new(&plan.rules));
    let watcher = Watcher::new(Watched {
        plan: &plan,
        sizing,
        rule_args: &args.run.rules,
        desk: &desk,
        recorder,
        shelf: &shelf,
        counts: counts.clone(),
        board: board.clone(),
        asked: asked.clone(),
        duration: args.duration.map(Duration::from_nanos),
        stats_every: Duration::from_nanos(args.stats),
        rules: &rules,
        quiet: args.run.quiet,
    });
    let screen = terminal::show(has_dashboard, &board, &asked)?;
    let started = Instant::now();
    notify::ready();
    let (mut sink, parser) = (DeskSink(&desk), args.capture.parser());
    let result = run_engine(&plan, &mut source, &parser, &mut sink, &asked.stop, watcher);
    let result = match desk.borrow_mut().take_failure() {
        Some(failure) => Err(failure.into()),
        None => result,
    };
    terminal::give_back(screen);
    notify::stopping();
    if let Some(recorder) = recorder {
        recorder.borrow_mut().finish();
    }
    let Some(outcome) = args.run.outcome(result)? else { return Ok(ExitCode::SUCCESS) };

    let trace = TraceReport::new(&outcome.frames, &link_types, &[]);
    let seconds = started.elapsed().as_secs_f64();
    let plan = in_force(&plan, &rules);
    let prediction = args.run.predict(&plan, &sizing, &outcome);
    let context = Context { plan: &plan, sizing, prediction, trace, seconds };
    let summary = Summary::new(&outcome, context);
    let interfaces = counts.interfaces();
    print(args, &LiveSummary { summary, seed: seed.to_string(), interfaces }, &outcome)?;
    verdict(outcome, recorder)
}

/// Whether all went well, to be told when all else is said.
fn verdict(outcome: Outcome, recorder: Option<&RefCell<Recorder>>) -> anyhow::Result<ExitCode> {
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

/// The plan with the rules that were in force at the end: counts go by their numbers.
fn in_force(plan: &RunPlan, rules: &RefCell<&Rules>) -> RunPlan {
    RunPlan { rules: (*rules.borrow()).clone(), ..plan.clone() }
}

fn print(args: &LiveArgs, summary: &LiveSummary, outcome: &Outcome) -> anyhow::Result<ExitCode> {
    if args.run.json {
        return output::json_to_stdout(summary);
    }
    let eve_on_stdout = args.run.alerts.is_none() && !desk::shows_text();
    if eve_on_stdout || args.run.alerts_on_stdout() {
        if !args.run.quiet {
            // Whoever closed standard error does not want to see it.
            let _ = capture_page(&mut anstream::stderr(), summary, outcome);
        }
        return Ok(ExitCode::SUCCESS);
    }
    output::to_stdout(|out| capture_page(out, summary, outcome))
}

/// A seed that nobody outside can know: who chooses addresses must not choose collisions.
fn secret_seed() -> anyhow::Result<u64> {
    use std::io::Read as _;

    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot read /dev/urandom for a secret seed; choose one with --seed")?;
    Ok(u64::from_le_bytes(bytes))
}
