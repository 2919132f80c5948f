//! `dbf`: the direct Bloom filter of ACSM 2006 §3.1, a counting Bloom filter of (flow, state).

use crate::aging::{Epoch, Stamp};
use crate::cells::{Cells, InLine};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::layout::{Layout, SLOTS_PER_WORD, Slots};
use crate::line::{Line, LineArray, OwnedLines};
use crate::memory::Arena;
use crate::recycling::Erase;
use crate::spec::Sizing;
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};

/// The digest that the positions of a flow's elements are computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbfPlace(pub(crate) u64);

/// A direct Bloom filter with cells of `BITS` bits: 2-bit counters, or single bits.
///
/// 41 bits per flow for a false-positive rate of 0.01 per test, stamps included.
///
/// * One [test](Dbf::contains) of an absent element is positive with probability (1−e^{−kn/m})^k. A
///   lookup makes one test per state, and errs that many times as often.
/// * While no counter saturates and nothing is removed that was not inserted, a flow that was
///   inserted is never answered `Absent`, nor in another state than its own.
/// * With single bits, a state that was left stays visible until it ages.
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
///
/// # Rules
///
/// | operation | cells of the element (flow, state) |
/// |---|---|
/// | insert | count + 1 |
/// | delete | count − 1 |
/// | modify | count − 1 for the old state, count + 1 for the new one |
///
/// A count at its maximum (3, or 1 for single bits) stays there until the cell ages. Lookup tests all
/// states: none found: Absent; one: Known; several: DontKnow.
pub struct Dbf<const BITS: u32, const TIMED: bool, L = OwnedLines> {
    states: usize,
    layout: Layout,
    cells: Cells<BITS, TIMED, L>,
    counts: StoreStats,
}

impl<const BITS: u32, const TIMED: bool> Dbf<BITS, TIMED> {
    /// An empty shard for a machine with this many states: one of equal parts of `sizing`.
    pub fn new(states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        Self::new_in(&Arena::default(), states, sizing)
    }

    /// An empty shard with its memory in `arena`.
    pub fn new_in(arena: &Arena, states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::new_in(arena, layout.cells())?;
        Ok(Dbf { states, layout, cells, counts: StoreStats::default() })
    }
}

impl<'a, const BITS: u32, const TIMED: bool> Dbf<BITS, TIMED, &'a mut [Line]> {
    /// The shard that `bytes` hold, of any alignment and [`array_bytes`](crate::array_bytes) long:
    /// all zero if it is empty. Only the cells are taken from them, not the counts of what
    /// happened.
    pub fn over(bytes: &'a mut [u8], states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::over(bytes, layout.cells())?;
        Ok(Dbf { states, layout, cells, counts: StoreStats::default() })
    }
}

impl<const BITS: u32, const TIMED: bool, L: LineArray> Dbf<BITS, TIMED, L> {
    const COUNT_MAX: u32 = (1 << BITS) - 1;

    /// Whether the flow seems to be in this state.
    #[inline]
    pub fn contains(&self, place: &DbfPlace, state: State, now: Epoch) -> bool {
        groups(&self.layout, place, state).all(|(line, slots)| {
            self.cells.line(line, now).read(slots, &mut [0; SLOTS_PER_WORD]).0 != InLine::Missing
        })
    }

    fn states(&self) -> impl Iterator<Item = State> + use<BITS, TIMED, L> {
        (0..self.states).map_while(State::new)
    }

    fn touch_element(&mut self, place: &DbfPlace, state: State, stamp: Stamp) {
        for (line, slots) in groups(&self.layout, place, state) {
            self.cells.line_mut(line, stamp.now()).touch(slots, stamp);
        }
    }

    /// Increments the cells of an element; returns how many of them were in use.
    fn add(&mut self, place: &DbfPlace, state: State, stamp: Stamp) -> usize {
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

    /// Decrements the cells of an element.
    fn remove(&mut self, place: &DbfPlace, state: State, now: Epoch) {
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
    place: &DbfPlace,
    state: State,
) -> impl Iterator<Item = (usize, Slots<'l>)> {
    let groups = layout.groups_of_element(place.0, state.index() as u64).enumerate();
    groups.map(|(n, group)| (group.line(), layout.slots(n, &group)))
}

impl<const BITS: u32, const TIMED: bool, L: LineArray> Store for Dbf<BITS, TIMED, L> {
    type Key = ();
    type Place = DbfPlace;
    /// The states in which the flow was found, one bit each.
    type Handle = u16;

    const WRITES_WITHOUT_OLD_STATE: bool = false;

    #[inline]
    fn locate(&self, id: FlowId, (): ()) -> DbfPlace {
        DbfPlace(id.position_bits())
    }

    #[inline]
    fn prefetch(&self, place: &DbfPlace) {
        for state in self.states() {
            let groups = groups(&self.layout, place, state);
            groups.for_each(|(line, _)| self.cells.prefetch(line));
        }
    }

    fn lookup(&mut self, place: &DbfPlace, now: Epoch) -> Found<u16> {
        let found = self.states().filter(|&state| self.contains(place, state, now));
        let states = found.fold(0u16, |states, state| states | 1 << state.index());
        let answer = match (states.count_ones(), State::new(states.trailing_zeros() as usize)) {
            (1, Some(state)) => Lookup::Known(state),
            (0, _) => Lookup::Absent,
            _ => Lookup::DontKnow,
        };
        Found { answer, settled: true, handle: states }
    }

    fn handle_of(&mut self, place: &DbfPlace, answer: Lookup, now: Epoch) -> u16 {
        match answer {
            Lookup::DontKnow => self.lookup(place, now).handle,
            Lookup::Known(state) => 1 << state.index(),
            Lookup::Absent => 0,
        }
    }

    fn touch(&mut self, place: &DbfPlace, found: &Found<u16>, stamp: Stamp) {
        let states = match found.answer {
            Lookup::Known(state) => 1 << state.index(),
            Lookup::DontKnow => found.handle,
            Lookup::Absent => u16::MAX,
        };
        for state in self.states().filter(|state| states >> state.index() & 1 == 1) {
            self.touch_element(place, state, stamp);
        }
    }

    fn insert(&mut self, place: &DbfPlace, state: State, stamp: Stamp) -> Insertion {
        let shared_cells = self.add(place, state, stamp);
        self.counts.inserted += 1;
        self.counts.cells_shared += shared_cells as u64;
        self.counts.inserts_of_present += u64::from(shared_cells == self.layout.hashes());
        Insertion::Stored { shared_cells, answer: None }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.layout.has_room(self.cells.usage())
    }

    fn modify(
        &mut self,
        place: &DbfPlace,
        found: &Found<u16>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        match found.answer {
            Lookup::Known(old) if old != new => {
                self.remove(place, old, stamp.now());
                self.add(place, new, stamp);
            }
            _ => self.touch(place, found, stamp),
        }
        None
    }

    fn delete(&mut self, place: &DbfPlace, found: &Found<u16>, now: Epoch) {
        if let Lookup::Known(state) = found.answer {
            self.remove(place, state, now);
            self.counts.deleted += 1;
        }
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.cells.sweep(now, budget_cells)
    }

    #[inline]
    fn lines(&self, place: &DbfPlace) -> Lines {
        // Blocked, a flow has the same lines in all states.
        let line = |n| self.layout.group(place.0, n).line();
        match self.layout.groups() {
            groups @ 1..=2 if self.layout.is_blocked() => Lines::of(line(0), line(groups - 1)),
            _ => Lines::ALL,
        }
    }

    fn stats(&self) -> StoreStats {
        let stats = self.layout.stats(self.cells.usage(), self.counts);
        // A lookup makes one test per state.
        let miss = (1.0 - stats.false_positive_chance).powi(self.states as i32);
        StoreStats { false_positive_chance: 1.0 - miss, ..stats }
    }
}

impl<const BITS: u32, L: LineArray> Erase for Dbf<BITS, false, L> {
    #[inline]
    fn occupied(&self) -> u64 {
        self.cells.usage().occupied
    }

    fn erase(&mut self) {
        self.cells.erase();
    }
}
