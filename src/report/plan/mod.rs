//! What `acsm plan` says: [`PlanReport`] is the JSON contract, [`page`] the same for people,
//! [`frontier_figure`] what errors cost.

mod figure;
pub mod page;
mod sentence;

use serde::Serialize;

use crate::engine::plan::{Plan, PlanOption, Requirements, Target};
use crate::machine::Preset;

pub use figure::frontier_figure;

/// The one document that `acsm plan --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // the contract in docs/json.md describes each name
pub struct PlanReport {
    pub wish: RequirementsReport,
    /// The best first.
    pub options: Vec<OptionReport>,
    /// An index of `options`.
    pub recommended: Option<usize>,
    /// Why, in one sentence.
    pub reason: String,
    /// Whether any option meets all requirements.
    pub fulfilled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct RequirementsReport {
    pub flows: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub fp_rate: Option<f64>,
    pub error: Option<f64>,
    /// The captures that the rest was measured on; none if it is assumed.
    pub trace: Vec<String>,
    pub states: Vec<String>,
    pub state_shares: Vec<f64>,
    pub kept_state_share: f64,
    pub absent_lookup_share: f64,
    pub lifetime_seconds: f64,
    pub idle_timeout_seconds: f64,
    pub arrivals_per_second: Option<f64>,
    pub packets_per_second: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct OptionReport {
    pub store: &'static str,
    pub layout: &'static str,
    pub expire: &'static str,
    pub flows: u64,
    pub cells: u64,
    pub hashes: usize,
    pub cell_bits: u32,
    pub bits: u64,
    pub bits_per_flow: f64,
    /// The lower bound of information theory at this rate of false positives.
    pub bound_bits_per_flow: Option<f64>,
    pub errors: RatesReport,
    pub spurious_alerts_per_hour: f64,
    pub memory_accesses: u64,
    pub hash_bits: u64,
    pub messages_before_recycle: Option<f64>,
    pub reliable_seconds: Option<f64>,
    pub meets: bool,
    pub buildable: bool,
    /// Whether the store has a layout.
    #[serde(skip)]
    pub has_layout: bool,
    /// Arguments of `acsm replay` for this store.
    pub arguments: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct RatesReport {
    pub false_positive_rate: f64,
    pub dont_know_absent_rate: f64,
    pub false_negative_rate: f64,
    pub dont_know_rate: f64,
    pub false_return_rate: f64,
    pub total_rate: f64,
}

/// Where the requirements come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// `--decode`, if it was given.
    pub decode: Option<String>,
    /// Names of the states that can be in the store.
    pub states: Vec<String>,
    /// Captures that the traffic was measured on.
    pub trace: Vec<String>,
    /// Options of `acsm replay` that say what a flow is, by which rules, and how long it may be idle.
    pub options: String,
    /// The preset that the store is for.
    pub preset: Preset,
    /// Whether there is a pending table before the store by default.
    pub has_pending_table: bool,
}

impl PlanReport {
    /// The contract's view of `plan`.
    pub fn new(requirements: &Requirements, plan: &Plan, origin: Origin) -> PlanReport {
        let flows = plan.resolved.flows.map(|flows| flows as f64);
        let traffic = &requirements.traffic;
        let options = plan.options.iter();
        let options = options.map(|option| option_report(requirements, option, &origin)).collect();
        PlanReport {
            options,
            wish: RequirementsReport {
                flows: plan.resolved.flows,
                memory_bytes: plan.resolved.memory_bytes,
                fp_rate: match plan.resolved.target {
                    Some(Target::FpRate(rate)) => Some(rate),
                    _ => None,
                },
                error: match plan.resolved.target {
                    Some(Target::Error(rate)) => Some(rate),
                    _ => None,
                },
                trace: origin.trace,
                states: origin.states,
                state_shares: traffic.mix.parts().to_vec(),
                kept_state_share: traffic.kept,
                absent_lookup_share: traffic.absent,
                lifetime_seconds: traffic.lifetime_seconds,
                idle_timeout_seconds: traffic.idle_seconds,
                arrivals_per_second: flows.map(|flows| requirements.arrivals_per_second(flows)),
                packets_per_second: requirements
                    .packets_per_second
                    .or(flows.map(|flows| requirements.packets_per_second(flows))),
            },
            recommended: plan.recommended,
            reason: sentence::reason(plan, requirements),
            fulfilled: plan.options.iter().any(|option| option.meets),
        }
    }
}

fn option_report(
    requirements: &Requirements,
    option: &PlanOption,
    origin: &Origin,
) -> OptionReport {
    let (shape, footprint, errors) = (option.shape, &option.footprint, &option.errors);
    OptionReport {
        store: shape.backend.name(),
        layout: shape.layout.name(),
        expire: shape.expire.name(),
        flows: option.flows,
        cells: footprint.cells as u64,
        hashes: footprint.hashes,
        cell_bits: footprint.cell_bits,
        bits: footprint.bits as u64,
        bits_per_flow: option.bits_per_flow,
        bound_bits_per_flow: sentence::bound(option, requirements),
        errors: RatesReport {
            false_positive_rate: errors.false_positive,
            dont_know_absent_rate: errors.dont_know_absent,
            false_negative_rate: errors.false_negative,
            dont_know_rate: errors.dont_know,
            false_return_rate: errors.false_return,
            total_rate: option.total_rate,
        },
        spurious_alerts_per_hour: option.spurious_alerts_per_hour,
        memory_accesses: option.memory_accesses,
        hash_bits: option.hash_bits,
        messages_before_recycle: option.messages_before_recycle,
        reliable_seconds: option.reliable_seconds,
        meets: option.meets,
        buildable: option.buildable,
        has_layout: shape.has_cells(),
        arguments: sentence::arguments(option, origin),
    }
}
