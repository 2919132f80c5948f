//! Alerts: what the engine reports, merged in packet order and limited.
//!
//! | file | what |
//! |---|---|
//! | `merge` | the alerts of all shards and thresholds in packet order, to the [`Sink`] |
//! | `order` | that order |
//! | `confirm` | alerts that wait until something confirms or refutes what the store says |
//! | `limits` | cool-downs, budgets, suppression: which alerts are shown |
//! | `budget` | how many per second, shared fairly |

mod budget;
mod confirm;
pub(super) mod limits;
pub(super) mod merge;
pub(super) mod order;

pub use crate::engine::alert::{Alert, Subject};
pub use limits::Suppressed;
pub use merge::{AlertCounts, AlertDifference};
pub use order::RawAlert;

use std::io;

use crate::engine::incidents::IncidentEvent;
use crate::engine::overload::OverloadEvent;
use crate::flow::{Direction, FlowKey, Packet};
use crate::machine::Next;
use acsm_filters::Lookup;

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

    /// Something to be told of an incident; before the alert that is the reason for it.
    fn incident(&mut self, _event: &IncidentEvent) -> io::Result<()> {
        Ok(())
    }

    /// The alerts of a batch are complete: what was written should now be seen.
    fn flush(&mut self) -> io::Result<()>;
}
