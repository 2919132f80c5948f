//! Where the slots of a line are, its touch bits and its mark.
//!
//! From the start of a line, in bits:
//!
//! | part | size |
//! |---|---|
//! | with the timer: whether each slot was touched in the epoch of the mark | one per slot |
//! | slots of 8 to 37 bits, 0 if empty | `slot_bits` each |
//! | unused | |
//! | with the timer: the mark | the last 12 |

use crate::aging::{Epoch, ShortMark, TouchBits};
use crate::line::{Line, Usage, bits_from, set_bits_from};
use crate::spec::{Expire, FCF_WINDOW_SLOTS, LINE_BYTES, fcf_slots_per_line};

/// Where a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) line: u32,
    /// The first of its two slots.
    pub(super) first: u32,
}

/// Where a slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) line: u32,
    pub(super) index: u32,
}

/// Where the parts of a line are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// Slots of a line.
    pub(super) slots: u32,
    pub(super) slot_bits: u32,
    /// Where the slots start: at the end of the touch bits.
    pub(super) first_bit: usize,
}

const MARK_BIT: usize = 8 * LINE_BYTES - ShortMark::BITS as usize;

impl Format {
    pub(super) fn new(slot_bits: u32, timed: bool) -> Format {
        let expire = if timed { Expire::Timer } else { Expire::None };
        let slots = fcf_slots_per_line(slot_bits, expire);
        Format { slots: slots as u32, slot_bits, first_bit: if timed { slots } else { 0 } }
    }

    /// The number of lines for this many slots.
    pub(super) fn lines(&self, slots: usize) -> usize {
        slots.div_ceil(self.slots as usize).max(1)
    }

    /// The slot with this number of a window.
    #[inline]
    pub(super) fn slot(&self, window: Window, offset: u8) -> Slot {
        let index = window.first + u32::from(offset);
        Slot {
            line: window.line,
            index: if index < self.slots { index } else { index - self.slots },
        }
    }

    /// The window in which a slot has this number.
    #[inline]
    pub(super) fn window(&self, slot: Slot, offset: u8) -> Window {
        let offset = u32::from(offset);
        let index = if slot.index < offset { slot.index + self.slots } else { slot.index };
        Window { line: slot.line, first: index - offset }
    }

    /// What a slot holds, stale or not.
    #[inline]
    pub(super) fn value(&self, line: &Line, index: u32) -> u64 {
        bits_from(line, self.bit_of(index)) & self.mask()
    }

    /// What the two slots of the window hold that starts at this slot.
    #[inline]
    pub(super) fn values(&self, line: &Line, first: u32) -> [u64; FCF_WINDOW_SLOTS] {
        let bits = bits_from(line, self.bit_of(first));
        let next = first + 1;
        let other = match next < self.slots && self.pairs_fit_a_word() {
            true => bits >> self.slot_bits,
            false if next < self.slots => bits_from(line, self.bit_of(next)),
            false => bits_from(line, self.bit_of(0)),
        };
        [bits & self.mask(), other & self.mask()]
    }

    /// Whether two adjacent slots can be read at once, from whatever bit of a byte on.
    #[inline]
    pub(super) const fn pairs_fit_a_word(&self) -> bool {
        2 * self.slot_bits + u8::BITS - 1 <= u64::BITS
    }

    #[inline]
    pub(super) fn set_value(&self, line: &mut Line, index: u32, value: u64) {
        set_bits_from(line, self.bit_of(index), self.mask(), value);
    }

    #[inline]
    pub(super) const fn bit_of(&self, index: u32) -> usize {
        self.first_bit + (index * self.slot_bits) as usize
    }

    #[inline]
    pub(super) const fn mask(&self) -> u64 {
        (1 << self.slot_bits) - 1
    }

    /// One bit per slot.
    #[inline]
    pub(super) const fn all_slots(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.slots)
    }

    /// How many slots are in use, stale ones included.
    pub(super) fn in_use(&self, line: &Line) -> u64 {
        (0..self.slots).filter(|&index| self.value(line, index) != 0).count() as u64
    }

    pub(super) fn usage_of(&self, lines: &[Line]) -> Usage {
        Usage::of(lines.iter().map(|line| self.in_use(line)).sum())
    }

    /// Sets the touch bits of these slots to those of `touched`.
    #[inline]
    pub(super) fn touch(&self, line: &mut Line, slots: u64, touched: u64) {
        set_bits_from(line, 0, slots, touched);
    }

    /// Empties the stale slots of a line that has a mark from before `now`, and marks it with
    /// `now`: slots that are still in use were touched in the epoch before. Returns how many slots
    /// it emptied. Not inlined: few writes need it.
    #[inline(never)]
    pub(super) fn clear_stale(&self, line: &mut Line, now: Epoch) -> u64 {
        let alive = touched(line).alive(mark(line), now);
        self.touch(line, self.all_slots(), 0);
        set_bits_from(line, MARK_BIT, ShortMark::MASK, 0);
        let is_empty = *line == [0; LINE_BYTES];
        set_bits_from(line, MARK_BIT, ShortMark::MASK, ShortMark::of(now).bits());
        let mut stale = if is_empty { 0 } else { !alive & self.all_slots() };
        let mut cleared = 0;
        while stale != 0 {
            let index = stale.trailing_zeros();
            stale &= stale - 1;
            if self.value(line, index) != 0 {
                self.set_value(line, index, 0);
                cleared += 1;
            }
        }
        cleared
    }
}

/// The epoch in which a line was last cleared of stale slots.
#[inline]
pub(super) fn mark(line: &Line) -> ShortMark {
    ShortMark::from_bits(bits_from(line, MARK_BIT))
}

/// The touch bits of a line, and whatever bits come after them.
#[inline]
pub(super) fn touched(line: &Line) -> TouchBits {
    TouchBits(bits_from(line, 0))
}
