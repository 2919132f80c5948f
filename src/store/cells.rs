//! The cells of a store, line by line.
//!
//! A cell, its stamp and the mark of its line share one cache line, so that aging costs no memory
//! access of its own; and what is true of a line is found out once for all the cells that a flow
//! has there.

use super::aging::{Epoch, Stamp};
use super::error::{StoreError, allocate};
use super::line::{Line, LineView};
use crate::prefetch::prefetch;

/// A fixed array of cells of `BITS` bits (1, 2, 8, 16 or 32). Zero is empty. With `TIMED` a cell
/// that was not touched in time reads as empty.
pub(super) struct Cells<const BITS: u32, const TIMED: bool> {
    lines: Vec<Line<BITS, TIMED>>,
    occupied: u64,
    aged: u64,
    swept_lines: usize,
    swept_epoch: Epoch,
}

/// A line to be written to. It is never outdated.
pub(super) struct LineMut<'a, const BITS: u32, const TIMED: bool> {
    line: &'a mut Line<BITS, TIMED>,
    now: Epoch,
    occupied: &'a mut u64,
    aged: &'a mut u64,
}

impl<const BITS: u32, const TIMED: bool> Cells<BITS, TIMED> {
    /// At least `cells` empty cells.
    pub(super) fn new(cells: usize) -> Result<Self, StoreError> {
        let lines = allocate(cells.div_ceil(Line::<BITS, TIMED>::CELLS), Line::EMPTY)?;
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
        self.lines[line].at(now)
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

impl<const BITS: u32, const TIMED: bool> LineMut<'_, BITS, TIMED> {
    /// Changes a cell and touches it. Returns the old and the new value.
    #[inline]
    pub(super) fn update(
        &mut self,
        slot: usize,
        stamp: Stamp,
        change: impl FnOnce(u32) -> u32,
    ) -> (u32, u32) {
        let (old, new) = self.replace(slot, change);
        // Nothing that was there gets an older stamp.
        if TIMED && new != 0 && (old == 0 || !stamp.half) {
            self.line.set_stamp(slot, stamp);
        }
        (old, new)
    }

    /// Changes a cell, but does not touch it: nothing becomes something only by
    /// [`update`](Self::update). Returns the old and the new value.
    #[inline]
    pub(super) fn replace(&mut self, slot: usize, change: impl FnOnce(u32) -> u32) -> (u32, u32) {
        let stored = self.line.value(slot);
        let old = if self.line.is_alive(slot, self.now) { stored } else { 0 };
        let new = change(old);
        self.line.set_value(slot, new);
        *self.aged += u64::from(old != stored);
        *self.occupied = *self.occupied + u64::from(new != 0) - u64::from(stored != 0);
        (old, new)
    }

    /// Touches a cell unless it is empty.
    #[inline]
    pub(super) fn touch(&mut self, slot: usize, stamp: Stamp) {
        // A live cell is stamped with this epoch or the last: half a touch adds nothing.
        let adds = TIMED && !stamp.half;
        if adds && self.line.value(slot) != 0 && self.line.is_alive(slot, self.now) {
            self.line.set_stamp(slot, stamp);
        }
    }

    fn clear_stale(&mut self) {
        let cleared = self.line.clear_stale(self.now);
        *self.aged += cleared;
        *self.occupied -= cleared;
    }
}
