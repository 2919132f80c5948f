//! The flows that wait at a gate: a recycling Bloom filter of (flow, state).

use std::ops::AddAssign;

use crate::flow::FlowId;
use crate::random::mix;
use crate::spec::{RecycleAt, Sizing};
use crate::state::{Lookup, State};
use crate::store::StoreError;
use crate::store::aging::Epoch;
use crate::store::cells::Cells;
use crate::store::layout::{CellAt, Layout};

/// The element that marks a flow as let in: none that is a state.
const LET_IN: u64 = State::LIMIT as u64;
/// Makes the gate's positions a flow's own, independent of those in the store.
const SALT: u64 = 0x6761_7465_6b65_6570;

type Bits = Cells<1, false>;

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
    layout: Layout,
    active: Bits,
    frozen: Option<Bits>,
    /// Full with more bits than this: σ.
    sigma: u64,
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
        let layout = Layout::new(sizing);
        let make = || Bits::new(layout.cells());
        let fill = match sizing.recycle_at {
            Some(RecycleAt::Fill(fill)) => fill,
            _ => 0.5,
        };
        let cells = sizing.cells / (FlowId::SHARDS as u64 * sizing.phases.max(1));
        Ok(Gate {
            layout,
            active: make()?,
            frozen: (sizing.phases == 2).then(make).transpose()?,
            sigma: ((cells as f64 * fill) as u64).min(cells.saturating_sub(1)),
            states: 0,
            epoch: None,
            counts: GateStats::default(),
        })
    }

    /// Begins to load what the flow needs, where that is few lines.
    #[inline]
    pub(super) fn prefetch(&self, digest: u64) {
        // Blocked, any element is in the lines of all the flow's elements. Spread, it would be k
        // lines a state, and most packets are of flows that never come to the gate again.
        if self.layout.is_blocked() {
            let spots = self.layout.element_spots(own(digest), LET_IN);
            self.active.prefetch(spots.cells());
            if let Some(frozen) = &self.frozen {
                frozen.prefetch(spots.cells());
            }
        }
    }

    /// What is known of a flow that waits. A flow that was let in does not.
    pub(super) fn ask(&mut self, digest: u64, now: Epoch) -> Lookup {
        self.turn_to(now);
        let states = (0..State::LIMIT).filter(|&state| self.states >> state & 1 == 1);
        let mut hits = states.filter(|&state| self.has(digest, state as u64));
        let answer = match (hits.next().and_then(State::new), hits.next()) {
            (None, _) => return Lookup::Absent,
            (Some(state), None) => Lookup::Known(state),
            _ => Lookup::DontKnow,
        };
        if self.has(digest, LET_IN) { Lookup::Absent } else { answer }
    }

    /// Whether the flow was let in before, as far as the gate remembers.
    pub(super) fn has_let_in(&mut self, digest: u64, now: Epoch) -> bool {
        self.turn_to(now);
        self.has(digest, LET_IN)
    }

    /// Takes a flow that is absent.
    pub(super) fn hold(&mut self, digest: u64, state: State, now: Epoch) {
        self.turn_to(now);
        self.counts.held += 1;
        self.states |= 1 << state.index();
        self.add(digest, state.index() as u64);
    }

    /// Marks a flow as let in.
    pub(super) fn let_in(&mut self, digest: u64, now: Epoch) {
        self.turn_to(now);
        self.add(digest, LET_IN);
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
        let misses = halves.into_iter().flatten().map(|half| {
            let fill = half.occupied() as f64 / self.layout.cells() as f64;
            1.0 - fill.powi(self.layout.hashes() as i32)
        });
        1.0 - misses.product::<f64>().powi(self.states.count_ones() as i32)
    }

    fn has(&self, digest: u64, element: u64) -> bool {
        let spots = self.layout.element_spots(own(digest), element);
        let in_half = |half: &Bits| spots.cells().all(|cell| half.read(cell, UNTIMED) != 0);
        in_half(&self.active) || self.frozen.as_ref().is_some_and(in_half)
    }

    fn add(&mut self, digest: u64, element: u64) {
        let spots = self.layout.element_spots(own(digest), element);
        self.set(spots.cells());
        if self.active.occupied() > self.sigma {
            self.counts.recycles += 1;
            self.change_halves();
            if self.frozen.is_none() {
                // The first of the next cycle.
                self.set(spots.cells());
            }
        }
    }

    fn set(&mut self, cells: impl Iterator<Item = CellAt>) {
        for cell in cells {
            self.active.update(cell, UNTIMED.stamp(), |_| 1);
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

/// The digest that the flow's positions at the gate are computed from.
#[inline]
fn own(digest: u64) -> u64 {
    mix(digest ^ SALT)
}
