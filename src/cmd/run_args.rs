//! The options of one run of the engine, over captures or live.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;

use super::alert_destination::AlertDestination;
use super::incident_command::IncidentCommand;
use super::progress::stopwatch_nanos;
use super::rule_args::RuleArgs;
use super::store_args::StoreArgs;
use super::{Usage, output, spec_message, stderr};
use crate::engine::{ActiveRules, Lookups, RunError, RunPlan, RunResult, Watch};
use crate::flow::FlowKeyKind;
use crate::machine::{HomeNets, Network, RuleKind};
use crate::report::alert::TextAlerts;
use crate::report::format::{bytes, grouped};
use crate::report::replay::Prediction;
use crate::seed::Seed;
use crate::units::parse_count;
use acsm_filters::pending::PendingTable;
use acsm_filters::{Backend, Sizing};

/// Headings in the help text.
pub const OUTPUT: &str = "Output";
pub const RUN: &str = "Run";

/// The rules, the store, and the output.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Threads, including the one that reads: 1 to 16 [default: number of cores]
    #[arg(long, help_heading = RUN, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub workers: Option<u8>,

    /// Compare every lookup with an exact table, which takes additional memory and time
    #[arg(long, help_heading = OUTPUT)]
    pub verify: bool,

    /// Measure the error of the store on this many flows, beside an exact table of those; or none
    #[arg(long, help_heading = OUTPUT, value_name = "FLOWS|none", default_value = "4096", value_parser = parse_sample)]
    pub sample: SampleChoice,

    /// Show each packet between two addresses, with the state in the store and the true state
    #[arg(long, help_heading = OUTPUT, value_name = "SRC,DST", value_parser = parse_watch)]
    pub watch: Option<Watch>,

    /// Write alerts as EVE JSON lines to this file, or - for standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE")]
    pub alerts: Option<PathBuf>,

    /// Show single alerts too; without it, incidents and a summary
    #[arg(long, help_heading = OUTPUT)]
    pub all: bool,

    /// Show the first FIN and the first RST of every flow, one line each; preset paper does
    #[arg(long, help_heading = OUTPUT)]
    pub marks: bool,

    /// Your own networks (10.0.0.0/8,2001:db8::/32): scans from inside are graver than scans from outside
    /// [default: private addresses (RFC 1918, fc00::/7)]
    #[arg(long, help_heading = OUTPUT, value_name = "NETS", value_delimiter = ',')]
    pub home_net: Vec<Network>,

    /// Run this in a shell when an incident begins, grows or ends, with its EVE line on standard input
    #[arg(long, help_heading = OUTPUT, value_name = "CMD")]
    pub on_incident: Option<String>,

    /// Print the summary as one JSON document, and no alerts unless --alerts names a file
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,

    /// Options from a TOML file, as `idle-timeout = "30s"`; the command line has precedence
    #[arg(long, help_heading = RUN, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// No progress bar, no warnings; the result on standard output stays
    #[arg(short, long, help_heading = OUTPUT, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Print the configuration of the store before starting, and at the end how it went inside
    #[arg(short, long, help_heading = OUTPUT)]
    pub verbose: bool,
}

/// Flows in a sample, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleChoice(Option<u64>);

/// The most flows of a sample, which takes about 250 bytes for each.
const SAMPLE_FLOWS_MAX: u64 = 1 << 24;

fn parse_sample(text: &str) -> Result<SampleChoice, String> {
    match text {
        "none" => Ok(SampleChoice(None)),
        text => match parse_count(text) {
            Ok(flows @ 1..=SAMPLE_FLOWS_MAX) => Ok(SampleChoice(Some(flows))),
            Ok(_) => Err(format!("a sample has 1 to {SAMPLE_FLOWS_MAX} flows")),
            Err(error) => Err(format!("{error}; write a number of flows (4096), or none")),
        },
    }
}

fn parse_watch(text: &str) -> Result<Watch, String> {
    let addresses = text.split_once(',').and_then(|(src, dst)| {
        let parse = |text: &str| text.trim().parse::<IpAddr>().ok();
        Some(Watch(parse(src)?, parse(dst)?))
    });
    addresses.ok_or_else(|| format!("`{text}` is not SRC,DST; write two addresses"))
}

impl RunArgs {
    /// The configuration of the run, and the size of its store.
    pub fn plan(&self, seed: Seed) -> anyhow::Result<(RunPlan, Sizing)> {
        if self.json && self.alerts_on_stdout() {
            let both = anyhow::anyhow!("--json and --alerts - would both write to standard output");
            return Err(Usage::new(both).into());
        }
        let (preset, keyer) = (self.rules.preset, self.rules.keyer(seed));
        let active = self.active(keyer.kind)?;
        let machine = &active.rules.machine;
        let (states, held) = (machine.states().len(), machine.held());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let plan = RunPlan {
            store: self.store.spec(preset, states, held),
            active: Arc::new(active),
            keyer,
            phase: self.store.shape.phase(preset),
            startup_nanos: self.store.shape.startup_nanos(preset),
            watch: self.watch,
            seed,
            touch_absent: self.store.shape.touches_absent(),
            workers: self.workers.map_or(cores.min(16), usize::from),
            top_talkers: false,
            verify: self.verify,
            sample: self.sample.0,
            stopwatch: stopwatch_nanos,
        };
        self.store.check_variants(plan.store.backend).map_err(spec_message::usage)?;
        let sizing = plan
            .store
            .sizing()
            .map_err(|error| spec_message::usage(self.store.with_pending(error, preset)))?;
        self.announce(&plan, &sizing);
        Ok((plan, sizing))
    }

    /// The rules, and what is shown of them.
    pub fn active(&self, kind: FlowKeyKind) -> anyhow::Result<ActiveRules> {
        let mut active = self.rules.active(kind)?;
        if self.marks {
            active.shown = active.shown.union(active.rules.list.of_kind(RuleKind::Mark));
        }
        if !self.home_net.is_empty() {
            active.home = HomeNets::new(self.home_net.clone());
        }
        Ok(active)
    }

    /// Which alerts are written as text.
    pub fn text_alerts(&self) -> TextAlerts {
        if self.all { TextAlerts::All } else { TextAlerts::Marks }
    }

    /// The program that is told of incidents.
    pub fn incident_command(&self) -> Option<IncidentCommand> {
        self.on_incident.as_deref().map(IncidentCommand::new)
    }

    fn announce(&self, plan: &RunPlan, sizing: &Sizing) {
        if self.verbose {
            stderr::message(format_args!("acsm: {}", describe(plan, sizing)));
        }
        if self.store.memory.is_some() && self.store.flows.is_none() && !self.quiet {
            let flows = grouped(plan.store.flows);
            stderr::message(format_args!(
                "acsm: --memory without --flows: made for {flows} flows alive at once"
            ));
        }
        if plan.store.backend == Backend::Exact && self.store.fp_rate.is_some() && !self.quiet {
            stderr::message("acsm: warning: --fp-rate means nothing for exact, which does not err");
        }
    }

    /// Whether `--alerts` names standard output.
    pub fn alerts_on_stdout(&self) -> bool {
        self.alerts.as_deref() == Some(Path::new("-"))
    }

    /// Where alerts go; `default` if the options do not say.
    pub fn alert_destination(&self, default: AlertDestination) -> AlertDestination {
        AlertDestination::choose(self.alerts.as_deref(), self.json, default)
    }

    /// The prediction for the store; warns if it held more flows than it was sized for.
    pub fn predict(&self, plan: &RunPlan, sizing: &Sizing, outcome: &RunResult) -> Prediction {
        let (lookups, live) = (&outcome.shards.lookups, outcome.store.live);
        let prediction = Prediction::new(plan, sizing, lookups, live);
        if let Some(overload) = prediction.overload(outcome.store.full).filter(|_| !self.quiet) {
            stderr::message(format_args!("acsm: warning: {overload}"));
        }
        prediction
    }

    /// Prints the summary: `document` with `--json`, else what `write` writes; to standard error if
    /// EVE lines go to standard output.
    pub fn print_summary(
        &self,
        destination: &AlertDestination,
        document: &impl serde::Serialize,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        match destination {
            _ if self.json => output::json_to_stdout(document),
            AlertDestination::EveOnStdout => {
                if !self.quiet {
                    // A closed standard error is no reason to fail.
                    let _ = write(&mut anstream::stderr());
                }
                Ok(ExitCode::SUCCESS)
            }
            _ => output::to_stdout(|out| write(out)),
        }
    }
}

/// The outcome of a run; `None` if the reader of the alerts closed the pipe.
pub fn outcome(
    result: Result<RunResult, RunError>,
    destination: &AlertDestination,
) -> anyhow::Result<Option<RunResult>> {
    match result {
        Err(RunError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        Err(error @ RunError::Output(_)) => Err(error).with_context(|| destination.name()),
        result => Ok(Some(result?)),
    }
}

/// The store of `plan` in one line, for `--verbose`.
fn describe(plan: &RunPlan, sizing: &Sizing) -> String {
    let (backend, memory) = (plan.store.backend.name(), bytes(sizing.bits / 8));
    let flows = grouped(plan.store.flows);
    let (cells, bits) = (grouped(sizing.cells), sizing.cell_bits);
    let cells = match (plan.store.backend.has_cells(), sizing.hashes) {
        (_, 0) => String::new(),
        (false, _) => format!(": {cells} slots of {bits} bits, one per flow"),
        (true, k) => format!(": {cells} cells of {bits} bits, {k} per flow"),
    };
    let planned = Prediction::new(plan, sizing, &Lookups::default(), 0.0).planned;
    let theory = match sizing.hashes {
        0 => String::new(),
        _ => format!("; by theory {planned:.1e} of lookups wrong at that many"),
    };
    let pending = plan.store.pending.map_or(String::new(), |slots| {
        format!("; {} for pending flows", bytes(PendingTable::bits(slots) / 8))
    });
    let workers = plan.workers;
    format!("{backend}, {memory} for {flows} flows{cells}{theory}{pending}; {workers} workers")
}
