//! Pending flows without a limit: for the exact shadow.

use std::collections::HashMap;

use super::digest_hasher::BuildDigestHasher;
use acsm_filters::pending::{Evidence, PendingConnection, PendingFlow, Side};
use acsm_filters::{Epoch, FlowId, State};

/// All pending flows, however many. They live as long as in the table of fixed size, but none is
/// lost.
#[derive(Default)]
pub struct UnboundedPending {
    /// By the first of two directions; other flows have one.
    connections: HashMap<FlowId, (PendingConnection, Epoch), BuildDigestHasher>,
    epoch: Epoch,
}

impl UnboundedPending {
    pub fn advance_to(&mut self, now: Epoch) {
        if now > self.epoch {
            self.epoch = now;
            self.connections.retain(|_, (_, last)| !last.is_forgotten_at(now));
        }
    }

    pub fn get(&self, id: FlowId) -> Option<PendingFlow> {
        let (connection, side) = Side::of(id);
        self.connections.get(&connection).and_then(|(flows, _)| flows.flow(side))
    }

    /// The evidence of a flow or of its reverse, as that of the flow.
    pub fn evidence(&self, id: FlowId) -> Evidence {
        let (connection, side) = Side::of(id);
        self.connections.get(&connection).map_or(Evidence::NONE, |(flows, _)| flows.evidence(side))
    }

    /// Sets the state of a flow, which is none if it is stored, and the evidence of both directions. If
    /// one of them is pending, it is renewed.
    pub fn set(&mut self, id: FlowId, state: Option<State>, evidence: Evidence) {
        let (connection, side) = Side::of(id);
        let (flows, last) = self.connections.entry(connection).or_default();
        flows.set(side, state, evidence);
        *last = self.epoch;
        if flows.is_empty() {
            self.connections.remove(&connection);
        }
    }

    pub fn remove(&mut self, id: FlowId) {
        let (connection, side) = Side::of(id);
        if let Some((flows, _)) = self.connections.get_mut(&connection) {
            flows.remove(side);
            if flows.is_empty() {
                self.connections.remove(&connection);
            }
        }
    }
}
