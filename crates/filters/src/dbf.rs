//! `dbf`: the direct Bloom filter of ACSM 2006 §3.1.
//!
//! A counting Bloom filter whose elements are (flow, state). Insert counts the cells of an element
//! up, delete down, modify does both. Lookup tries all states: none hits → Absent, one → Known,
//! more → DontKnow. A count at its maximum stays there until the cell ages; with cells of a single
//! bit that is at once, and only the timer empties them.

use super::aging::{Epoch, Stamp};
use super::cells::{Cells, InLine};
use super::error::StoreError;
use super::layout::{Layout, SLOTS_PER_WORD, Slots};
use super::recycling::Erase;
use super::stats::StoreStats;
use super::store::{Found, Insertion, Lines, Store};
use crate::digest::FlowId;
use crate::memory::Arena;
use crate::spec::Sizing;
use crate::state::{Lookup, State};

/// What the positions of a flow's elements are computed from: they are told faster than kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowDigest(pub(super) u64);

/// A direct Bloom filter with cells of `BITS` bits: 2-bit counters, or 1 without.
///
/// * One [test](Dbf::contains) of an element that is not there hits with (1−e^{−kn/m})^k. A lookup
///   makes one for each state, and errs so much more often.
/// * While no counter saturates and nothing is removed that is not there, a flow that is there is
///   never answered `Absent`, nor in another state than its own.
/// * Without counters a state that was left keeps answering until it ages.
///
/// ```
/// use acsm_filters::{Backend, Dbf, Epoch, FlowId, HashKey, Lookup, State, Store, StoreSpec};
///
/// // One of 16 shards: 1,000 flows, at the default false-positive rate of 0.01 per test.
/// let spec = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Dbf, 6) };
/// let mut shard = Dbf::<2, true>::new(6, &spec.sizing()?)?;
/// let key = HashKey::from_seed(1);
/// let id = |flow: u64| FlowId(key.digest([flow]));
/// let (now, open) = (Epoch(0), State::new(2).unwrap());
///
/// for flow in 0..1000 {
///     let place = shard.locate(id(flow), ());
///     shard.insert(&place, open, now.stamp());
///     assert_ne!(shard.lookup(&place, now).answer, Lookup::Absent);
/// }
/// let false_positives = (1000..11_000)
///     .filter(|&absent| shard.contains(&shard.locate(id(absent), ()), open, now));
/// assert!(false_positives.count() < 150);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub struct Dbf<const BITS: u32, const TIMED: bool> {
    states: usize,
    layout: Layout,
    cells: Cells<BITS, TIMED>,
    counts: StoreStats,
}

impl<const BITS: u32, const TIMED: bool> Dbf<BITS, TIMED> {
    const COUNT_MAX: u32 = (1 << BITS) - 1;

    /// An empty shard for a machine with so many states: one of equal parts of what `sizing`
    /// allows.
    pub fn new(states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        Self::new_in(&Arena::default(), states, sizing)
    }

    /// The same, with its cells beside those of other shards.
    pub fn new_in(arena: &Arena, states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::new_in(arena, layout.cells())?;
        Ok(Dbf { states, layout, cells, counts: StoreStats::default() })
    }

    /// Whether the flow seems to be in this state.
    #[inline]
    pub fn contains(&self, place: &FlowDigest, state: State, now: Epoch) -> bool {
        groups(&self.layout, place, state).all(|(line, slots)| {
            self.cells.line(line, now).read(slots, &mut [0; SLOTS_PER_WORD]).0 != InLine::Missing
        })
    }

    fn states(&self) -> impl Iterator<Item = State> + use<BITS, TIMED> {
        (0..self.states).map_while(State::new)
    }

    fn touch_element(&mut self, place: &FlowDigest, state: State, stamp: Stamp) {
        for (line, slots) in groups(&self.layout, place, state) {
            self.cells.line_mut(line, stamp.now()).touch(slots, stamp);
        }
    }

    /// Counts an element up; returns how many of its cells were in use.
    fn add(&mut self, place: &FlowDigest, state: State, stamp: Stamp) -> usize {
        let mut shared_cells = 0;
        for (line, slots) in groups(&self.layout, place, state) {
            self.cells.line_mut(line, stamp.now()).update(slots, stamp, |old| {
                let new = Self::COUNT_MAX.min(old + 1);
                shared_cells += usize::from(old != 0);
                let saturates = BITS > 1 && new == Self::COUNT_MAX && old != new;
                self.counts.saturations += u64::from(saturates);
                new
            });
        }
        shared_cells
    }

    /// Counts an element down.
    fn take(&mut self, place: &FlowDigest, state: State, now: Epoch) {
        let mut absent = false;
        for (line, slots) in groups(&self.layout, place, state) {
            self.cells.line_mut(line, now).replace(slots, |count| {
                absent |= count == 0;
                if count == Self::COUNT_MAX { count } else { count.saturating_sub(1) }
            });
        }
        self.counts.writes_to_absent += u64::from(absent);
    }
}

/// The cells of (flow, state).
#[inline]
fn groups<'l>(
    layout: &'l Layout,
    place: &FlowDigest,
    state: State,
) -> impl Iterator<Item = (usize, Slots<'l>)> {
    let groups = layout.groups_of_element(place.0, state.index() as u64).enumerate();
    groups.map(|(n, group)| (group.line(), layout.slots(n, &group)))
}

impl<const BITS: u32, const TIMED: bool> Store for Dbf<BITS, TIMED> {
    type Key = ();
    type Place = FlowDigest;
    /// The states in which the flow was found, one bit each.
    type Handle = u16;

    const WRITES_WITHOUT_OLD_STATE: bool = false;

    #[inline]
    fn locate(&self, id: FlowId, (): ()) -> FlowDigest {
        FlowDigest(id.position_bits())
    }

    #[inline]
    fn prefetch(&self, place: &FlowDigest) {
        for state in self.states() {
            let groups = groups(&self.layout, place, state);
            groups.for_each(|(line, _)| self.cells.prefetch(line));
        }
    }

    fn lookup(&mut self, place: &FlowDigest, now: Epoch) -> Found<u16> {
        let found = self.states().filter(|&state| self.contains(place, state, now));
        let states = found.fold(0u16, |states, state| states | 1 << state.index());
        let answer = match (states.count_ones(), State::new(states.trailing_zeros() as usize)) {
            (1, Some(state)) => Lookup::Known(state),
            (0, _) => Lookup::Absent,
            _ => Lookup::DontKnow,
        };
        Found { answer, settled: true, handle: states }
    }

    fn touch(&mut self, place: &FlowDigest, found: &Found<u16>, stamp: Stamp) {
        let states = match found.answer {
            Lookup::Known(state) => 1 << state.index(),
            Lookup::DontKnow => found.handle,
            Lookup::Absent => u16::MAX,
        };
        for state in self.states().filter(|state| states >> state.index() & 1 == 1) {
            self.touch_element(place, state, stamp);
        }
    }

    fn insert(&mut self, place: &FlowDigest, state: State, stamp: Stamp) -> Insertion {
        let shared_cells = self.add(place, state, stamp);
        self.counts.inserted += 1;
        self.counts.cells_shared += shared_cells as u64;
        self.counts.inserts_of_present += u64::from(shared_cells == self.layout.hashes());
        Insertion::Stored { shared_cells, answer: None }
    }

    fn modify(
        &mut self,
        place: &FlowDigest,
        found: &Found<u16>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        match found.answer {
            Lookup::Known(old) if old != new => {
                self.take(place, old, stamp.now());
                self.add(place, new, stamp);
            }
            _ => self.touch(place, found, stamp),
        }
        None
    }

    fn delete(&mut self, place: &FlowDigest, found: &Found<u16>, now: Epoch) {
        if let Lookup::Known(state) = found.answer {
            self.take(place, state, now);
            self.counts.deleted += 1;
        }
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.cells.sweep(now, budget_cells)
    }

    #[inline]
    fn lines(&self, place: &FlowDigest) -> Lines {
        // Blocked, a flow has the same lines in all states.
        let line = |n| self.layout.group(place.0, n).line();
        match self.layout.groups() {
            groups @ 1..=2 if self.layout.is_blocked() => Lines::of(line(0), line(groups - 1)),
            _ => Lines::ALL,
        }
    }

    fn stats(&self) -> StoreStats {
        let stats = self.layout.stats(self.cells.occupied(), self.cells.aged(), self.counts);
        // Each state is a chance.
        let miss = (1.0 - stats.false_positive_chance).powi(self.states as i32);
        StoreStats { false_positive_chance: 1.0 - miss, ..stats }
    }
}

impl<const BITS: u32> Erase for Dbf<BITS, false> {
    #[inline]
    fn occupied(&self) -> u64 {
        self.cells.occupied()
    }

    fn erase(&mut self) {
        self.cells.erase();
    }
}
