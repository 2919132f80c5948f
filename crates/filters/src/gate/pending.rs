//! The flows pending at a gate: a recycling Bloom filter of (flow, state).

use crate::aging::{Epoch, UNTIMED};
use crate::dbf::{Dbf, DbfPlace};
use crate::digest::FlowId;
use crate::digest::mix;
use crate::error::StoreError;
use crate::recycling::Erase;
use crate::spec::{LayoutKind, RecycleAt, Sizing};
use crate::state::{Lookup, State};
use crate::stats::GateStats;
use crate::store::Store;

/// The last state that a machine can have marks an admitted flow. A flow in this state is not held.
const ADMITTED: State = State::LAST;
/// Makes the positions in the gate independent of those in the store.
const SALT: u64 = 0x6761_7465_6b65_6570;

type Bits = Dbf<1, UNTIMED>;

/// One shard of a gate.
pub struct Gate {
    active: Bits,
    frozen: Option<Bits>,
    /// Full with more bits than this: σ.
    sigma: u64,
    is_blocked: bool,
    /// The states that flows were ever held in, one bit each. A first packet leads to few of a
    /// machine's states, and only these are tested.
    states: u32,
    /// The epoch of the active half.
    epoch: Option<Epoch>,
    counts: GateStats,
}

impl Gate {
    /// An empty shard: one of equal parts of `sizing`.
    pub fn new(sizing: &Sizing) -> Result<Gate, StoreError> {
        // One state: prefetching loads the lines of the first state only.
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

    /// Starts loading the lines of a flow, if they are few.
    #[inline]
    pub(super) fn prefetch(&self, digest: u64) {
        // Blocked, a flow has the same lines in all states. Spread, it has k lines per state, and most
        // packets are of flows in the store, for which the gate is not consulted.
        if self.is_blocked {
            let place = place(digest);
            self.active.prefetch(&place);
            if let Some(frozen) = &self.frozen {
                frozen.prefetch(&place);
            }
        }
    }

    /// The state of a pending flow. An admitted flow is not pending.
    pub(super) fn ask(&mut self, digest: u64, now: Epoch) -> Lookup {
        self.advance(now);
        let states = (0..State::LIMIT).filter(|index| self.states >> index & 1 == 1);
        let mut hits = states.map_while(State::new).filter(|&state| self.has(digest, state));
        let answer = match (hits.next(), hits.next()) {
            (None, _) => return Lookup::Absent,
            (Some(state), None) => Lookup::Known(state),
            _ => Lookup::DontKnow,
        };
        if self.has(digest, ADMITTED) { Lookup::Absent } else { answer }
    }

    /// Holds an absent flow, unless the gate remembers that it was admitted. Returns whether it is
    /// held.
    pub(super) fn try_hold(&mut self, digest: u64, state: State, now: Epoch) -> bool {
        self.advance(now);
        if state == ADMITTED || self.has(digest, ADMITTED) {
            return false;
        }
        self.counts.held += 1;
        self.states |= 1 << state.index();
        self.add(digest, state);
        true
    }

    /// Marks a flow as admitted.
    pub(super) fn mark_admitted(&mut self, digest: u64, now: Epoch) {
        self.advance(now);
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

    /// The probability, at this fill, that an absent flow seems to be pending.
    pub(super) fn false_positive_chance(&self) -> f64 {
        let halves = [Some(&self.active), self.frozen.as_ref()];
        let misses =
            halves.into_iter().flatten().map(|half| 1.0 - half.stats().false_positive_chance);
        1.0 - misses.product::<f64>().powi(self.states.count_ones() as i32)
    }

    fn has(&self, digest: u64, state: State) -> bool {
        let place = place(digest);
        let in_half = |half: &Bits| half.contains(&place, state, TIMELESS);
        in_half(&self.active) || self.frozen.as_ref().is_some_and(in_half)
    }

    fn add(&mut self, digest: u64, state: State) {
        let place = place(digest);
        self.active.insert(&place, state, TIMELESS.stamp());
        if self.active.occupied() > self.sigma {
            self.counts.recycles += 1;
            self.swap_halves();
            if self.frozen.is_none() {
                // The first of the next cycle.
                self.active.insert(&place, state, TIMELESS.stamp());
            }
        }
    }

    /// Empties the active half; with two halves, swaps them first.
    fn swap_halves(&mut self) {
        if let Some(frozen) = &mut self.frozen {
            std::mem::swap(&mut self.active, frozen);
        }
        self.active.erase();
    }

    /// With two halves, forgets what is older than the previous epoch, as a timed store does.
    #[inline]
    fn advance(&mut self, now: Epoch) {
        if self.epoch != Some(now) {
            self.advance_to(now);
        }
    }

    #[cold]
    fn advance_to(&mut self, now: Epoch) {
        let passed = self.epoch.replace(now).map_or(0, |before| now.0.saturating_sub(before.0));
        if self.frozen.is_some() {
            (0..passed.min(2)).for_each(|_| self.swap_halves());
        }
    }
}

/// Single bits carry no stamps: halves age.
const TIMELESS: Epoch = Epoch(0);

/// Where a flow's bits are.
#[inline]
fn place(digest: u64) -> DbfPlace {
    DbfPlace(mix(digest ^ SALT))
}
