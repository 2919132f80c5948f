//! `acsm compare`: what the approximation costs, as one document.
//!
//! [`CompareReport`] is the contract: `report.json` is it, and every other output (`report.csv`,
//! `report.html`, the table on a terminal) shows numbers of it and none of its own.

mod answer;
pub mod csv;
mod document;
pub mod html;
pub mod page;

pub use document::{RunLabel, feedback_name};

use serde::Serialize;

use super::replay::ErrorReport;
use super::trace::TraceReport;

/// The one document that `acsm compare --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompareReport {
    /// What was read.
    pub trace: TraceReport,
    /// What was asked.
    pub parameters: Parameters,
    /// What the trace is like to a store: the same for every run.
    pub load: Load,
    /// The answer, in plain sentences.
    pub answer: Vec<String>,
    /// One entry a store, rate, loop, way of being equal, and seed.
    pub runs: Vec<Run>,
}

/// What was asked, so that it can be asked again.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/json.md describes each name
pub struct Parameters {
    pub version: String,
    /// The command line that gives this report again.
    pub command: String,
    pub preset: String,
    pub rules: String,
    pub flow_key: String,
    /// Names of the machine's states.
    pub states: Vec<String>,
    pub flows: u64,
    pub expire: String,
    pub idle_timeout_seconds: Option<f64>,
    pub layout: String,
    pub seeds: Vec<u64>,
}

/// What the trace asks of a store, counted exactly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// Flows that ever were.
    pub flows_total: u64,
    /// The most that were alive at once.
    pub flows_peak: u64,
    /// Length of the trace.
    pub seconds: f64,
    /// Part of extant lookups that found each state, in the order of `parameters.states`.
    pub state_shares: Vec<f64>,
    /// Entropy of these shares: what the state of a flow takes at least.
    pub state_entropy_bits: f64,
    /// Alerts of the machine's rules that an exact table raises.
    pub alerts: u64,
}

/// One store through the whole trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Run {
    /// `kbf`, `sbf`, ….
    pub backend: String,
    /// `literal`, `paper-kbf`, …; none for the default rules.
    pub variant: Option<String>,
    pub fp_rate: f64,
    /// `cells` or `memory`: what this run has in common with the others of its rate.
    pub equal: String,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub feedback: String,
    pub seed: u64,
    pub layout: String,
    pub expire: String,
    pub cells: u64,
    pub hashes: usize,
    pub cell_bits: u32,
    pub bits: u64,
    pub bits_per_flow: f64,
    /// What information theory asks for at this run's measured false-positive rate; none if none
    /// was seen.
    pub bound_bits_per_flow: Option<f64>,
    pub errors: ErrorReport,
    /// 95 % intervals of the rates, by resampling flows.
    pub interval: Intervals,
    pub spurious_alerts_per_hour: f64,
    pub missed_alerts_per_hour: f64,
    /// Error and fill over trace time, in equal steps.
    pub timeline: Vec<Moment>,
    pub seconds: f64,
}

/// An interval for each rate of [`ErrorReport`], and for the part of flows with any error.
/// "None seen" in n lookups is stated as 0 to 3/n.
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
    /// Part of the store in use at its end.
    pub fill_ratio: f64,
}
