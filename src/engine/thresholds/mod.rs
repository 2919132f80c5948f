//! Floods, scans and storms: so many of something, per key, within a window.
//!
//! # What it holds
//! First packets of 5-tuples wait for an answer ([`SketchLimits::pending`]). What comes of them is
//! counted per key: a SYN that its sender never follows up is half-open; a first packet of any
//! kind that is refused or not answered in time is a try at a port and at a host. RST and FIN
//! count when they are stray or repeated, SYN+ACK when nothing asked for it and nothing follows.
//! So clients and crawlers that talk to many hosts which answer are no sweep, a capture that
//! begins in the middle of flows is no ACK scan (data, a second packet or any answer clears it),
//! and in one-way captures the sender's ACK stands for the answer that was not seen.
//!
//! # Bounds
//! All memory is allocated by [`Thresholds::new`]. Under floods beyond it the counts are lower
//! bounds; what was left out is in [`Thresholds::losses`]. Distinct counts err as
//! [`distinct`] says; a window covers between three quarters and the whole of its length.
//!
//! # Time
//! Time is the largest packet time so far. What becomes due between two packets is judged, in
//! order, with the time at which it became due.

mod counters;
pub mod distinct;
mod hit;
mod limits;
mod pending;
mod recent;
mod rules;
pub(super) mod stage;
#[cfg(test)]
mod tests;
mod tuple;

pub use hit::ThresholdHit;
pub use limits::{Losses, SketchLimits};

use std::slice;

use crate::flow::{Packet, TcpFlags};
use crate::machine::{Counted, ThresholdRule};
use crate::time::Timestamp;
use acsm_filters::memory::Arena;
use pending::{First, FirstKind, Pending};
use recent::Recent;
use rules::RuleCounters;
use tuple::TupleHasher;

/// What the shipped rules take by default; it is well if others take more or less.
const TABLES_BYTES: usize = 7 << 20;

/// Counts packets against threshold rules. See the module's documentation.
#[derive(Debug)]
pub struct Thresholds {
    hasher: TupleHasher,
    recent: Recent,
    pending: Pending,
    rules: RuleCounters,
    answer_nanos: u64,
    now_nanos: u64,
    /// No later than when something becomes due.
    wake_nanos: u64,
}

/// A packet's 5-tuple, hashed ahead of its turn.
#[derive(Debug, Clone, Copy)]
pub struct PreparedTuple(u64);

impl PreparedTuple {
    /// That of no packet.
    pub const NOTHING: PreparedTuple = PreparedTuple(0);
}

/// How waiting ended when it ended badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// The other end sent RST.
    Refused,
    /// Time ran out.
    TimedOut,
    /// Its sender took it back with RST.
    Aborted,
}

impl Thresholds {
    /// Counters for `rules`. Nothing is allocated later, but for rules that come later.
    pub fn new(rules: &[ThresholdRule], seed: u64, limits: SketchLimits) -> Self {
        let hasher = TupleHasher::new(seed);
        let arena = Arena::with_capacity(TABLES_BYTES);
        Thresholds {
            hasher,
            recent: Recent::new_in(&arena, limits.recent_tuples, limits.recent_nanos),
            pending: Pending::new_in(&arena, limits.pending),
            rules: RuleCounters::new_in(&arena, rules, limits.keys_per_rule, hasher),
            answer_nanos: limits.answer_nanos,
            now_nanos: 0,
            wake_nanos: 0,
        }
    }

    /// Counts a packet; packets come in the order of the capture.
    pub fn observe(&mut self, packet: &Packet, fired: &mut impl FnMut(ThresholdHit)) {
        let tuple = PreparedTuple(self.prepare(packet));
        let mut fired = |_, hit| fired(hit);
        self.observe_group(slice::from_ref(packet), slice::from_ref(&tuple), &mut fired);
    }

    /// Begins to load what [`observe_group`](Self::observe_group) will need for packets that come
    /// soon.
    #[inline(never)] // a loop of its own has the registers to itself
    pub fn prepare_group(&self, packets: &[Packet], tuples: &mut [PreparedTuple]) {
        for (packet, tuple) in packets.iter().zip(tuples) {
            *tuple = PreparedTuple(self.prepare(packet));
        }
    }

    /// Counts packets that were prepared before. What fires comes with its packet's place.
    #[inline(never)] // as above
    pub fn observe_group(
        &mut self,
        packets: &[Packet],
        tuples: &[PreparedTuple],
        fired: &mut impl FnMut(usize, ThresholdHit),
    ) {
        for (at, (packet, &PreparedTuple(hash))) in packets.iter().zip(tuples).enumerate() {
            if self.is_due(packet.time) {
                self.wake(&mut |hit| fired(at, hit));
            }
            // Most packets: of a flow that is open.
            if is_ordinary(packet.flags) && self.recent.is_settled(hash) {
                continue;
            }
            let seen = self.recent.touch(hash);
            let ordinary = is_ordinary(packet.flags) && (seen || packet.payload_bytes > 0);
            if !ordinary || self.pending.may_hold(hash) {
                self.examine(packet, hash, seen, &mut |hit| fired(at, hit));
            } else {
                self.recent.settle(hash);
            }
        }
    }

    #[inline(always)]
    fn prepare(&self, packet: &Packet) -> u64 {
        let hash = self.hasher.tuple(packet);
        self.recent.prefetch(hash);
        if !is_ordinary(packet.flags) {
            self.pending.prefetch(hash);
            if may_end(packet.flags) {
                self.prepare_storm(packet, hash);
            }
        }
        hash
    }

    #[inline(never)]
    fn prepare_storm(&self, packet: &Packet, hash: u64) {
        for (flag, _) in ENDINGS {
            if packet.flags.has(flag) {
                self.recent.prefetch(self.nth_ending(packet, hash, flag, 1));
            }
        }
    }

    /// Lets time pass before a packet of this time.
    pub fn advance(&mut self, now: Timestamp, fired: &mut impl FnMut(ThresholdHit)) {
        if self.is_due(now) {
            self.wake(fired);
        }
    }

    /// Judges what became due up to `now`, in silence. Time itself stays that of the last packet:
    /// so what a replay of the same packets finds is the same.
    pub fn idle(&mut self, now: Timestamp, fired: &mut impl FnMut(ThresholdHit)) {
        while let Some(first) = self.pending.pop_due(now.as_nanos()) {
            fail(&mut self.rules, first, Failure::TimedOut, first.due_nanos, fired);
        }
    }

    /// Goes on with other rules. Those that are the same as before keep their counts.
    pub fn set_rules(&mut self, rules: &[ThresholdRule]) {
        self.rules.set_rules(&Arena::default(), rules);
    }

    /// Judges all that still waits, as if no more packets came: the end of the last file.
    pub fn finish(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        while let Some(first) = self.pending.pop_due(u64::MAX) {
            fail(&mut self.rules, first, Failure::TimedOut, first.due_nanos, fired);
        }
    }

    /// What bounded memory left out so far.
    pub fn losses(&self) -> Losses {
        Losses {
            unwatched: self.pending.unwatched(),
            evicted_keys: self.rules.evicted_keys(),
            suppressed: self.rules.suppressed(),
        }
    }

    /// Bytes allocated; never changes.
    pub fn memory_bytes(&self) -> usize {
        self.recent.memory_bytes() + self.pending.memory_bytes() + self.rules.memory_bytes()
    }

    /// Sets the time; whether anything is due by then.
    #[inline(always)]
    fn is_due(&mut self, now: Timestamp) -> bool {
        self.now_nanos = self.now_nanos.max(now.as_nanos());
        self.now_nanos >= self.wake_nanos
    }

    #[cold]
    fn wake(&mut self, fired: &mut impl FnMut(ThresholdHit)) {
        while let Some(first) = self.pending.pop_due(self.now_nanos) {
            fail(&mut self.rules, first, Failure::TimedOut, first.due_nanos, fired);
        }
        if self.now_nanos >= self.recent.rotate_at_nanos() {
            self.recent.rotate(self.now_nanos);
        }
        self.wake_nanos = self.recent.rotate_at_nanos();
        if let Some(next) = self.pending.next_due() {
            self.wake_nanos = self.wake_nanos.min(next.due_nanos);
            self.rules.prefetch(&next.packet);
        }
    }

    /// A packet of a 5-tuple whose first packet may wait.
    #[inline(never)]
    fn examine(
        &mut self,
        packet: &Packet,
        hash: u64,
        seen: bool,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        if may_end(packet.flags) {
            self.storm(packet, hash, seen, fired);
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
        let first = self.pending.end(found);
        if let (Some(first), Some(failure)) = (first, failure) {
            fail(&mut self.rules, first, failure, self.now_nanos, fired);
        }
    }

    /// Lets a first packet wait, if it is one that must be answered.
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
        self.wake_nanos = self.wake_nanos.min(due_nanos);
        self.recent.unsettle(hash);
        self.pending.insert(First {
            hash,
            packet: *packet,
            kind,
            forward: self.hasher.is_forward(packet),
            answered: false,
            due_nanos,
        });
    }

    /// Counts RST and FIN that are stray or repeated. How connections end is no storm: up to
    /// three of a kind in each direction of a known 5-tuple, which leaves room for
    /// retransmissions, for captures that see packets twice and for ports used again.
    #[inline(never)]
    fn storm(
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
                    self.recent.touch(nth)
                });
                if !seen || repeated {
                    self.rules.count(counted, packet, self.now_nanos, fired);
                }
            }
        }
    }

    /// Stands for the n-th packet with this flag from one end of a 5-tuple.
    fn nth_ending(&self, packet: &Packet, hash: u64, flag: TcpFlags, n: u64) -> u64 {
        let forward = u64::from(self.hasher.is_forward(packet));
        self.hasher.number(hash ^ (u64::from(flag.0) << 1 | forward) ^ n << 8)
    }
}

/// Counts what waited in vain.
#[inline(never)]
fn fail(
    rules: &mut RuleCounters,
    first: &First,
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

/// What ends a connection, and what it is counted as where it ends none.
const ENDINGS: [(TcpFlags, Counted); 2] =
    [(TcpFlags::RST, Counted::Resets), (TcpFlags::FIN, Counted::Fins)];

const SYN_ACK: TcpFlags = TcpFlags::SYN.with(TcpFlags::ACK);

/// Whether there are any [`ENDINGS`].
#[inline]
fn may_end(flags: TcpFlags) -> bool {
    flags.0 & (TcpFlags::RST.0 | TcpFlags::FIN.0) != 0
}

/// Whether these may be the flags of a packet of an open flow: ACK, and nothing that opens or ends.
#[inline]
fn is_ordinary(flags: TcpFlags) -> bool {
    const TELLING: u8 = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0 | TcpFlags::ACK.0;
    flags.0 & TELLING == TcpFlags::ACK.0
}
