//! The detector: what each packet counts as, and when a threshold is reached.

#[cfg(test)]
mod tests;

use std::slice;

use super::decided::Decided;
use super::fates::Failure;
use super::hit::ThresholdHit;
use super::limits::{Losses, SketchLimits};
use super::pending::PendingFirstPackets;
use super::rule_counters::RuleCounters;
use super::services::Services;
use super::tuples::{SeenTuples, TupleHasher};
use crate::flow::{Packet, TcpFlags};
use crate::machine::{Counted, DecidedRule, OddFlags, ThresholdRule};
use crate::seed::Seed;
use crate::time::Timestamp;
use acsm_filters::memory::Arena;

/// How much longer 5-tuples are known than seen.
const KNOWN_PERIODS: u64 = 30;

/// The memory of the shipped rules by default; others may take more or less.
const TABLES_BYTES: usize = 12 << 20;

/// Counts packets against threshold rules. See the module's documentation.
#[derive(Debug)]
pub struct Thresholds {
    pub(super) hasher: TupleHasher,
    pub(super) seen: SeenTuples,
    pub(super) pending: PendingFirstPackets,
    pub(super) rules: RuleCounters,
    pub(super) services: Services,
    pub(super) odd_flags: OddFlags,
    pub(super) decided: Decided,
    /// 5-tuples of longer ago: a packet of one of them belongs to a connection that was idle.
    pub(super) known: SeenTuples,
    pub(super) keys_per_rule: usize,
    pub(super) answer_nanos: u64,
    pub(super) now_nanos: u64,
    /// Not later than the next deadline.
    pub(super) next_deadline_nanos: u64,
}

/// A packet's 5-tuple, hashed ahead of its turn.
#[derive(Debug, Clone, Copy)]
pub struct PreparedTuple(u64);

impl PreparedTuple {
    /// A placeholder.
    pub const NOTHING: PreparedTuple = PreparedTuple(0);
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
            services: Services::new_in(&arena, rules, limits.keys_per_rule, hasher),
            odd_flags: OddFlags::default(),
            decided: Decided::new(limits.recent_nanos),
            known: SeenTuples::new_in(
                &arena,
                2 * limits.recent_tuples,
                limits.recent_nanos.saturating_mul(KNOWN_PERIODS),
            ),
            keys_per_rule: limits.keys_per_rule,
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
            let seen = self.seen.touch(hash) || self.known.touch(hash);
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
        if is_ordinary(packet.flags) {
            if !self.seen.is_settled(hash) {
                self.seen.prefetch(hash);
            }
            return hash;
        }
        self.seen.prefetch(hash);
        self.pending.prefetch(hash);
        if packet.flags.has(TcpFlags::SYN) {
            // As a rule the first packet of its 5-tuple: looked for among those of longer ago.
            self.known.prefetch(hash);
        } else if may_end(packet.flags) {
            self.prepare_endings(packet, hash);
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
        self.time_out(now.as_nanos(), fired);
        self.rules.cases.check(now.as_nanos(), fired);
    }

    /// First packets whose deadlines are over.
    fn time_out(&mut self, now_nanos: u64, fired: &mut impl FnMut(ThresholdHit)) {
        while let Some(&first) = self.pending.pop_due(now_nanos) {
            self.fail(&first, Failure::TimedOut, first.due_nanos, fired);
        }
    }

    /// Replaces the rules. Rules that stay the same keep their counts.
    pub fn set_rules(&mut self, rules: &[ThresholdRule]) {
        self.rules.set_rules(&Arena::default(), rules);
        self.services.set_rules(&Arena::default(), rules, self.keys_per_rule);
    }

    /// Replaces the rules about packets of no connection.
    pub fn set_decided(&mut self, rules: &[DecidedRule]) {
        self.decided.set_rules(rules);
    }

    /// Sets which flags no honest stack sends.
    pub fn set_odd_flags(&mut self, odd_flags: OddFlags) {
        self.odd_flags = odd_flags;
    }

    /// Lets all pending first packets time out: the end of the last file.
    pub fn finish(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        self.time_out(u64::MAX, fired);
        self.decided.finish(fired);
        self.rules.cases.finish(fired);
    }

    /// What was not counted or not reported so far.
    pub fn losses(&self) -> Losses {
        Losses {
            unwatched: self.pending.unwatched(),
            evicted_keys: self.rules.evicted_keys() + self.services.evicted,
            suppressed: self.rules.suppressed(),
        }
    }

    /// Bytes allocated; constant as long as the rules are.
    pub fn memory_bytes(&self) -> usize {
        let tables =
            self.seen.memory_bytes() + self.known.memory_bytes() + self.pending.memory_bytes();
        tables + self.rules.memory_bytes() + self.services.memory_bytes()
    }

    /// Sets the time; returns whether a deadline has passed.
    #[inline(always)]
    fn is_due(&mut self, now: Timestamp) -> bool {
        self.now_nanos = self.now_nanos.max(now.as_nanos());
        self.now_nanos >= self.next_deadline_nanos
    }

    #[cold]
    fn handle_deadlines(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        self.time_out(self.now_nanos, fired);
        if self.now_nanos >= self.rules.cases.next_check_nanos() {
            self.rules.cases.check(self.now_nanos, fired);
        }
        if self.now_nanos >= self.seen.rotate_at_nanos() {
            self.seen.rotate(self.now_nanos);
            self.rules.forget_sources();
            self.decided.begin(self.now_nanos);
            self.decided.pass_to(self.now_nanos, fired);
        }
        if self.now_nanos >= self.known.rotate_at_nanos() {
            self.known.rotate(self.now_nanos);
        }
        let next = self.seen.rotate_at_nanos().min(self.rules.cases.next_check_nanos());
        self.next_deadline_nanos = next;
        if let Some(next) = self.pending.next_due() {
            self.next_deadline_nanos = self.next_deadline_nanos.min(next.due_nanos);
            self.rules.prefetch(&next.packet);
        }
    }

    /// Counts RST and FIN that are stray or repeated. The regular end of a connection is not counted:
    /// up to three of a kind in each direction of a known 5-tuple, which allows for retransmissions,
    /// for captures that see packets twice and for reused ports.
    #[inline(never)]
    pub(super) fn count_endings(
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
                    self.count(counted, packet, fired);
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

/// Flags that end a connection, and the events that stray or repeated ones are.
const ENDINGS: [(TcpFlags, Counted); 2] =
    [(TcpFlags::RST, Counted::Resets), (TcpFlags::FIN, Counted::Fins)];

/// Whether any of the [`ENDINGS`] is set.
#[inline]
pub(super) fn may_end(flags: TcpFlags) -> bool {
    flags.0 & (TcpFlags::RST.0 | TcpFlags::FIN.0) != 0
}

/// Whether these may be the flags of a packet of an open flow: ACK, and nothing that opens or ends.
#[inline]
fn is_ordinary(flags: TcpFlags) -> bool {
    const RELEVANT: u8 = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0 | TcpFlags::ACK.0;
    flags.0 & RELEVANT == TcpFlags::ACK.0
}
