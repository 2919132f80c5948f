//! The dispatcher: from parsed packets to events in the batches of their shards.
//!
//! Whatever must see all packets in capture order is here: the aging clock, the warm-up, the
//! busiest addresses. Packets are handled in groups, because their digests cost less together.

use std::net::IpAddr;

use super::batch::{IdleTick, Marks, PacketBatch, PacketContext, ShardedEvents};
use super::clock::{Clock, Phase};
use super::top_talkers::TopTalkers;
use super::warm_up::WarmUp;
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSlots, PacketSource};
use crate::flow::{Direction, FlowGroup, FlowId, Keyer, Packet};
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::Epoch;
use acsm_filters::pending::PendingTable;

/// Packets that are handled together, at most.
pub const GROUP: usize = FlowGroup::MOST;

/// A batch ends after this many frames, TCP or not: signals and progress bars wait for it.
const BATCH_FRAMES_MAX: usize = 8 * PacketBatch::PACKETS;

/// Two addresses whose flows are shown step by step, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch(pub IpAddr, pub IpAddr);

impl Watch {
    fn matches(self, packet: &Packet) -> bool {
        let Watch(a, b) = self;
        (packet.src, packet.dst) == (a, b) || (packet.src, packet.dst) == (b, a)
    }
}

/// What a dispatcher goes by.
#[derive(Debug, Clone, Copy)]
pub struct DispatchPlan {
    /// How packets become flows.
    pub keyer: Keyer,
    /// The aging clock's phase.
    pub phase: Phase,
    /// How long "no session" rules stay muted at the start.
    pub startup_nanos: u64,
    /// Whose steps to show.
    pub watch: Option<Watch>,
    /// Whether to count the busiest addresses.
    pub top_talkers: bool,
}

/// Makes the events of packets.
pub struct Dispatcher {
    keyer: Keyer,
    clock: Clock,
    warm_up: WarmUp,
    watch: Option<Watch>,
    top: Option<TopTalkers>,
    /// The context of packets before `next_change`, unless a packet changes it or is watched.
    context: PacketContext,
    next_change: Timestamp,
    /// The latest second that has begun, if any has.
    second: Option<u64>,
    /// The latest time of a packet…
    latest: Timestamp,
    /// …and of an idle tick.
    idle_until: Timestamp,
    lost_frames: u64,
}

impl Dispatcher {
    /// A dispatcher at the beginning of a trace.
    pub fn new(plan: &DispatchPlan) -> Dispatcher {
        let sees_both_directions = !plan.keyer.is_directed() || plan.keyer.pairs_directions;
        let clock = Clock::new(plan.phase);
        Dispatcher {
            keyer: plan.keyer,
            clock,
            warm_up: WarmUp::new(plan.startup_nanos, sees_both_directions),
            watch: plan.watch,
            top: plan.top_talkers.then(TopTalkers::default),
            context: PacketContext::default(),
            next_change: Timestamp::default(),
            second: None,
            latest: Timestamp::default(),
            idle_until: Timestamp::default(),
            lost_frames: 0,
        }
    }

    /// Fills a batch, not completely if the source would have to wait. Returns whether there may be
    /// more.
    pub fn fill(
        &mut self,
        source: &mut dyn PacketSource,
        parser: &Parser,
        batch: &mut PacketBatch,
        frames: &mut FrameCounts,
    ) -> Result<bool, CaptureError> {
        let mut frames_left = BATCH_FRAMES_MAX;
        while batch.packets.room() >= GROUP && frames_left > 0 {
            let mut slots = PacketSlots::new(parser, batch.packets.free_slots(GROUP), frames);
            let more = source.fill(&mut slots);
            frames_left = frames_left.saturating_sub(GROUP);
            // What was read before an end or an error counts.
            let found = GROUP - slots.free();
            self.add_group(found, batch, frames);
            if !more? {
                return Ok(false);
            }
            if source.may_wait() {
                break;
            }
        }
        Ok(true)
    }

    /// Takes a group of packets that were put into the next `count` free slots of a batch, counts
    /// them and adds their events.
    fn add_group(&mut self, count: usize, batch: &mut PacketBatch, frames: &mut FrameCounts) {
        let PacketBatch { packets, events, .. } = batch;
        let (packets, first_index) = packets.keep(count);
        let Some(latest) = frames.add_packets(packets) else { return };
        if let Some(top) = &mut self.top {
            packets.iter().for_each(|packet| top.observe(packet));
        }
        self.add_events(packets, first_index, latest, events);
    }

    /// Adds the events of a group of packets, of which the latest has this time.
    #[inline(never)] // loops that need all registers
    pub fn add_events(
        &mut self,
        packets: &[Packet],
        first_index: u32,
        latest: Timestamp,
        events: &mut ShardedEvents,
    ) {
        let flows = FlowGroup::new(&self.keyer, packets);
        let context_lasts = self.watch.is_none() && latest < self.next_change;
        for ((packet, flow), index) in packets.iter().zip(flows.iter()).zip(first_index..) {
            let context = match context_lasts && !self.warm_up.observes(flow.0) {
                true => self.context,
                false => self.context_of(packet, flow, index, events),
            };
            events.add(packet, flow, index, context);
        }
        self.latest = self.latest.max(latest);
    }

    /// Lets time pass to that of the packet at `index`.
    fn pass_to(&mut self, time: Timestamp, index: u32, events: &mut ShardedEvents) {
        let tick = self.clock.advance(time);
        self.context.epoch = tick.epoch;
        self.context.marks = self.context.marks.with(Marks::LATE, tick.is_late);
        self.warm_up.pass_to(time);
        self.mark_warm_up();
        let next_second = self.begin_second(time, index, events);
        let next_change = self.clock.next_change().min(self.warm_up.next_change());
        self.next_change = next_change.min(next_second);
    }

    /// Notes that a second begins with the packet at `index`, if one does. Returns when the next one
    /// does.
    fn begin_second(
        &mut self,
        time: Timestamp,
        index: u32,
        events: &mut ShardedEvents,
    ) -> Timestamp {
        let second = time.as_nanos() / NANOS_PER_SEC;
        if self.second.is_none_or(|latest| second > latest) {
            self.second = Some(second);
            self.context.pending_epoch = PendingTable::epoch_of(second);
            events.add_second(second, index);
        }
        Timestamp::new(self.second.map_or(0, |second| second + 1), 0)
    }

    /// The context of the packet at `index`, which may change that of later packets.
    #[inline(never)]
    fn context_of(
        &mut self,
        packet: &Packet,
        flow: (FlowId, Direction),
        index: u32,
        events: &mut ShardedEvents,
    ) -> PacketContext {
        if packet.time >= self.next_change {
            self.pass_to(packet.time, index, events);
        }
        if self.warm_up.observes(flow.0) {
            let (id, direction) = self.connection_of(packet, flow);
            self.warm_up.observe_direction(id, direction, packet.flags);
            self.mark_warm_up();
        }
        let watched = self.watch.is_some_and(|watch| watch.matches(packet));
        PacketContext { marks: self.context.marks.with(Marks::WATCHED, watched), ..self.context }
    }

    /// Marks later packets by what the warm-up has found.
    fn mark_warm_up(&mut self) {
        let marks = self.context.marks.with(Marks::NO_SESSION_MUTED, self.mutes_no_session());
        self.context.marks = marks.with(Marks::ONE_WAY, self.is_one_way());
    }

    /// The connection of a packet, and which of its ends sent it.
    #[inline]
    fn connection_of(
        &self,
        packet: &Packet,
        (id, way): (FlowId, Direction),
    ) -> (FlowId, Direction) {
        match self.keyer.is_directed() && self.keyer.sender(packet) == Direction::Backward {
            true => (id.reverse(), Direction::Backward),
            false => (id, way),
        }
    }

    /// Lets time pass without a packet.
    pub fn idle(&mut self, now: Timestamp, events: &mut ShardedEvents) -> IdleTick {
        if self.second.is_some() {
            self.begin_second(now, 0, events);
        }
        self.idle_until = self.idle_until.max(now);
        self.next_change = Timestamp::default();
        IdleTick { until: now, aged: self.clock.idle(now) }
    }

    /// Notes how many frames were lost before they got here, in all.
    #[inline]
    pub fn note_losses(&mut self, lost_frames: u64) {
        if lost_frames > self.lost_frames {
            self.lost_frames = lost_frames;
            self.warm_up.lost(self.latest);
            self.next_change = Timestamp::default();
        }
    }

    /// The busiest addresses so far.
    pub fn top(&self) -> Option<&TopTalkers> {
        self.top.as_ref()
    }

    /// The latest time of a packet or an idle tick.
    pub fn time(&self) -> Timestamp {
        self.latest.max(self.idle_until)
    }

    /// Whether rules about packets without a session are muted. Flows of one direction need no other.
    #[inline]
    pub fn mutes_no_session(&self) -> bool {
        let needs_both_directions = !self.keyer.is_directed();
        self.warm_up.is_starting_up() || needs_both_directions && self.warm_up.is_one_way()
    }

    /// The epoch of the last packet.
    pub fn epoch(&self) -> Epoch {
        self.clock.tick().epoch
    }

    /// Whether the capture seems to show one direction only: of nine flows in ten, or of all
    /// handshakes of late.
    pub fn is_one_way(&self) -> bool {
        self.warm_up.is_one_way() || self.warm_up.has_one_way_handshakes()
    }
}
