//! The document of `acsm compare --json`, which is also `report.json`.

use std::io::{self, Write};

use serde::Serialize;

use crate::engine::compare::{Census, Feedback};
use crate::report::replay::ErrorReport;
use crate::report::trace::TraceReport;
use crate::seed::Seed;
use acsm_filters::{Sizing, StoreSpec};

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
    /// What limits the conclusions, one sentence each.
    pub warnings: Vec<String>,
    /// One entry per store, rate, loop, equal quantity and seed.
    pub runs: Vec<Run>,
    /// Stores compared seed by seed.
    pub pairs: Vec<Pair>,
    /// Runs of one rate with stores for half and for twice as many flows.
    pub other_sizes: Vec<Run>,
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
    /// Whether the first two idle timeouts are left out of all counts.
    pub warm_up: bool,
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
    /// The part of the lookups of extant flows that "always the commonest state" gets wrong.
    pub commonest_state_error: f64,
    /// How many equal flows the lookups are worth: (Σw)² / Σw², with w the lookups of a flow.
    pub effective_lookups: EffectiveReport,
    /// How large a table would have to be that gives up the flow idle longest.
    pub working_set: Vec<WorkingSet>,
    /// Alerts of the machine's rules with an exact table.
    pub alerts: u64,
}

/// The effective number of lookups, by what is true of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct EffectiveReport {
    pub extant: f64,
    pub absent: f64,
    pub all: f64,
}

/// A table that gives up the flow idle longest, and the error that it has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkingSet {
    /// `lookups` of extant flows, or `flows` with any error.
    pub of: String,
    /// The part of them that is not answered, at most.
    pub error: f64,
    /// Entries of the table.
    pub entries: u64,
    /// Its memory.
    pub bits: u64,
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
    /// Whether the store is compared with the others by this quantity: stores without cells are
    /// not, where cells are equal.
    pub ranked: bool,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub feedback: String,
    pub seed: Seed,
    /// How many flows it is sized for.
    pub flows: u64,
    pub layout: String,
    pub expire: String,
    pub cells: u64,
    pub hashes: usize,
    pub cell_bits: u32,
    pub bits: u64,
    /// Tables to decode cells with: a fixed size.
    pub table_bits: u64,
    /// The cache of lookups before the store: a fixed size.
    pub cache_bits: u64,
    pub bits_per_flow: f64,
    /// What a full store of this size answers about absent flows.
    pub capacity: Capacity,
    /// What a full table of fingerprints takes for the rate of false positives at capacity;
    /// `None` if none was seen.
    pub bound_bits_per_flow: Option<f64>,
    pub errors: ErrorReport,
    /// The range of each rate over seeds.
    pub interval: Ranges,
    /// What was answered about each flow at the end of the trace.
    pub census: CensusReport,
    pub spurious_alerts_per_hour: f64,
    pub missed_alerts_per_hour: f64,
    /// Errors and fill ratio over trace time, in equal steps.
    pub timeline: Vec<Moment>,
    pub seconds: f64,
}

/// Smallest and largest rate over seeds. None seen in s seeds is 0 to 3 / (s · n): n is the effective
/// number of lookups, or for `flows_wrong_rate` the number of flows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
#[allow(missing_docs)]
pub struct Ranges {
    pub false_positive_rate: [f64; 2],
    pub dont_know_absent_rate: [f64; 2],
    pub false_negative_rate: [f64; 2],
    pub dont_know_rate: [f64; 2],
    pub false_return_rate: [f64; 2],
    pub total_rate: [f64; 2],
    pub flows_wrong_rate: [f64; 2],
    /// False negatives and "don't know" together: the papers' false negatives.
    pub null_rate: [f64; 2],
}

/// Two stores of one table, compared seed by seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/json.md describes each key
pub struct Pair {
    pub equal: String,
    #[serde(rename = "loop")]
    pub feedback: String,
    pub fp_rate: f64,
    pub store: String,
    pub against: String,
    pub flows_wrong: PairedDifference,
    pub null_rate: PairedDifference,
    pub total_rate: PairedDifference,
    pub held_not_right: PairedDifference,
}

/// One figure of a store against that of another, seed by seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The median over seeds of its figure divided by the other's; `None` where the other's is zero and its own is not.
    pub median_ratio: Option<f64>,
    /// Seeds in which its figure is smaller.
    pub better: usize,
    /// Seeds in which it is larger.
    pub worse: usize,
    /// Seeds.
    pub seeds: usize,
}

/// What a store filled with as many flows as it is sized for answers about others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Capacity {
    /// Flows asked about.
    pub asked: u64,
    /// Answers other than "absent".
    pub found: u64,
    /// The part that they are.
    pub false_positive_rate: f64,
}

/// The answers at the end of the trace: about every flow that the exact table holds, then about as many that
/// are gone, then about as many that never came. "Found" is any answer but "absent".
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct CensusReport {
    pub held: u64,
    pub held_right: u64,
    pub held_wrong: u64,
    pub held_undecided: u64,
    pub held_absent: u64,
    pub gone: u64,
    pub gone_found: u64,
    pub unseen: u64,
    pub unseen_found: u64,
    pub never_inserted: u64,
    pub fin: u64,
    pub fin_right: u64,
    pub rst: u64,
    pub rst_right: u64,
}

impl From<&Census> for CensusReport {
    fn from(census: &Census) -> CensusReport {
        CensusReport {
            held: census.held,
            held_right: census.held_right,
            held_wrong: census.held_wrong,
            held_undecided: census.held_undecided,
            held_absent: census.held_absent,
            gone: census.gone,
            gone_found: census.gone_found,
            unseen: census.unseen,
            unseen_found: census.unseen_found,
            never_inserted: census.never_inserted,
            fin: census.fin,
            fin_right: census.fin_right,
            rst: census.rst,
            rst_right: census.rst_right,
        }
    }
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
    /// Whether the store is compared with the others by that quantity.
    pub ranked: bool,
    /// Open or closed loop.
    pub feedback: Feedback,
    /// The seed.
    pub seed: Seed,
    /// The specification of the store.
    pub spec: StoreSpec,
    /// The size that follows from it.
    pub sizing: Sizing,
    /// The cache of lookups before it.
    pub cache_bits: u64,
    /// What the right number of flows was multiplied with: 1 but for runs with other sizes.
    pub times: f64,
    /// Index in `Comparison::runs`.
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

    /// Everything that it takes: the store, its tables, the cache before it.
    pub fn memory_bits(&self) -> u64 {
        self.bits.saturating_add(self.table_bits).saturating_add(self.cache_bits)
    }

    /// Whether the two differ in the seed at most.
    pub fn is_repetition_of(&self, other: &Run) -> bool {
        let is_same_store = self.backend == other.backend && self.variant == other.variant;
        let is_same_kind = self.layout == other.layout && self.expire == other.expire;
        is_same_store && is_same_kind && self.is_in_table_of(other)
    }

    /// Whether the two have rate, loop, flows and equal quantity in common.
    pub fn is_in_table_of(&self, other: &Run) -> bool {
        self.fp_rate == other.fp_rate
            && self.equal == other.equal
            && self.feedback == other.feedback
            && self.flows == other.flows
    }

    /// The part of all flows about which the store was ever wrong.
    pub fn flows_wrong_rate(&self) -> f64 {
        ratio(self.errors.flows_wrong, self.errors.flows_total)
    }

    /// Null answers per lookup of an extant flow: false negatives and "don't know", which the kBF papers
    /// call false negatives.
    pub fn null_rate(&self) -> f64 {
        let nulls = self.errors.false_negative.saturating_add(self.errors.dont_know);
        ratio(nulls, self.errors.lookups_extant)
    }

    /// The part of the flows held at the end about which the answer is not right.
    pub fn held_not_right_rate(&self) -> f64 {
        ratio(self.census.held.saturating_sub(self.census.held_right), self.census.held)
    }

    /// The part of the flows that never came that is found at the end: the rate of false positives then.
    pub fn unseen_found_rate(&self) -> f64 {
        ratio(self.census.unseen_found, self.census.unseen)
    }
}

/// A part of a whole; 0 if there is none.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Writes `report.json`.
pub(super) fn write(report: &CompareReport, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}
