//! Arrays of cells: fields of 1, 2, 8, 16 or 32 bits in [lines](crate::line).
//!
//! What an operation needs to know of a line, such as which cells are stale, is computed once for
//! all cells that a flow has there.

use crate::aging::{Epoch, Stamp};
use crate::error::StoreError;
use crate::layout::{SLOTS_PER_WORD, Slots};
use crate::line::{BANK_FIELDS, Format, Line, LineArray, LineTable, OwnedLines, Usage};
use crate::memory::Arena;
use crate::spec::{Expire, cells_per_line};

/// A fixed array of cells of `BITS` bits. With `TIMED`, a cell that was not touched in time reads
/// as empty.
pub(crate) struct Cells<const BITS: u32, const TIMED: bool, L = OwnedLines> {
    table: LineTable<L>,
}

/// A line as it reads in one epoch.
pub(crate) struct LineView<'a, const BITS: u32, const TIMED: bool> {
    line: &'a Line,
    now: Epoch,
}

/// A line that can be written in one epoch.
pub(crate) struct LineMut<'a, const BITS: u32, const TIMED: bool> {
    line: &'a mut Line,
    now: Epoch,
    usage: &'a mut Usage,
}

/// Whether a flow's cells in one line are in use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InLine {
    /// One of the flow's cells is empty or stale.
    Missing,
    /// All are in use.
    Present,
    /// All are in use, and were touched in this epoch.
    Fresh,
}

/// The lines that hold cells of `BITS` bits.
struct CellLine<const BITS: u32, const TIMED: bool>;

impl<const BITS: u32, const TIMED: bool> CellLine<BITS, TIMED> {
    const CELLS: usize = cells_per_line(BITS, if TIMED { Expire::Timer } else { Expire::None });
    const FORMAT: Format = Format::new(Self::CELLS, BITS, TIMED);
    const BANKS: usize = Self::FORMAT.banks();

    /// The cells touched in this epoch. The stamp of an empty cell means nothing.
    #[inline(always)]
    fn fresh(line: &Line, now: Epoch) -> CellSet<BITS, TIMED> {
        CellSet::from_banks(|bank| Self::FORMAT.fresh(line, bank, now))
    }

    /// The cells touched in this epoch or the one before.
    #[inline(always)]
    fn alive(line: &Line, now: Epoch) -> CellSet<BITS, TIMED> {
        CellSet::from_banks(|bank| Self::FORMAT.alive(line, bank, now))
    }

    /// The same for lookups: few need it, and the others are faster without its code.
    #[inline(never)]
    fn alive_apart(line: &Line, now: Epoch) -> CellSet<BITS, TIMED> {
        Self::alive(line, now)
    }

    /// Stamps some cells.
    #[inline(always)]
    fn stamp(line: &mut Line, cells: CellSet<BITS, TIMED>, stamp: Stamp) {
        for bank in 0..Self::BANKS {
            Self::FORMAT.stamp(line, bank, cells.bank(bank), stamp.epoch());
        }
    }

    /// Empties the stale cells; returns how many were in use. Not inlined: few writes need it.
    #[inline(never)]
    fn clear_stale(line: &mut Line, now: Epoch) -> u64 {
        Self::FORMAT.clear_stale(line, now, |line, first, stale| {
            let cells = (0..BANK_FIELDS.min(Self::CELLS - first)).step_by(lanes_per_word(BITS));
            cells.map(|cell| Self::clear_lanes(line, first + cell, stale >> cell)).sum()
        })
    }

    /// Empties those of the cells from `first` on whose bits are set; returns how many were in use.
    #[inline(always)]
    fn clear_lanes(line: &mut Line, first: usize, stale: u64) -> u64 {
        let word = line.get_mut(first * BITS as usize / 8..).and_then(<[u8]>::first_chunk_mut);
        let Some(bytes) = word else { return 0 };
        let cells = u64::from_le_bytes(*bytes);
        if cells == 0 {
            return 0;
        }
        let lanes = lanes_of::<BITS>(stale);
        *bytes = (cells & !lanes).to_le_bytes();
        lanes_in_use::<BITS>(cells & lanes).into()
    }

    /// How many cells are in use, stale ones included.
    fn in_use(line: &Line) -> u64 {
        (0..Self::CELLS).filter(|&slot| Self::value(line, slot) != 0).count() as u64
    }

    /// The value of a cell, stale or not.
    #[inline]
    fn value(line: &Line, slot: usize) -> u32 {
        match BITS {
            8 => u32::from(line[slot]),
            16 => u32::from(u16::from_le_bytes([line[2 * slot], line[2 * slot + 1]])),
            32 => {
                let at = 4 * slot;
                u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]])
            }
            _ => {
                let bit = slot * BITS as usize;
                u32::from(line[bit / 8] >> (bit % 8)) & ((1 << BITS) - 1)
            }
        }
    }

    #[inline]
    fn set_value(line: &mut Line, slot: usize, value: u32) {
        match BITS {
            8 => line[slot] = value as u8,
            16 => line[2 * slot..2 * slot + 2].copy_from_slice(&(value as u16).to_le_bytes()),
            32 => line[4 * slot..4 * slot + 4].copy_from_slice(&value.to_le_bytes()),
            _ => {
                let bit = slot * BITS as usize;
                let mask = ((1u32 << BITS) - 1) as u8;
                let byte = &mut line[bit / 8];
                *byte = *byte & !(mask << (bit % 8)) | (value as u8 & mask) << (bit % 8);
            }
        }
    }
}

impl<const BITS: u32, const TIMED: bool> Cells<BITS, TIMED> {
    /// At least `cells` empty cells.
    pub(crate) fn new_in(arena: &Arena, cells: usize) -> Result<Self, StoreError> {
        let lines = cells.div_ceil(CellLine::<BITS, TIMED>::CELLS);
        Ok(Cells { table: LineTable::new_in(arena, lines)? })
    }
}

impl<'a, const BITS: u32, const TIMED: bool> Cells<BITS, TIMED, &'a mut [Line]> {
    /// At least `cells` cells, as they are in `bytes`.
    pub(crate) fn over(bytes: &'a mut [u8], cells: usize) -> Result<Self, StoreError> {
        let lines = cells.div_ceil(CellLine::<BITS, TIMED>::CELLS);
        Ok(Cells { table: LineTable::over(bytes, lines, CellLine::<BITS, TIMED>::in_use)? })
    }
}

impl<const BITS: u32, const TIMED: bool, L: LineArray> Cells<BITS, TIMED, L> {
    /// Cells in use and cells that aged.
    pub(crate) fn usage(&self) -> Usage {
        self.table.usage()
    }

    /// Empties all cells.
    pub(crate) fn erase(&mut self) {
        self.table.erase();
    }

    /// Starts loading a line.
    #[inline]
    pub(crate) fn prefetch(&self, line: usize) {
        self.table.prefetch(line);
    }

    /// A line to be read at `now`.
    #[inline]
    pub(crate) fn line(&self, line: usize, now: Epoch) -> LineView<'_, BITS, TIMED> {
        LineView { line: self.table.line(line), now }
    }

    /// A line to be written at `now`.
    #[inline(always)]
    pub(crate) fn line_mut(&mut self, line: usize, now: Epoch) -> LineMut<'_, BITS, TIMED> {
        let (line, usage) = match TIMED {
            true => self
                .table
                .fresh_line_mut(line, now, |line| CellLine::<BITS, TIMED>::clear_stale(line, now)),
            false => self.table.line_mut(line),
        };
        LineMut { line, now, usage }
    }

    /// Clears the next lines of stale cells; returns how many cells it examined.
    pub(crate) fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        if !TIMED {
            return 0;
        }
        let clear_stale = |line: &mut Line| CellLine::<BITS, TIMED>::clear_stale(line, now);
        self.table.sweep(now, budget_cells, CellLine::<BITS, TIMED>::CELLS, clear_stale)
    }
}

impl<const BITS: u32, const TIMED: bool> LineView<'_, BITS, TIMED> {
    /// The value of a cell; 0 if it is stale.
    pub(crate) fn value(&self, slot: usize) -> u32 {
        let is_alive = !TIMED || CellLine::<BITS, TIMED>::alive(self.line, self.now).contains(slot);
        if is_alive { CellLine::<BITS, TIMED>::value(self.line, slot) } else { 0 }
    }

    /// Reads a flow's cells, stale ones included; returns how many there are.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        slots: Slots<'_>,
        values: &mut [u32; SLOTS_PER_WORD],
    ) -> (InLine, usize) {
        let (mut cells, mut below_one, mut count) = (CellSet::<BITS, TIMED>::EMPTY, 0, 0);
        // No early exit: reading all cells is faster than a branch after each.
        for (slot, read) in slots.zip(values) {
            let value = CellLine::<BITS, TIMED>::value(self.line, slot);
            *read = value;
            // Only 0 − 1 has the highest bit.
            below_one |= u64::from(value).wrapping_sub(1);
            cells.insert_if(slot, true);
            count += 1;
        }
        let fresh = || CellLine::<BITS, TIMED>::fresh(self.line, self.now);
        let alive = || CellLine::<BITS, TIMED>::alive_apart(self.line, self.now);
        let seen = match below_one >> 63 == 0 {
            false => InLine::Missing,
            true if cells.is_within(fresh()) => InLine::Fresh,
            true if cells.is_within(alive()) => InLine::Present,
            true => InLine::Missing,
        };
        (seen, count)
    }
}

impl<const BITS: u32, const TIMED: bool> LineMut<'_, BITS, TIMED> {
    /// Changes a flow's cells and touches them.
    #[inline(always)]
    pub(crate) fn update(
        &mut self,
        slots: Slots<'_>,
        stamp: Stamp,
        change: impl FnMut(u32) -> u32,
    ) {
        let mut touched = CellSet::<BITS, TIMED>::EMPTY;
        self.replace_each(slots, change, |slot, old| {
            touched.insert_if(slot, old == 0 || stamp.renews());
        });
        CellLine::<BITS, TIMED>::stamp(self.line, touched, stamp);
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
        let alive = CellLine::<BITS, TIMED>::alive(self.line, self.now);
        let (mut emptied, mut filled, mut stale) = (0, 0, 0);
        for slot in slots {
            let stored = CellLine::<BITS, TIMED>::value(self.line, slot);
            // Two paths: that of an empty cell, which most insertions take, is short.
            let (old, new) = match stored {
                0 => (0, change(0)),
                _ => {
                    let old = if !TIMED || alive.contains(slot) { stored } else { 0 };
                    stale += u64::from(old == 0);
                    emptied += 1;
                    (old, change(old))
                }
            };
            CellLine::<BITS, TIMED>::set_value(self.line, slot, new);
            visit(slot, old);
            filled += u64::from(new != 0);
        }
        self.usage.aged += stale;
        self.usage.occupied = self.usage.occupied + filled - emptied;
    }

    /// Touches those of a flow's cells that are in use.
    #[inline(always)]
    pub(crate) fn touch(&mut self, slots: Slots<'_>, stamp: Stamp) {
        if !TIMED || !stamp.renews() {
            return;
        }
        let alive = CellLine::<BITS, TIMED>::alive(self.line, self.now);
        let mut touched = CellSet::<BITS, TIMED>::EMPTY;
        for slot in slots {
            touched.insert_if(slot, alive.contains(slot));
        }
        CellLine::<BITS, TIMED>::stamp(self.line, touched, stamp);
    }
}

/// A power of two, so that no index needs a check.
const BANKS_LIMIT: usize = 4;

/// Some of the cells of a line with stamps, one bit each. For lines without stamps it is always
/// empty and costs nothing.
#[derive(Clone, Copy)]
struct CellSet<const BITS: u32, const TIMED: bool>([u64; BANKS_LIMIT]);

impl<const BITS: u32, const TIMED: bool> CellSet<BITS, TIMED> {
    /// How many words are in use: one for cells of 8 bits and more.
    const BANKS: usize = CellLine::<BITS, TIMED>::BANKS;
    const EMPTY: Self = CellSet([0; BANKS_LIMIT]);

    /// The set whose words are these.
    #[inline(always)]
    fn from_banks(bank: impl Fn(usize) -> u64) -> Self {
        let mut set = Self::EMPTY;
        for (n, cells) in set.0.iter_mut().enumerate().take(Self::BANKS) {
            *cells = bank(n);
        }
        set
    }

    #[inline(always)]
    fn bank(self, n: usize) -> u64 {
        self.0[n % BANKS_LIMIT]
    }

    #[inline(always)]
    fn insert_if(&mut self, slot: usize, wanted: bool) {
        self.0[Self::bank_of(slot)] |= u64::from(wanted) << (slot % BANK_FIELDS);
    }

    #[inline(always)]
    fn contains(self, slot: usize) -> bool {
        self.0[Self::bank_of(slot)] >> (slot % BANK_FIELDS) & 1 == 1
    }

    #[inline(always)]
    fn is_within(self, other: Self) -> bool {
        let beyond = |n: usize| self.0[n] & !other.0[n];
        (0..Self::BANKS).fold(0, |any, n| any | beyond(n)) == 0
    }

    #[inline(always)]
    const fn bank_of(slot: usize) -> usize {
        if Self::BANKS <= 1 { 0 } else { slot / BANK_FIELDS % BANKS_LIMIT }
    }
}

/// How many cells, or lanes, a word of 64 bits holds.
const fn lanes_per_word(bits: u32) -> usize {
    (u64::BITS / bits) as usize
}

/// All bits of the lanes whose bits are set in `cells`. Bits beyond the number of lanes are ignored.
#[inline]
const fn lanes_of<const BITS: u32>(cells: u64) -> u64 {
    // From adjacent bits to one in each lane: each step moves the upper half away.
    match BITS {
        1 => cells,
        2 => {
            let cells = cells & 0xffff_ffff;
            let halves = (cells | cells << 16) & 0x0000_ffff_0000_ffff;
            let quarters = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff;
            let eighths = (quarters | quarters << 4) & 0x0f0f_0f0f_0f0f_0f0f;
            let pairs = (eighths | eighths << 2) & 0x3333_3333_3333_3333;
            ((pairs | pairs << 1) & 0x5555_5555_5555_5555) * 3
        }
        8 => {
            let cells = cells & 0xff;
            let halves = (cells | cells << 28) & 0x0000_000f_0000_000f;
            let quarters = (halves | halves << 14) & 0x0003_0003_0003_0003;
            ((quarters | quarters << 7) & 0x0101_0101_0101_0101) * 0xff
        }
        16 => {
            let cells = cells & 0xf;
            let halves = (cells | cells << 30) & 0x0000_0003_0000_0003;
            ((halves | halves << 15) & 0x0001_0001_0001_0001) * 0xffff
        }
        _ => ((cells & 1) | (cells & 2) << 31) * 0xffff_ffff,
    }
}

/// How many lanes are not zero.
#[inline]
const fn lanes_in_use<const BITS: u32>(word: u64) -> u32 {
    let lowest = u64::MAX / (u64::MAX >> (u64::BITS - BITS));
    let highest = lowest << (BITS - 1);
    // Any other bit of a lane carries into its highest.
    let carried = (word & !highest) + !highest;
    let in_use = (carried | word) & highest;
    match BITS {
        // Few, wide lanes: their sum fits the uppermost, which is faster than counting bits.
        8.. => ((in_use >> (BITS - 1)).wrapping_mul(lowest) >> (u64::BITS - BITS)) as u32,
        _ => in_use.count_ones(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    fn check<const BITS: u32>() {
        let lane = u64::MAX >> (u64::BITS - BITS);
        let mut random = Random::new(BITS.into());
        for _ in 0..1000 {
            let cells = random.next_u64();
            let expected = (0..lanes_per_word(BITS))
                .filter(|n| cells >> n & 1 == 1)
                .fold(0, |lanes, n| lanes | lane << (n * BITS as usize));
            let looked_at = cells & u64::MAX >> (64 - lanes_per_word(BITS));
            assert_eq!(lanes_of::<BITS>(looked_at), expected, "{BITS} {cells:x}");
            assert_eq!(lanes_of::<BITS>(cells), expected, "other bits are ignored: {BITS}");

            let word = random.next_u64() & random.next_u64() & random.next_u64();
            let in_use = (0..64 / BITS).filter(|n| word >> (n * BITS) & lane != 0).count();
            assert_eq!(lanes_in_use::<BITS>(word) as usize, in_use, "{BITS} {word:x}");
        }
    }

    #[test]
    fn lanes_are_what_a_loop_over_cells_makes_of_them() {
        check::<1>();
        check::<2>();
        check::<8>();
        check::<16>();
        check::<32>();
    }
}
