//! Packed cells with their stamps, in lines of 64 bytes.
//!
//! A cell, its 2-bit stamp and the mark of its line share one cache line, so that aging costs no
//! memory access of its own. A line is, from its start:
//!
//! | | with timer | without |
//! |---|---|---|
//! | cells, `BITS` wide | 160, 120, 48, 26, 14 for 1, 2, 8, 16, 32 bits | 512, 256, 64, 32, 16 |
//! | stamps, 2 bits each | as many | none |
//! | mark | the last 4 bytes | none |

use super::aging::{Epoch, STAMPS_PER_WORD, Stamp, age_of, is_in_window, repeated, stale_stamps};
use super::error::{StoreError, allocate};
use super::lanes::{lanes_in_use, lanes_of, lanes_per_word};
use super::layout::CellAt;
use crate::prefetch::prefetch;
use crate::spec::{Expire, LINE_BYTES, cells_per_line, slot_bits};

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; LINE_BYTES]);

/// A fixed array of cells of `BITS` bits (1, 2, 8, 16 or 32). Zero is empty. With `TIMED` a cell
/// that was not touched in time reads as empty.
pub(super) struct Cells<const BITS: u32, const TIMED: bool> {
    lines: Vec<Line>,
    occupied: u64,
    aged: u64,
    swept_lines: usize,
    swept_epoch: Epoch,
}

impl<const BITS: u32, const TIMED: bool> Cells<BITS, TIMED> {
    const PER_LINE: usize = cells_per_line(BITS, if TIMED { Expire::Timer } else { Expire::None });
    const SLOT_BITS: u32 = slot_bits(Self::PER_LINE);
    const STAMPS: usize = (Self::PER_LINE * BITS as usize).div_ceil(8);
    const MARK: usize = LINE_BYTES - 4;

    /// At least `cells` empty cells.
    pub(super) fn new(cells: usize) -> Result<Self, StoreError> {
        let lines = allocate(cells.div_ceil(Self::PER_LINE), Line([0; LINE_BYTES]))?;
        Ok(Cells { lines, occupied: 0, aged: 0, swept_lines: 0, swept_epoch: Epoch(0) })
    }

    /// Cells that are not empty, those included that are stale but not yet cleared.
    pub(super) fn occupied(&self) -> u64 {
        self.occupied
    }

    /// Empties all cells.
    pub(super) fn erase(&mut self) {
        self.lines.fill(Line([0; LINE_BYTES]));
        self.occupied = 0;
    }

    /// Cells cleared for age so far.
    pub(super) fn aged(&self) -> u64 {
        self.aged
    }

    /// The line of a cell.
    #[inline]
    const fn line(cell: CellAt) -> usize {
        (cell.0 >> Self::SLOT_BITS) as usize
    }

    /// The place of a cell in its line.
    #[inline]
    const fn slot(cell: CellAt) -> usize {
        (cell.0 & ((1 << Self::SLOT_BITS) - 1)) as usize
    }

    /// Begins to load cells; those of one line, one after the other, cost no more than one.
    #[inline]
    pub(super) fn prefetch(&self, cells: impl Iterator<Item = CellAt>) {
        let mut fetched = usize::MAX;
        for line in cells.map(Self::line) {
            if line != fetched {
                prefetch(self.lines.get(line));
            }
            fetched = line;
        }
    }

    /// The value of a cell; 0 if it is empty or stale.
    #[inline]
    pub(super) fn read(&self, cell: CellAt, now: Epoch) -> u32 {
        self.read_with_age(cell, now).0
    }

    /// The value of a cell, and how many epochs ago it was touched: 0 or 1, if it is in use.
    #[inline]
    pub(super) fn read_with_age(&self, cell: CellAt, now: Epoch) -> (u32, u32) {
        let line = &self.lines[Self::line(cell)];
        let slot = Self::slot(cell);
        let value = line.value::<BITS>(slot);
        if !TIMED {
            return (value, 0);
        }
        let age = line.age::<BITS, TIMED>(slot, now);
        (if age <= 1 { value } else { 0 }, age)
    }

    /// Changes a cell and touches it. Returns the old and the new value.
    #[inline]
    pub(super) fn update(
        &mut self,
        cell: CellAt,
        stamp: Stamp,
        change: impl FnOnce(u32) -> u32,
    ) -> (u32, u32) {
        let (old, new) = self.replace(cell, stamp.now(), change);
        if new != 0 {
            let line = &mut self.lines[Self::line(cell)];
            line.touch::<BITS, TIMED>(Self::slot(cell), stamp, old == 0);
        }
        (old, new)
    }

    /// Changes a cell, but does not touch it: nothing becomes something only by
    /// [`update`](Self::update). Returns the old and the new value.
    #[inline]
    pub(super) fn replace(
        &mut self,
        cell: CellAt,
        now: Epoch,
        change: impl FnOnce(u32) -> u32,
    ) -> (u32, u32) {
        self.freshen(Self::line(cell), now);
        let line = &mut self.lines[Self::line(cell)];
        let slot = Self::slot(cell);
        let stored = line.value::<BITS>(slot);
        let stale = TIMED && stored != 0 && !line.is_alive::<BITS, TIMED>(slot, now);
        let old = if stale { 0 } else { stored };
        let new = change(old);
        if new != stored {
            line.set_value::<BITS>(slot, new);
        }
        self.aged += u64::from(stale);
        self.occupied = self.occupied + u64::from(new != 0) - u64::from(stored != 0);
        (old, new)
    }

    /// Touches a cell unless it is empty.
    #[inline]
    pub(super) fn touch(&mut self, cell: CellAt, stamp: Stamp) {
        // A live cell is stamped with this epoch or the last: half a touch adds nothing.
        if !TIMED || stamp.half {
            return;
        }
        self.freshen(Self::line(cell), stamp.now());
        let line = &mut self.lines[Self::line(cell)];
        let slot = Self::slot(cell);
        if line.value::<BITS>(slot) != 0 && line.is_alive::<BITS, TIMED>(slot, stamp.now()) {
            line.touch::<BITS, TIMED>(slot, stamp, false);
        }
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
        let end = self.lines.len().min(begin + budget_cells.div_ceil(Self::PER_LINE));
        for line in begin..end {
            self.clear_stale(line, now);
        }
        self.swept_lines = end;
        // By the next time they are here.
        for next in end..end + (end - begin) {
            prefetch(self.lines.get(next));
        }
        (end - begin) * Self::PER_LINE
    }

    /// Makes sure that the line can take stamps of `now`.
    #[inline]
    fn freshen(&mut self, line: usize, now: Epoch) {
        if TIMED && !is_in_window(now, self.lines[line].mark()) {
            self.clear_stale(line, now);
        }
    }

    /// Clears the stale cells of a line, and marks it with `now`.
    fn clear_stale(&mut self, line: usize, now: Epoch) {
        let line = &mut self.lines[line];
        let mark = line.mark();
        line.0[Self::MARK..].copy_from_slice(&now.0.to_le_bytes());
        let mut cleared = 0;
        for first in (0..Self::PER_LINE).step_by(STAMPS_PER_WORD) {
            let at = Self::STAMPS + first / 4;
            let end = Self::MARK.min(at + size_of::<u64>());
            let mut word = [0; size_of::<u64>()];
            word[..end - at].copy_from_slice(&line.0[at..end]);
            let here = STAMPS_PER_WORD.min(Self::PER_LINE - first);
            let stamps = u64::from_le_bytes(word);
            let stale = stale_stamps(stamps, mark, now, here);
            if stale == 0 {
                continue;
            }
            for cell in (0..here).step_by(lanes_per_word(BITS)) {
                cleared += line.clear_lanes::<BITS>(first + cell, stale >> (2 * cell));
            }
            // What is empty now gets a stamp that the next sweep need not stop at.
            let lanes = stale * 3;
            let restamped = stamps & !lanes | repeated(now) & lanes;
            line.0[at..end].copy_from_slice(&restamped.to_le_bytes()[..end - at]);
        }
        self.aged += cleared;
        self.occupied -= cleared;
    }
}

impl Line {
    #[inline]
    fn mark(&self) -> Epoch {
        let [.., a, b, c, d] = self.0;
        Epoch(u32::from_le_bytes([a, b, c, d]))
    }

    #[inline]
    fn value<const BITS: u32>(&self, slot: usize) -> u32 {
        let bytes = &self.0;
        match BITS {
            8 => u32::from(bytes[slot]),
            16 => u32::from(u16::from_le_bytes([bytes[2 * slot], bytes[2 * slot + 1]])),
            32 => {
                let at = 4 * slot;
                u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            }
            _ => {
                let bit = slot * BITS as usize;
                u32::from(bytes[bit / 8] >> (bit % 8)) & ((1 << BITS) - 1)
            }
        }
    }

    #[inline]
    fn set_value<const BITS: u32>(&mut self, slot: usize, value: u32) {
        let bytes = &mut self.0;
        match BITS {
            8 => bytes[slot] = value as u8,
            16 => bytes[2 * slot..2 * slot + 2].copy_from_slice(&(value as u16).to_le_bytes()),
            32 => bytes[4 * slot..4 * slot + 4].copy_from_slice(&value.to_le_bytes()),
            _ => {
                let bit = slot * BITS as usize;
                let mask = ((1u32 << BITS) - 1) as u8;
                let byte = &mut bytes[bit / 8];
                *byte = *byte & !(mask << (bit % 8)) | (value as u8 & mask) << (bit % 8);
            }
        }
    }

    /// Empties those of the cells from `first` on whose stamps are marked; says how many were in
    /// use.
    #[inline]
    fn clear_lanes<const BITS: u32>(&mut self, first: usize, stamps: u64) -> u64 {
        let at = first * BITS as usize / 8;
        let Some(bytes) = self.0.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { return 0 };
        let (cells, lanes) = (u64::from_le_bytes(*bytes), lanes_of::<BITS>(stamps));
        *bytes = (cells & !lanes).to_le_bytes();
        lanes_in_use::<BITS>(cells & lanes).into()
    }

    /// How many epochs ago a cell was touched.
    #[inline]
    fn age<const BITS: u32, const TIMED: bool>(&self, slot: usize, now: Epoch) -> u32 {
        let byte = self.0[Cells::<BITS, TIMED>::STAMPS + slot / 4];
        age_of(byte >> (2 * (slot % 4)) & 3, self.mark(), now)
    }

    #[inline]
    fn is_alive<const BITS: u32, const TIMED: bool>(&self, slot: usize, now: Epoch) -> bool {
        self.age::<BITS, TIMED>(slot, now) <= 1
    }

    /// Stamps a cell; one that is `new` is stamped whatever was there, else the newer stamp wins.
    #[inline]
    fn touch<const BITS: u32, const TIMED: bool>(&mut self, slot: usize, stamp: Stamp, new: bool) {
        if !TIMED || stamp.half && !new {
            return;
        }
        let byte = &mut self.0[Cells::<BITS, TIMED>::STAMPS + slot / 4];
        let shift = 2 * (slot % 4);
        *byte = *byte & !(3 << shift) | stamp.bits() << shift;
    }
}
