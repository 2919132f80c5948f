//! The cells of a store, line by line.
//!
//! A cell, its stamp and the mark of its line share one cache line, so that aging costs no memory
//! access of its own; and what is true of a line is found out once for all the cells that a flow
//! has there.

use super::aging::{Epoch, Stamp};
use super::cell_set::CellSet;
use super::error::{StoreError, allocate_in};
use super::layout::{SLOTS_PER_WORD, Slots};
use super::line::Line;
use crate::memory::{Arena, Table};
use crate::prefetch::prefetch;

/// A fixed array of cells of `BITS` bits (1, 2, 8, 16 or 32). Zero is empty. With `TIMED` a cell
/// that was not touched in time reads as empty.
pub(super) struct Cells<const BITS: u32, const TIMED: bool> {
    lines: Table<Line<BITS, TIMED>>,
    occupied: u64,
    aged: u64,
    swept_lines: usize,
    swept_epoch: Epoch,
}

/// A line as it reads at one moment.
pub(super) struct LineView<'a, const BITS: u32, const TIMED: bool> {
    line: &'a Line<BITS, TIMED>,
    now: Epoch,
}

/// A line to be written to. It is never outdated.
pub(super) struct LineMut<'a, const BITS: u32, const TIMED: bool> {
    line: &'a mut Line<BITS, TIMED>,
    now: Epoch,
    occupied: &'a mut u64,
    aged: &'a mut u64,
}

/// What a line says of a flow that has cells there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InLine {
    /// One of the flow's cells is empty or stale.
    Missing,
    /// All are in use.
    Present,
    /// All are in use, and were touched in this epoch.
    Fresh,
}

impl<const BITS: u32, const TIMED: bool> Cells<BITS, TIMED> {
    /// At least `cells` empty cells.
    pub(super) fn new_in(arena: &Arena, cells: usize) -> Result<Self, StoreError> {
        let lines = allocate_in(arena, cells.div_ceil(Line::<BITS, TIMED>::CELLS), Line::EMPTY)?;
        Ok(Cells { lines, occupied: 0, aged: 0, swept_lines: 0, swept_epoch: Epoch(0) })
    }

    /// Cells that are not empty, those included that are stale but not yet cleared.
    pub(super) fn occupied(&self) -> u64 {
        self.occupied
    }

    /// Empties all cells.
    pub(super) fn erase(&mut self) {
        self.lines.fill(Line::EMPTY);
        self.occupied = 0;
    }

    /// Cells cleared for age so far.
    pub(super) fn aged(&self) -> u64 {
        self.aged
    }

    /// Begins to load a line.
    #[inline]
    pub(super) fn prefetch(&self, line: usize) {
        prefetch(self.lines.get(line));
    }

    /// A line to be read at `now`.
    #[inline]
    pub(super) fn line(&self, line: usize, now: Epoch) -> LineView<'_, BITS, TIMED> {
        LineView { line: &self.lines[line], now }
    }

    /// A line to be written to at `now`.
    #[inline]
    pub(super) fn line_mut(&mut self, line: usize, now: Epoch) -> LineMut<'_, BITS, TIMED> {
        let Cells { lines, occupied, aged, .. } = self;
        let mut line = LineMut { line: &mut lines[line], now, occupied, aged };
        if line.line.is_outdated(now) {
            line.clear_stale();
        }
        line
    }

    /// Clears the next lines of stale cells; returns how many cells it looked at.
    pub(super) fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        if !TIMED {
            return 0;
        }
        if self.swept_epoch != now {
            (self.swept_epoch, self.swept_lines) = (now, 0);
        }
        let begin = self.swept_lines;
        let budget_lines = budget_cells.div_ceil(Line::<BITS, TIMED>::CELLS);
        let end = self.lines.len().min(begin + budget_lines);
        let Cells { lines, occupied, aged, .. } = self;
        for line in lines.iter_mut().take(end).skip(begin) {
            LineMut { line, now, occupied, aged }.clear_stale();
        }
        self.swept_lines = end;
        // By the next time they are here.
        for next in end..end + (end - begin) {
            self.prefetch(next);
        }
        (end - begin) * Line::<BITS, TIMED>::CELLS
    }
}

impl<const BITS: u32, const TIMED: bool> LineView<'_, BITS, TIMED> {
    /// The value of a cell; 0 if it is stale.
    pub(super) fn value(&self, slot: usize) -> u32 {
        if !TIMED || self.line.alive(self.now).contains(slot) { self.line.value(slot) } else { 0 }
    }

    /// Reads a flow's cells, those that are stale included, and says how many there are.
    #[inline(always)]
    pub(super) fn read(
        &self,
        slots: Slots<'_>,
        values: &mut [u32; SLOTS_PER_WORD],
    ) -> (InLine, usize) {
        let (mut cells, mut below_one, mut count) = (CellSet::EMPTY, 0, 0);
        // No exit half-way: to read them all is quicker than to ask after each.
        for (slot, read) in slots.zip(values) {
            let value = self.line.value(slot);
            *read = value;
            // Only 0 − 1 has the highest bit.
            below_one |= u64::from(value).wrapping_sub(1);
            cells.insert_if(slot, true);
            count += 1;
        }
        let seen = match below_one >> 63 == 0 {
            false => InLine::Missing,
            true if cells.is_within(self.line.fresh(self.now)) => InLine::Fresh,
            true if cells.is_within(self.line.alive(self.now)) => InLine::Present,
            true => InLine::Missing,
        };
        (seen, count)
    }
}

impl<const BITS: u32, const TIMED: bool> LineMut<'_, BITS, TIMED> {
    /// Changes a flow's cells and touches them.
    #[inline(always)]
    pub(super) fn update(
        &mut self,
        slots: Slots<'_>,
        stamp: Stamp,
        change: impl FnMut(u32) -> u32,
    ) {
        let mut touched = CellSet::EMPTY;
        self.replace_each(slots, change, |slot, old| {
            // Nothing that was there gets an older stamp.
            touched.insert_if(slot, old == 0 || !stamp.half);
        });
        self.line.stamp(touched, stamp);
    }

    /// Changes a flow's cells, but does not touch them: nothing becomes something only by
    /// [`update`](Self::update).
    #[inline(always)]
    pub(super) fn replace(&mut self, slots: Slots<'_>, change: impl FnMut(u32) -> u32) {
        self.replace_each(slots, change, |_, _| {});
    }

    #[inline(always)]
    fn replace_each(
        &mut self,
        slots: Slots<'_>,
        mut change: impl FnMut(u32) -> u32,
        mut visit: impl FnMut(usize, u32),
    ) {
        let alive = self.line.alive(self.now);
        let (mut emptied, mut filled, mut stale) = (0, 0, 0);
        for slot in slots {
            let stored = self.line.value(slot);
            // Two ways, of which that of an empty cell, where most flows come in, is short.
            let (old, new) = match stored {
                0 => (0, change(0)),
                _ => {
                    let old = if !TIMED || alive.contains(slot) { stored } else { 0 };
                    stale += u64::from(old == 0);
                    emptied += 1;
                    (old, change(old))
                }
            };
            self.line.set_value(slot, new);
            visit(slot, old);
            filled += u64::from(new != 0);
        }
        *self.aged += stale;
        *self.occupied = *self.occupied + filled - emptied;
    }

    /// Touches those of a flow's cells that are in use.
    #[inline(always)]
    pub(super) fn touch(&mut self, slots: Slots<'_>, stamp: Stamp) {
        // A live cell is stamped with this epoch or the last: half a touch adds nothing.
        if !TIMED || stamp.half {
            return;
        }
        let alive = self.line.alive(self.now);
        let mut touched = CellSet::EMPTY;
        for slot in slots {
            touched.insert_if(slot, alive.contains(slot));
        }
        self.line.stamp(touched, stamp);
    }

    fn clear_stale(&mut self) {
        let cleared = self.line.clear_stale(self.now);
        *self.aged += cleared;
        *self.occupied -= cleared;
    }
}
