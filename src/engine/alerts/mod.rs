//! Alerts: what the engine reports, merged in packet order and limited.
//!
//! | file | what |
//! |---|---|
//! | `merge` | the alerts of all shards and thresholds in packet order, to the [`Sink`] |
//! | `limits` | cool-downs, budget, suppression: which alerts are shown |

pub(super) mod limits;
pub(super) mod merge;

pub use limits::Suppressed;
pub use merge::{AlertCounts, AlertDifference, RawAlert};

use std::io;

use crate::engine::overload::OverloadEvent;
use crate::flow::{Direction, FlowId, FlowKey, Packet};
use crate::machine::{Next, RuleId};
use crate::time::Timestamp;
use acsm_filters::{Lookup, State};

/// One alert, in packet order, after all limits.
#[derive(Debug, Clone, Copy)]
pub struct Alert {
    /// The rule.
    pub rule: RuleId,
    /// The packet's time, or the time at which a reply was overdue.
    pub time: Timestamp,
    /// The packet that raised it.
    pub packet: Packet,
    /// The packet's flow.
    pub flow: FlowId,
    /// What the store answered for the flow before the packet; thresholds ask no store.
    pub answer: Option<Lookup>,
    /// The state of the flow now, if known.
    pub state: Option<State>,
    /// How sure the answer is, from 0 to 1: the chance that it does not come from other flows.
    pub confidence: f64,
    /// For thresholds: how many were counted within the window.
    pub count: Option<u64>,
    /// Alerts of the same rule and source suppressed since the last one.
    pub suppressed: u64,
}

/// One packet of the watched flow: what the store answered, what is true, what follows.
#[derive(Debug, Clone, Copy)]
pub struct WatchStep {
    /// The packet.
    pub packet: Packet,
    /// The flow it belongs to.
    pub key: FlowKey,
    /// Its direction along the key.
    pub direction: Direction,
    /// What the store answered.
    pub answer: Lookup,
    /// What the exact shadow says.
    pub truth: Lookup,
    /// What becomes of the flow by the store's answer.
    pub next: Next,
}

/// Receives alerts in packet order. Outputs implement it.
pub trait Sink {
    /// An alert.
    fn alert(&mut self, alert: &Alert) -> io::Result<()>;

    /// A step of the watched flow.
    fn step(&mut self, step: &WatchStep) -> io::Result<()>;

    /// The store is overloaded from here on, or no longer.
    fn overload(&mut self, _event: &OverloadEvent) -> io::Result<()> {
        Ok(())
    }

    /// The alerts of a batch are complete: what was written should now be seen.
    fn flush(&mut self) -> io::Result<()>;
}
