//! What a worker gets to know of a packet, and the rounds in which it comes.

use super::clock::Tick;
use super::finding::Findings;
use crate::flow::{Direction, FlowId, Packet, TcpFlags};
use crate::machine::{Machine, Outcome};
use crate::state::Lookup;
use crate::store::Epoch;

/// A TCP packet on its way to the worker that owns its flow: what its state machine goes by. Two
/// fit a cache line, for each crosses from one core to another; the packet itself stays behind.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Its flow's digest.
    pub id: FlowId,
    /// The epoch of flows' lives that it comes in…
    pub epoch: Epoch,
    /// Its place in its round: results are put back in this order.
    pub index: u32,
    /// Its flags.
    pub flags: TcpFlags,
    /// Whether it carries data.
    pub has_data: bool,
    /// Which way it goes along its flow.
    pub direction: Direction,
    /// …and whether it is that epoch's second half.
    pub is_late: bool,
    /// Whether somebody wants to see each step of its flow.
    pub watched: bool,
    /// Whether rules about packets without a session are mute at this time.
    pub no_session_muted: bool,
}

impl Event {
    /// What follows from the packet for a flow that was looked up.
    #[inline]
    pub fn step(&self, machine: &Machine, lookup: Lookup) -> Outcome {
        machine.step(lookup, self.direction, self.flags, self.has_data)
    }

    /// When in the life of flows it comes.
    #[inline]
    pub fn tick(&self) -> Tick {
        Tick { epoch: self.epoch, is_late: self.is_late }
    }
}

/// So many packets in their order, and their events.
#[derive(Debug, Clone)]
pub struct Round {
    /// The packets, at their events' `index`.
    pub packets: Vec<Packet>,
    /// The events, by the shard of their flow.
    events: [Vec<Event>; FlowId::SHARDS],
}

/// An empty round, with room for all its packets and for twice the share of each shard.
impl Default for Round {
    fn default() -> Round {
        let events = || Vec::with_capacity(2 * Round::PACKETS / FlowId::SHARDS);
        Round {
            packets: Vec::with_capacity(Round::PACKETS),
            events: std::array::from_fn(|_| events()),
        }
    }
}

impl Round {
    /// TCP packets in a round: enough to make hand-overs cheap, few enough to stay in cache.
    pub const PACKETS: usize = 4096;

    /// The events of a shard.
    pub fn events(&self, shard: usize) -> &[Event] {
        self.events.get(shard).map_or(&[], Vec::as_slice)
    }

    /// The packets from `start` on, and where their events go.
    #[inline]
    pub fn split(&mut self, start: usize) -> (&[Packet], impl FnMut(Event)) {
        let Round { packets, events } = self;
        (packets.get(start..).unwrap_or_default(), |event: Event| {
            events[event.id.shard() % FlowId::SHARDS].push(event);
        })
    }

    /// Puts its packets to what was found in them, and is empty again.
    pub fn give_back(&mut self, findings: &mut Findings) {
        std::mem::swap(&mut self.packets, &mut findings.packets);
        self.packets.clear();
        self.events.iter_mut().for_each(Vec::clear);
    }
}
