//! What `acsm plan` says: [`PlanReport`] is the JSON contract, [`page`] the same for people,
//! [`frontier_figure`] what errors cost.

mod figure;
pub mod page;
mod sentence;

use serde::Serialize;

use crate::engine::plan::{Plan, PlanOption, Target, Wish};

pub use figure::frontier_figure;

/// The one document that `acsm plan --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // the contract in docs/json.md describes each name
pub struct PlanReport {
    pub wish: WishReport,
    /// The best first.
    pub options: Vec<OptionReport>,
    /// An index of `options`.
    pub recommended: Option<usize>,
    /// Why, in one sentence.
    pub reason: String,
    /// Whether anything meets all of the wish.
    pub fulfilled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct WishReport {
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
    /// What information theory asks for at this false-positive rate.
    pub bound_bits_per_flow: Option<f64>,
    pub errors: RatesReport,
    pub spurious_alerts_per_hour: f64,
    pub memory_accesses: u64,
    pub hash_bits: u64,
    pub messages_before_recycle: Option<f64>,
    pub meets: bool,
    pub buildable: bool,
    /// The arguments of `acsm replay` that make it.
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

/// What the wish does not say itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Names of the machine's states.
    pub states: Vec<String>,
    /// Captures that the traffic was measured on.
    pub trace: Vec<String>,
}

impl OptionReport {
    /// Whether there are cells to lay out.
    fn has_layout(&self) -> bool {
        self.hashes > 0 && self.store != "fcf"
    }
}

impl PlanReport {
    /// The contract's view of `plan`.
    pub fn new(wish: &Wish, plan: &Plan, origin: Origin) -> PlanReport {
        let flows = plan.asked.flows.map(|flows| flows as f64);
        let traffic = &wish.traffic;
        PlanReport {
            wish: WishReport {
                flows: plan.asked.flows,
                memory_bytes: plan.asked.memory_bytes,
                fp_rate: match plan.asked.target {
                    Some(Target::FpRate(rate)) => Some(rate),
                    _ => None,
                },
                error: match plan.asked.target {
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
                arrivals_per_second: flows.map(|flows| wish.arrivals_per_second(flows)),
                packets_per_second: wish
                    .packets_per_second
                    .or(flows.map(|flows| wish.packets_per_second(flows))),
            },
            options: plan.options.iter().map(|option| option_report(wish, option)).collect(),
            recommended: plan.recommended,
            reason: sentence::reason(plan, wish),
            fulfilled: plan.options.iter().any(|option| option.meets),
        }
    }
}

fn option_report(wish: &Wish, option: &PlanOption) -> OptionReport {
    let (shape, room, errors) = (option.shape, &option.room, &option.errors);
    OptionReport {
        store: shape.backend.name(),
        layout: shape.layout.name(),
        expire: shape.expire.name(),
        flows: option.flows,
        cells: room.cells as u64,
        hashes: room.hashes,
        cell_bits: room.cell_bits,
        bits: room.bits as u64,
        bits_per_flow: option.bits_per_flow,
        bound_bits_per_flow: sentence::bound(option, wish),
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
        meets: option.meets,
        buildable: option.buildable,
        arguments: sentence::arguments(option),
    }
}
