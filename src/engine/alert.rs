//! What the engine finds, and who wants to know.

use std::io;

use crate::flow::{Direction, FlowId, FlowKey, Packet};
use crate::machine::{Next, RuleId};
use crate::time::Timestamp;
use acsm_filters::{Lookup, State};

/// One alert, in packet order, after everything that thins alerts out.
#[derive(Debug, Clone, Copy)]
pub struct Alert {
    /// Which rule was broken.
    pub rule: RuleId,
    /// When: the packet's time, or when waiting for another packet ended.
    pub time: Timestamp,
    /// The packet that broke it.
    pub packet: Packet,
    /// The packet's flow.
    pub flow: FlowId,
    /// What the store said about the flow before the packet; thresholds ask no store.
    pub answer: Option<Lookup>,
    /// The state that the flow is in now, if that is known.
    pub state: Option<State>,
    /// How sure the answer is, from 0 to 1: the chance that it does not come from other flows.
    pub confidence: f64,
    /// For thresholds: how many were counted within the window.
    pub count: Option<u64>,
    /// Alerts of the same rule and source left out since the last one.
    pub left_out: u64,
}

/// One packet of the watched flow: what the store said, what is true, what follows.
#[derive(Debug, Clone, Copy)]
pub struct WatchStep {
    /// The packet.
    pub packet: Packet,
    /// The flow it belongs to.
    pub key: FlowKey,
    /// Which way it goes along the key.
    pub direction: Direction,
    /// What the store said.
    pub answer: Lookup,
    /// What the exact shadow says.
    pub truth: Lookup,
    /// What becomes of the flow by the store's word.
    pub next: Next,
}

/// Takes what the engine finds, in packet order. Outputs implement it.
pub trait Sink {
    /// An alert.
    fn alert(&mut self, alert: &Alert) -> io::Result<()>;

    /// A step of the watched flow.
    fn step(&mut self, step: &WatchStep) -> io::Result<()>;

    /// Called when a round of packets is done: what was said should now be seen.
    fn flush(&mut self) -> io::Result<()>;
}
