//! The options of one run of the engine, whether over captures or live.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use super::rule_args::RuleArgs;
use super::store_args::StoreArgs;
use super::{Usage, output, spec_message, stopwatch};
use crate::engine::{Lookups, Outcome, RunError, RunPlan, Watch};
use crate::report::replay::{Prediction, Summary, page};
use crate::report::text::{bytes, grouped};
use acsm_filters::{Backend, Sizing};

/// Headings of the help.
pub const OUTPUT: &str = "Output";
pub const RUN: &str = "Run";

/// What to look for, where to keep state, what to say.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Threads, the one that reads among them: 1 to 16 [default: number of cores]
    #[arg(long, help_heading = RUN, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub workers: Option<u8>,

    /// Compare every answer with an exact table, which takes its own memory and time
    #[arg(long, help_heading = OUTPUT)]
    pub verify: bool,

    /// Show each step between two addresses, with what the store says and what is true
    #[arg(long, help_heading = OUTPUT, value_name = "SRC,DST", value_parser = parse_watch)]
    pub watch: Option<Watch>,

    /// Write alerts as EVE JSON lines to this file, or - for standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE")]
    pub alerts: Option<PathBuf>,

    /// Print the summary as one JSON document, and no alerts unless --alerts names a file
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,

    /// Options from a TOML file, as `idle-timeout = "30s"`; the command line wins
    #[arg(long, help_heading = RUN, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// No progress bar, no warnings
    #[arg(short, long, help_heading = OUTPUT, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say what the store is made of before starting
    #[arg(short, long, help_heading = OUTPUT)]
    pub verbose: bool,
}

fn parse_watch(text: &str) -> Result<Watch, String> {
    let addresses = text.split_once(',').and_then(|(src, dst)| {
        let parse = |text: &str| text.trim().parse::<IpAddr>().ok();
        Some(Watch(parse(src)?, parse(dst)?))
    });
    addresses.ok_or_else(|| format!("`{text}` is not SRC,DST; write two addresses"))
}

impl RunArgs {
    /// What the run goes by, and what its store comes to.
    pub fn plan(&self, seed: u64) -> anyhow::Result<(RunPlan, Sizing)> {
        if self.json && self.alerts_on_stdout() {
            let both = anyhow::anyhow!("--json and --alerts - would both write to standard output");
            return Err(Usage::new(both).into());
        }
        let keyer = self.rules.keyer(seed);
        let rules = self.rules.load(keyer.kind)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let plan = RunPlan {
            store: self.store.spec(self.rules.default_backend(), rules.machine.states().len()),
            shown: rules.list.on_in(self.rules.preset()),
            suppressions: self.rules.suppressions(&rules)?,
            keyer,
            phase: self.store.shape.phase(),
            startup_nanos: self.store.shape.idle_timeout,
            watch: self.watch,
            seed,
            touch_absent: self.store.shape.touches_absent(),
            workers: self.workers.map_or(cores.min(16), usize::from),
            top_talkers: false,
            verify: self.verify,
            stopwatch: stopwatch::nanos,
            rules,
        };
        self.store.check_variants(plan.store.backend).map_err(spec_message::usage)?;
        let sizing = plan.store.sizing().map_err(spec_message::usage)?;
        self.announce(&plan, &sizing);
        Ok((plan, sizing))
    }

    fn announce(&self, plan: &RunPlan, sizing: &Sizing) {
        if self.verbose {
            output::say(format_args!("acsm: {}", describe(plan, sizing)));
        }
        if plan.store.backend == Backend::Exact && self.store.fp_rate.is_some() && !self.quiet {
            output::say("acsm: warning: --fp-rate means nothing for exact, which does not err");
        }
    }

    /// Whether `--alerts` names standard output.
    pub fn alerts_on_stdout(&self) -> bool {
        self.alerts.as_deref() == Some(Path::new("-"))
    }

    /// A bar and lines of text on one terminal would garble each other.
    pub fn alerts_on_terminal(&self) -> bool {
        let to_stdout = self.alerts_on_stdout() || self.alerts.is_none() && !self.json;
        to_stdout && io::stdout().is_terminal()
    }

    /// What alerts go to, in words.
    pub fn alerts_name(&self) -> String {
        match &self.alerts {
            Some(path) if !self.alerts_on_stdout() => format!("--alerts {}", path.display()),
            _ => "alerts on standard output".to_owned(),
        }
    }

    /// What came of a run; `None` if whoever read the alerts has seen enough.
    pub fn outcome(&self, result: Result<Outcome, RunError>) -> anyhow::Result<Option<Outcome>> {
        match result {
            Err(RunError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            Err(error @ RunError::Output(_)) => Err(error).with_context(|| self.alerts_name()),
            result => Ok(Some(result?)),
        }
    }

    /// What theory expects of the store; says so if it had more flows than it was made for.
    pub fn predict(&self, plan: &RunPlan, sizing: &Sizing, outcome: &Outcome) -> Prediction {
        let (lookups, live) = (&outcome.tally.lookups, outcome.stats.live);
        let prediction = Prediction::new(plan, sizing, lookups, live);
        if let Some(overload) = prediction.overload(outcome.stats.full).filter(|_| !self.quiet) {
            output::say(format_args!("acsm: warning: {overload}"));
        }
        prediction
    }

    /// The summary is data, unless alerts have standard output for themselves.
    pub fn print(&self, summary: &Summary, outcome: &Outcome) -> anyhow::Result<ExitCode> {
        if self.json {
            return output::json_to_stdout(summary);
        }
        if self.alerts_on_stdout() {
            if !self.quiet {
                // Whoever closed standard error does not want to see it.
                let _ = page::write(&mut anstream::stderr(), summary, outcome);
            }
            return Ok(ExitCode::SUCCESS);
        }
        output::to_stdout(|out| {
            if self.alerts.is_none() && summary.alerts.total > 0 {
                writeln!(out)?;
            }
            page::write(out, summary, outcome)
        })
    }
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
    let planned = Prediction::new(plan, sizing, &Lookups::default(), 0.0).planned;
    let theory = match sizing.hashes {
        0 => String::new(),
        _ => format!("; by theory {planned:.1e} of lookups wrong at that many"),
    };
    format!("{backend}, {memory} for {flows} flows{cells}{theory}; {} workers", plan.workers)
}
