//! What a worker gets to know of a packet, and the rounds in which it comes.

use super::clock::Tick;
use super::finding::Findings;
use crate::flow::{Direction, FlowId, Packet, TcpFlags};
use crate::machine::{Machine, Outcome};
use crate::time::Timestamp;
use acsm_filters::Epoch;
use acsm_filters::Lookup;
use acsm_filters::prefetch::prefetch_to_write;

/// A TCP packet on its way to the worker that owns its flow: what its state machine goes by. Two
/// fit a cache line, for each crosses from one core to another; of the packet itself its worker needs
/// nothing as a rule.
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

/// What is to be known of a packet beside what it says itself.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// When in the life of flows it comes.
    pub tick: Tick,
    /// Whether somebody wants to see each step of its flow.
    pub watched: bool,
    /// Whether rules about packets without a session are mute at this time.
    pub no_session_muted: bool,
}

impl Event {
    /// No event yet: for places that one is put in.
    const UNSPECIFIED: Event = Event {
        id: FlowId(0),
        epoch: Epoch(0),
        index: 0,
        flags: TcpFlags(0),
        has_data: false,
        direction: Direction::Forward,
        is_late: false,
        watched: false,
        no_session_muted: false,
    };

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
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// The packets, at their events' `index`.
    pub packets: Packets,
    /// Their events.
    pub events: Events,
    /// What passed before them without a packet.
    pub silence: Option<Silence>,
}

/// Time that passed without a packet.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    /// Up to when.
    pub until: Timestamp,
    /// The epoch by then, if all that was alive has aged.
    pub aged: Option<Epoch>,
}

/// Packets in their order, and places for more: made where they are kept.
#[derive(Debug, Clone, Default)]
pub struct Packets {
    places: Vec<Packet>,
    filled: usize,
}

/// Events by the shard of their flow.
#[derive(Debug, Clone, Default)]
pub struct Events([Shard; FlowId::SHARDS]);

/// The events of one shard, and places for more: there before an event is made, so that nothing of
/// it has to be kept across a call that makes room.
#[derive(Debug, Clone, Default)]
struct Shard {
    places: Vec<Event>,
    filled: usize,
}

impl Shard {
    /// Twice the share of a shard.
    const PLACES: usize = 2 * Round::PACKETS / FlowId::SHARDS;

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let places = (2 * self.places.len()).max(Shard::PLACES);
        self.places.resize(places, Event::UNSPECIFIED);
    }
}

/// So many events ahead, the place of one is taken back from the worker that read it last.
const AHEAD: usize = 6;

impl Round {
    /// TCP packets in a round: enough to make hand-overs cheap, few enough to stay in cache.
    pub const PACKETS: usize = 4096;

    /// Puts its packets to what was found in them, and is empty again.
    pub fn give_back(&mut self, findings: &mut Findings) {
        std::mem::swap(&mut self.packets, &mut findings.packets);
        self.packets.clear();
        self.silence = None;
        self.events.0.iter_mut().for_each(|shard| shard.filled = 0);
    }
}

impl Packets {
    /// Those that are there.
    pub fn as_slice(&self) -> &[Packet] {
        self.places.get(..self.filled).unwrap_or_default()
    }

    /// How many more there is room for.
    pub fn room(&self) -> usize {
        Round::PACKETS - self.filled
    }

    /// Places for the next packets, so many if there is room.
    #[inline]
    pub fn next_places(&mut self, wanted: usize) -> &mut [Packet] {
        if self.places.len() < Round::PACKETS {
            self.places.resize(Round::PACKETS, Packet::UNSPECIFIED);
        }
        let next = self.places.get_mut(self.filled..).unwrap_or_default();
        let (next, later) = next.split_at_mut(wanted.min(next.len()));
        // Nobody looked at them for long: by their turn they are here.
        later.iter().take(wanted).for_each(|place| prefetch_to_write(Some(place)));
        next
    }

    /// Keeps the packets that were put in the next places, so many. Says which they are, and the
    /// index of the first.
    #[inline]
    pub fn keep(&mut self, count: usize) -> (&[Packet], u32) {
        let first = self.filled;
        self.filled = self.places.len().min(first + count);
        (self.places.get(first..self.filled).unwrap_or_default(), first as u32)
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.filled = 0;
    }
}

impl Events {
    /// The events of a shard.
    pub fn of_shard(&self, shard: usize) -> &[Event] {
        let events = self.0.get(shard).and_then(|shard| shard.places.get(..shard.filled));
        events.unwrap_or_default()
    }

    /// Adds the event of the packet at `index`, which belongs to `flow`.
    #[inline(always)] // made where it is kept
    pub fn add(
        &mut self,
        packet: &Packet,
        (id, direction): (FlowId, Direction),
        index: u32,
        known: Circumstances,
    ) {
        let shard = &mut self.0[id.shard() % FlowId::SHARDS];
        if shard.filled >= shard.places.len() {
            shard.grow();
        }
        prefetch_to_write(shard.places.get(shard.filled + AHEAD));
        let Some(place) = shard.places.get_mut(shard.filled) else { return };
        shard.filled += 1;
        *place = Event {
            id,
            epoch: known.tick.epoch,
            index,
            flags: packet.flags,
            has_data: packet.payload_bytes > 0,
            direction,
            is_late: known.tick.is_late,
            watched: known.watched,
            no_session_muted: known.no_session_muted,
        };
    }
}
