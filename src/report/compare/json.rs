//! The document of `acsm compare --json`, which is also `report.json`.

use std::io::{self, Write};

use serde::Serialize;

use crate::engine::ErrorKind;
use crate::engine::compare::{Comparison, Feedback, RateIntervals, RunOutcome, StepCounts};
use crate::report::replay::ErrorReport;
use crate::report::trace::TraceReport;
use crate::seed::Seed;
use crate::time::NANOS_PER_SEC;
use acsm_filters::{Sizing, StoreSpec};
use acsm_model::{StateMix, bound};

/// The document that `acsm compare --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareReport {
    /// The trace that was read.
    pub trace: TraceReport,
    /// The options of the comparison.
    pub parameters: Parameters,
    /// The load that the trace puts on a store: the same for every run.
    pub load: Load,
    /// The conclusions, one sentence each.
    pub answer: Vec<String>,
    /// One entry per store, rate, loop, equal quantity and seed.
    pub runs: Vec<Run>,
}

/// The options of the comparison, enough to repeat it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/json.md describes each key
pub struct Parameters {
    pub version: String,
    /// The command line that repeats this report.
    pub command: String,
    pub preset: String,
    pub rules: String,
    pub flow_key: String,
    /// Names of the states of the machine.
    pub states: Vec<String>,
    pub flows: u64,
    pub expire: String,
    pub idle_timeout_seconds: Option<f64>,
    pub layout: String,
    pub seeds: Vec<Seed>,
}

/// The load that the trace puts on a store, counted exactly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// Number of distinct flows.
    pub flows_total: u64,
    /// Peak number of flows alive at once.
    pub flows_peak: u64,
    /// Length of the trace.
    pub seconds: f64,
    /// Share of lookups of extant flows that found each state, in the order of `parameters.states`.
    pub state_shares: Vec<f64>,
    /// Entropy of these shares: the fewest bits that the state of a flow takes.
    pub state_entropy_bits: f64,
    /// Alerts of the machine's rules with an exact table.
    pub alerts: u64,
}

/// The result of one store over the whole trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Run {
    /// `kbf`, `sbf`, ….
    pub backend: String,
    /// `literal`, `paper-kbf`, …; `None` for the default rules.
    pub variant: Option<String>,
    pub fp_rate: f64,
    /// `cells` or `memory`: the quantity that is equal for the runs of one rate.
    pub equal: String,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub feedback: String,
    pub seed: Seed,
    pub layout: String,
    pub expire: String,
    pub cells: u64,
    pub hashes: usize,
    pub cell_bits: u32,
    pub bits: u64,
    pub bits_per_flow: f64,
    /// The information-theoretic lower bound at the measured rate of absent flows not reported as
    /// absent; `None` if that rate is zero.
    pub bound_bits_per_flow: Option<f64>,
    pub errors: ErrorReport,
    /// 95 % intervals of the rates, by resampling flows.
    pub interval: Intervals,
    pub spurious_alerts_per_hour: f64,
    pub missed_alerts_per_hour: f64,
    /// Errors and fill ratio over trace time, in equal steps.
    pub timeline: Vec<Moment>,
    pub seconds: f64,
}

/// A confidence interval for each rate of [`ErrorReport`], and for the share of flows with any error.
/// Zero errors in n lookups are stated as 0 to 3/n.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Intervals {
    pub false_positive_rate: [f64; 2],
    pub dont_know_absent_rate: [f64; 2],
    pub false_negative_rate: [f64; 2],
    pub dont_know_rate: [f64; 2],
    pub false_return_rate: [f64; 2],
    pub total_rate: [f64; 2],
    pub flows_wrong_rate: [f64; 2],
}

/// One step of trace time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Moment {
    /// The step's end, in seconds from the first packet.
    pub at_seconds: f64,
    /// Lookups in this step.
    pub lookups: u64,
    /// Errors of any kind in this step.
    pub errors: u64,
    /// Share of the store in use at its end.
    pub fill_ratio: f64,
}

/// An entry of the report, and the engine's run that it shows. Two entries can show the same run: a
/// store that has the same size at equal cells and at equal memory.
#[derive(Debug, Clone)]
pub struct RunLabel {
    /// The variant of the store; `None` for the default.
    pub variant: Option<&'static str>,
    /// The false-positive rate it is sized for, or that the store it equals is sized for.
    pub fp_rate: f64,
    /// The quantity that is equal for the runs of one rate.
    pub equal: &'static str,
    /// Open or closed loop.
    pub feedback: Feedback,
    /// The seed.
    pub seed: Seed,
    /// The specification of the store.
    pub spec: StoreSpec,
    /// The size that follows from it.
    pub sizing: Sizing,
    /// Index in [`Comparison::runs`].
    pub run: usize,
}

impl Run {
    /// The store and its variant, as on the command line: `kbf`, `kbf:literal`.
    pub fn store(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{}:{variant}", self.backend),
            None => self.backend.clone(),
        }
    }
}

/// The document on `outcome`, with one entry per label and without conclusions.
pub(super) fn document(
    outcome: &Comparison,
    labels: &[RunLabel],
    trace: TraceReport,
    parameters: Parameters,
) -> CompareReport {
    let span = outcome.frames.span.map_or(0, |(first, last)| last.since(first));
    let seconds = span as f64 / NANOS_PER_SEC as f64;
    let load = load(outcome, parameters.states.len(), seconds);
    let mix = StateMix::new(&load.state_shares);
    let entry = |label: &RunLabel| Some(run(label, outcome.runs.get(label.run)?, seconds, &mix));
    let runs = labels.iter().filter_map(entry).collect();
    CompareReport { trace, parameters, load, answer: Vec::new(), runs }
}

fn load(outcome: &Comparison, states: usize, seconds: f64) -> Load {
    let load = &outcome.load;
    let extant: u64 = load.lookups_extant.iter().sum();
    let share = |count: &u64| if extant == 0 { 0.0 } else { *count as f64 / extant as f64 };
    let state_shares: Vec<f64> = load.lookups_extant.iter().take(states).map(share).collect();
    let known = StateMix::new(&state_shares);
    Load {
        flows_total: load.flows_total,
        flows_peak: load.flows_peak,
        seconds,
        state_entropy_bits: if extant == 0 { 0.0 } else { known.entropy_bits() },
        state_shares,
        alerts: load.alerts,
    }
}

fn run(label: &RunLabel, outcome: &RunOutcome, seconds: f64, mix: &StateMix) -> Run {
    let (spec, sizing) = (&label.spec, &label.sizing);
    let errors = ErrorReport::new(&outcome.errors, outcome.alerts);
    let per_hour = |count: u64| if seconds > 0.0 { count as f64 * 3600.0 / seconds } else { 0.0 };
    // An absent flow is recognised if the answer is "absent"; "don't know" is not enough.
    let absent_error_rate = errors.false_positive_rate + errors.dont_know_absent_rate;
    let bound = || bound::bits_per_flow(absent_error_rate, mix);
    Run {
        backend: spec.backend.name().to_owned(),
        variant: label.variant.map(str::to_owned),
        fp_rate: label.fp_rate,
        equal: label.equal.to_owned(),
        feedback: feedback_name(label.feedback).to_owned(),
        seed: label.seed,
        layout: spec.layout.name().to_owned(),
        expire: spec.expire.name().to_owned(),
        cells: sizing.cells,
        hashes: sizing.hashes,
        cell_bits: sizing.cell_bits,
        bits: sizing.bits,
        bits_per_flow: sizing.bits_per_flow,
        bound_bits_per_flow: (absent_error_rate > 0.0).then(bound),
        errors,
        interval: intervals(&outcome.intervals),
        spurious_alerts_per_hour: per_hour(outcome.alerts.spurious),
        missed_alerts_per_hour: per_hour(outcome.alerts.missed),
        timeline: timeline(outcome, seconds),
        seconds: outcome.nanos as f64 / NANOS_PER_SEC as f64,
    }
}

fn timeline(outcome: &RunOutcome, seconds: f64) -> Vec<Moment> {
    let step_seconds = outcome.timeline.step_nanos as f64 / NANOS_PER_SEC as f64;
    let moment = |(n, step): (usize, &StepCounts)| Moment {
        at_seconds: ((n + 1) as f64 * step_seconds).min(seconds),
        lookups: step.lookups,
        errors: step.errors,
        fill_ratio: step.fill_ratio,
    };
    outcome.timeline.steps.iter().enumerate().map(moment).collect()
}

fn intervals(rates: &RateIntervals) -> Intervals {
    let of = |kind: ErrorKind| rates.of_kind[kind as usize];
    Intervals {
        false_positive_rate: of(ErrorKind::FalsePositive),
        dont_know_absent_rate: of(ErrorKind::DontKnowAbsent),
        false_negative_rate: of(ErrorKind::FalseNegative),
        dont_know_rate: of(ErrorKind::DontKnow),
        false_return_rate: of(ErrorKind::FalseReturn),
        total_rate: rates.total,
        flows_wrong_rate: rates.flows_wrong,
    }
}

/// The value of `loop`.
fn feedback_name(feedback: Feedback) -> &'static str {
    match feedback {
        Feedback::Closed => "closed",
        Feedback::Open => "open",
    }
}

/// Writes `report.json`.
pub(super) fn write(report: &CompareReport, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}
