//! The detector: what each packet counts as, and when a threshold is reached.

#[cfg(test)]
mod tests;

use std::slice;

use super::pending::{FirstKind, FirstPacket, PendingFirstPackets};
use super::rule_counters::{RuleCounters, ThresholdHit};
use super::tuples::{SeenTuples, TupleHasher};
use crate::flow::{Packet, TcpFlags};
use crate::machine::{Counted, ThresholdRule};
use crate::seed::Seed;
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::memory::Arena;

/// The memory of the shipped rules by default; others may take more or less.
const TABLES_BYTES: usize = 7 << 20;

/// How much memory the sketches take, and how long they remember.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchLimits {
    /// First packets pending at once.
    pub pending: usize,
    /// Keys counted at once, for each rule.
    pub keys_per_rule: usize,
    /// 5-tuples remembered as seen: between one and two times this number.
    pub recent_tuples: usize,
    /// How long a 5-tuple is remembered as seen: between one and two times this long.
    pub recent_nanos: u64,
    /// Time limit for the answer to a first packet, and for the ACK after a SYN.
    pub answer_nanos: u64,
}

/// About 7 MiB with the shipped rules.
impl Default for SketchLimits {
    fn default() -> Self {
        SketchLimits {
            pending: 1 << 15,
            keys_per_rule: 1 << 11,
            recent_tuples: 1 << 18,
            recent_nanos: 60 * NANOS_PER_SEC,
            answer_nanos: 5 * NANOS_PER_SEC,
        }
    }
}

/// What was not counted for lack of memory, or not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// First packets that were not watched because too many were pending.
    pub unwatched: u64,
    /// Keys whose counts were evicted by other keys.
    pub evicted_keys: u64,
    /// Events counted during cool-downs, without a report.
    pub suppressed: u64,
}

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, other: Losses) {
        self.unwatched += other.unwatched;
        self.evicted_keys += other.evicted_keys;
        self.suppressed += other.suppressed;
    }
}

/// Counts packets against threshold rules. See the module's documentation.
#[derive(Debug)]
pub struct Thresholds {
    hasher: TupleHasher,
    seen: SeenTuples,
    pending: PendingFirstPackets,
    rules: RuleCounters,
    answer_nanos: u64,
    now_nanos: u64,
    /// Not later than the next deadline.
    next_deadline_nanos: u64,
}

/// A packet's 5-tuple, hashed ahead of its turn.
#[derive(Debug, Clone, Copy)]
pub struct PreparedTuple(u64);

impl PreparedTuple {
    /// A placeholder.
    pub const NOTHING: PreparedTuple = PreparedTuple(0);
}

/// Why a first packet failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// The other end sent RST.
    Refused,
    /// No answer within the time limit.
    TimedOut,
    /// Its sender took it back with RST.
    Aborted,
}

impl Thresholds {
    /// Counters for `rules`. Later allocations are for new rules alone.
    pub fn new(rules: &[ThresholdRule], seed: Seed, limits: SketchLimits) -> Self {
        let hasher = TupleHasher::new(seed);
        let arena = Arena::with_capacity(TABLES_BYTES);
        Thresholds {
            hasher,
            seen: SeenTuples::new_in(&arena, limits.recent_tuples, limits.recent_nanos),
            pending: PendingFirstPackets::new_in(&arena, limits.pending),
            rules: RuleCounters::new_in(&arena, rules, limits.keys_per_rule, hasher),
            answer_nanos: limits.answer_nanos,
            now_nanos: 0,
            next_deadline_nanos: 0,
        }
    }

    /// Counts a packet; packets come in the order of the capture.
    pub fn observe(&mut self, packet: &Packet, fired: &mut impl FnMut(ThresholdHit)) {
        let tuple = PreparedTuple(self.prepare(packet));
        let mut fired = |_, hit| fired(hit);
        self.observe_group(slice::from_ref(packet), slice::from_ref(&tuple), &mut fired);
    }

    /// Hashes packets and prefetches the memory that [`observe_group`](Self::observe_group) needs for
    /// them.
    #[inline(never)] // a loop of its own has the registers to itself
    pub fn prepare_group(&self, packets: &[Packet], tuples: &mut [PreparedTuple]) {
        for (packet, tuple) in packets.iter().zip(tuples) {
            *tuple = PreparedTuple(self.prepare(packet));
        }
    }

    /// Counts packets that were prepared before. Hits come with the packet's position in the group.
    #[inline(never)] // as above
    pub fn observe_group(
        &mut self,
        packets: &[Packet],
        tuples: &[PreparedTuple],
        fired: &mut impl FnMut(usize, ThresholdHit),
    ) {
        for (at, (packet, &PreparedTuple(hash))) in packets.iter().zip(tuples).enumerate() {
            if self.is_due(packet.time) {
                self.handle_deadlines(&mut |hit| fired(at, hit));
            }
            // Most packets: an open flow.
            if is_ordinary(packet.flags) && self.seen.is_settled(hash) {
                continue;
            }
            let seen = self.seen.touch(hash);
            let ordinary = is_ordinary(packet.flags) && (seen || packet.payload_bytes > 0);
            if !ordinary || self.pending.may_hold(hash) {
                self.examine(packet, hash, seen, &mut |hit| fired(at, hit));
            } else {
                self.seen.settle(hash);
            }
        }
    }

    #[inline(always)]
    fn prepare(&self, packet: &Packet) -> u64 {
        let hash = self.hasher.tuple(packet);
        self.seen.prefetch(hash);
        if !is_ordinary(packet.flags) {
            self.pending.prefetch(hash);
            if may_end(packet.flags) {
                self.prepare_endings(packet, hash);
            }
        }
        hash
    }

    #[inline(never)]
    fn prepare_endings(&self, packet: &Packet, hash: u64) {
        for (flag, _) in ENDINGS {
            if packet.flags.has(flag) {
                self.seen.prefetch(self.nth_ending(packet, hash, flag, 1));
            }
        }
    }

    /// Advances the time before a packet of this time.
    pub fn advance(&mut self, now: Timestamp, fired: &mut impl FnMut(ThresholdHit)) {
        if self.is_due(now) {
            self.handle_deadlines(fired);
        }
    }

    /// Handles deadlines up to `now` while no packet arrives. Time itself stays that of the last
    /// packet, so that a replay of the same packets has the same result.
    pub fn idle(&mut self, now: Timestamp, fired: &mut impl FnMut(ThresholdHit)) {
        while let Some(first) = self.pending.pop_due(now.as_nanos()) {
            fail(&mut self.rules, first, Failure::TimedOut, first.due_nanos, fired);
        }
    }

    /// Replaces the rules. Rules that stay the same keep their counts.
    pub fn set_rules(&mut self, rules: &[ThresholdRule]) {
        self.rules.set_rules(&Arena::default(), rules);
    }

    /// Lets all pending first packets time out: the end of the last file.
    pub fn finish(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        while let Some(first) = self.pending.pop_due(u64::MAX) {
            fail(&mut self.rules, first, Failure::TimedOut, first.due_nanos, fired);
        }
    }

    /// What was not counted or not reported so far.
    pub fn losses(&self) -> Losses {
        Losses {
            unwatched: self.pending.unwatched(),
            evicted_keys: self.rules.evicted_keys(),
            suppressed: self.rules.suppressed(),
        }
    }

    /// Bytes allocated; constant as long as the rules are.
    pub fn memory_bytes(&self) -> usize {
        self.seen.memory_bytes() + self.pending.memory_bytes() + self.rules.memory_bytes()
    }

    /// Sets the time; returns whether a deadline has passed.
    #[inline(always)]
    fn is_due(&mut self, now: Timestamp) -> bool {
        self.now_nanos = self.now_nanos.max(now.as_nanos());
        self.now_nanos >= self.next_deadline_nanos
    }

    #[cold]
    fn handle_deadlines(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        while let Some(first) = self.pending.pop_due(self.now_nanos) {
            fail(&mut self.rules, first, Failure::TimedOut, first.due_nanos, fired);
        }
        if self.now_nanos >= self.seen.rotate_at_nanos() {
            self.seen.rotate(self.now_nanos);
        }
        self.next_deadline_nanos = self.seen.rotate_at_nanos();
        if let Some(next) = self.pending.next_due() {
            self.next_deadline_nanos = self.next_deadline_nanos.min(next.due_nanos);
            self.rules.prefetch(&next.packet);
        }
    }

    /// A packet whose 5-tuple may have a pending first packet.
    #[inline(never)]
    fn examine(
        &mut self,
        packet: &Packet,
        hash: u64,
        seen: bool,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        if may_end(packet.flags) {
            self.count_endings(packet, hash, seen, fired);
        }
        let Some((found, first)) = self.pending.find(hash) else {
            self.begin(packet, hash, seen);
            return;
        };
        let same_sender = first.forward == self.hasher.is_forward(packet);
        let (reset, ack) = (packet.flags.has(TcpFlags::RST), packet.flags.has(TcpFlags::ACK));
        let synack = packet.flags.has(SYN_ACK);
        let failure = match (first.kind, same_sender) {
            (FirstKind::Syn, true) if reset => Some(Failure::Aborted),
            (FirstKind::Syn, false) if reset && !first.answered => Some(Failure::Refused),
            (FirstKind::Syn, false) => {
                first.answered = true;
                return;
            }
            (FirstKind::Syn, true) if !ack => return,
            (FirstKind::Flagless, true) if !ack => return,
            (FirstKind::SynAck, true) if synack || reset => return,
            (_, false) if reset => Some(Failure::Refused),
            _ => None,
        };
        let first = self.pending.remove(found);
        if let (Some(first), Some(failure)) = (first, failure) {
            fail(&mut self.rules, first, failure, self.now_nanos, fired);
        }
    }

    /// Adds a first packet to the pending ones, if it is of a kind that needs an answer.
    #[inline(never)]
    fn begin(&mut self, packet: &Packet, hash: u64, seen: bool) {
        let flags = packet.flags;
        let kind = match (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK)) {
            _ if flags.has(TcpFlags::RST) => return,
            (true, false) => FirstKind::Syn,
            (false, false) => FirstKind::Flagless,
            (true, true) if !seen => FirstKind::SynAck,
            (false, true) if !seen && packet.payload_bytes == 0 => FirstKind::BareAck,
            _ => return,
        };
        let due_nanos = self.now_nanos.saturating_add(self.answer_nanos);
        self.next_deadline_nanos = self.next_deadline_nanos.min(due_nanos);
        self.seen.unsettle(hash);
        self.pending.insert(FirstPacket {
            hash,
            packet: *packet,
            kind,
            forward: self.hasher.is_forward(packet),
            answered: false,
            due_nanos,
        });
    }

    /// Counts RST and FIN that are stray or repeated. The regular end of a connection is not counted:
    /// up to three of a kind in each direction of a known 5-tuple, which allows for retransmissions,
    /// for captures that see packets twice and for reused ports.
    #[inline(never)]
    fn count_endings(
        &mut self,
        packet: &Packet,
        hash: u64,
        seen: bool,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        for (flag, counted) in ENDINGS {
            if packet.flags.has(flag) {
                let repeated = (1..=3).all(|n| {
                    let nth = self.nth_ending(packet, hash, flag, n);
                    self.seen.touch(nth)
                });
                if !seen || repeated {
                    self.rules.count(counted, packet, self.now_nanos, fired);
                }
            }
        }
    }

    /// A hash for the n-th packet with this flag from one end of a 5-tuple.
    fn nth_ending(&self, packet: &Packet, hash: u64, flag: TcpFlags, n: u64) -> u64 {
        let forward = u64::from(self.hasher.is_forward(packet));
        self.hasher.number(hash ^ (u64::from(flag.0) << 1 | forward) ^ n << 8)
    }
}

/// Counts a first packet that failed.
#[inline(never)]
fn fail(
    rules: &mut RuleCounters,
    first: &FirstPacket,
    failure: Failure,
    at_nanos: u64,
    fired: &mut impl FnMut(ThresholdHit),
) {
    let mut count = |counted| rules.count(counted, &first.packet, at_nanos, fired);
    if first.kind == FirstKind::SynAck {
        return count(Counted::UnsolicitedSynAcks);
    }
    count(Counted::Destinations);
    if !first.answered && failure != Failure::Aborted {
        count(Counted::UnansweredPorts);
    }
    if first.kind == FirstKind::Syn && failure != Failure::Refused {
        count(Counted::HalfOpen);
    }
}

/// Flags that end a connection, and the events that stray or repeated ones are.
const ENDINGS: [(TcpFlags, Counted); 2] =
    [(TcpFlags::RST, Counted::Resets), (TcpFlags::FIN, Counted::Fins)];

const SYN_ACK: TcpFlags = TcpFlags::SYN.with(TcpFlags::ACK);

/// Whether any of the [`ENDINGS`] is set.
#[inline]
fn may_end(flags: TcpFlags) -> bool {
    flags.0 & (TcpFlags::RST.0 | TcpFlags::FIN.0) != 0
}

/// Whether these may be the flags of a packet of an open flow: ACK, and nothing that opens or ends.
#[inline]
fn is_ordinary(flags: TcpFlags) -> bool {
    const RELEVANT: u8 = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0 | TcpFlags::ACK.0;
    flags.0 & RELEVANT == TcpFlags::ACK.0
}
