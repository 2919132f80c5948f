//! `replay --json`: the names that programs rely on.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ErrorReport, Prediction};
use crate::engine::{Lookups, Outcome, RunPlan};
use crate::report::trace::TraceReport;
use acsm_filters::GateStats;
use acsm_filters::{Backend, RecycleAt, Sizing};

/// The one document that `acsm replay --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // the contract in docs/json.md describes each name
pub struct Summary {
    pub trace: TraceReport,
    pub store: StoreReport,
    pub flows: FlowReport,
    pub lookups: LookupReport,
    pub alerts: AlertReport,
    pub errors: Option<ErrorReport>,
    pub speed: Speed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct StoreReport {
    pub backend: &'static str,
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
    /// What theory says of all lookups: at `--flows`, and at the load at the end.
    pub planned_error: f64,
    pub predicted_error: f64,
    /// Preconditions that did not hold, and counters that stuck.
    pub inserts_of_present: u64,
    pub writes_to_absent: u64,
    pub saturations: u64,
    pub evicted: u64,
    pub full: u64,
    pub gate: Option<GateReport>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct GateReport {
    pub kind: &'static str,
    pub expire: &'static str,
    pub flows: u64,
    pub bits: u64,
    pub held: u64,
    pub passed: u64,
    pub dont_know: u64,
    pub recycles: u64,
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
    /// Rules that are off in the preset: counted, not shown.
    pub only_counted: Map<String, Value>,
    /// Alerts thinned out, by reason.
    pub left_out: Map<String, Value>,
    /// What the thresholds' bounded memory left out.
    pub thresholds: ThresholdReport,
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

/// What a summary needs beyond the outcome of the run.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// What the run went by.
    pub plan: &'a RunPlan,
    /// What its store came to.
    pub sizing: Sizing,
    /// What theory says of it.
    pub prediction: Prediction,
    /// The trace.
    pub trace: TraceReport,
    /// How long it took.
    pub seconds: f64,
}

impl Summary {
    /// The contract's view of `outcome`.
    pub fn new(outcome: &Outcome, context: Context<'_>) -> Self {
        let packets = context.trace.packets as f64;
        let seconds = context.seconds;
        let packets_per_second = if seconds > 0.0 { packets / seconds } else { 0.0 };
        let stats = &outcome.stats;
        let errors = outcome.tally.errors.as_ref();
        Summary {
            store: store_report(outcome, &context),
            flows: FlowReport {
                inserted: stats.inserted,
                deleted: stats.deleted,
                live: stats.live.round() as u64,
                live_estimated: stats.live_estimated,
                recycles: stats.recycles,
                moved: stats.moved,
                cells_aged: stats.cells_aged,
                cells_shared: stats.cells_shared,
            },
            lookups: outcome.tally.lookups.into(),
            alerts: alert_report(outcome, &context),
            errors: errors.map(|errors| {
                ErrorReport::new(errors, outcome.alerts.difference.unwrap_or_default())
            }),
            speed: Speed { seconds, packets_per_second },
            trace: context.trace,
        }
    }
}

fn store_report(outcome: &Outcome, context: &Context<'_>) -> StoreReport {
    let (spec, sizing, stats) = (&context.plan.store, &context.sizing, &outcome.stats);
    // An exact table that is not capped may have grown beyond what it was made for.
    let (cells, bits) = match spec.backend {
        Backend::Exact => {
            let table_bits = stats.cells.saturating_mul(sizing.cell_bits.into());
            (stats.cells, table_bits.saturating_add(sizing.gate_bits))
        }
        _ => (sizing.cells, sizing.bits),
    };
    StoreReport {
        backend: spec.backend.name(),
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
        gate: gate_report(context, stats.gate),
    }
}

fn gate_report(context: &Context<'_>, stats: GateStats) -> Option<GateReport> {
    let store = &context.plan.store;
    store.gate.map(|gate| GateReport {
        kind: gate.name(),
        expire: gate.expire.name(),
        flows: gate.flows_before(store),
        bits: context.sizing.gate_bits,
        held: stats.held,
        passed: stats.passed,
        dont_know: stats.dont_know,
        recycles: stats.recycles,
    })
}

fn alert_report(outcome: &Outcome, context: &Context<'_>) -> AlertReport {
    let list = &context.plan.rules.list;
    let by_name = |counts: &[u64]| {
        let named = list.iter().zip(counts).filter(|(_, count)| **count > 0);
        named.map(|(rule, count)| (rule.name.clone(), Value::from(*count))).collect()
    };
    let reasons = outcome.alerts.left_out.by_reason();
    let losses = outcome.losses;
    AlertReport {
        thresholds: ThresholdReport {
            unwatched: losses.unwatched,
            evicted_keys: losses.evicted_keys,
            counted_in_silence: losses.suppressed,
        },
        total: outcome.alerts.shown.iter().sum(),
        by_rule: by_name(&outcome.alerts.shown),
        only_counted: by_name(&outcome.tally.only_counted),
        left_out: reasons.map(|(why, count)| (why.to_owned(), count.into())).into_iter().collect(),
    }
}

impl From<Lookups> for LookupReport {
    fn from(lookups: Lookups) -> Self {
        let Lookups { known, absent, dont_know } = lookups;
        LookupReport { known, absent, dont_know }
    }
}
