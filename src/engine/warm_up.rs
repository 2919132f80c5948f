//! When rules about packets without a session are muted: during the warm-up, and in captures that
//! show one direction of their flows only. (There a pending table, too, has a rule of its own.)
//!
//! A packet of a flow that is older than the capture looks like a packet without a session. So the
//! rules about such packets stay muted until every flow that existed at the start has either sent a
//! packet or timed out. Where a tap sees one direction only, half of every session is always
//! missing. Thresholds are never muted: they do not depend on earlier packets of a flow.

use crate::flow::{Direction, FlowId};
use crate::time::Timestamp;

/// Flows sampled at a time to find out whether the capture has both directions.
const SAMPLE: usize = 4096;
/// Packets after which a flow is judged: bulk data has fewer packets in a row without an ACK.
const PACKETS_TO_JUDGE: u8 = 8;
/// Flows that must be judged before the capture is.
const FLOWS_TO_JUDGE: u32 = 16;
/// Beyond this number of flows the counts are halved, so that recent flows have more weight.
const MEMORY_FLOWS: u32 = 4096;

/// Decides packet by packet whether the warm-up is over, and whether the capture shows one direction
/// only.
#[derive(Debug)]
pub struct WarmUp {
    startup_nanos: u64,
    judges_directions: bool,
    first: Option<Timestamp>,
    now: Timestamp,
    sample: Box<[Sampled; SAMPLE]>,
    one_way: u32,
    two_way: u32,
    looks_one_way: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sampled {
    tag: u32,
    forward: u8,
    backward: u8,
}

impl WarmUp {
    /// A warm-up of `startup_nanos` of trace time. `judges_directions`: both directions belong to
    /// one flow, so that a missing direction can be detected.
    pub fn new(startup_nanos: u64, judges_directions: bool) -> Self {
        WarmUp {
            startup_nanos,
            judges_directions,
            first: None,
            now: Timestamp::default(),
            sample: Box::new([Sampled::default(); SAMPLE]),
            one_way: 0,
            two_way: 0,
            looks_one_way: false,
        }
    }

    /// Notes the time of a packet, or the latest of several.
    #[inline]
    pub fn pass_to(&mut self, time: Timestamp) {
        self.first.get_or_insert(time);
        self.now = self.now.max(time);
    }

    /// The time before which no packet's time changes whether the rules are muted.
    pub fn next_change(&self) -> Timestamp {
        match self.first {
            None => Timestamp::default(),
            Some(first) if self.is_starting_up() => first.plus(self.startup_nanos),
            Some(_) => Timestamp::MAX,
        }
    }

    /// Whether the directions of packets matter.
    #[inline]
    pub fn judges_directions(&self) -> bool {
        self.judges_directions
    }

    /// Notes the direction of a packet along its flow.
    #[inline]
    pub fn observe_direction(&mut self, id: FlowId, direction: Direction) {
        if !self.judges_directions {
            return;
        }
        let flow = &mut self.sample[id.salt() as usize % SAMPLE];
        if flow.tag != id.fingerprint() {
            *flow = Sampled { tag: id.fingerprint(), forward: 0, backward: 0 };
        }
        if flow.forward + flow.backward >= PACKETS_TO_JUDGE {
            return;
        }
        match direction {
            Direction::Forward => flow.forward += 1,
            Direction::Backward => flow.backward += 1,
        }
        if flow.forward + flow.backward == PACKETS_TO_JUDGE {
            let both = flow.forward > 0 && flow.backward > 0;
            self.judge(both);
        }
    }

    fn judge(&mut self, both_directions: bool) {
        match both_directions {
            true => self.two_way += 1,
            false => self.one_way += 1,
        }
        if self.one_way + self.two_way > MEMORY_FLOWS {
            self.one_way /= 2;
            self.two_way /= 2;
        }
        let judged = self.one_way + self.two_way;
        self.looks_one_way = judged >= FLOWS_TO_JUDGE && self.two_way * 10 < judged;
    }

    /// Restarts the warm-up after a loss of packets, in which flows may have begun or ended.
    /// `latest`: the latest time of a packet.
    pub fn lost(&mut self, latest: Timestamp) {
        self.now = self.now.max(latest);
        self.first = self.first.map(|_| self.now);
    }

    /// Whether flows that existed at the start may still be unknown.
    #[inline]
    pub fn is_starting_up(&self) -> bool {
        self.first.is_none_or(|first| self.now.since(first) < self.startup_nanos)
    }

    /// Whether nine of ten flows are seen in one direction only.
    pub fn is_one_way(&self) -> bool {
        self.looks_one_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::rng::Random;

    fn observe(warm_up: &mut WarmUp, time: Timestamp, id: FlowId, direction: Direction) {
        warm_up.pass_to(time);
        warm_up.observe_direction(id, direction);
    }

    fn feed(warm_up: &mut WarmUp, flows: u64, directions: &[Direction]) {
        let mut random = Random::new(flows);
        for _ in 0..flows {
            let id = FlowId(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()));
            for packet in 0..10 {
                let direction = directions[packet % directions.len()];
                observe(warm_up, Timestamp::new(100, 0), id, direction);
            }
        }
    }

    #[test]
    fn starting_up_ends_with_trace_time() {
        let mut warm_up = WarmUp::new(60_000_000_000, true);
        assert!(warm_up.is_starting_up(), "nothing seen yet");
        for (secs, mute) in [(1000, true), (1059, true), (1060, false), (900, false)] {
            observe(&mut warm_up, Timestamp::new(secs, 0), FlowId(1), Direction::Forward);
            assert_eq!(warm_up.is_starting_up(), mute, "{secs}");
        }
    }

    #[test]
    fn a_loss_restarts_the_warm_up() {
        let mut warm_up = WarmUp::new(60_000_000_000, true);
        for (secs, mute) in [(1000, true), (1100, false)] {
            observe(&mut warm_up, Timestamp::new(secs, 0), FlowId(1), Direction::Forward);
            assert_eq!(warm_up.is_starting_up(), mute, "{secs}");
        }
        warm_up.lost(Timestamp::new(1100, 0));
        assert!(warm_up.is_starting_up());
        observe(&mut warm_up, Timestamp::new(1160, 0), FlowId(1), Direction::Forward);
        assert!(!warm_up.is_starting_up());
    }

    #[test]
    fn a_tap_that_sees_one_direction_is_recognised() {
        let mut warm_up = WarmUp::new(0, true);
        feed(&mut warm_up, 15, &[Direction::Forward]);
        assert!(!warm_up.is_one_way(), "too few to judge");
        feed(&mut warm_up, 40, &[Direction::Forward]);
        assert!(warm_up.is_one_way());
        feed(&mut warm_up, 20, &[Direction::Forward, Direction::Backward]);
        assert!(!warm_up.is_one_way(), "both directions are seen after all");
    }
}
