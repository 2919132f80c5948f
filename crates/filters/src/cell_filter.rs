//! A filter of cells: what the structures with shared cells have in common, around the [`CellRule`]
//! that makes the difference.
//!
//! A flow has k cells. Whatever the rule, one empty cell among them proves that the flow is absent;
//! stale cells count as empty.

use crate::aging::{Epoch, Stamp};
use crate::cells::{Cells, InLine};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::layout::{CellGroup, Layout, SLOTS_PER_WORD, Slots};
use crate::line::{Line, LineArray, OwnedLines};
use crate::memory::Arena;
use crate::recycling::Erase;
use crate::spec::{HASHES_LIMIT, Sizing};
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};

/// How a flow changes one of its cells, and what its cells say together. A cell is a number: 0 if
/// it is empty.
pub trait CellRule: Send {
    /// What distinguishes the flows on a cell, for rules that need it; else `()`, which costs
    /// nothing.
    type Salt;

    /// Whether a flow can be modified and deleted when its old state is unknown.
    const WRITES_WITHOUT_OLD_STATE: bool;

    /// The salts of the flow with this digest, one for each of its cells.
    fn salts(digest: u64) -> impl Iterator<Item = Self::Salt>;

    /// The cell after a flow in this state was inserted.
    fn insert(&self, cell: u32, salt: Self::Salt, state: State) -> u32;

    /// The cell, which was not empty, after a flow changed its state. `old` is `None` only if the
    /// rule [writes without it](CellRule::WRITES_WITHOUT_OLD_STATE).
    fn modify(&self, cell: u32, salt: Self::Salt, old: Option<State>, new: State) -> u32;

    /// The cell, which was not empty, after a flow was deleted. `old` as in
    /// [`modify`](CellRule::modify).
    fn delete(&self, cell: u32, salt: Self::Salt, old: Option<State>) -> u32;

    /// The state by the cells of a flow, none of which is empty.
    fn read(&self, cells: &[u32], salts: impl Iterator<Item = Self::Salt>) -> Lookup;

    /// Whether the count of this cell is at its maximum, where it stays until the cell ages.
    fn is_saturated(&self, cell: u32) -> bool;
}

/// Where the cells of a flow are. The first groups of cells are stored, which in most layouts are
/// all; others are computed when they are needed.
#[derive(Debug, Clone, Copy)]
pub struct CellPlace {
    digest: u64,
    groups: [CellGroup; GROUPS_STORED],
}

const GROUPS_STORED: usize = 2;

/// What a lookup found beyond its answer. (Where the flow is stored follows from its place.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellHandle {
    /// Whether all cells of the flow were touched in the epoch of the lookup: one more touch would
    /// change nothing.
    all_fresh: bool,
}

impl CellPlace {
    #[inline(always)]
    fn new(layout: &Layout, digest: u64) -> CellPlace {
        let mut groups = [CellGroup::EMPTY; GROUPS_STORED];
        for (n, group) in groups.iter_mut().enumerate().take(layout.groups()) {
            *group = layout.group(digest, n);
        }
        CellPlace { digest, groups }
    }

    /// All cells of the flow, line by line, in the order of its hashes.
    #[inline(always)]
    fn lines<'l>(&self, layout: &'l Layout) -> impl Iterator<Item = (usize, Slots<'l>)> {
        (0..layout.groups()).map(move |n| {
            let group = match self.groups.get(n) {
                Some(group) => *group,
                None => self.other(layout, n),
            };
            (group.line(), layout.slots(n, &group))
        })
    }

    #[inline(never)]
    fn other(&self, layout: &Layout, n: usize) -> CellGroup {
        layout.group(self.digest, n)
    }
}

/// One shard of cells of `BITS` bits (8, 16 or 32) under a rule. With `TIMED` cells age.
///
/// See [`Kbf`](crate::Kbf), [`Sbf`](crate::Sbf) and [`Bhbf`](crate::Bhbf).
pub struct CellFilter<R, const BITS: u32, const TIMED: bool, L = OwnedLines> {
    rule: R,
    layout: Layout,
    cells: Cells<BITS, TIMED, L>,
    counts: StoreStats,
    /// The cells of the flow looked up or written last: a buffer that is reused.
    values: [u32; HASHES_LIMIT + SLOTS_PER_WORD],
}

impl<R: CellRule, const BITS: u32, const TIMED: bool> CellFilter<R, BITS, TIMED> {
    /// An empty shard: one of equal parts of `sizing`.
    pub fn new(rule: R, sizing: &Sizing) -> Result<Self, StoreError> {
        Self::new_in(&Arena::default(), rule, sizing)
    }

    /// An empty shard with its memory in `arena`.
    pub fn new_in(arena: &Arena, rule: R, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::new_in(arena, layout.cells())?;
        Ok(CellFilter::of(rule, layout, cells))
    }
}

impl<'a, R: CellRule, const BITS: u32, const TIMED: bool>
    CellFilter<R, BITS, TIMED, &'a mut [Line]>
{
    /// The shard that `bytes` hold, of any alignment and [`array_bytes`](crate::array_bytes) long:
    /// all zero if it is empty. Only the cells are taken from them, not the counts of what
    /// happened.
    ///
    /// ```
    /// use acsm_filters::{
    ///     Backend, Epoch, FlowId, Lookup, Sbf, SbfRule, SbfRules, State, Store, StoreSpec,
    ///     array_bytes,
    /// };
    ///
    /// let sizing = StoreSpec::new(Backend::Sbf, 6).sizing()?;
    /// let rule = SbfRule::new(SbfRules::Stateful);
    /// let mut page = vec![0; array_bytes(&sizing)];
    ///
    /// let mut shard = Sbf::<8, true, _>::over(&mut page, rule, &sizing)?;
    /// let place = shard.locate(FlowId(7), ());
    /// shard.insert(&place, State::FIRST, Epoch(0).stamp());
    ///
    /// let mut same = Sbf::<8, true, _>::over(&mut page, rule, &sizing)?;
    /// assert_eq!(same.lookup(&place, Epoch(0)).answer, Lookup::Known(State::FIRST));
    /// # Ok::<(), acsm_filters::StoreError>(())
    /// ```
    pub fn over(bytes: &'a mut [u8], rule: R, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::over(bytes, layout.cells())?;
        Ok(CellFilter::of(rule, layout, cells))
    }
}

impl<R: CellRule, const BITS: u32, const TIMED: bool, L: LineArray> CellFilter<R, BITS, TIMED, L> {
    fn of(rule: R, layout: Layout, cells: Cells<BITS, TIMED, L>) -> Self {
        let (counts, values) = (StoreStats::default(), [0; HASHES_LIMIT + SLOTS_PER_WORD]);
        CellFilter { rule, layout, cells, counts, values }
    }

    /// The cells of a flow as the rule sees them: 0 if they are stale.
    pub fn cells_of(&self, place: &CellPlace, now: Epoch) -> Vec<u32> {
        let mut cells = Vec::with_capacity(self.layout.hashes());
        for (line, slots) in place.lines(&self.layout) {
            let line = self.cells.line(line, now);
            cells.extend(slots.map(|slot| line.value(slot)));
        }
        cells
    }

    /// Not inlined: most flows were touched in this epoch before, and need no second touch.
    #[inline(never)]
    fn touch_cells(&mut self, place: &CellPlace, stamp: Stamp) {
        for (line, slots) in place.lines(&self.layout) {
            self.cells.line_mut(line, stamp.now()).touch(slots, stamp);
        }
    }

    /// Changes a flow's cells and touches them. Returns what a lookup would answer now, unless a cell
    /// is empty.
    #[inline(always)]
    fn write(
        &mut self,
        place: &CellPlace,
        stamp: Stamp,
        mut change: impl FnMut(&R, R::Salt, u32) -> u32,
    ) -> Option<Lookup> {
        let CellFilter { rule, layout, cells, values, .. } = self;
        let mut values = values.iter_mut();
        let (mut salts, mut any_empty) = (R::salts(place.digest), false);
        for (line, slots) in place.lines(layout) {
            cells.line_mut(line, stamp.now()).update(slots, stamp, |old| {
                let (Some(salt), Some(value)) = (salts.next(), values.next()) else { return old };
                *value = change(rule, salt, old);
                any_empty |= *value == 0;
                *value
            });
        }
        (!any_empty).then(|| self.read_values(place))
    }

    /// The state by the cells that were read or written last.
    #[inline(always)]
    fn read_values(&self, place: &CellPlace) -> Lookup {
        let values = self.values.get(..self.layout.hashes()).unwrap_or(&self.values);
        self.rule.read(values, R::salts(place.digest))
    }

    /// The old state as the rule is given it; `None` if nothing is to be written.
    fn old_state(old: Lookup) -> Option<Option<State>> {
        match old {
            Lookup::Known(state) => Some(Some(state)),
            Lookup::DontKnow if R::WRITES_WITHOUT_OLD_STATE => Some(None),
            _ => None,
        }
    }
}

impl<R: CellRule, const BITS: u32, const TIMED: bool, L: LineArray> Store
    for CellFilter<R, BITS, TIMED, L>
{
    type Key = ();
    type Place = CellPlace;
    type Handle = CellHandle;

    const WRITES_WITHOUT_OLD_STATE: bool = R::WRITES_WITHOUT_OLD_STATE;

    #[inline(always)]
    fn locate(&self, id: FlowId, (): ()) -> CellPlace {
        CellPlace::new(&self.layout, id.position_bits())
    }

    #[inline]
    fn prefetch(&self, place: &CellPlace) {
        for (line, _) in place.lines(&self.layout) {
            self.cells.prefetch(line);
        }
    }

    #[inline]
    fn lookup(&mut self, place: &CellPlace, now: Epoch) -> Found<CellHandle> {
        let CellFilter { layout, cells, values, .. } = self;
        let (mut read, mut all_fresh) = (0, true);
        for (line, slots) in place.lines(layout) {
            let Some(next) = values.get_mut(read..).and_then(<[u32]>::first_chunk_mut) else {
                break;
            };
            let (seen, count) = cells.line(line, now).read(slots, next);
            read += count;
            if seen == InLine::Missing {
                let handle = CellHandle { all_fresh: false };
                return Found { answer: Lookup::Absent, settled: true, handle };
            }
            all_fresh &= seen == InLine::Fresh;
        }
        let answer = self.read_values(place);
        Found { answer, settled: true, handle: CellHandle { all_fresh } }
    }

    #[inline]
    fn handle_of(&mut self, _place: &CellPlace, _answer: Lookup, _now: Epoch) -> CellHandle {
        CellHandle { all_fresh: false }
    }

    #[inline]
    fn touch(&mut self, place: &CellPlace, found: &Found<CellHandle>, stamp: Stamp) {
        if TIMED && stamp.renews() && !found.handle.all_fresh {
            self.touch_cells(place, stamp);
        }
    }

    fn insert(&mut self, place: &CellPlace, state: State, stamp: Stamp) -> Insertion {
        let (mut shared_cells, mut saturations) = (0, 0);
        let answer = self.write(place, stamp, |rule, salt, old| {
            let new = rule.insert(old, salt, state);
            shared_cells += usize::from(old != 0);
            if rule.is_saturated(new) {
                saturations += u64::from(!rule.is_saturated(old));
            }
            new
        });
        self.counts.inserted += 1;
        self.counts.saturations += saturations;
        self.counts.cells_shared += shared_cells as u64;
        self.counts.inserts_of_present += u64::from(shared_cells == self.layout.hashes());
        Insertion::Stored { shared_cells, answer }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.layout.has_room(self.cells.usage())
    }

    fn modify(
        &mut self,
        place: &CellPlace,
        found: &Found<CellHandle>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        let Some(old) = Self::old_state(found.answer) else {
            self.touch(place, found, stamp);
            return None;
        };
        let mut absent = false;
        let answer = self.write(place, stamp, |rule, salt, cell| {
            absent |= cell == 0;
            if cell == 0 { 0 } else { rule.modify(cell, salt, old, new) }
        });
        self.counts.writes_to_absent += u64::from(absent);
        answer
    }

    fn delete(&mut self, place: &CellPlace, found: &Found<CellHandle>, now: Epoch) {
        let Some(old) = Self::old_state(found.answer) else { return };
        let mut absent = false;
        let mut salts = R::salts(place.digest);
        for (line, slots) in place.lines(&self.layout) {
            self.cells.line_mut(line, now).replace(slots, |cell| {
                absent |= cell == 0;
                match (cell, salts.next()) {
                    (1.., Some(salt)) => self.rule.delete(cell, salt, old),
                    _ => cell,
                }
            });
        }
        self.counts.deleted += 1;
        self.counts.writes_to_absent += u64::from(absent);
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.cells.sweep(now, budget_cells)
    }

    #[inline]
    fn lines(&self, place: &CellPlace) -> Lines {
        let [one, other] = place.groups.map(|group| group.line());
        match self.layout.groups() {
            1 => Lines::of(one, one),
            2 => Lines::of(one, other),
            _ => Lines::ALL,
        }
    }

    fn stats(&self) -> StoreStats {
        self.layout.stats(self.cells.usage(), self.counts)
    }
}

impl<R: CellRule, const BITS: u32, L: LineArray> Erase for CellFilter<R, BITS, false, L> {
    #[inline]
    fn occupied(&self) -> u64 {
        self.cells.usage().occupied
    }

    fn erase(&mut self) {
        self.cells.erase();
    }
}
