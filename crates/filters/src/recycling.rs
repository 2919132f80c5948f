//! Expiry by recycling: stores that empty themselves when they are full (Dozier, Salamatian,
//! Rubenstein: *Modeling Average False Positive Rates of Recycling Bloom Filters*).
//!
//! *One phase*: all cells are emptied at once. The flow that made the store full is the first of the
//! next cycle (retaining) or forgotten with the others.
//!
//! *Two phases*: two arrays of equal size with the same hashes. Flows are inserted into the active
//! one; when it is full, the frozen one is emptied and the two are swapped. A flow is looked up in
//! the active array, and in the frozen one only if it is absent there. A flow found there with a
//! state moves to the active one. So a flow is forgotten if it was not seen in this phase or the
//! previous one.
//!
//! Each shard recycles by itself, when its own cells are full: results do not depend on the number
//! of workers.

use crate::aging::{Epoch, Stamp};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::snapshot::{Decoder, Encoder, Persist, SnapshotError};
use crate::spec::{RecycleAt, Sizing};
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};

/// A store that can be emptied at once.
pub trait Erase: Store {
    /// How many cells are in use.
    fn occupied(&self) -> u64;

    /// Empties all cells. Counts of what happened stay.
    fn erase(&mut self);
}

/// When a shard is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threshold {
    /// Never.
    None,
    /// With more cells in use than this: σ.
    Cells(u64),
    /// With this many flows that took an empty cell: N.
    Flows(u64),
}

/// One shard that recycles; or, without a threshold, one that never does.
///
/// ```
/// use acsm_filters::{
///     Backend, Epoch, Expire, FlowId, HashKey, Lookup, Recycling, Sbf, SbfRule, SbfRules, State,
///     Store, StoreSpec, UNTIMED,
/// };
///
/// let expire = Expire::TwoPhase;
/// let spec = StoreSpec { expire, flows: 16_000, ..StoreSpec::new(Backend::Sbf, 6) };
/// let sizing = spec.sizing()?;
/// let rule = SbfRule::new(SbfRules::Stateful);
/// let mut shard = Recycling::new(&sizing, || Sbf::<8, UNTIMED>::new(rule, &sizing))?;
/// let key = HashKey::from_seed(1);
/// let (now, open) = (Epoch(0), State::new(2).unwrap());
///
/// // Ten times as many flows as it was sized for; the latest one is always found.
/// for flow in 0..10_000u64 {
///     let place = shard.locate(FlowId(key.digest([flow])), ());
///     if shard.lookup(&place, now).answer == Lookup::Absent {
///         shard.insert(&place, open, now.stamp());
///     }
///     assert_eq!(shard.lookup(&place, now).answer, Lookup::Known(open));
/// }
/// assert!(shard.stats().recycles > 15 && shard.stats().fill_ratio() < 0.5);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub struct Recycling<S: Store> {
    active: S,
    frozen: Option<S>,
    threshold: Threshold,
    retain: bool,
    hashes: usize,
    /// Flows of this cycle that took an empty cell.
    flows: u64,
    recycles: u64,
    moved: u64,
    retained: u64,
}

impl<S: Erase> Recycling<S> {
    /// An empty shard of one or two arrays from `make`.
    pub fn new(
        sizing: &Sizing,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> Result<Self, StoreError> {
        let shards = FlowId::SHARDS as u64;
        let threshold = match sizing.recycle_at {
            None => Threshold::None,
            Some(RecycleAt::Fill(fill)) => {
                let cells = sizing.cells / (shards * sizing.phases);
                // However high the threshold, an array with all cells in use is full.
                Threshold::Cells(((cells as f64 * fill) as u64).min(cells.saturating_sub(1)))
            }
            Some(RecycleAt::Flows(flows)) => Threshold::Flows(flows.div_ceil(shards).max(1)),
        };
        Ok(Recycling {
            active: make()?,
            frozen: (sizing.phases == 2).then(make).transpose()?,
            threshold,
            retain: sizing.retain,
            hashes: sizing.hashes,
            flows: 0,
            recycles: 0,
            moved: 0,
            retained: 0,
        })
    }

    /// Inserts into the active array; returns whether it is full now.
    fn admit(&mut self, place: &S::Place, state: State, stamp: Stamp) -> (Insertion, bool) {
        let insertion = self.active.insert(place, state, stamp);
        let took_empty = matches!(insertion, Insertion::Stored { shared_cells, .. } if shared_cells < self.hashes);
        self.flows += u64::from(took_empty);
        (insertion, self.is_full())
    }

    /// Whether an answer of the active array is the answer of a lookup: with a frozen array, a flow
    /// that is absent in the active one is looked up there.
    fn is_final(&self, answer: Lookup) -> bool {
        self.frozen.is_none() || answer != Lookup::Absent
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.has_too_many_cells()
            || matches!(self.threshold, Threshold::Flows(flows) if self.flows >= flows)
    }

    #[inline]
    fn has_too_many_cells(&self) -> bool {
        matches!(self.threshold, Threshold::Cells(sigma) if self.active.occupied() > sigma)
    }

    /// Starts a new cycle, with the flow that ended the last one if it is retained. (In two phases
    /// it is in the frozen array anyway.)
    fn start_cycle_with(&mut self, place: &S::Place, state: State, stamp: Stamp) {
        self.recycle();
        if self.retain && self.frozen.is_none() {
            self.retained += 1;
            // Even if this one flow alone is beyond the threshold, it stays.
            self.admit(place, state, stamp);
        }
    }

    /// Starts a new cycle.
    fn recycle(&mut self) {
        if let Some(frozen) = &mut self.frozen {
            std::mem::swap(&mut self.active, frozen);
        }
        self.active.erase();
        self.recycles += 1;
        self.flows = 0;
    }

    /// Moves a flow from the frozen array, in which `found` was found, to the active one.
    fn move_to_active(
        &mut self,
        place: &S::Place,
        found: &Found<S::Handle>,
        new: State,
        stamp: Stamp,
    ) {
        if let Some(frozen) = &mut self.frozen {
            frozen.delete(place, found, stamp.now());
        }
        self.moved += 1;
        if self.admit(place, new, stamp).1 {
            self.recycle();
        }
    }
}

/// Which array answered a lookup, and where in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecyclingHandle<H> {
    /// Whether it was the frozen array; the active one does not have the flow then.
    in_frozen: bool,
    inner: H,
}

/// What the array itself found.
fn inner<H: Copy>(found: &Found<RecyclingHandle<H>>) -> Found<H> {
    Found { answer: found.answer, settled: found.settled, handle: found.handle.inner }
}

impl<S: Erase> Store for Recycling<S> {
    type Key = S::Key;
    type Place = S::Place;
    type Handle = RecyclingHandle<S::Handle>;

    const WRITES_WITHOUT_OLD_STATE: bool = S::WRITES_WITHOUT_OLD_STATE;

    #[inline]
    fn locate(&self, id: FlowId, key: S::Key) -> S::Place {
        self.active.locate(id, key)
    }

    #[inline]
    fn prefetch(&self, place: &S::Place) {
        self.active.prefetch(place);
        if let Some(frozen) = &self.frozen {
            frozen.prefetch(place);
        }
    }

    #[inline]
    fn lookup(&mut self, place: &S::Place, now: Epoch) -> Found<Self::Handle> {
        let found = self.active.lookup(place, now);
        let active = Found {
            answer: found.answer,
            settled: found.settled,
            handle: RecyclingHandle { in_frozen: false, inner: found.handle },
        };
        let Some(frozen) = &mut self.frozen else { return active };
        if active.answer != Lookup::Absent {
            return active;
        }
        let found = frozen.lookup(place, now);
        match found.answer {
            Lookup::Absent => active,
            // Not settled: a touch moves the flow.
            answer => Found {
                answer,
                settled: false,
                handle: RecyclingHandle { in_frozen: true, inner: found.handle },
            },
        }
    }

    /// A settled answer came from the active array.
    #[inline]
    fn handle_of(&mut self, place: &S::Place, answer: Lookup, now: Epoch) -> Self::Handle {
        RecyclingHandle { in_frozen: false, inner: self.active.handle_of(place, answer, now) }
    }

    #[inline]
    fn touch(&mut self, place: &S::Place, found: &Found<Self::Handle>, stamp: Stamp) {
        if let Lookup::Known(state) = found.answer
            && found.handle.in_frozen
        {
            self.move_to_active(place, &inner(found), state, stamp);
        }
    }

    fn insert(&mut self, place: &S::Place, state: State, stamp: Stamp) -> Insertion {
        let (insertion, full) = self.admit(place, state, stamp);
        if full {
            self.start_cycle_with(place, state, stamp);
        }
        match insertion {
            Insertion::Stored { shared_cells, answer } => {
                let answer = answer.filter(|answer| !full && self.is_final(*answer));
                Insertion::Stored { shared_cells, answer }
            }
            insertion => insertion,
        }
    }

    /// A store that recycles makes room by itself.
    #[inline]
    fn has_room(&self) -> bool {
        self.threshold != Threshold::None || self.active.has_room()
    }

    fn modify(
        &mut self,
        place: &S::Place,
        found: &Found<Self::Handle>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        let found_inside = inner(found);
        if found.handle.in_frozen {
            match (found.answer, &mut self.frozen) {
                (Lookup::Known(_), _) => self.move_to_active(place, &found_inside, new, stamp),
                (_, Some(frozen)) => drop(frozen.modify(place, &found_inside, new, stamp)),
                _ => {}
            }
            return None;
        }
        let occupied = self.active.occupied();
        let answer = self.active.modify(place, &found_inside, new, stamp);
        // In a dbf the new state has other cells.
        if self.active.occupied() > occupied && self.has_too_many_cells() {
            self.start_cycle_with(place, new, stamp);
            return None;
        }
        answer.filter(|answer| self.is_final(*answer))
    }

    fn delete(&mut self, place: &S::Place, found: &Found<Self::Handle>, now: Epoch) {
        let half = self.frozen.as_mut().filter(|_| found.handle.in_frozen);
        half.unwrap_or(&mut self.active).delete(place, &inner(found), now);
    }

    fn sweep(&mut self, _now: Epoch, _budget_cells: usize) -> usize {
        0
    }

    #[inline]
    fn lines(&self, place: &S::Place) -> Lines {
        self.active.lines(place)
    }

    /// Two epochs per cycle in one phase, where nothing outlives a cycle; one in two phases, where
    /// flows seen in this phase or the last are there.
    #[inline]
    fn epoch(&self, _now: Epoch) -> Epoch {
        let epochs_per_cycle = if self.frozen.is_some() { 1 } else { 2 };
        Epoch((self.recycles as u32).wrapping_mul(epochs_per_cycle))
    }

    fn stats(&self) -> StoreStats {
        let mut stats = self.active.stats();
        if let Some(frozen) = &self.frozen {
            let frozen = frozen.stats();
            let [a, b] = [stats, frozen].map(|half| half.false_positive_chance);
            stats += frozen;
            // An absent flow is looked up in both halves.
            stats.false_positive_chance = a + b - a * b;
        }
        stats.inserted -= self.moved + self.retained;
        stats.deleted -= self.moved;
        StoreStats { recycles: self.recycles, moved: self.moved, ..stats }
    }
}

/// The threshold follows from the specification, and so does whether there is a frozen array.
impl<S: Erase + Persist> Persist for Recycling<S> {
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        for count in [self.flows, self.recycles, self.moved, self.retained] {
            out.u64(count);
        }
        self.active.encode(out);
        if let Some(frozen) = &self.frozen {
            frozen.encode(out);
        }
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.flows = input.count("the number of flows of this cycle")?;
        self.recycles = input.count("the number of recycles")?;
        let offset = input.offset();
        self.moved = input.count("the number of flows moved")?;
        self.retained = input.count("the number of flows retained")?;
        self.active.decode(input)?;
        if let Some(frozen) = &mut self.frozen {
            frozen.decode(input)?;
        }
        // Moves and retained flows were counted as insertions and deletions by the arrays.
        let arrays = [Some(&self.active), self.frozen.as_ref()].into_iter().flatten();
        let (inserted, deleted) = arrays.fold((0, 0), |(inserted, deleted), array| {
            let stats = array.stats();
            (inserted + stats.inserted, deleted + stats.deleted)
        });
        if self.moved + self.retained > inserted || self.moved > deleted {
            let (what, value) = ("the number of flows moved", self.moved);
            return Err(SnapshotError::Invalid { what, offset, value });
        }
        Ok(())
    }
}
