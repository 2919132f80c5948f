//! Some of the cells of a line, a bit for each.

use super::line::Line;

/// A word each for so many cells; a power of two, so that no index needs a check.
const BANKS_LIMIT: usize = 4;
/// The cells of one word.
pub(super) const BANK_CELLS: usize = u64::BITS as usize;

/// Some of the cells of a [`Line`] that bears stamps. Of a line without it says nothing, and costs
/// nothing.
#[derive(Clone, Copy)]
pub(super) struct CellSet<const BITS: u32, const TIMED: bool>([u64; BANKS_LIMIT]);

impl<const BITS: u32, const TIMED: bool> CellSet<BITS, TIMED> {
    /// How many words are in use: one for cells of 8 bits and more.
    pub(super) const BANKS: usize = match TIMED {
        true => Line::<BITS, TIMED>::CELLS.div_ceil(BANK_CELLS),
        false => 0,
    };

    pub(super) const EMPTY: Self = CellSet([0; BANKS_LIMIT]);

    /// The set that each word says.
    #[inline(always)]
    pub(super) fn from_banks(bank: impl Fn(usize) -> u64) -> Self {
        let mut set = Self::EMPTY;
        for (n, cells) in set.0.iter_mut().enumerate().take(Self::BANKS) {
            *cells = bank(n);
        }
        set
    }

    #[inline(always)]
    pub(super) fn bank(self, n: usize) -> u64 {
        self.0[n % BANKS_LIMIT]
    }

    #[inline(always)]
    pub(super) fn insert_if(&mut self, slot: usize, wanted: bool) {
        self.0[Self::bank_of(slot)] |= u64::from(wanted) << (slot % BANK_CELLS);
    }

    #[inline(always)]
    pub(super) fn contains(self, slot: usize) -> bool {
        self.0[Self::bank_of(slot)] >> (slot % BANK_CELLS) & 1 == 1
    }

    #[inline(always)]
    pub(super) fn is_within(self, other: Self) -> bool {
        let beyond = |n: usize| self.0[n] & !other.0[n];
        (0..Self::BANKS).fold(0, |any, n| any | beyond(n)) == 0
    }

    #[inline(always)]
    const fn bank_of(slot: usize) -> usize {
        if Self::BANKS <= 1 { 0 } else { slot / BANK_CELLS % BANKS_LIMIT }
    }
}
