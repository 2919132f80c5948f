//! Arrays of cells, each a counter and a sum (XOR) of codes, of 32 or 64 bits.
//!
//! A cell is a little-endian word: the counter in its low bits, the sum above. A counter that reaches its
//! maximum stays there: what such a cell holds is unknown from then on. Cells are packed in lines of 64
//! bytes without gaps, owned or borrowed.

use std::ops::Deref;

use crate::error::StoreError;
use crate::line::{Line, LineArray, OwnedLines};
use crate::memory::{Arena, allocate_in, prefetch};
use crate::spec::LINE_BYTES;

/// The widest counter; wider ones would never be full.
const COUNT_BITS_MAX: u32 = 8;

/// How a word is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellFormat {
    bytes: usize,
    count_bits: u32,
}

/// The contents of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) count: u32,
    pub(super) sum: u64,
}

impl CellFormat {
    /// Cells of `cell_bits` (32 or 64) with codes of `code_bits`; the counter gets what is left.
    pub(super) const fn new(cell_bits: u32, code_bits: u32) -> CellFormat {
        let left = cell_bits - code_bits;
        let count_bits = if left < COUNT_BITS_MAX { left } else { COUNT_BITS_MAX };
        CellFormat { bytes: cell_bits as usize / 8, count_bits }
    }

    /// The count that stays.
    pub(super) const fn count_max(&self) -> u32 {
        (1 << self.count_bits) - 1
    }

    /// The bytes of this number of cells, in whole lines.
    pub(super) const fn bytes_of(&self, cells: usize) -> usize {
        (cells * self.bytes).next_multiple_of(LINE_BYTES)
    }

    #[inline]
    const fn parts(&self, word: u64) -> Cell {
        Cell { count: word as u32 & self.count_max(), sum: word >> self.count_bits }
    }

    #[inline]
    const fn word(&self, cell: Cell) -> u64 {
        cell.sum << self.count_bits | cell.count as u64
    }
}

/// A fixed array of cells.
pub(super) struct Cells<L = OwnedLines> {
    lines: L,
    format: CellFormat,
    cells: usize,
}

impl Cells {
    /// Empty cells.
    pub(super) fn new(format: CellFormat, cells: usize) -> Result<Cells, StoreError> {
        let lines = format.bytes_of(cells) / LINE_BYTES;
        let lines = allocate_in(&Arena::default(), lines, [0; LINE_BYTES])?;
        Ok(Cells { lines, format, cells })
    }
}

impl<L: Deref<Target = [Line]>> Cells<L> {
    /// The cells that `lines` hold.
    pub(super) fn over(lines: L, format: CellFormat, cells: usize) -> Result<Self, StoreError> {
        let (needed, given) = (format.bytes_of(cells), lines.as_flattened().len());
        match needed == given {
            true => Ok(Cells { lines, format, cells }),
            false => Err(StoreError::WrongLength { needed, given }),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.lines.as_flattened()
    }

    /// Starts loading a cell.
    #[inline]
    pub(super) fn prefetch(&self, cell: usize) {
        prefetch(self.bytes().get(cell * self.format.bytes));
    }

    #[inline]
    pub(super) fn get(&self, cell: usize) -> Cell {
        let bytes = self.bytes();
        let word = match self.format.bytes {
            4 => u32::from_le_bytes(chunk(bytes, 4 * cell)).into(),
            _ => u64::from_le_bytes(chunk(bytes, 8 * cell)),
        };
        self.format.parts(word)
    }

    pub(super) fn len(&self) -> usize {
        self.cells
    }

    /// Whether cells have 32 bits.
    pub(super) fn are_narrow(&self) -> bool {
        self.format.bytes == 4
    }

    /// Cells in use, and cells whose counter is at its maximum.
    pub(super) fn usage(&self) -> (u64, u64) {
        let most = self.format.count_max();
        (0..self.cells).map(|cell| self.get(cell).count).fold((0, 0), |(used, full), count| {
            (used + u64::from(count > 0), full + u64::from(count == most))
        })
    }
}

impl<L: LineArray> Cells<L> {
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.lines.as_flattened_mut()
    }

    #[inline]
    fn set(&mut self, cell: usize, content: Cell) {
        let word = self.format.word(content);
        let width = self.format.bytes;
        let bytes = self.bytes_mut();
        match width {
            4 => bytes[4 * cell..][..4].copy_from_slice(&(word as u32).to_le_bytes()),
            _ => bytes[8 * cell..][..8].copy_from_slice(&word.to_le_bytes()),
        }
    }

    /// Adds a code. Returns whether the counter has reached its maximum with it.
    #[inline(always)] // into the loop over the cells of many keys
    pub(super) fn insert(&mut self, cell: usize, code: u64) -> bool {
        self.merge(cell, Cell { count: 1, sum: code })
    }

    /// Adds a code where cells are known to have `W` bytes.
    #[inline(always)]
    pub(super) fn insert_in<const W: usize>(&mut self, cell: usize, code: u64) -> bool {
        let (most, shift) = (u64::from(self.format.count_max()), self.format.count_bits);
        let (words, _) = self.bytes_mut().as_chunks_mut::<W>();
        let word = &mut words[cell];
        let mut wide = [0; 8];
        wide[..W].copy_from_slice(word);
        let old = u64::from_le_bytes(wide);
        let count = old & most;
        let new = (old ^ code << shift) + u64::from(count < most); // no carry: it stays within the counter
        word.copy_from_slice(&new.to_le_bytes()[..W]);
        count + 1 == most
    }

    /// Adds what another cell holds. Returns whether the counter has reached its maximum with it.
    #[inline(always)]
    pub(super) fn merge(&mut self, cell: usize, other: Cell) -> bool {
        let (old, most) = (self.get(cell), self.format.count_max());
        let count = most.min(old.count + other.count);
        self.set(cell, Cell { count, sum: old.sum ^ other.sum });
        count == most && old.count < most
    }

    /// Exchanges one code for another: XORs with both.
    #[inline]
    pub(super) fn exchange(&mut self, cell: usize, codes: u64) {
        let old = self.get(cell);
        self.set(cell, Cell { sum: old.sum ^ codes, ..old });
    }

    /// Takes a code out. An empty cell stays empty, and the last code leaves nothing behind.
    #[inline]
    pub(super) fn remove(&mut self, cell: usize, code: u64) {
        let Cell { count, sum } = self.get(cell);
        let left = match count {
            0 | 1 => Cell { count: 0, sum: 0 },
            most if most == self.format.count_max() => Cell { count, sum: sum ^ code },
            _ => Cell { count: count - 1, sum: sum ^ code },
        };
        self.set(cell, left);
    }
}

/// The bytes from here on.
#[inline]
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut chunk = [0; N];
    chunk.copy_from_slice(&bytes[at..at + N]);
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    #[test]
    fn cells_are_apart_and_codes_come_out_again() {
        for (cell_bits, code_bits, most) in [(32, 29, 7), (32, 28, 15), (64, 60, 15), (64, 40, 255)]
        {
            let format = CellFormat::new(cell_bits, code_bits);
            assert_eq!(format.count_max(), most);
            let mut cells = Cells::new(format, 10).unwrap();
            let mut random = Random::new(1);
            let mut code = || random.next_u64() >> (64 - code_bits);
            let codes: Vec<[u64; 3]> = (0..10).map(|_| [code(), code(), code()]).collect();
            let mut same = Cells::new(format, 10).unwrap();
            for (cell, codes) in codes.iter().enumerate() {
                for &code in codes {
                    assert!(!cells.insert(cell, code));
                    match cell_bits {
                        32 => same.insert_in::<4>(cell, code),
                        _ => same.insert_in::<8>(cell, code),
                    };
                }
            }
            assert_eq!(cells.bytes(), same.bytes());
            for (cell, &[a, b, c]) in codes.iter().enumerate() {
                assert_eq!(cells.get(cell), Cell { count: 3, sum: a ^ b ^ c });
                cells.remove(cell, b);
                cells.exchange(cell, a ^ b);
                assert_eq!(cells.get(cell), Cell { count: 2, sum: b ^ c });
                cells.remove(cell, b);
                assert_eq!(cells.get(cell), Cell { count: 1, sum: c });
            }
            assert_eq!(cells.usage(), (10, 0));
            (0..10).for_each(|cell| cells.remove(cell, codes[cell][2]));
            assert!(cells.bytes().iter().all(|&byte| byte == 0));
            cells.remove(3, 1);
            assert_eq!(cells.get(3), Cell { count: 0, sum: 0 });
        }
    }

    #[test]
    fn a_full_counter_stays() {
        let mut cells = Cells::new(CellFormat::new(32, 29), 1).unwrap();
        let reached: Vec<bool> = (0..9).map(|code| cells.insert(0, 1 << code)).collect();
        let mut same = Cells::new(CellFormat::new(32, 29), 1).unwrap();
        let again: Vec<bool> = (0..9).map(|code| same.insert_in::<4>(0, 1 << code)).collect();
        assert_eq!((&again, same.bytes()), (&reached, cells.bytes()));
        assert_eq!(reached.iter().position(|reached| *reached), Some(6));
        assert_eq!(reached.iter().filter(|reached| **reached).count(), 1);
        (0..9).for_each(|code| cells.remove(0, 1 << code));
        assert_eq!(cells.get(0), Cell { count: 7, sum: 0 });
        assert_eq!(cells.usage(), (1, 1));
    }
}
