//! Lines of cells: where a cell is in its line or half, which cells are stale, and sets of the cells
//! of a line.

use crate::aging::{Epoch, HALVES, Half, STAMPS, Stamp};
use crate::line::{BANK_FIELDS, Format, Line, Usage, mark, set_mark};
use crate::spec::{Expire, cells_per_line};

/// The lines that hold cells of `BITS` bits.
pub(crate) struct CellLine<const BITS: u32, const AGING: u8>;

impl<const BITS: u32, const AGING: u8> CellLine<BITS, AGING> {
    /// Cells of a line, or of each of its halves.
    pub(crate) const CELLS: usize = cells_per_line(
        BITS,
        match AGING {
            HALVES => Expire::Timer,
            STAMPS => Expire::Stamps,
            _ => Expire::None,
        },
    );
    const FORMAT: Format = Format::new(Self::CELLS, BITS, AGING == STAMPS);
    const BANKS: usize = Self::FORMAT.banks();
    /// Where the second half begins.
    const HALF_BYTES: usize = (Self::CELLS * BITS as usize).div_ceil(8);

    /// The first byte of the cells.
    #[inline(always)]
    pub(crate) fn start(half: Half, now: Epoch) -> usize {
        if AGING == HALVES && half.is_second(now) { Self::HALF_BYTES } else { 0 }
    }

    /// Empties the halves that are stale, and marks the line as written. Not inlined: once per line
    /// and epoch.
    #[inline(never)]
    pub(crate) fn clear_stale_halves(line: &mut Line, now: Epoch) {
        for half in [Half::Active, Half::Frozen] {
            if !half.is_current(mark(line), now) {
                let start = Self::start(half, now);
                line[start..start + Self::HALF_BYTES].fill(0);
            }
        }
        set_mark(line, now);
    }

    /// The cells touched in this epoch. The stamp of an empty cell means nothing.
    #[inline(always)]
    pub(crate) fn fresh(line: &Line, now: Epoch) -> CellSet<BITS, AGING> {
        CellSet::from_banks(|bank| Self::FORMAT.fresh(line, bank, now))
    }

    /// The cells touched in this epoch or the one before.
    #[inline(always)]
    pub(crate) fn alive(line: &Line, now: Epoch) -> CellSet<BITS, AGING> {
        CellSet::from_banks(|bank| Self::FORMAT.alive(line, bank, now))
    }

    /// The same for lookups: few need it, and the others are faster without its code.
    #[inline(never)]
    pub(crate) fn alive_apart(line: &Line, now: Epoch) -> CellSet<BITS, AGING> {
        Self::alive(line, now)
    }

    /// Stamps some cells.
    #[inline(always)]
    pub(crate) fn stamp(line: &mut Line, cells: CellSet<BITS, AGING>, stamp: Stamp) {
        for bank in 0..Self::BANKS {
            Self::FORMAT.stamp(line, bank, cells.bank(bank), stamp.epoch());
        }
    }

    /// Empties the stale cells; returns how many were in use. Not inlined: few writes need it.
    #[inline(never)]
    pub(crate) fn clear_stale(line: &mut Line, now: Epoch) -> u64 {
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

    /// What lines that come from elsewhere hold, in the epoch of the latest write.
    pub(crate) fn usage_of(lines: &[Line]) -> Usage {
        Self::usage_at(lines, lines.iter().map(mark).max().unwrap_or_default())
    }

    /// The same in a later epoch: stale cells are counted, stale halves are not.
    pub(crate) fn usage_at(lines: &[Line], now: Epoch) -> Usage {
        let in_use = |line: &Line, start: usize| {
            (0..Self::CELLS).filter(|&slot| Self::value(line, start, slot) != 0).count() as u64
        };
        if AGING != HALVES {
            return Usage::of(lines.iter().map(|line| in_use(line, 0)).sum());
        }
        let [active, frozen] = [Half::Active, Half::Frozen].map(|half| {
            let current = lines.iter().filter(|line| half.is_current(mark(line), now));
            current.map(|line| in_use(line, Self::start(half, now))).sum::<u64>()
        });
        Usage { frozen, epoch: now, ..Usage::of(active + frozen) }
    }

    /// The value of one of the cells that begin with the byte `start`, stale or not.
    #[inline]
    pub(crate) fn value(line: &Line, start: usize, slot: usize) -> u32 {
        match BITS {
            8 => u32::from(line[start + slot]),
            16 => {
                let at = start + 2 * slot;
                u32::from(u16::from_le_bytes([line[at], line[at + 1]]))
            }
            32 => {
                let at = start + 4 * slot;
                u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]])
            }
            _ => {
                let bit = slot * BITS as usize;
                u32::from(line[start + bit / 8] >> (bit % 8)) & ((1 << BITS) - 1)
            }
        }
    }

    #[inline]
    pub(crate) fn set_value(line: &mut Line, start: usize, slot: usize, value: u32) {
        match BITS {
            8 => line[start + slot] = value as u8,
            16 => {
                let at = start + 2 * slot;
                line[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
            }
            32 => {
                let at = start + 4 * slot;
                line[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            _ => {
                let bit = slot * BITS as usize;
                let mask = ((1u32 << BITS) - 1) as u8;
                let byte = &mut line[start + bit / 8];
                *byte = *byte & !(mask << (bit % 8)) | (value as u8 & mask) << (bit % 8);
            }
        }
    }
}

/// A power of two, so that no index needs a check.
const BANKS_LIMIT: usize = 4;

/// Some of the cells of a line with stamps, one bit each. For lines without stamps it is always
/// empty and costs nothing.
#[derive(Clone, Copy)]
pub(crate) struct CellSet<const BITS: u32, const AGING: u8>([u64; BANKS_LIMIT]);

impl<const BITS: u32, const AGING: u8> CellSet<BITS, AGING> {
    /// How many words are in use: one for cells of 8 bits and more.
    const BANKS: usize = CellLine::<BITS, AGING>::BANKS;
    pub(crate) const EMPTY: Self = CellSet([0; BANKS_LIMIT]);

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
    pub(crate) fn insert_if(&mut self, slot: usize, wanted: bool) {
        self.0[Self::bank_of(slot)] |= u64::from(wanted) << (slot % BANK_FIELDS);
    }

    #[inline(always)]
    pub(crate) fn contains(self, slot: usize) -> bool {
        self.0[Self::bank_of(slot)] >> (slot % BANK_FIELDS) & 1 == 1
    }

    #[inline(always)]
    pub(crate) fn is_within(self, other: Self) -> bool {
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
        4 => {
            let cells = cells & 0xffff;
            let halves = (cells | cells << 24) & 0x0000_00ff_0000_00ff;
            let quarters = (halves | halves << 12) & 0x000f_000f_000f_000f;
            let eighths = (quarters | quarters << 6) & 0x0303_0303_0303_0303;
            ((eighths | eighths << 3) & 0x1111_1111_1111_1111) * 0xf
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
        check::<4>();
        check::<8>();
        check::<16>();
        check::<32>();
    }
}
