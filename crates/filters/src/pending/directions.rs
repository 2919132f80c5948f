//! A slot with both directions of a connection, where these are flows of their own.
//!
//! In a flood a connection of two slots would be lost twice as soon as one of a single slot. The
//! directions have their evidence in common, and each has a state or none: 17 × 17 possibilities in
//! nine bits, five more than one state takes. These come from the tag, of which 17 bits are left.

use super::evidence::{End, Evidence};
use super::slots::{PendingFlow, SLOT_BITS};
use crate::digest::FlowId;
use crate::state::State;

/// The states of both directions, none included.
const STATES_BITS: u32 = (STATES * STATES - 1).ilog2() + 1;
const STATES: u64 = State::LIMIT as u64 + 1;
/// What states and evidence leave of a slot.
const TAG_BITS: u32 = SLOT_BITS as u32 - Evidence::BITS - STATES_BITS;
/// The bits of a tag.
pub(super) const TAG_MASK: u32 = (1 << TAG_BITS) - 1;

/// The pending flows of a connection: one for each direction in which it had packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingConnection {
    /// Of the direction that stands for the connection, and of the other.
    states: [Option<State>; 2],
    /// As that of the first direction.
    evidence: Evidence,
}

/// One of the two directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side(End);

impl Side {
    /// The connection of a flow, and which direction of it the flow is.
    #[inline]
    pub const fn of(id: FlowId) -> (FlowId, Side) {
        match id.is_second_direction() {
            false => (id, Side(End::Forward)),
            true => (id.reverse(), Side(End::Backward)),
        }
    }

    const fn index(self) -> usize {
        match self.0 {
            End::Forward => 0,
            End::Backward => 1,
        }
    }

    /// Evidence of this direction as that of the first one; or the other way around.
    const fn turn(self, evidence: Evidence) -> Evidence {
        match self.0 {
            End::Forward => evidence,
            End::Backward => evidence.reversed(),
        }
    }
}

impl PendingConnection {
    /// The flow of one direction, if it is pending.
    #[inline]
    pub fn flow(&self, side: Side) -> Option<PendingFlow> {
        let state = self.states[side.index()];
        state.map(|state| PendingFlow { state, evidence: self.evidence(side) })
    }

    /// The evidence that both directions have, from the point of view of this one.
    #[inline]
    pub const fn evidence(&self, side: Side) -> Evidence {
        side.turn(self.evidence)
    }

    /// Sets the state of one direction, which is none if it is not pending, and the evidence of both.
    #[inline]
    pub fn set(&mut self, side: Side, state: Option<State>, evidence: Evidence) {
        self.states[side.index()] = state;
        self.evidence = side.turn(evidence);
    }

    /// Takes out one direction.
    pub fn remove(&mut self, side: Side) {
        self.states[side.index()] = None;
    }

    /// Whether neither direction is pending.
    pub fn is_empty(&self) -> bool {
        self.states == [None; 2]
    }

    /// The bits of a slot with this tag.
    #[inline]
    pub(super) fn to_slot(self, tag: u32) -> u64 {
        let number = |state: Option<State>| state.map_or(0, |state| state.index() as u64 + 1);
        let [first, second] = self.states.map(number);
        let states = first * STATES + second;
        (states << Evidence::BITS | self.evidence.to_bits()) << TAG_BITS | u64::from(tag)
    }

    /// From the bits of a slot.
    #[inline]
    pub(super) fn from_slot(slot: u64) -> PendingConnection {
        let bits = slot >> TAG_BITS;
        let states = bits >> Evidence::BITS & ((1 << STATES_BITS) - 1);
        let state = |number: u64| (number as usize).checked_sub(1).and_then(State::new);
        let states = [state(states / STATES), state(states % STATES)];
        PendingConnection { states, evidence: Evidence::from_bits(bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_survive_packing() {
        let states = || (0..State::LIMIT).map(State::new).chain([None]);
        let evidence = Evidence::from_bits(0x2aaa);
        for first in states() {
            for second in states() {
                let connection = PendingConnection { states: [first, second], evidence };
                let slot = connection.to_slot(TAG_MASK);
                assert!(slot < 1 << SLOT_BITS && slot as u32 & TAG_MASK == TAG_MASK);
                assert_eq!(PendingConnection::from_slot(slot), connection);
                assert_eq!(connection.is_empty(), first.or(second).is_none());
            }
        }
    }

    #[test]
    fn each_direction_sees_the_evidence_from_its_end() {
        let id = FlowId(7);
        let [(first, ours), (second, theirs)] = [id, id.reverse()].map(Side::of);
        assert_eq!((first, second), (id, id));
        let (open, evidence) = (State::new(3), Evidence::from_bits(1 << 12 | 5));
        let mut connection = PendingConnection::default();
        connection.set(theirs, open, evidence);
        assert_eq!(connection.flow(ours), None);
        assert_eq!(connection.flow(theirs).map(|flow| flow.evidence), Some(evidence));
        assert_eq!(connection.evidence(ours), evidence.reversed());
        connection.remove(theirs);
        assert!(connection.is_empty());
    }
}
