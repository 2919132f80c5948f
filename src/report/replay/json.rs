//! The document of `acsm replay --json`.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::prediction::Prediction;
use crate::engine::{
    AlertDifference, Errors, Incidents, Lookups, MeasuredError, Measurement, OverloadTotals,
    RunPlan, RunResult,
};
use crate::report::alert::IncidentFacts;
use crate::report::trace::TraceReport;
use crate::seed::Seed;
use acsm_filters::pending::{PendingStats, PendingTable};
use acsm_filters::{Backend, RecycleAt, Sizing};

/// The document that `acsm replay --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/json.md describes each key
pub struct Summary {
    pub trace: TraceReport,
    pub store: StoreReport,
    pub pending: Option<PendingReport>,
    pub flows: FlowReport,
    pub lookups: LookupReport,
    pub alerts: AlertReport,
    pub incidents: Vec<IncidentReport>,
    pub errors: Option<ErrorReport>,
    pub error: CurrentError,
    pub overload: OverloadReport,
    pub speed: Speed,
    /// The seed of a replay. A live run shows its own with its interfaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct StoreReport {
    #[serde(serialize_with = "backend_name")]
    pub backend: Backend,
    pub cells: u64,
    pub hashes: usize,
    pub bits: u64,
    pub bits_per_flow: f64,
    pub layout: &'static str,
    pub expire: &'static str,
    pub workers: usize,
    pub recycle_at: Option<String>,
    pub cell_bits: u32,
    pub table_bits: u64,
    pub fill_ratio: f64,
    /// Predicted error rate of all lookups: at `--flows`, and at the load at the end.
    pub planned_error: f64,
    pub predicted_error: f64,
    /// Violated preconditions, and saturated counters.
    pub inserts_of_present: u64,
    pub writes_to_absent: u64,
    pub saturations: u64,
    pub evicted: u64,
    pub full: u64,
    pub refused: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct PendingReport {
    pub slots: u64,
    pub bits: u64,
    pub used: u64,
    /// `None` if no flow arrived in the last second.
    pub lifetime_seconds: Option<f64>,
    pub inserted: u64,
    pub admitted: u64,
    pub retired: u64,
    pub lost: u64,
}

impl PendingReport {
    /// Of these counts; `lifetime_seconds` at the rate of the last second.
    pub fn new(stats: PendingStats, lifetime_seconds: Option<f64>) -> PendingReport {
        let PendingStats { slots, used, inserted, admitted, retired, lost } = stats;
        let bits = PendingTable::bits(slots);
        PendingReport { slots, bits, used, lifetime_seconds, inserted, admitted, retired, lost }
    }
}

/// Times in which new flows were too many for the pending table or the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct OverloadReport {
    pub entered: u64,
    pub over: u64,
    pub seconds: u64,
}

impl From<OverloadTotals> for OverloadReport {
    fn from(totals: OverloadTotals) -> OverloadReport {
        let OverloadTotals { entered, over, seconds, .. } = totals;
        OverloadReport { entered, over, seconds }
    }
}

/// The error of the store at the end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurrentError {
    /// On a sample of flows; `None` with `--sample none`.
    pub measured: Option<MeasuredReport>,
}

/// The error of the last minute, measured on a sample of flows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct MeasuredReport {
    pub wrong: u64,
    pub asked: u64,
    pub flows: u64,
    pub low: f64,
    pub high: f64,
    pub worst: f64,
}

impl MeasuredReport {
    /// The share of wrong answers; 0 without lookups.
    pub fn rate(&self) -> f64 {
        self.wrong as f64 / self.asked.max(1) as f64
    }

    /// Whether so few flows were sampled that a prediction may say more.
    pub fn is_thin(&self) -> bool {
        self.flows < MeasuredError::FLOWS_MIN
    }
}

impl From<Measurement> for MeasuredReport {
    fn from(measurement: Measurement) -> MeasuredReport {
        let MeasuredError { wrong, asked, flows, low, high, .. } = measurement.last;
        MeasuredReport { wrong, asked, flows, low, high, worst: measurement.worst }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct FlowReport {
    pub inserted: u64,
    pub deleted: u64,
    pub live: u64,
    pub live_estimated: bool,
    pub recycles: u64,
    pub moved: u64,
    pub cells_aged: u64,
    pub cells_shared: u64,
    pub reset_ignored: u64,
    /// Flows with a FIN, and with a RST, by the store's own word.
    pub fin: u64,
    pub rst: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LookupReport {
    pub known: u64,
    pub absent: u64,
    pub dont_know: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct AlertReport {
    pub total: u64,
    pub by_rule: Map<String, Value>,
    /// Alerts of rules that the preset disables: counted, not shown.
    pub only_counted: Map<String, Value>,
    /// Suppressed alerts, by reason.
    pub left_out: Map<String, Value>,
    /// What did not fit in the thresholds' bounded memory.
    pub thresholds: ThresholdReport,
}

/// An incident, with the number that `--incident` takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IncidentReport {
    number: usize,
    id: String,
    #[serde(flatten)]
    facts: IncidentFacts,
}

impl IncidentReport {
    fn list(incidents: &Incidents) -> Vec<IncidentReport> {
        let numbered = incidents.list.iter().zip(1..);
        numbered
            .map(|(incident, number)| IncidentReport {
                number,
                id: incident.id.to_string(),
                facts: IncidentFacts::new(incident, |time| time.to_string()),
            })
            .collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Speed {
    pub seconds: f64,
    pub packets_per_second: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct ThresholdReport {
    pub unwatched: u64,
    pub evicted_keys: u64,
    pub counted_in_silence: u64,
}

/// Input of a summary besides the outcome of the run.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The configuration of the run.
    pub plan: &'a RunPlan,
    /// The size of its store.
    pub sizing: Sizing,
    /// The predicted error of its store.
    pub prediction: Prediction,
    /// The trace that was read.
    pub trace: TraceReport,
    /// Duration of the run.
    pub seconds: f64,
}

impl Summary {
    /// Summarises `outcome`.
    pub fn new(outcome: &RunResult, context: Context<'_>) -> Self {
        let packets = context.trace.packets as f64;
        let seconds = context.seconds;
        let packets_per_second = if seconds > 0.0 { packets / seconds } else { 0.0 };
        let stats = &outcome.store;
        let errors = outcome.errors.as_ref();
        Summary {
            store: store_report(outcome, &context),
            pending: outcome
                .pending
                .map(|stats| PendingReport::new(stats, outcome.pending_lifetime_seconds)),
            flows: FlowReport {
                inserted: stats.inserted,
                deleted: stats.deleted,
                live: stats.live.round() as u64,
                live_estimated: stats.live_estimated,
                recycles: stats.recycles,
                moved: stats.moved,
                cells_aged: stats.cells_aged,
                cells_shared: stats.cells_shared,
                reset_ignored: outcome.shards.resets_ignored,
                fin: marked(outcome, &context, "flow_fin"),
                rst: marked(outcome, &context, "flow_rst"),
            },
            lookups: outcome.shards.lookups.into(),
            alerts: alert_report(outcome, &context),
            incidents: IncidentReport::list(&outcome.alerts.incidents),
            errors: errors.map(|errors| {
                ErrorReport::new(errors, outcome.alerts.difference.unwrap_or_default())
            }),
            error: CurrentError { measured: outcome.measured.map(MeasuredReport::from) },
            overload: outcome.overloads.into(),
            speed: Speed { seconds, packets_per_second },
            trace: context.trace,
            seed: None,
        }
    }
}

fn store_report(outcome: &RunResult, context: &Context<'_>) -> StoreReport {
    let (spec, sizing, stats) = (&context.plan.store, &context.sizing, &outcome.store);
    // An exact table without a memory limit may have grown beyond its initial size.
    let (cells, bits) = match spec.backend {
        Backend::Exact => (stats.cells, stats.cells.saturating_mul(sizing.cell_bits.into())),
        _ => (sizing.cells, sizing.bits),
    };
    StoreReport {
        backend: spec.backend,
        cells,
        hashes: sizing.hashes,
        bits,
        bits_per_flow: bits as f64 / spec.flows as f64,
        layout: spec.layout.name(),
        expire: spec.expire.name(),
        recycle_at: sizing.recycle_at.as_ref().map(RecycleAt::to_string),
        workers: context.plan.workers,
        cell_bits: sizing.cell_bits,
        table_bits: sizing.table_bits,
        fill_ratio: stats.fill_ratio(),
        planned_error: context.prediction.planned,
        predicted_error: context.prediction.now,
        inserts_of_present: stats.inserts_of_present,
        writes_to_absent: stats.writes_to_absent,
        saturations: stats.saturations,
        evicted: stats.evicted,
        full: stats.full,
        refused: outcome.shards.refused,
    }
}

/// How often a mark came, shown or not: marks know no limit but what a user does not want to see.
fn marked(outcome: &RunResult, context: &Context<'_>, mark: &str) -> u64 {
    let Some(rule) = context.plan.active.rules.list.find(mark) else { return 0 };
    let index = usize::from(rule.id.0);
    let of = |counts: &[u64]| counts.get(index).copied().unwrap_or(0);
    of(&outcome.alerts.raised) + of(&outcome.shards.only_counted)
}

fn alert_report(outcome: &RunResult, context: &Context<'_>) -> AlertReport {
    let list = &context.plan.active.rules.list;
    let by_name = |counts: &[u64]| {
        let named = list.iter().zip(counts).filter(|(_, count)| **count > 0);
        named.map(|(rule, count)| (rule.name.clone(), Value::from(*count))).collect()
    };
    let reasons = outcome.alerts.suppressed.by_reason();
    let losses = outcome.losses;
    AlertReport {
        thresholds: ThresholdReport {
            unwatched: losses.unwatched,
            evicted_keys: losses.evicted_keys,
            counted_in_silence: losses.suppressed,
        },
        total: outcome.alerts.shown.iter().sum(),
        by_rule: by_name(&outcome.alerts.shown),
        only_counted: by_name(&outcome.shards.only_counted),
        left_out: reasons.map(|(why, count)| (why.to_owned(), count.into())).into_iter().collect(),
    }
}

impl From<Lookups> for LookupReport {
    fn from(lookups: Lookups) -> Self {
        let Lookups { known, absent, dont_know } = lookups;
        LookupReport { known, absent, dont_know }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
fn backend_name<S: Serializer>(backend: &Backend, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(backend.name())
}

/// The errors of a store compared with an exact table, with a rate of each kind; in the documents of
/// `replay --verify` and `compare`. A rate with denominator 0 is 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/json.md describes each key; counted by `Errors`
pub struct ErrorReport {
    pub lookups_extant: u64,
    pub lookups_absent: u64,
    pub false_positive: u64,
    pub dont_know_absent: u64,
    pub false_negative: u64,
    pub dont_know: u64,
    pub false_return: u64,
    pub false_positive_rate: f64,
    pub dont_know_absent_rate: f64,
    pub false_negative_rate: f64,
    pub dont_know_rate: f64,
    pub false_return_rate: f64,
    pub total_rate: f64,
    pub flows_wrong: u64,
    pub flows_total: u64,
    pub alerts_missed: u64,
    pub alerts_spurious: u64,
}

impl ErrorReport {
    /// The counts and rates of `errors`, and the difference in alerts.
    pub fn new(errors: &Errors, alerts: AlertDifference) -> Self {
        let rate =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let of_absent = |part| rate(part, errors.lookups_absent);
        let of_extant = |part| rate(part, errors.lookups_extant);
        ErrorReport {
            lookups_extant: errors.lookups_extant,
            lookups_absent: errors.lookups_absent,
            false_positive: errors.false_positive,
            dont_know_absent: errors.dont_know_absent,
            false_negative: errors.false_negative,
            dont_know: errors.dont_know,
            false_return: errors.false_return,
            false_positive_rate: of_absent(errors.false_positive),
            dont_know_absent_rate: of_absent(errors.dont_know_absent),
            false_negative_rate: of_extant(errors.false_negative),
            dont_know_rate: of_extant(errors.dont_know),
            false_return_rate: of_extant(errors.false_return),
            total_rate: rate(errors.total(), errors.lookups()),
            flows_wrong: errors.flows_wrong,
            flows_total: errors.flows_total,
            alerts_missed: alerts.missed,
            alerts_spurious: alerts.spurious,
        }
    }
}
