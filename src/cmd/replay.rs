//! `acsm replay`: captures through the state machine.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;

use super::input::InputArgs;
use super::progress::Progress;
use super::rule_args::RuleArgs;
use super::store_args::StoreArgs;
use super::{Usage, output, signals, stopwatch};
use crate::engine::{Outcome, RunError, RunPlan, Watch, run as run_engine};
use crate::report::alert::{AlertOutput, AlertTarget, LineOutput, Names};
use crate::report::replay::{Context, Summary, page};
use crate::report::text::{bytes, grouped};
use crate::report::trace::TraceReport;
use crate::spec::{Backend, Sizing};

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

/// Headings of the help.
const OUTPUT: &str = "Output";
const RUN: &str = "Run";

/// Follow the state of every flow in a capture; raise alerts, count errors
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct ReplayArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    rules: RuleArgs,

    #[command(flatten)]
    store: StoreArgs,

    /// Worker threads, 1 to 16 [default: number of cores]
    #[arg(long, help_heading = RUN, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    workers: Option<u8>,

    /// Compare every answer with an exact table, which takes its own memory and time
    #[arg(long, help_heading = OUTPUT)]
    verify: bool,

    /// Show each step between two addresses, with what the store says and what is true
    #[arg(long, help_heading = OUTPUT, value_name = "SRC,DST", value_parser = parse_watch)]
    watch: Option<Watch>,

    /// Write alerts as EVE JSON lines to this file, or - for standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE")]
    alerts: Option<PathBuf>,

    /// Print the summary as one JSON document, and no alerts unless --alerts names a file
    #[arg(long, help_heading = OUTPUT)]
    json: bool,

    /// Keys the hashes; another seed errs on other flows
    #[arg(long, help_heading = RUN, value_name = "N", default_value = "1")]
    seed: u64,

    /// Options from a TOML file, as `idle-timeout = "30s"`; the command line wins
    #[arg(long, help_heading = RUN, value_name = "FILE")]
    config: Option<PathBuf>,

    /// No progress bar, no warnings
    #[arg(short, long, help_heading = OUTPUT, conflicts_with = "verbose")]
    quiet: bool,

    /// Say what the store is made of before starting
    #[arg(short, long, help_heading = OUTPUT)]
    verbose: bool,
}

fn parse_watch(text: &str) -> Result<Watch, String> {
    let addresses = text.split_once(',').and_then(|(src, dst)| {
        let parse = |text: &str| text.trim().parse::<IpAddr>().ok();
        Some(Watch(parse(src)?, parse(dst)?))
    });
    addresses.ok_or_else(|| format!("`{text}` is not SRC,DST; write two addresses"))
}

/// Replays everything, then sums up.
pub fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    if args.json && args.alerts.as_deref() == Some(Path::new("-")) {
        let both = anyhow::anyhow!("--json and --alerts - would both write to standard output");
        return Err(Usage::new(both).into());
    }
    let plan = plan(args)?;
    args.store.check_variants(plan.store.backend).map_err(Usage::new)?;
    let sizing = plan.store.sizing().map_err(Usage::new)?;
    if args.verbose {
        output::say(format_args!("acsm: {}", describe(&plan, &sizing)));
    }
    if plan.store.backend == Backend::Exact && args.store.fp_rate.is_some() && !args.quiet {
        output::say("acsm: warning: --fp-rate means nothing for exact, which does not err");
    }

    let mut source = args.input.open()?;
    let names = Names { rules: &plan.rules, backend: plan.store.backend.name() };
    let mut sink = AlertOutput::new(names, args.rules.min_severity, alert_target(args)?);
    let stop = source.progress().stop_flag();
    signals::stop_on_signals(&stop)?;
    let started = Instant::now();
    let progress = Progress::new(source.progress(), args.quiet || alerts_on_terminal(args));
    let tick = |packets| progress.tick(packets);
    let result = run_engine(&plan, &mut source, &args.input.parser(), &mut sink, &stop, tick);
    drop(progress);
    let outcome = match result {
        // Whoever read the alerts has seen enough.
        Err(RunError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(error @ RunError::Output(_)) => return Err(error).with_context(|| alerts_name(args)),
        result => result?,
    };

    let trace = TraceReport::new(&outcome.frames, &source.link_types(), source.damages());
    let seconds = started.elapsed().as_secs_f64();
    let summary = Summary::new(&outcome, Context { plan: &plan, sizing, trace, seconds });
    if !args.quiet {
        output::warn_of_damage(source.damages());
        signals::warn_of_interruption(&stop);
    }
    print(args, &summary, &outcome)?;
    match outcome.failure {
        Some(error) => Err(error).context("reading ended early; the summary covers what was read"),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn plan(args: &ReplayArgs) -> anyhow::Result<RunPlan> {
    let keyer = args.rules.keyer(args.seed);
    let rules = args.rules.load(keyer.kind)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(RunPlan {
        store: args.store.spec(args.rules.default_backend(), rules.machine.states().len()),
        shown: rules.book.on_in(args.rules.preset()),
        suppressions: args.rules.suppressions(&rules)?,
        keyer,
        phase: args.store.shape.phase(),
        startup_nanos: args.store.shape.idle_timeout,
        watch: args.watch,
        seed: args.seed,
        touch_absent: args.store.shape.touches_absent(),
        workers: args.workers.map_or(cores.min(16), usize::from),
        verify: args.verify,
        stopwatch: stopwatch::nanos,
        rules,
    })
}

/// The plan in one line.
fn describe(plan: &RunPlan, sizing: &Sizing) -> String {
    let (backend, memory) = (plan.store.backend.name(), bytes(sizing.bits / 8));
    let flows = grouped(plan.store.flows);
    let (cells, bits) = (grouped(sizing.cells), sizing.cell_bits);
    let cells = match (plan.store.backend, sizing.hashes) {
        (_, 0) => String::new(),
        (Backend::Fcf, _) => format!(": {cells} slots of {bits} bits, one a flow"),
        (_, k) => format!(": {cells} cells of {bits} bits, {k} a flow"),
    };
    format!("{backend}, {memory} for {flows} flows{cells}; {} workers", plan.workers)
}

fn alert_target(args: &ReplayArgs) -> anyhow::Result<AlertTarget> {
    Ok(match &args.alerts {
        Some(path) if path == Path::new("-") => AlertTarget::Eve(LineOutput::stdout()),
        Some(path) if args.input.reads(path) => {
            let both = anyhow::anyhow!("{} would be read and overwritten", alerts_name(args));
            return Err(Usage::new(both).into());
        }
        Some(path) => {
            let file = File::create(path).with_context(|| alerts_name(args))?;
            AlertTarget::Eve(LineOutput::file(file))
        }
        None if args.json => AlertTarget::Nowhere,
        None => AlertTarget::Text {
            lines: LineOutput::stdout(),
            colours: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
        },
    })
}

fn alerts_name(args: &ReplayArgs) -> String {
    match &args.alerts {
        Some(path) if path != Path::new("-") => format!("--alerts {}", path.display()),
        _ => "alerts on standard output".to_owned(),
    }
}

/// A bar and lines of text on one terminal would garble each other.
fn alerts_on_terminal(args: &ReplayArgs) -> bool {
    let to_stdout = match &args.alerts {
        Some(path) => path == Path::new("-"),
        None => !args.json,
    };
    to_stdout && io::stdout().is_terminal()
}

/// The summary is data, unless alerts have standard output for themselves.
fn print(args: &ReplayArgs, summary: &Summary, outcome: &Outcome) -> anyhow::Result<ExitCode> {
    if args.json {
        return output::json_to_stdout(summary);
    }
    if args.alerts.as_deref() == Some(Path::new("-")) {
        if !args.quiet {
            // Whoever closed standard error does not want to see it.
            let _ = page::write(&mut anstream::stderr(), summary, outcome);
        }
        return Ok(ExitCode::SUCCESS);
    }
    output::to_stdout(|out| {
        if args.alerts.is_none() && summary.alerts.total > 0 {
            writeln!(out)?;
        }
        page::write(out, summary, outcome)
    })
}
