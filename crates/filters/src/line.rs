//! One line of packed cells: 64 bytes that hold cells, their stamps and a mark.
//!
//! From its start:
//!
//! | | with timer | without |
//! |---|---|---|
//! | cells, `BITS` wide | 160, 120, 48, 26, 14 for 1, 2, 8, 16, 32 bits | 512, 256, 64, 32, 16 |
//! | the lower bits of all stamps, then the upper, in whole bytes | as many | none |
//! | mark | the last 4 bytes | none |

use super::aging::{Epoch, Stamp, is_in_window};
use super::cell_set::{BANK_CELLS, CellSet};
use super::lanes::{lanes_in_use, lanes_of, lanes_per_word};
use super::planes::StampPlanes;
use crate::spec::{Expire, LINE_BYTES, cells_per_line};

/// Cells of `BITS` bits (1, 2, 8, 16 or 32), with stamps if they are `TIMED`. Zero is empty.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line<const BITS: u32, const TIMED: bool>([u8; LINE_BYTES]);

const WORD_BYTES: usize = size_of::<u64>();

impl<const BITS: u32, const TIMED: bool> Line<BITS, TIMED> {
    pub(super) const CELLS: usize =
        cells_per_line(BITS, if TIMED { Expire::Timer } else { Expire::None });
    const STAMPS: usize = (Self::CELLS * BITS as usize).div_ceil(8);
    const PLANE_BYTES: usize = Self::CELLS.div_ceil(8);
    const MARK: usize = LINE_BYTES - size_of::<Epoch>();
    const BANKS: usize = CellSet::<BITS, TIMED>::BANKS;

    /// All cells empty.
    pub(super) const EMPTY: Self = Line([0; LINE_BYTES]);

    /// The cells touched in this epoch. It says nothing of cells that are empty.
    #[inline(always)]
    pub(super) fn fresh(&self, now: Epoch) -> CellSet<BITS, TIMED> {
        CellSet::from_banks(|bank| self.stamps(bank).fresh(self.mark(), now))
    }

    /// The cells touched in this epoch or the one before. It says nothing of cells that are empty.
    #[inline(always)]
    pub(super) fn alive(&self, now: Epoch) -> CellSet<BITS, TIMED> {
        CellSet::from_banks(|bank| self.alive_in(bank, now))
    }

    /// Not inlined: few look-ups ask, and the others are quicker without what it takes.
    #[inline(never)]
    fn alive_in(&self, bank: usize, now: Epoch) -> u64 {
        self.stamps(bank).alive(self.mark(), now)
    }

    /// Whether the line must be cleared of stale cells before it takes stamps of `now`.
    #[inline]
    pub(super) fn is_outdated(&self, now: Epoch) -> bool {
        TIMED && !is_in_window(now, self.mark())
    }

    /// Leaves a stamp on some cells. What it leaves on an empty one says nothing.
    #[inline(always)]
    pub(super) fn stamp(&mut self, cells: CellSet<BITS, TIMED>, stamp: Stamp) {
        for bank in 0..Self::BANKS {
            let stamps = self.stamps(bank).with(cells.bank(bank), stamp);
            self.set_stamps(bank, stamps);
        }
    }

    /// Clears the stale cells and marks the line with `now`; returns how many cells were stale.
    pub(super) fn clear_stale(&mut self, now: Epoch) -> u64 {
        let mark = self.mark();
        self.0[Self::MARK..].copy_from_slice(&now.0.to_le_bytes());
        // Stamps of empty cells say nothing: there is nothing to clear.
        if self.seems_empty() {
            return 0;
        }
        match now.0.wrapping_sub(mark.0) {
            0..=3 => self.clear(now, |stamps| !stamps.alive(mark, now)),
            // The way of most lines: to know that all is stale makes it short.
            _ => self.clear(now, |_| u64::MAX),
        }
    }

    /// Clears the cells that are stale by their stamps; returns how many were in use.
    #[inline(always)]
    fn clear(&mut self, now: Epoch, stale: impl Fn(StampPlanes) -> u64) -> u64 {
        let mut cleared = 0;
        for bank in 0..Self::BANKS {
            let stamps = self.stamps(bank);
            let stale = stale(stamps) & Self::cells_of(bank);
            if stale == 0 {
                continue;
            }
            // What is empty now gets a stamp that the next sweep need not stop at.
            self.set_stamps(bank, stamps.with(stale, now.stamp()));
            let first = bank * BANK_CELLS;
            for cell in (0..BANK_CELLS.min(Self::CELLS - first)).step_by(lanes_per_word(BITS)) {
                cleared += self.clear_lanes(first + cell, stale >> cell);
            }
        }
        cleared
    }

    /// The value of a cell, be it stale.
    #[inline]
    pub(super) fn value(&self, slot: usize) -> u32 {
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
    pub(super) fn set_value(&mut self, slot: usize, value: u32) {
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

    /// The stamps of up to 64 cells, and whatever comes behind them.
    #[inline(always)]
    fn stamps(&self, bank: usize) -> StampPlanes {
        let plane = |at| {
            let (first, shift) = word_around(at + bank * WORD_BYTES);
            let word = self.0.get(first..).and_then(<[u8]>::first_chunk);
            word.map_or(0, |bytes| u64::from_le_bytes(*bytes)) >> shift
        };
        StampPlanes { low: plane(Self::STAMPS), high: plane(Self::STAMPS + Self::PLANE_BYTES) }
    }

    /// Puts the stamps of up to 64 cells back, with whatever comes behind them: the upper bits
    /// after the lower, behind which they come.
    #[inline(always)]
    fn set_stamps(&mut self, bank: usize, stamps: StampPlanes) {
        let mut set_plane = |at, plane: u64| {
            let (first, shift) = word_around(at + bank * WORD_BYTES);
            if let Some(bytes) = self.word_at(first) {
                let before = u64::from_le_bytes(*bytes) & !(u64::MAX << shift);
                *bytes = (before | plane << shift).to_le_bytes();
            }
        };
        set_plane(Self::STAMPS, stamps.low);
        set_plane(Self::STAMPS + Self::PLANE_BYTES, stamps.high);
    }

    /// Those of the 64 cells of a bank that there are.
    #[inline(always)]
    const fn cells_of(bank: usize) -> u64 {
        match Self::CELLS - bank * BANK_CELLS {
            cells @ ..BANK_CELLS => (1 << cells) - 1,
            _ => u64::MAX,
        }
    }

    #[inline]
    fn mark(&self) -> Epoch {
        Epoch(self.0.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
    }

    /// Whether no cell is in use; may be false where they are followed by stamps within a word.
    #[inline]
    fn seems_empty(&self) -> bool {
        let (words, _) = self.0.as_chunks();
        let of_cells = words.iter().take(Self::STAMPS.div_ceil(WORD_BYTES));
        of_cells.fold(0, |any, &word| any | u64::from_le_bytes(word)) == 0
    }

    #[inline]
    fn word_at(&mut self, byte: usize) -> Option<&mut [u8; WORD_BYTES]> {
        self.0.get_mut(byte..).and_then(<[u8]>::first_chunk_mut)
    }

    /// Empties those of the cells from `first` on whose bits are set; says how many were in use.
    #[inline]
    fn clear_lanes(&mut self, first: usize, stale: u64) -> u64 {
        let Some(bytes) = self.word_at(first * BITS as usize / 8) else { return 0 };
        let cells = u64::from_le_bytes(*bytes);
        if cells == 0 {
            return 0;
        }
        let lanes = lanes_of::<BITS>(stale);
        *bytes = (cells & !lanes).to_le_bytes();
        lanes_in_use::<BITS>(cells & lanes).into()
    }
}

/// Where in the line a word lies that has the bytes from `at` on, and how many bits come before.
#[inline(always)]
const fn word_around(at: usize) -> (usize, usize) {
    let last = LINE_BYTES - WORD_BYTES;
    if at <= last { (at, 0) } else { (last, 8 * (at - last)) }
}
