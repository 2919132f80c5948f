//! One line of packed cells: 64 bytes that hold cells, their stamps and a mark.
//!
//! From its start:
//!
//! | | with timer | without |
//! |---|---|---|
//! | cells, `BITS` wide | 160, 120, 48, 26, 14 for 1, 2, 8, 16, 32 bits | 512, 256, 64, 32, 16 |
//! | stamps, 2 bits each | as many | none |
//! | mark | the last 4 bytes | none |

use super::aging::{Epoch, STAMPS_PER_WORD, Stamp, age_of, is_in_window, repeated, stale_stamps};
use super::lanes::{lanes_in_use, lanes_of, lanes_per_word};
use crate::spec::{Expire, LINE_BYTES, cells_per_line};

/// Cells of `BITS` bits (1, 2, 8, 16 or 32), with stamps if they are `TIMED`. Zero is empty.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line<const BITS: u32, const TIMED: bool>([u8; LINE_BYTES]);

/// A line as it reads at one moment.
#[derive(Clone, Copy)]
pub(super) struct LineView<'a, const BITS: u32, const TIMED: bool> {
    line: &'a Line<BITS, TIMED>,
    mark: Epoch,
    now: Epoch,
}

impl<const BITS: u32, const TIMED: bool> LineView<'_, BITS, TIMED> {
    /// The value of a cell; 0 if it is stale.
    #[inline]
    pub(super) fn read(&self, slot: usize) -> u32 {
        match self.read_aged(slot) {
            (value, 0 | 1) => value,
            _ => 0,
        }
    }

    /// The value of a cell, be it stale, and how many epochs ago it was touched, which says
    /// nothing of a cell that is empty. It is stale at more than 1.
    #[inline]
    pub(super) fn read_aged(&self, slot: usize) -> (u32, u32) {
        (self.line.value(slot), self.age(slot))
    }

    #[inline]
    fn age(&self, slot: usize) -> u32 {
        match TIMED {
            true => age_of(self.line.stamp_bits(slot), self.mark, self.now),
            false => 0,
        }
    }
}

impl<const BITS: u32, const TIMED: bool> Line<BITS, TIMED> {
    pub(super) const CELLS: usize =
        cells_per_line(BITS, if TIMED { Expire::Timer } else { Expire::None });
    const STAMPS: usize = (Self::CELLS * BITS as usize).div_ceil(8);
    const MARK: usize = LINE_BYTES - size_of::<Epoch>();

    /// All cells empty.
    pub(super) const EMPTY: Self = Line([0; LINE_BYTES]);

    /// The line at `now`.
    #[inline]
    pub(super) fn at(&self, now: Epoch) -> LineView<'_, BITS, TIMED> {
        LineView { line: self, mark: self.mark(), now }
    }

    /// Whether the line must be cleared of stale cells before it takes stamps of `now`.
    #[inline]
    pub(super) fn is_outdated(&self, now: Epoch) -> bool {
        TIMED && !is_in_window(now, self.mark())
    }

    /// Clears the stale cells and marks the line with `now`; returns how many cells were stale.
    pub(super) fn clear_stale(&mut self, now: Epoch) -> u64 {
        let mark = self.mark();
        self.0[Self::MARK..].copy_from_slice(&now.0.to_le_bytes());
        // Stamps of empty cells say nothing: there is nothing to clear.
        if self.seems_empty() {
            return 0;
        }
        let mut cleared = 0;
        for first in (0..Self::CELLS).step_by(STAMPS_PER_WORD) {
            // Where this reaches into the mark, the mark is written as it was read.
            let Some(bytes) = self.word_at(Self::STAMPS + first / 4) else { break };
            let stamps = u64::from_le_bytes(*bytes);
            let here = STAMPS_PER_WORD.min(Self::CELLS - first);
            let stale = stale_stamps(stamps, mark, now, here);
            if stale == 0 {
                continue;
            }
            // What is empty now gets a stamp that the next sweep need not stop at.
            let lanes = stale * 3;
            *bytes = (stamps & !lanes | repeated(now) & lanes).to_le_bytes();
            for cell in (0..here).step_by(lanes_per_word(BITS)) {
                cleared += self.clear_lanes(first + cell, stale >> (2 * cell));
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

    /// Whether a cell of a line that is not outdated was touched in time.
    #[inline]
    pub(super) fn is_alive(&self, slot: usize, now: Epoch) -> bool {
        !TIMED || age_of(self.stamp_bits(slot), now, now) <= 1
    }

    /// Stamps a cell.
    #[inline]
    pub(super) fn set_stamp(&mut self, slot: usize, stamp: Stamp) {
        let byte = &mut self.0[Self::STAMPS + slot / 4];
        let shift = 2 * (slot % 4);
        *byte = *byte & !(3 << shift) | stamp.bits() << shift;
    }

    #[inline]
    fn stamp_bits(&self, slot: usize) -> u8 {
        self.0[Self::STAMPS + slot / 4] >> (2 * (slot % 4)) & 3
    }

    #[inline]
    fn mark(&self) -> Epoch {
        Epoch(self.0.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
    }

    /// Whether no cell is in use; may be false where they are followed by stamps within a word.
    #[inline]
    fn seems_empty(&self) -> bool {
        let (words, _) = self.0.as_chunks();
        let of_cells = words.iter().take(Self::STAMPS.div_ceil(size_of::<u64>()));
        of_cells.fold(0, |any, &word| any | u64::from_le_bytes(word)) == 0
    }

    #[inline]
    fn word_at(&mut self, byte: usize) -> Option<&mut [u8; size_of::<u64>()]> {
        self.0.get_mut(byte..).and_then(<[u8]>::first_chunk_mut)
    }

    /// Empties those of the cells from `first` on whose stamps are marked; says how many were in
    /// use.
    #[inline]
    fn clear_lanes(&mut self, first: usize, stamps: u64) -> u64 {
        let Some(bytes) = self.word_at(first * BITS as usize / 8) else { return 0 };
        let cells = u64::from_le_bytes(*bytes);
        if cells == 0 {
            return 0;
        }
        let lanes = lanes_of::<BITS>(stamps);
        *bytes = (cells & !lanes).to_le_bytes();
        lanes_in_use::<BITS>(cells & lanes).into()
    }
}
