//! The flows that wait at a gate: a recycling Bloom filter of (flow, state).

use std::ops::AddAssign;

use crate::aging::Epoch;
use crate::dbf::{Dbf, FlowDigest};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::recycling::Erase;
use crate::rng::mix;
use crate::spec::{LayoutKind, RecycleAt, Sizing};
use crate::state::{Lookup, State};
use crate::store::Store;

/// The last state that a machine can have marks a flow as let in. Who is in it is not held.
const ADMITTED: State = State::LAST;
/// Makes the gate's positions a flow's own, independent of those in the store.
const SALT: u64 = 0x6761_7465_6b65_6570;

type Bits = Dbf<1, false>;

/// Counts of one gate; shards add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GateStats {
    /// Flows that the gate took with their first packet.
    pub held: u64,
    /// Flows that went on into the store.
    pub passed: u64,
    /// Packets of flows that seemed to wait in several states.
    pub dont_know: u64,
    /// How often it was full and began anew.
    pub recycles: u64,
}

impl AddAssign for GateStats {
    fn add_assign(&mut self, other: GateStats) {
        self.held += other.held;
        self.passed += other.passed;
        self.dont_know += other.dont_know;
        self.recycles += other.recycles;
    }
}

/// One shard of a gate.
pub struct Gate {
    active: Bits,
    frozen: Option<Bits>,
    /// Full with more bits than this: σ.
    sigma: u64,
    is_blocked: bool,
    /// The states that flows were ever held in, a bit each: hardly all of a machine's are where a
    /// first packet leads, and the others need no test.
    states: u32,
    /// The epoch of the active half.
    epoch: Option<Epoch>,
    counts: GateStats,
}

impl Gate {
    /// An empty shard: one of equal parts of what `sizing` allows.
    pub fn new(sizing: &Sizing) -> Result<Gate, StoreError> {
        // Bits of which only the first state's are prefetched.
        let make = || Bits::new(1, sizing);
        let fill = match sizing.recycle_at {
            Some(RecycleAt::Fill(fill)) => fill,
            _ => 0.5,
        };
        let cells = sizing.cells / (FlowId::SHARDS as u64 * sizing.phases.max(1));
        Ok(Gate {
            active: make()?,
            frozen: (sizing.phases == 2).then(make).transpose()?,
            sigma: ((cells as f64 * fill) as u64).min(cells.saturating_sub(1)),
            is_blocked: sizing.layout != LayoutKind::Spread,
            states: 0,
            epoch: None,
            counts: GateStats::default(),
        })
    }

    /// Begins to load what the flow needs, where that is few lines.
    #[inline]
    pub(super) fn prefetch(&self, digest: u64) {
        // Blocked, a flow has the same lines in all states. Spread, it would be k lines a state, and
        // most packets are of flows that never come to the gate again.
        if self.is_blocked {
            let place = place(digest);
            self.active.prefetch(&place);
            if let Some(frozen) = &self.frozen {
                frozen.prefetch(&place);
            }
        }
    }

    /// What is known of a flow that waits. A flow that was let in does not.
    pub(super) fn ask(&mut self, digest: u64, now: Epoch) -> Lookup {
        self.turn_to(now);
        let states = (0..State::LIMIT).filter(|index| self.states >> index & 1 == 1);
        let mut hits = states.map_while(State::new).filter(|&state| self.has(digest, state));
        let answer = match (hits.next(), hits.next()) {
            (None, _) => return Lookup::Absent,
            (Some(state), None) => Lookup::Known(state),
            _ => Lookup::DontKnow,
        };
        if self.has(digest, ADMITTED) { Lookup::Absent } else { answer }
    }

    /// Takes a flow that is absent, unless it was let in before, as far as the gate remembers.
    /// Says whether it did.
    pub(super) fn try_hold(&mut self, digest: u64, state: State, now: Epoch) -> bool {
        self.turn_to(now);
        if state == ADMITTED || self.has(digest, ADMITTED) {
            return false;
        }
        self.counts.held += 1;
        self.states |= 1 << state.index();
        self.add(digest, state);
        true
    }

    /// Marks a flow as let in.
    pub(super) fn mark_admitted(&mut self, digest: u64, now: Epoch) {
        self.turn_to(now);
        self.add(digest, ADMITTED);
    }

    pub(super) fn count_passed(&mut self) {
        self.counts.passed += 1;
    }

    pub(super) fn count_dont_know(&mut self) {
        self.counts.dont_know += 1;
    }

    pub(super) fn stats(&self) -> GateStats {
        self.counts
    }

    /// The chance that a stranger seems to wait, at this fill.
    pub(super) fn false_positive_chance(&self) -> f64 {
        let halves = [Some(&self.active), self.frozen.as_ref()];
        let misses =
            halves.into_iter().flatten().map(|half| 1.0 - half.stats().false_positive_chance);
        1.0 - misses.product::<f64>().powi(self.states.count_ones() as i32)
    }

    fn has(&self, digest: u64, state: State) -> bool {
        let place = place(digest);
        let in_half = |half: &Bits| half.contains(&place, state, UNTIMED);
        in_half(&self.active) || self.frozen.as_ref().is_some_and(in_half)
    }

    fn add(&mut self, digest: u64, state: State) {
        let place = place(digest);
        self.active.insert(&place, state, UNTIMED.stamp());
        if self.active.occupied() > self.sigma {
            self.counts.recycles += 1;
            self.change_halves();
            if self.frozen.is_none() {
                // The first of the next cycle.
                self.active.insert(&place, state, UNTIMED.stamp());
            }
        }
    }

    /// Empties the active half, after it was frozen if there are two.
    fn change_halves(&mut self) {
        if let Some(frozen) = &mut self.frozen {
            std::mem::swap(&mut self.active, frozen);
        }
        self.active.erase();
    }

    /// In two halves, forgets what did not come in this epoch or the last, as a timed store does.
    #[inline]
    fn turn_to(&mut self, now: Epoch) {
        if self.epoch != Some(now) {
            self.turn(now);
        }
    }

    #[cold]
    fn turn(&mut self, now: Epoch) {
        let passed = self.epoch.replace(now).map_or(0, |before| now.0.saturating_sub(before.0));
        if self.frozen.is_some() {
            (0..passed.min(2)).for_each(|_| self.change_halves());
        }
    }
}

/// Bits carry no stamps: halves are what ages.
const UNTIMED: Epoch = Epoch(0);

/// Where a flow's bits are.
#[inline]
fn place(digest: u64) -> FlowDigest {
    FlowDigest(mix(digest ^ SALT))
}
