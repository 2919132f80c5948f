//! The reading end: from a parsed packet to an event for the worker that owns its flow.

use std::net::IpAddr;

use super::clock::Clock;
use super::event::{Circumstances, Events, Round};
use super::learning::Learning;
use super::observer::NewRules;
use super::run::RunPlan;
use super::thresholds::{Firing, Losses, PreparedTuple, SketchLimits, Thresholds};
use super::top::TopTalkers;
use crate::capture::FrameTally;
use crate::flow::{Direction, FlowGroup, FlowId, FlowKeyKind, Keyer, Packet};
use crate::store::Epoch;
use crate::time::Timestamp;

/// Packets that go through the front together, at most.
pub const GROUP: usize = FlowGroup::MOST;

/// Two addresses whose flows are shown step by step, in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch(pub IpAddr, pub IpAddr);

/// Everything that must see all packets, in their order.
pub struct Front {
    keyer: Keyer,
    clock: Clock,
    learning: Learning,
    watch: Option<Watch>,
    thresholds: Option<Thresholds>,
    seed: u64,
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
        let mut thresholds = plan.rules.thresholds.clone();
        thresholds.retain(|threshold| plan.shown.contains(threshold.rule));
        let sketches = || Thresholds::new(&thresholds, plan.seed, SketchLimits::default());
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
            thresholds: (!thresholds.is_empty()).then(sketches),
            seed: plan.seed,
            top: plan.top_talkers.then(TopTalkers::default),
            time: Timestamp::default(),
            lost_frames: 0,
        }
    }

    /// Takes in a group of packets, so many, that were put in the next places of a round, and adds
    /// their events. Counts them against thresholds when all have been looked at: by then what that
    /// needs has come from memory.
    pub fn group(
        &mut self,
        count: usize,
        round: &mut Round,
        frames: &mut FrameTally,
        firings: &mut Vec<(u32, Firing)>,
    ) {
        let Round { packets, events } = round;
        let (packets, first_index) = packets.keep(count);
        let Some(latest) = frames.add_packets(packets) else { return };
        let mut tuples = [PreparedTuple::NOTHING; GROUP];
        if let Some(thresholds) = &self.thresholds {
            thresholds.prepare_group(packets, &mut tuples);
        }
        if let Some(top) = &mut self.top {
            packets.iter().for_each(|packet| top.observe(packet));
        }
        self.make_events(packets, first_index, latest, events);
        if let Some(thresholds) = &mut self.thresholds {
            let mut fired = |at, firing| firings.push((first_index + at as u32, firing));
            thresholds.observe_group(packets, &tuples, &mut fired);
        }
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

    /// Lets time pass without a packet: what waited in vain is told. Says which epoch it is if all
    /// that was alive has aged.
    pub fn idle(&mut self, now: Timestamp, firings: &mut Vec<(u32, Firing)>) -> Option<Epoch> {
        self.time = self.time.max(now);
        if let Some(thresholds) = &mut self.thresholds {
            thresholds.idle(now, &mut |firing| firings.push((u32::MAX, firing)));
        }
        self.change = Timestamp::default();
        self.clock.idle(now)
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

    /// Goes on under other rules. Thresholds that stay the same keep their counts.
    pub fn follow(&mut self, new: &NewRules) {
        let mut thresholds = new.rules.thresholds.clone();
        thresholds.retain(|threshold| new.shown.contains(threshold.rule));
        match &mut self.thresholds {
            Some(counting) => counting.follow(&thresholds),
            None if thresholds.is_empty() => {}
            none => *none = Some(Thresholds::new(&thresholds, self.seed, SketchLimits::default())),
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

    /// What is still due when no more packets come.
    pub fn finish(&mut self, firings: &mut Vec<(u32, Firing)>) {
        if let Some(thresholds) = &mut self.thresholds {
            thresholds.finish(&mut |firing| firings.push((u32::MAX, firing)));
        }
    }

    /// What the thresholds' bounded memory left out.
    pub fn losses(&self) -> Losses {
        self.thresholds.as_ref().map(Thresholds::losses).unwrap_or_default()
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
