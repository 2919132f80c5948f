//! `dbf`: the direct Bloom filter of ACSM 2006 §3.1, a counting Bloom filter of (flow, state).

use crate::aging::{Epoch, HALVES, Half, Stamp, UNTIMED};
use crate::cells::{Cells, InLine};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::layout::{Layout, SLOTS_PER_WORD, Slots};
use crate::line::{Line, LineArray, OwnedLines};
use crate::memory::Arena;
use crate::recycling::Erase;
use crate::snapshot::{Decoder, Encoder, Persist, SnapshotError};
use crate::spec::Sizing;
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};

/// The digest that the positions of a flow's elements are computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbfPlace(pub(crate) u64);

/// Where a lookup found a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbfHandle {
    /// The states in which it was found, one bit each.
    states: u16,
    /// The half in which it was found; the active one if it was not found.
    half: Half,
}

/// A direct Bloom filter with cells of `BITS` bits: counters of 2 bits, of 4 bits in two halves; or
/// single bits.
///
/// 82 bits per flow for a false-positive rate of 0.01 per test in two halves, 41 with stamps.
///
/// * One [test](Dbf::contains) of an absent element is positive with probability (1−e^{−kn/m})^k. A
///   lookup makes one test per state, and errs that many times as often.
/// * While no counter saturates and nothing is removed that was not inserted, a flow that was
///   inserted is never answered `Absent`, nor in another state than its own.
/// * With single bits, a state that was left stays visible until it ages.
///
/// ```
/// use acsm_filters::{
///     Backend, Dbf, Epoch, FlowId, HALVES, HashKey, Lookup, State, Store, StoreSpec,
/// };
///
/// // One of 16 shards: 1,000 flows, at the default false-positive rate of 0.01 per test.
/// let spec = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Dbf, 6) };
/// let mut shard = Dbf::<4, HALVES>::new(6, &spec.sizing()?)?;
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
/// A count at its maximum (3 or 15, or 1 for single bits) stays there until the cell ages. Lookup tests all
/// states: none found: Absent; one: Known; several: DontKnow.
///
/// With [halves](HALVES) a flow is looked up in the frozen half if the active one has it in no state,
/// and moves, as in a [`CellFilter`](crate::CellFilter).
pub struct Dbf<const BITS: u32, const AGING: u8, L = OwnedLines> {
    states: usize,
    layout: Layout,
    cells: Cells<BITS, AGING, L>,
    counts: StoreStats,
}

impl<const BITS: u32, const AGING: u8> Dbf<BITS, AGING> {
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

impl<'a, const BITS: u32, const AGING: u8> Dbf<BITS, AGING, &'a mut [Line]> {
    /// The shard that `bytes` hold, of any alignment and [`array_bytes`](crate::array_bytes) long:
    /// all zero if it is empty. Only the cells are taken from them, not the counts of what
    /// happened.
    pub fn over(bytes: &'a mut [u8], states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::over(bytes, layout.cells())?;
        Ok(Dbf { states, layout, cells, counts: StoreStats::default() })
    }
}

impl<const BITS: u32, const AGING: u8, L: LineArray> Dbf<BITS, AGING, L> {
    const COUNT_MAX: u32 = (1 << BITS) - 1;

    /// Whether the flow seems to be in this state, in one half or the other if there are two.
    #[inline]
    pub fn contains(&self, place: &DbfPlace, state: State, now: Epoch) -> bool {
        self.half_contains(place, state, now, Half::Active)
            || AGING == HALVES && self.half_contains(place, state, now, Half::Frozen)
    }

    #[inline]
    fn half_contains(&self, place: &DbfPlace, state: State, now: Epoch, half: Half) -> bool {
        groups(&self.layout, place, state).all(|(line, slots)| {
            let line = self.cells.line(line, now, half);
            line.read(slots, &mut [0; SLOTS_PER_WORD]).0 != InLine::Missing
        })
    }

    fn states(&self) -> impl Iterator<Item = State> + use<BITS, AGING, L> {
        (0..self.states).map_while(State::new)
    }

    /// What this half says of the flow.
    fn read(&self, place: &DbfPlace, now: Epoch, half: Half) -> (Lookup, DbfHandle) {
        let found = self.states().filter(|&state| self.half_contains(place, state, now, half));
        let states = found.fold(0u16, |states, state| states | 1 << state.index());
        let answer = match (states.count_ones(), State::new(states.trailing_zeros() as usize)) {
            (1, Some(state)) => Lookup::Known(state),
            (0, _) => Lookup::Absent,
            _ => Lookup::DontKnow,
        };
        (answer, DbfHandle { states, half })
    }

    fn touch_element(&mut self, place: &DbfPlace, state: State, stamp: Stamp) {
        for (line, slots) in groups(&self.layout, place, state) {
            self.cells.line_mut(line, stamp.now(), Half::Active).touch(slots, stamp);
        }
    }

    /// Adds the element of a flow that the half does not have.
    fn insert_into(&mut self, place: &DbfPlace, state: State, stamp: Stamp, half: Half) -> usize {
        let shared_cells = self.add(place, state, stamp, half);
        self.counts.cells_shared += shared_cells as u64;
        self.counts.inserts_of_present += u64::from(shared_cells == self.layout.hashes());
        shared_cells
    }

    /// Brings a flow that was found in the frozen half into the active one.
    fn move_to_active(&mut self, place: &DbfPlace, state: State, stamp: Stamp) {
        self.insert_into(place, state, stamp, Half::Active);
        self.cells.count_copy(true);
        self.counts.moved += 1;
    }

    /// Increments the cells of an element; returns how many of them were in use.
    fn add(&mut self, place: &DbfPlace, state: State, stamp: Stamp, half: Half) -> usize {
        let mut shared_cells = 0;
        for (line, slots) in groups(&self.layout, place, state) {
            self.cells.line_mut(line, stamp.now(), half).update(slots, stamp, |old| {
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
    fn remove(&mut self, place: &DbfPlace, state: State, now: Epoch, half: Half) {
        let mut absent = false;
        for (line, slots) in groups(&self.layout, place, state) {
            self.cells.line_mut(line, now, half).replace(slots, |count| {
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

impl<const BITS: u32, const AGING: u8, L: LineArray> Store for Dbf<BITS, AGING, L> {
    type Key = ();
    type Place = DbfPlace;
    type Handle = DbfHandle;

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

    fn lookup(&mut self, place: &DbfPlace, now: Epoch) -> Found<DbfHandle> {
        let (answer, handle) = self.read(place, now, Half::Active);
        if AGING == HALVES && answer == Lookup::Absent {
            let (answer, frozen) = self.read(place, now, Half::Frozen);
            // Not settled where it is found: a touch moves the flow.
            let settled = answer == Lookup::Absent;
            return Found { answer, settled, handle: if settled { handle } else { frozen } };
        }
        Found { answer, settled: true, handle }
    }

    /// A settled answer came from the active half.
    fn handle_of(&mut self, place: &DbfPlace, answer: Lookup, now: Epoch) -> DbfHandle {
        let states = match answer {
            Lookup::DontKnow => return self.lookup(place, now).handle,
            Lookup::Known(state) => 1 << state.index(),
            Lookup::Absent => 0,
        };
        DbfHandle { states, half: Half::Active }
    }

    fn touch(&mut self, place: &DbfPlace, found: &Found<DbfHandle>, stamp: Stamp) {
        if AGING == HALVES {
            if let (Half::Frozen, Lookup::Known(state)) = (found.handle.half, found.answer)
                && stamp.renews()
            {
                self.move_to_active(place, state, stamp);
            }
            return;
        }
        let states = match found.answer {
            Lookup::Known(state) => 1 << state.index(),
            Lookup::DontKnow => found.handle.states,
            Lookup::Absent => u16::MAX,
        };
        for state in self.states().filter(|state| states >> state.index() & 1 == 1) {
            self.touch_element(place, state, stamp);
        }
    }

    fn insert(&mut self, place: &DbfPlace, state: State, stamp: Stamp) -> Insertion {
        let half = if AGING == HALVES { Half::of(stamp) } else { Half::Active };
        let shared_cells = self.insert_into(place, state, stamp, half);
        self.counts.inserted += 1;
        Insertion::Stored { shared_cells, answer: None }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.layout.has_room(self.cells.usage())
    }

    fn modify(
        &mut self,
        place: &DbfPlace,
        found: &Found<DbfHandle>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        let half = found.handle.half;
        match found.answer {
            Lookup::Known(_) if half == Half::Frozen && stamp.renews() => {
                self.move_to_active(place, new, stamp);
            }
            Lookup::Known(old) if old != new => {
                self.remove(place, old, stamp.now(), half);
                self.add(place, new, stamp, half);
            }
            _ => self.touch(place, found, stamp),
        }
        None
    }

    fn delete(&mut self, place: &DbfPlace, found: &Found<DbfHandle>, now: Epoch) {
        let (Lookup::Known(state), half) = (found.answer, found.handle.half) else { return };
        self.remove(place, state, now, half);
        if AGING == HALVES
            && half == Half::Active
            && let (Lookup::Known(state), _) = self.read(place, now, Half::Frozen)
        {
            self.remove(place, state, now, Half::Frozen);
            self.cells.count_copy(false);
        }
        self.counts.deleted += 1;
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
        let stats = match AGING {
            HALVES => self.layout.stats_of_halves(self.cells.usage(), self.counts),
            _ => self.layout.stats(self.cells.usage(), self.counts),
        };
        // A lookup makes one test per state.
        let miss = (1.0 - stats.false_positive_chance).powi(self.states as i32);
        StoreStats { false_positive_chance: 1.0 - miss, ..stats }
    }
}

impl<const BITS: u32, L: LineArray> Erase for Dbf<BITS, UNTIMED, L> {
    #[inline]
    fn occupied(&self) -> u64 {
        self.cells.usage().occupied
    }

    fn erase(&mut self) {
        self.cells.erase();
    }
}

impl<const BITS: u32, const AGING: u8, L: LineArray> Persist for Dbf<BITS, AGING, L> {
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        self.counts.encode(out);
        self.cells.encode(out);
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.counts.decode(input)?;
        self.cells.decode(input)
    }
}
