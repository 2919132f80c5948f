//! The reading end: from a parsed packet to an event for the worker that owns its flow.

use std::net::IpAddr;

use super::clock::Clock;
use super::event::{Circumstances, Events, Round, Silence};
use super::learning::Learning;
use super::run::RunPlan;
use super::top::TopTalkers;
use crate::capture::FrameCounts;
use crate::flow::{Direction, FlowGroup, FlowId, FlowKeyKind, Keyer, Packet};
use crate::store::Epoch;
use crate::time::Timestamp;

/// Packets that go through the front together, at most.
pub const GROUP: usize = FlowGroup::MOST;

/// Two addresses whose flows are shown step by step, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch(pub IpAddr, pub IpAddr);

/// All that must see every packet, in order, before a worker does.
pub struct Front {
    keyer: Keyer,
    clock: Clock,
    learning: Learning,
    watch: Option<Watch>,
    top: Option<TopTalkers>,
    /// Those of packets before `change`, where nothing but time changes them.
    now: Circumstances,
    change: Timestamp,
    time: Timestamp,
    lost_frames: u64,
}

impl Front {
    /// The reading end of a run.
    pub fn new(plan: &RunPlan) -> Front {
        let sees_both_directions = plan.keyer.kind == FlowKeyKind::Connection;
        let clock = Clock::new(plan.phase);
        let now = Circumstances { tick: clock.tick(), watched: false, no_session_muted: true };
        Front {
            keyer: plan.keyer,
            now,
            change: Timestamp::default(),
            clock,
            learning: Learning::new(plan.startup_nanos, sees_both_directions),
            watch: plan.watch,
            top: plan.top_talkers.then(TopTalkers::default),
            time: Timestamp::default(),
            lost_frames: 0,
        }
    }

    /// Takes in a group of packets, so many, that were put in the next places of a round, and adds
    /// their events.
    pub fn group(&mut self, count: usize, round: &mut Round, frames: &mut FrameCounts) {
        let Round { packets, events, .. } = round;
        let (packets, first_index) = packets.keep(count);
        let Some(latest) = frames.add_packets(packets) else { return };
        if let Some(top) = &mut self.top {
            packets.iter().for_each(|packet| top.observe(packet));
        }
        self.make_events(packets, first_index, latest, events);
    }

    #[inline(never)] // loops that need all registers
    fn make_events(
        &mut self,
        packets: &[Packet],
        first_index: u32,
        latest: Timestamp,
        events: &mut Events,
    ) {
        let flows = FlowGroup::new(&self.keyer, packets);
        let only_time_counts = self.watch.is_none() && !self.learning.judges_directions();
        let indexed = packets.iter().zip(flows.iter()).zip(first_index..);
        if only_time_counts && latest < self.change {
            let now = self.now;
            for ((packet, flow), index) in indexed {
                events.add(packet, flow, index, now);
            }
        } else {
            for ((packet, flow), index) in indexed {
                let then = self.circumstances(packet, flow);
                events.add(packet, flow, index, then);
            }
        }
        self.clock.pass_to(latest);
        self.learning.pass_to(latest);
    }

    /// The circumstances of one packet.
    fn circumstances(&mut self, packet: &Packet, flow: (FlowId, Direction)) -> Circumstances {
        if packet.time >= self.change {
            self.now.tick = self.clock.advance(packet.time);
            self.learning.pass_to(packet.time);
            self.change = self.clock.next_change().min(self.learning.next_change());
        }
        self.learning.observe_direction(flow.0, flow.1);
        self.now.no_session_muted = self.learning.mutes_no_session();
        let watched = self.watch.is_some_and(|watch| watch.sees(packet));
        Circumstances { watched, ..self.now }
    }

    /// Lets time pass without a packet.
    pub fn idle(&mut self, now: Timestamp) -> Silence {
        self.time = self.time.max(now);
        self.change = Timestamp::default();
        Silence { until: now, aged: self.clock.idle(now) }
    }

    /// Takes note of how many frames were lost on the way so far.
    #[inline]
    pub fn note_losses(&mut self, lost_frames: u64) {
        if lost_frames > self.lost_frames {
            self.lost_frames = lost_frames;
            self.learning.lost();
            self.change = Timestamp::default();
        }
    }

    /// The busiest addresses so far.
    pub fn top(&self) -> Option<&TopTalkers> {
        self.top.as_ref()
    }

    /// The latest time told by a packet or by silence.
    pub fn time(&self) -> Timestamp {
        self.time.max(self.clock.now())
    }

    /// Whether rules about packets without a session are mute.
    pub fn mutes_no_session(&self) -> bool {
        self.learning.mutes_no_session()
    }

    /// The epoch of the last packet.
    pub fn epoch(&self) -> Epoch {
        self.clock.tick().epoch
    }

    /// Whether the capture seems to show one direction of its flows only.
    pub fn is_one_way(&self) -> bool {
        self.learning.is_one_way()
    }
}

impl Watch {
    fn sees(self, packet: &Packet) -> bool {
        let Watch(a, b) = self;
        (packet.src, packet.dst) == (a, b) || (packet.src, packet.dst) == (b, a)
    }
}
