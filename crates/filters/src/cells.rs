//! Arrays of cells: fields of 1, 2, 4, 8, 16 or 32 bits in [lines](crate::line).
//!
//! What an operation needs to know of a line, such as which cells are stale, is computed once for
//! all cells that a flow has there.

use crate::aging::{Epoch, HALVES, Half, STAMPS, Stamp};
use crate::cell_line::{CellLine, CellSet};
use crate::error::StoreError;
use crate::layout::{SLOTS_PER_WORD, Slots};
use crate::line::{Line, LineArray, LineTable, OwnedLines, Usage, mark};
use crate::memory::Arena;
use crate::snapshot::{Decoder, Encoder, SnapshotError};

/// A fixed array of cells of `BITS` bits, or two of them in halves. Depending on `AGING`, a cell
/// that was not touched in time, or that is in a stale half, reads as empty.
pub(crate) struct Cells<const BITS: u32, const AGING: u8, L = OwnedLines> {
    table: LineTable<L>,
}

/// A line, or a half of it, as it reads in one epoch.
pub(crate) struct LineView<'a, const BITS: u32, const AGING: u8> {
    line: &'a Line,
    now: Epoch,
    half: Half,
}

/// A line, or a half of it, that can be written in one epoch.
pub(crate) struct LineMut<'a, const BITS: u32, const AGING: u8> {
    line: &'a mut Line,
    now: Epoch,
    half: Half,
    usage: &'a mut Usage,
}

/// Whether a flow's cells are in use, in one line or in all of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InLine {
    /// One of the flow's cells is empty or stale.
    Missing,
    /// All are in use; of halves: in the frozen one.
    Present,
    /// All are in use, and were touched in this epoch: one more touch would change nothing.
    Fresh,
}

impl<const BITS: u32, const AGING: u8> Cells<BITS, AGING> {
    /// At least `cells` empty cells.
    pub(crate) fn new_in(arena: &Arena, cells: usize) -> Result<Self, StoreError> {
        let lines = cells.div_ceil(CellLine::<BITS, AGING>::CELLS);
        Ok(Cells { table: LineTable::new_in(arena, lines)? })
    }
}

impl<'a, const BITS: u32, const AGING: u8> Cells<BITS, AGING, &'a mut [Line]> {
    /// At least `cells` cells, as they are in `bytes`.
    pub(crate) fn over(bytes: &'a mut [u8], cells: usize) -> Result<Self, StoreError> {
        let lines = cells.div_ceil(CellLine::<BITS, AGING>::CELLS);
        Ok(Cells { table: LineTable::over(bytes, lines, CellLine::<BITS, AGING>::usage_of)? })
    }
}

impl<const BITS: u32, const AGING: u8, L: LineArray> Cells<BITS, AGING, L> {
    /// Cells in use and cells that aged.
    pub(crate) fn usage(&self) -> Usage {
        self.table.usage()
    }

    /// Empties all cells.
    pub(crate) fn erase(&mut self) {
        self.table.erase();
    }

    /// Writes the content of a snapshot.
    pub(crate) fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        self.table.encode(out);
    }

    /// Replaces all cells by those of a snapshot.
    pub(crate) fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.table.decode(input, CellLine::<BITS, AGING>::usage_at)
    }

    /// Starts loading a line.
    #[inline]
    pub(crate) fn prefetch(&self, line: usize) {
        self.table.prefetch(line);
    }

    /// A line to be read at `now`.
    #[inline]
    pub(crate) fn line(&self, line: usize, now: Epoch, half: Half) -> LineView<'_, BITS, AGING> {
        LineView { line: self.table.line(line), now, half }
    }

    /// A line to be written at `now`.
    #[inline(always)]
    pub(crate) fn line_mut(
        &mut self,
        line: usize,
        now: Epoch,
        half: Half,
    ) -> LineMut<'_, BITS, AGING> {
        let (line, usage) = match AGING {
            STAMPS => self
                .table
                .fresh_line_mut(line, now, |line| CellLine::<BITS, AGING>::clear_stale(line, now)),
            HALVES => self.table.current_line_mut(line, now, |line| {
                CellLine::<BITS, AGING>::clear_stale_halves(line, now);
            }),
            _ => self.table.line_mut(line),
        };
        LineMut { line, now, half, usage }
    }

    /// One more flow, or one fewer, is in both halves.
    #[inline]
    pub(crate) fn count_copy(&mut self, is_made: bool) {
        let copies = &mut self.table.usage_mut().copies;
        *copies = if is_made { *copies + 1 } else { copies.saturating_sub(1) };
    }

    /// Clears the next lines of stale cells; returns how many cells it examined. Halves need none
    /// of it: only the counts go over to the epoch.
    pub(crate) fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        match AGING {
            STAMPS => {}
            HALVES => {
                self.table.usage_mut().pass_to(now);
                return 0;
            }
            _ => return 0,
        }
        let clear_stale = |line: &mut Line| CellLine::<BITS, AGING>::clear_stale(line, now);
        self.table.sweep(now, budget_cells, CellLine::<BITS, AGING>::CELLS, clear_stale)
    }
}

impl<const BITS: u32, const AGING: u8> LineView<'_, BITS, AGING> {
    /// The value of a cell; 0 if it is stale.
    pub(crate) fn value(&self, slot: usize) -> u32 {
        let is_alive = match AGING {
            STAMPS => CellLine::<BITS, AGING>::alive(self.line, self.now).contains(slot),
            HALVES => self.half.is_current(mark(self.line), self.now),
            _ => true,
        };
        let start = CellLine::<BITS, AGING>::start(self.half, self.now);
        if is_alive { CellLine::<BITS, AGING>::value(self.line, start, slot) } else { 0 }
    }

    /// Reads a flow's cells, stale ones included; returns how many there are.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        slots: Slots<'_>,
        values: &mut [u32; SLOTS_PER_WORD],
    ) -> (InLine, usize) {
        let (mut cells, mut below_one, mut count) = (CellSet::<BITS, AGING>::EMPTY, 0, 0);
        let start = CellLine::<BITS, AGING>::start(self.half, self.now);
        // No early exit: reading all cells is faster than a branch after each.
        for (slot, read) in slots.zip(values) {
            let value = CellLine::<BITS, AGING>::value(self.line, start, slot);
            *read = value;
            // Only 0 − 1 has the highest bit.
            below_one |= u64::from(value).wrapping_sub(1);
            cells.insert_if(slot, true);
            count += 1;
        }
        let fresh = || CellLine::<BITS, AGING>::fresh(self.line, self.now);
        let alive = || CellLine::<BITS, AGING>::alive_apart(self.line, self.now);
        let seen = match below_one >> 63 == 0 {
            false => InLine::Missing,
            true if AGING == HALVES => match self.half {
                half if !half.is_current(mark(self.line), self.now) => InLine::Missing,
                Half::Active => InLine::Fresh,
                Half::Frozen => InLine::Present,
            },
            true if cells.is_within(fresh()) => InLine::Fresh,
            true if cells.is_within(alive()) => InLine::Present,
            true => InLine::Missing,
        };
        (seen, count)
    }
}

impl<const BITS: u32, const AGING: u8> LineMut<'_, BITS, AGING> {
    /// Changes a flow's cells and touches them.
    #[inline(always)]
    pub(crate) fn update(
        &mut self,
        slots: Slots<'_>,
        stamp: Stamp,
        change: impl FnMut(u32) -> u32,
    ) {
        let mut touched = CellSet::<BITS, AGING>::EMPTY;
        self.replace_each(slots, change, |slot, old| {
            touched.insert_if(slot, old == 0 || stamp.renews());
        });
        CellLine::<BITS, AGING>::stamp(self.line, touched, stamp);
    }

    /// Changes a flow's cells without touching them. An empty cell must stay empty: only
    /// [`update`](Self::update) fills cells.
    #[inline(always)]
    pub(crate) fn replace(&mut self, slots: Slots<'_>, change: impl FnMut(u32) -> u32) {
        self.replace_each(slots, change, |_, _| {});
    }

    #[inline(always)]
    fn replace_each(
        &mut self,
        slots: Slots<'_>,
        mut change: impl FnMut(u32) -> u32,
        mut visit: impl FnMut(usize, u32),
    ) {
        let alive = CellLine::<BITS, AGING>::alive(self.line, self.now);
        let start = CellLine::<BITS, AGING>::start(self.half, self.now);
        let (mut emptied, mut filled, mut stale) = (0, 0, 0);
        for slot in slots {
            let stored = CellLine::<BITS, AGING>::value(self.line, start, slot);
            // Two paths: that of an empty cell, which most insertions take, is short.
            let (old, new) = match stored {
                0 => (0, change(0)),
                _ => {
                    let old = if AGING != STAMPS || alive.contains(slot) { stored } else { 0 };
                    stale += u64::from(old == 0);
                    emptied += 1;
                    (old, change(old))
                }
            };
            CellLine::<BITS, AGING>::set_value(self.line, start, slot, new);
            visit(slot, old);
            filled += u64::from(new != 0);
        }
        self.usage.aged += stale;
        self.usage.occupied = (self.usage.occupied + filled).saturating_sub(emptied);
        if AGING == HALVES && self.half == Half::Frozen {
            self.usage.frozen = (self.usage.frozen + filled).saturating_sub(emptied);
        }
    }

    /// Touches those of a flow's cells that are in use.
    #[inline(always)]
    pub(crate) fn touch(&mut self, slots: Slots<'_>, stamp: Stamp) {
        if AGING != STAMPS || !stamp.renews() {
            return;
        }
        let alive = CellLine::<BITS, AGING>::alive(self.line, self.now);
        let mut touched = CellSet::<BITS, AGING>::EMPTY;
        for slot in slots {
            touched.insert_if(slot, alive.contains(slot));
        }
        CellLine::<BITS, AGING>::stamp(self.line, touched, stamp);
    }
}
