//! A filter of cells: what the structures with shared cells have in common, around the [`CellRule`]
//! that makes the difference.
//!
//! A flow has k cells. Whatever the rule, one empty cell among them proves that the flow is absent;
//! stale cells count as empty.
//!
//! # Two halves
//!
//! With [halves](HALVES) a flow has k cells in each half. It is looked up in the active one:
//!
//! | active | frozen | answer |
//! |---|---|---|
//! | Known or DontKnow | not asked | that of the active half |
//! | Absent | Known, DontKnow or Absent | that of the frozen half |
//!
//! A flow that is touched or modified after it was found in the frozen half moves: it is inserted
//! into the active one. What it leaves in the frozen half is not removed: a false positive that is
//! taken for a flow would remove cells of others. So a flow can be in both halves, and after a
//! modification with two states. The later one is in the active half, which is asked first. This is
//! also why DontKnow in the active half is the answer even if the frozen half knows a state: it may
//! be one that the flow has left, and a state that is wrong is worse than one that is unknown. (If
//! the flow is in truth in the frozen half only, it does not move, and is forgotten as one that is
//! silent.) A deletion removes the flow from both halves, each in the state that this half tells. A
//! flow that the frozen half answers with DontKnow cannot move, as its state is unknown, unless it
//! is modified and the rule [needs no old state](CellRule::WRITES_WITHOUT_OLD_STATE).
//!
//! Flows with a [half stamp](Epoch::half_stamp) are inserted into the frozen half, and stay there
//! until they are touched with a whole one.

mod saved;

use crate::aging::{Epoch, HALVES, Half, STAMPS, Stamp, UNTIMED};
use crate::cell_rule::CellRule;
use crate::cells::{Cells, InLine};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::layout::{CellPlace, Layout, SLOTS_PER_WORD};
use crate::line::{Line, LineArray, OwnedLines};
use crate::memory::Arena;
use crate::recycling::Erase;
use crate::spec::{HASHES_LIMIT, Sizing};
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};

/// What a lookup found beyond its answer. (Where the flow is stored follows from its place.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellHandle {
    seen: InLine,
    /// Whether a touch repairs some of the flow's cells.
    is_worn: bool,
}

impl CellHandle {
    /// The half in which the flow was found; the active one if it was not found.
    #[inline]
    fn half<const AGING: u8>(self) -> Half {
        match AGING == HALVES && self.seen == InLine::Present {
            true => Half::Frozen,
            false => Half::Active,
        }
    }
}

/// One shard of cells of `BITS` bits (8, 16 or 32) under a rule. `AGING` is [`UNTIMED`], [`STAMPS`]
/// or [`HALVES`]. See [`Kbf`](crate::Kbf), [`Sbf`](crate::Sbf) and [`Bhbf`](crate::Bhbf).
pub struct CellFilter<R, const BITS: u32, const AGING: u8, L = OwnedLines> {
    rule: R,
    layout: Layout,
    cells: Cells<BITS, AGING, L>,
    counts: StoreStats,
    /// The cells of the flow looked up or written last: a buffer that is reused.
    values: [u32; HASHES_LIMIT + SLOTS_PER_WORD],
}

impl<R: CellRule, const BITS: u32, const AGING: u8> CellFilter<R, BITS, AGING> {
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

impl<'a, R: CellRule, const BITS: u32, const AGING: u8> CellFilter<R, BITS, AGING, &'a mut [Line]> {
    /// The shard that `bytes` hold, of any alignment and [`array_bytes`](crate::array_bytes) long:
    /// all zero if it is empty. Only the cells are taken from them, not the counts of what
    /// happened.
    ///
    /// ```
    /// use acsm_filters::{
    ///     Backend, Epoch, FlowId, HALVES, Lookup, Sbf, SbfRule, SbfRules, State, Store, StoreSpec,
    ///     array_bytes,
    /// };
    ///
    /// let sizing = StoreSpec::new(Backend::Sbf, 6).sizing()?;
    /// let rule = SbfRule::new(SbfRules::Stateful);
    /// let mut page = vec![0; array_bytes(&sizing)];
    ///
    /// let mut shard = Sbf::<8, HALVES, _>::over(&mut page, rule, &sizing)?;
    /// let place = shard.locate(FlowId(7), ());
    /// shard.insert(&place, State::FIRST, Epoch(0).stamp());
    ///
    /// let mut same = Sbf::<8, HALVES, _>::over(&mut page, rule, &sizing)?;
    /// assert_eq!(same.lookup(&place, Epoch(0)).answer, Lookup::Known(State::FIRST));
    /// # Ok::<(), acsm_filters::StoreError>(())
    /// ```
    pub fn over(bytes: &'a mut [u8], rule: R, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::over(bytes, layout.cells())?;
        Ok(CellFilter::of(rule, layout, cells))
    }
}

impl<R: CellRule, const BITS: u32, const AGING: u8, L: LineArray> CellFilter<R, BITS, AGING, L> {
    fn of(rule: R, layout: Layout, cells: Cells<BITS, AGING, L>) -> Self {
        let (counts, values) = (StoreStats::default(), [0; HASHES_LIMIT + SLOTS_PER_WORD]);
        CellFilter { rule, layout, cells, counts, values }
    }

    /// The cells of a flow as the rule sees them, in the active half if there are two: 0 if they are
    /// stale.
    pub fn cells_of(&self, place: &CellPlace, now: Epoch) -> Vec<u32> {
        let mut cells = Vec::with_capacity(self.layout.hashes());
        for (line, slots) in place.lines(&self.layout) {
            let line = self.cells.line(line, now, Half::Active);
            cells.extend(slots.map(|slot| line.value(slot)));
        }
        cells
    }

    /// Not inlined: most flows were touched in this epoch before, and need no second touch.
    #[inline(never)]
    fn touch_cells(&mut self, place: &CellPlace, stamp: Stamp) {
        for (line, slots) in place.lines(&self.layout) {
            self.cells.line_mut(line, stamp.now(), Half::Active).touch(slots, stamp);
        }
    }

    /// What this half says of the flow, and whether the flow's cells are in use there.
    #[inline(always)]
    fn read(&mut self, place: &CellPlace, now: Epoch, half: Half) -> (Lookup, InLine) {
        let CellFilter { layout, cells, values, .. } = self;
        let (mut read, mut all_seen) = (0, InLine::Fresh);
        for (line, slots) in place.lines(layout) {
            let Some(next) = values.get_mut(read..).and_then(<[u32]>::first_chunk_mut) else {
                break;
            };
            let (seen, count) = cells.line(line, now, half).read(slots, next);
            read += count;
            if seen == InLine::Missing {
                return (Lookup::Absent, InLine::Missing);
            }
            all_seen = all_seen.min(seen);
        }
        (self.read_values(place), all_seen)
    }

    /// A lookup of a flow that the active half does not have. Not inlined: most packets belong to
    /// flows that it has.
    #[inline(never)]
    fn lookup_frozen(&mut self, place: &CellPlace, now: Epoch) -> Found<CellHandle> {
        let (answer, seen) = self.read(place, now, Half::Frozen);
        // Not settled where it is found: a touch moves the flow.
        let settled = answer == Lookup::Absent;
        let seen = if settled { InLine::Missing } else { seen };
        Found { answer, settled, handle: CellHandle { seen, is_worn: false } }
    }

    /// Whether one of the cells that were read last would be repaired by a flow with this answer.
    #[inline(always)]
    fn is_worn(&self, answer: Lookup) -> bool {
        let Lookup::Known(state) = answer else { return false };
        let values = self.values.get(..self.layout.hashes()).unwrap_or(&self.values);
        values.iter().any(|&cell| self.rule.repaired(cell, state) != cell)
    }

    #[cold]
    fn repair(&mut self, place: &CellPlace, answer: Lookup, now: Epoch) {
        let Lookup::Known(state) = answer else { return };
        let rule = &self.rule;
        for (line, slots) in place.lines(&self.layout) {
            let mut line = self.cells.line_mut(line, now, Half::Active);
            line.replace(slots, |cell| if cell == 0 { 0 } else { rule.repaired(cell, state) });
        }
    }

    /// Inserts a flow into a half. Returns how many of its cells were in use there, and what a
    /// lookup would answer now, where that is known.
    fn add(
        &mut self,
        place: &CellPlace,
        state: State,
        stamp: Stamp,
        half: Half,
    ) -> (usize, Option<Lookup>) {
        let (mut shared_cells, mut saturations) = (0, 0);
        let answer = self.write(place, stamp, half, |rule, salt, old| {
            let new = rule.insert(old, salt, state);
            shared_cells += usize::from(old != 0);
            if rule.is_saturated(new) {
                saturations += u64::from(!rule.is_saturated(old));
            }
            new
        });
        self.counts.saturations += saturations;
        self.counts.cells_shared += shared_cells as u64;
        self.counts.inserts_of_present += u64::from(shared_cells == self.layout.hashes());
        (shared_cells, answer)
    }

    /// Brings a flow that was found in the frozen half into the active one.
    fn move_to_active(&mut self, place: &CellPlace, state: State, stamp: Stamp) -> Option<Lookup> {
        let (_, answer) = self.add(place, state, stamp, Half::Active);
        self.cells.count_copy(true);
        self.counts.moved += 1;
        answer
    }

    /// Deletes a flow from a half. Returns whether one of its cells was empty.
    fn remove(&mut self, place: &CellPlace, old: Option<State>, now: Epoch, half: Half) -> bool {
        let mut absent = false;
        let mut salts = self.rule.salts(place.digest());
        for (line, slots) in place.lines(&self.layout) {
            self.cells.line_mut(line, now, half).replace(slots, |cell| {
                absent |= cell == 0;
                match (cell, salts.next()) {
                    (1.., Some(salt)) => self.rule.delete(cell, salt, old),
                    _ => cell,
                }
            });
        }
        absent
    }

    /// Changes a flow's cells and touches them. Returns what a lookup would answer now, where that
    /// is known: no cell is empty, and the other half is not asked.
    #[inline(always)]
    fn write(
        &mut self,
        place: &CellPlace,
        stamp: Stamp,
        half: Half,
        mut change: impl FnMut(&R, R::Salt, u32) -> u32,
    ) -> Option<Lookup> {
        let CellFilter { rule, layout, cells, values, .. } = self;
        let rule = &*rule;
        let mut values = values.iter_mut();
        let (mut salts, mut any_empty) = (rule.salts(place.digest()), false);
        for (line, slots) in place.lines(layout) {
            cells.line_mut(line, stamp.now(), half).update(slots, stamp, |old| {
                let (Some(salt), Some(value)) = (salts.next(), values.next()) else { return old };
                *value = change(rule, salt, old);
                any_empty |= *value == 0;
                *value
            });
        }
        drop(salts);
        let answer = (!any_empty && half == Half::Active).then(|| self.read_values(place));
        answer.filter(|&answer| AGING != HALVES || answer != Lookup::Absent)
    }

    /// The state by the cells that were read or written last.
    #[inline(always)]
    fn read_values(&self, place: &CellPlace) -> Lookup {
        let values = self.values.get(..self.layout.hashes()).unwrap_or(&self.values);
        self.rule.read(values, self.rule.salts(place.digest()))
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

impl<R: CellRule, const BITS: u32, const AGING: u8, L: LineArray> Store
    for CellFilter<R, BITS, AGING, L>
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
        let (answer, seen) = self.read(place, now, Half::Active);
        if AGING == HALVES && answer == Lookup::Absent {
            return self.lookup_frozen(place, now);
        }
        let is_worn = R::REPAIRS && self.is_worn(answer);
        Found { answer, settled: !is_worn, handle: CellHandle { seen, is_worn } }
    }

    /// A settled answer came from the active half.
    #[inline]
    fn handle_of(&mut self, _place: &CellPlace, _answer: Lookup, _now: Epoch) -> CellHandle {
        let seen = if AGING == HALVES { InLine::Fresh } else { InLine::Present };
        CellHandle { seen, is_worn: false }
    }

    #[inline]
    fn touch(&mut self, place: &CellPlace, found: &Found<CellHandle>, stamp: Stamp) {
        if R::REPAIRS && found.handle.is_worn {
            self.repair(place, found.answer, stamp.now());
        }
        if AGING == UNTIMED || !stamp.renews() || found.handle.seen == InLine::Fresh {
            return;
        }
        match (found.handle.half::<AGING>(), found.answer) {
            (Half::Frozen, Lookup::Known(state)) => {
                self.move_to_active(place, state, stamp);
            }
            _ if AGING == STAMPS => self.touch_cells(place, stamp),
            _ => {}
        }
    }

    fn insert(&mut self, place: &CellPlace, state: State, stamp: Stamp) -> Insertion {
        let half = if AGING == HALVES { Half::of(stamp) } else { Half::Active };
        let (shared_cells, answer) = self.add(place, state, stamp, half);
        self.counts.inserted += 1;
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
        let half = found.handle.half::<AGING>();
        if half == Half::Frozen && stamp.renews() {
            return self.move_to_active(place, new, stamp);
        }
        let mut absent = false;
        let answer = self.write(place, stamp, half, |rule, salt, cell| {
            absent |= cell == 0;
            if cell == 0 { 0 } else { rule.modify(cell, salt, old, new) }
        });
        self.counts.writes_to_absent += u64::from(absent);
        answer
    }

    fn delete(&mut self, place: &CellPlace, found: &Found<CellHandle>, now: Epoch) {
        let Some(old) = Self::old_state(found.answer) else { return };
        let half = found.handle.half::<AGING>();
        let absent = self.remove(place, old, now, half);
        if AGING == HALVES
            && half == Half::Active
            && let Some(old) = Self::old_state(self.read(place, now, Half::Frozen).0)
        {
            self.remove(place, old, now, Half::Frozen);
            self.cells.count_copy(false);
        }
        self.counts.deleted += 1;
        self.counts.writes_to_absent += u64::from(absent);
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.cells.sweep(now, budget_cells)
    }

    #[inline]
    fn lines(&self, place: &CellPlace) -> Lines {
        place.cache_lines(&self.layout)
    }

    fn stats(&self) -> StoreStats {
        match AGING {
            HALVES => self.layout.stats_of_halves(self.cells.usage(), self.counts),
            _ => self.layout.stats(self.cells.usage(), self.counts),
        }
    }
}

impl<R: CellRule, const BITS: u32, L: LineArray> Erase for CellFilter<R, BITS, UNTIMED, L> {
    #[inline]
    fn occupied(&self) -> u64 {
        self.cells.usage().occupied
    }

    fn erase(&mut self) {
        self.cells.erase();
    }
}
