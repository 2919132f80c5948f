//! When rules about packets without a session are muted: during the warm-up, and in captures that
//! show one direction of their flows only. (There a pending table, too, has a rule of its own.)
//!
//! A packet of a flow that is older than the capture looks like a packet without a session. So the
//! rules about such packets stay muted until every flow that existed at the start has either sent a
//! packet or timed out. Where a tap sees one direction only, half of every session is always
//! missing. Thresholds are never muted: they do not depend on earlier packets of a flow.
//!
//! Whether a capture shows one direction only is judged by flows of eight packets, nine of ten of which
//! have to show it. That takes long if flows have few packets, and a flood makes the sample forget them
//! before. Admission to the store cannot wait, so *handshakes* are judged beside: whoever goes on after
//! its SYN or SYN+ACK has been answered, and if the answer is not in the capture, the capture shows one
//! direction. This can be forged; it counts only if no flow was seen in both directions for ten
//! seconds.
//!
//! All flows are observed until the counts are full; then the flows of one shard are, which are one in
//! sixteen, chosen by a keyed digest.

use crate::flow::{Direction, FlowId, TcpFlags};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// Flows sampled at a time to find out whether the capture has both directions.
const SAMPLE: usize = 4096;
/// Packets after which a flow is judged: bulk data has fewer packets in a row without an ACK.
const PACKETS_TO_JUDGE: u8 = 8;
/// Flows that must be judged before the capture is.
const FLOWS_TO_JUDGE: u32 = 16;
/// For this long, a flow in both directions proves that the capture has both.
const TWO_WAY_SECONDS: u64 = 10;
/// Beyond this number of flows the counts are halved, so that recent flows have more weight.
const MEMORY_FLOWS: u32 = 4096;
/// The shard whose flows are observed once this number of flows was judged.
const OBSERVED_SHARD: usize = 0;

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
    /// Whether the flows of one shard are enough.
    has_judged_many: bool,
    /// Handshakes in one direction since a flow was last seen in both…
    one_way_handshakes: u32,
    /// …and when that was.
    last_two_way: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sampled {
    tag: u32,
    forward: u8,
    backward: u8,
    /// Which end sent the first packet, if that was a SYN or SYN+ACK and no other has followed.
    opener: Option<Direction>,
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
            has_judged_many: false,
            one_way_handshakes: 0,
            last_two_way: None,
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

    /// Whether the directions of this flow's packets are to be noted.
    #[inline]
    pub fn observes(&self, id: FlowId) -> bool {
        self.judges_directions && (!self.has_judged_many || id.shard() == OBSERVED_SHARD)
    }

    /// Notes the direction of a packet along its flow.
    pub fn observe_direction(&mut self, id: FlowId, direction: Direction, flags: TcpFlags) {
        let flow = &mut self.sample[id.salt() as usize % SAMPLE];
        if flow.tag != id.fingerprint() {
            let opener = flags.has(TcpFlags::SYN).then_some(direction);
            *flow = Sampled { tag: id.fingerprint(), forward: 0, backward: 0, opener };
        } else if let Some(opener) = flow.opener
            && (opener != direction || !flags.has(TcpFlags::SYN))
        {
            flow.opener = None;
            let goes_on = flags.has(TcpFlags::ACK) && !flags.has(TcpFlags::RST);
            if opener == direction && goes_on {
                self.one_way_handshakes = self.one_way_handshakes.saturating_add(1);
            }
        }
        let flow = &mut self.sample[id.salt() as usize % SAMPLE];
        let is_judged = flow.forward + flow.backward >= PACKETS_TO_JUDGE;
        match direction {
            _ if is_judged => {}
            Direction::Forward => flow.forward += 1,
            Direction::Backward => flow.backward += 1,
        }
        let has_both = flow.forward > 0 && flow.backward > 0;
        let is_complete = !is_judged && flow.forward + flow.backward == PACKETS_TO_JUDGE;
        if has_both {
            self.one_way_handshakes = 0;
            self.last_two_way = Some(self.now);
        }
        if is_complete {
            self.judge(has_both);
        }
    }

    fn judge(&mut self, both_directions: bool) {
        match both_directions {
            true => self.two_way += 1,
            false => self.one_way += 1,
        }
        if self.one_way + self.two_way > MEMORY_FLOWS {
            self.has_judged_many = true;
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

    /// Whether handshakes are seen in one direction only.
    pub fn has_one_way_handshakes(&self) -> bool {
        let is_long_ago = |last| self.now.since(last) >= TWO_WAY_SECONDS * NANOS_PER_SEC;
        self.one_way_handshakes >= FLOWS_TO_JUDGE && self.last_two_way.is_none_or(is_long_ago)
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
        warm_up.observe_direction(id, direction, TcpFlags::ACK);
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

    /// A SYN, and a packet of the same end or of the other.
    fn handshakes(warm_up: &mut WarmUp, flows: std::ops::Range<u64>, second: u64, answered: bool) {
        for flow in flows {
            let mut random = Random::new(flow);
            let id = FlowId(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()));
            warm_up.pass_to(Timestamp::new(second, 0));
            warm_up.observe_direction(id, Direction::Forward, TcpFlags::SYN);
            match answered {
                true => warm_up.observe_direction(id, Direction::Backward, TcpFlags::SYN),
                false => warm_up.observe_direction(id, Direction::Forward, TcpFlags::ACK),
            }
        }
    }

    #[test]
    fn handshakes_show_one_direction_unless_one_in_both_was_seen_of_late() {
        let mut warm_up = WarmUp::new(0, true);
        handshakes(&mut warm_up, 0..15, 100, false);
        assert!(!warm_up.has_one_way_handshakes(), "too few");
        handshakes(&mut warm_up, 15..16, 100, false);
        assert!(warm_up.has_one_way_handshakes() && !warm_up.is_one_way());
        handshakes(&mut warm_up, 16..17, 100, true);
        handshakes(&mut warm_up, 17..1000, 109, false);
        assert!(!warm_up.has_one_way_handshakes(), "however many");
        handshakes(&mut warm_up, 1000..1001, 110, false);
        assert!(warm_up.has_one_way_handshakes());
        feed(&mut warm_up, 1, &[Direction::Forward, Direction::Backward]);
        handshakes(&mut warm_up, 2000..2100, 111, false);
        assert!(!warm_up.has_one_way_handshakes(), "any flow in both directions proves it");
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
