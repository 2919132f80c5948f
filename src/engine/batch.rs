//! Batches of packets on their way from the dispatcher to the shards.
//!
//! A batch holds packets in capture order and, for each shard, the events of its flows: what the
//! state machine goes by. A shard reads its events alone; of the packets themselves it needs
//! nothing as a rule.

use super::clock::Tick;
use crate::flow::{Direction, FlowId, Packet, TcpFlags};
use crate::machine::{Machine, Outcome};
use crate::time::Timestamp;
use acsm_filters::memory::prefetch_to_write;
use acsm_filters::pending::Sum;
use acsm_filters::{Epoch, Lookup};

/// A TCP packet as its flow's state machine sees it. Two fit a cache line, for each crosses from
/// one core to another.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The digest of its flow.
    pub id: FlowId,
    /// The aging epoch that it falls in.
    pub epoch: Epoch,
    /// The pending table's own epoch.
    pub pending_epoch: Epoch,
    /// Its position among the packets of the batch: results are merged in this order.
    pub index: u32,
    /// The sum of its sequence and acknowledgement number.
    pub sum: Sum,
    /// Its flags.
    pub flags: TcpFlags,
    /// The rest, in one bit each.
    pub marks: Marks,
}

const _: () = assert!(size_of::<Event>() == 32);

/// What an event says in one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(u8);

/// What an event records beside the packet itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct PacketContext {
    /// The aging epoch.
    pub epoch: Epoch,
    /// The pending table's own epoch.
    pub pending_epoch: Epoch,
    /// What is the same for all packets at this time.
    pub marks: Marks,
}

impl Marks {
    /// The packet carries data.
    pub const HAS_DATA: Marks = Marks(1);
    /// It goes backward along its flow.
    pub const BACKWARD: Marks = Marks(1 << 1);
    /// It is in the second half of its aging epoch.
    pub const LATE: Marks = Marks(1 << 2);
    /// Its flow is shown step by step (`--watch`).
    pub const WATCHED: Marks = Marks(1 << 3);
    /// Rules about packets without a session are muted at this time.
    pub const NO_SESSION_MUTED: Marks = Marks(1 << 4);
    /// The capture seems to show one direction of its flows only, as of this packet.
    pub const ONE_WAY: Marks = Marks(1 << 5);

    /// Whether it has this mark.
    #[inline(always)]
    pub const fn has(self, mark: Marks) -> bool {
        self.0 & mark.0 != 0
    }

    /// The same with this mark, or without it.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, mark: Marks, is_set: bool) -> Marks {
        match is_set {
            true => Marks(self.0 | mark.0),
            false => Marks(self.0 & !mark.0),
        }
    }
}

impl Event {
    const UNSPECIFIED: Event = Event {
        id: FlowId(0),
        epoch: Epoch(0),
        pending_epoch: Epoch(0),
        index: 0,
        sum: Sum::of(0, 0),
        flags: TcpFlags(0),
        marks: Marks(0),
    };

    /// The event of the packet at `index`, which belongs to `flow`.
    #[inline(always)]
    pub fn new(
        packet: &Packet,
        (id, direction): (FlowId, Direction),
        index: u32,
        context: PacketContext,
    ) -> Event {
        let has_data = u8::from(packet.payload_bytes > 0);
        Event {
            id,
            epoch: context.epoch,
            pending_epoch: context.pending_epoch,
            index,
            sum: Sum::of(packet.sequence_sum, 0),
            flags: packet.flags,
            // `HAS_DATA` and `BACKWARD`, without a branch.
            marks: Marks(context.marks.0 | has_data | (direction as u8) << 1),
        }
    }

    /// What the packet means for its flow, given what a lookup answered.
    #[inline(always)]
    pub fn step(&self, machine: &Machine, lookup: Lookup) -> Outcome {
        machine.step(lookup, self.direction(), self.flags, self.marks.has(Marks::HAS_DATA))
    }

    /// Its direction along the flow.
    #[inline(always)]
    pub fn direction(&self) -> Direction {
        match self.marks.has(Marks::BACKWARD) {
            true => Direction::Backward,
            false => Direction::Forward,
        }
    }

    /// The moment of the aging clock.
    #[inline]
    pub fn tick(&self) -> Tick {
        Tick { epoch: self.epoch, is_late: self.marks.has(Marks::LATE) }
    }
}

/// Packets in capture order, with their events by shard.
#[derive(Debug, Default)]
pub struct PacketBatch {
    /// The packets; an event's `index` is a position here.
    pub packets: PacketBuffer,
    /// Their events.
    pub events: ShardedEvents,
    /// Time that passed before them without a packet.
    pub idle: Option<IdleTick>,
}

/// Time that passed without a packet.
#[derive(Debug, Clone, Copy)]
pub struct IdleTick {
    /// Up to when.
    pub until: Timestamp,
    /// The epoch by then, if all flows that were alive have aged.
    pub aged: Option<Epoch>,
}

impl PacketBatch {
    /// TCP packets of a batch: enough to make the hand-over cheap, few enough to stay in cache.
    pub const PACKETS: usize = 4096;

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.events.clear();
        self.idle = None;
    }
}

/// Packets in capture order, parsed in place.
#[derive(Debug, Default)]
pub struct PacketBuffer {
    slots: Vec<Packet>,
    filled: usize,
}

impl PacketBuffer {
    /// The packets.
    #[inline]
    pub fn as_slice(&self) -> &[Packet] {
        self.slots.get(..self.filled).unwrap_or_default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// How many more fit.
    pub fn room(&self) -> usize {
        PacketBatch::PACKETS - self.filled
    }

    /// The next `wanted` free slots, fewer if there is less room.
    #[inline]
    pub fn free_slots(&mut self, wanted: usize) -> &mut [Packet] {
        if self.slots.len() < PacketBatch::PACKETS {
            self.slots.resize(PacketBatch::PACKETS, Packet::UNSPECIFIED);
        }
        let free = self.slots.get_mut(self.filled..).unwrap_or_default();
        let (next, later) = free.split_at_mut(wanted.min(free.len()));
        // Another core read them last: fetched now, they are here when they are filled.
        later.iter().take(wanted).for_each(|slot| prefetch_to_write(Some(slot)));
        next
    }

    /// Keeps the packets that were put into the next `count` free slots. Returns them, and the
    /// index of the first.
    #[inline]
    pub fn keep(&mut self, count: usize) -> (&[Packet], u32) {
        let first = self.filled;
        self.filled = self.slots.len().min(first + count);
        (self.slots.get(first..self.filled).unwrap_or_default(), first as u32)
    }

    /// Adds packets as far as there is room.
    pub fn extend(&mut self, packets: &[Packet]) {
        let free = self.free_slots(packets.len());
        free.copy_from_slice(&packets[..free.len()]);
        let count = free.len();
        self.keep(count);
    }

    /// Keeps the first `count` packets.
    pub fn truncate(&mut self, count: usize) {
        self.filled = self.filled.min(count);
    }

    fn clear(&mut self) {
        self.filled = 0;
    }
}

/// Events by the shard of their flow, in capture order within a shard.
#[derive(Debug, Default)]
pub struct ShardedEvents {
    shards: [EventBuffer; FlowId::SHARDS],
    seconds: Vec<NewSecond>,
}

/// Where a second of packet time begins. What is decided once per second is decided here, so that
/// neither the size of batches nor the number of workers matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewSecond {
    /// Seconds since 1970, of the largest packet time so far.
    pub second: u64,
    /// The index of its first packet: events before it belong to earlier seconds.
    pub index: u32,
}

/// The events of one shard. Slots exist before an event is made, so that none of its parts has to
/// be kept across a call that makes room.
#[derive(Debug, Default)]
struct EventBuffer {
    slots: Vec<Event>,
    filled: usize,
}

impl EventBuffer {
    /// Twice the average share of a shard.
    const SLOTS: usize = 2 * PacketBatch::PACKETS / FlowId::SHARDS;

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let slots = (2 * self.slots.len()).max(EventBuffer::SLOTS);
        self.slots.resize(slots, Event::UNSPECIFIED);
    }
}

/// How many events ahead a slot is fetched back from the core that read it last.
const AHEAD: usize = 6;

impl ShardedEvents {
    /// The events of a shard.
    pub fn of_shard(&self, shard: usize) -> &[Event] {
        let events = self.shards.get(shard).and_then(|shard| shard.slots.get(..shard.filled));
        events.unwrap_or_default()
    }

    /// Adds the event of the packet at `index`, which belongs to `flow`.
    #[inline(always)] // made in its slot
    pub fn add(
        &mut self,
        packet: &Packet,
        flow: (FlowId, Direction),
        index: u32,
        context: PacketContext,
    ) {
        let shard = &mut self.shards[flow.0.shard() % FlowId::SHARDS];
        if shard.filled >= shard.slots.len() {
            shard.grow();
        }
        prefetch_to_write(shard.slots.get(shard.filled + AHEAD));
        let Some(slot) = shard.slots.get_mut(shard.filled) else { return };
        shard.filled += 1;
        *slot = Event::new(packet, flow, index, context);
    }

    /// Notes that a second begins with the packet at `index`.
    pub fn add_second(&mut self, second: u64, index: u32) {
        self.seconds.push(NewSecond { second, index });
    }

    /// The seconds that begin in this batch, in order.
    pub fn seconds(&self) -> &[NewSecond] {
        &self.seconds
    }

    /// All events in capture order, of a batch with this many packets.
    pub fn in_capture_order(&self, packets: usize, ordered: &mut Vec<Event>) {
        ordered.clear();
        ordered.resize(packets, Event::UNSPECIFIED);
        for shard in 0..FlowId::SHARDS {
            for event in self.of_shard(shard) {
                if let Some(slot) = ordered.get_mut(event.index as usize) {
                    *slot = *event;
                }
            }
        }
    }

    /// Removes all events and keeps the memory.
    pub fn clear(&mut self) {
        self.shards.iter_mut().for_each(|shard| shard.filled = 0);
        self.seconds.clear();
    }
}
