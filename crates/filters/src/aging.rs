//! The aging rule: what was touched in an epoch is alive in that epoch and in the next.
//!
//! There are three ways to keep it, and each line of cells or slots has a *mark*, an epoch, for all.
//!
//! [Stamps](STAMPS): a cell carries a *stamp*: two bits of the epoch in which it was last touched.
//! Two bits are enough within a window of four epochs. The mark of a line is therefore the epoch in which it was
//! last cleared of stale cells: from then on until two epochs later all its stamps are within
//! `mark − 1 ..= mark + 2`. A write to a line outside this window clears the line first; a read
//! needs no more than the window.
//!
//! One bit is enough where a line is cleared before its first stamp in *each* epoch, as the lines of
//! `fcf` are: it says whether a slot was touched in the epoch of the mark or in the one before
//! ([`TouchBits`]). The marks of such lines are short ([`ShortMark`]): all lines of a table are
//! cleared in time, before one of their marks comes round.
//!
//! [Halves](HALVES): a line has two [halves](Half) with the same cells. Flows are written into the
//! *active* half, which is the other one in every epoch; the *frozen* half is as the epoch before
//! left it. A flow found there is written again into the active half when it is touched. The mark
//! of a line is the epoch in which it was last written: in that epoch both halves are current, in
//! the next the half of the mark is frozen and the other one stale, later both are stale. The first
//! write of an epoch clears what is stale.
//!
//! In all of them a late sweep, or time that jumps by years, costs the clearing of one line and never a
//! wrong answer. The difference: a stamp is that of a cell, and a cell is kept alive by any of its
//! flows, with all that flows which are gone have left there. A half is forgotten as a whole.

use std::cmp::Ordering;

/// How cells age, as a parameter of a filter's type: never.
pub const UNTIMED: u8 = 0;

/// How cells age: each by its own stamp.
pub const STAMPS: u8 = 1;

/// How cells age: by two halves of each line that take turns with the epoch.
pub const HALVES: u8 = 2;

/// A tick of the aging clock: floor(t / P), with t the largest packet time so far and P the idle
/// timeout, counted from the start of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u32);

/// What a touch leaves on a cell: the epoch of the touch, or the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    now: Epoch,
    half: bool,
}

/// When something was last touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Age {
    /// In the current epoch.
    Current,
    /// In the epoch before: alive until the current one ends.
    Previous,
    /// Longer ago: as good as empty.
    Stale,
}

impl Age {
    /// The rule.
    #[inline]
    pub(crate) const fn is_alive(self) -> bool {
        !matches!(self, Age::Stale)
    }
}

impl Epoch {
    /// The stamp of most flows: alive for this epoch and the next.
    #[inline]
    pub const fn stamp(self) -> Stamp {
        Stamp { now: self, half: false }
    }

    /// One epoch older: alive until this epoch ends. For flows with a shorter lifetime.
    #[inline]
    pub const fn half_stamp(self) -> Stamp {
        Stamp { now: self, half: true }
    }

    /// Whether all that was touched in this epoch or before is stale at `now`.
    #[inline]
    pub const fn is_forgotten_at(self, now: Epoch) -> bool {
        now.0 > self.0 && !self.age(now).is_alive()
    }

    /// The age, at `now`, of what was stamped in this epoch.
    #[inline]
    pub(crate) const fn age(self, now: Epoch) -> Age {
        match now.0.wrapping_sub(self.0) {
            0 => Age::Current,
            1 => Age::Previous,
            _ => Age::Stale,
        }
    }

    /// The epoch of a live entry after one more touch. A half stamp does not make it older.
    #[inline]
    pub(crate) fn renewed(self, stamp: Stamp) -> Epoch {
        match self.age(stamp.now).cmp(&stamp.epoch().age(stamp.now)) {
            Ordering::Less => self,
            _ => stamp.epoch(),
        }
    }

    /// The epoch before. Wraps: −1 comes before 0.
    #[inline]
    const fn before(self) -> Epoch {
        Epoch(self.0.wrapping_sub(1))
    }
}

impl Stamp {
    /// The epoch of the touch.
    #[inline]
    pub const fn now(self) -> Epoch {
        self.now
    }

    /// Whether it leaves the epoch before.
    #[inline]
    pub const fn is_half(self) -> bool {
        self.half
    }

    /// The last epoch in which something with this stamp is alive.
    #[inline]
    pub const fn last_alive(self) -> Epoch {
        Epoch(if self.half { self.now.0 } else { self.now.0.saturating_add(1) })
    }

    /// The epoch that is left on the cell.
    #[inline]
    pub(crate) const fn epoch(self) -> Epoch {
        Epoch(self.now.0.wrapping_sub(self.half as u32))
    }

    /// Whether it can make a live cell younger. What is alive was touched in this epoch or the one
    /// before, so a half stamp adds nothing.
    #[inline]
    pub(crate) const fn renews(self) -> bool {
        !self.half
    }
}

/// One of the two halves of a line, as seen from an epoch. Cells that do not age by halves are all
/// active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// The half of this epoch.
    Active,
    /// The half of the epoch before.
    Frozen,
}

impl Half {
    /// The half that this stamp belongs in.
    #[inline]
    pub(crate) const fn of(stamp: Stamp) -> Half {
        if stamp.half { Half::Frozen } else { Half::Active }
    }

    /// Whether it is the second one of the line: halves take turns.
    #[inline]
    pub(crate) const fn is_second(self, now: Epoch) -> bool {
        (now.0 & 1 == 1) == matches!(self, Half::Active)
    }

    /// Whether it is current in a line with this mark; else it is stale, as good as empty.
    #[inline]
    pub(crate) const fn is_current(self, mark: Epoch, now: Epoch) -> bool {
        match now.0.wrapping_sub(mark.0) {
            0 => true,
            1 => matches!(self, Half::Frozen),
            _ => false,
        }
    }
}

/// Whether a line with this mark can take stamps of `now` before it is cleared.
#[inline]
pub(crate) const fn is_in_window(mark: Epoch, now: Epoch) -> bool {
    now.0.wrapping_sub(mark.0) <= 2
}

/// Whether everything is stale in a line with this mark, whatever its stamps are.
#[inline]
pub(crate) const fn is_all_stale(mark: Epoch, now: Epoch) -> bool {
    now.0.wrapping_sub(mark.0) > 3
}

/// The stamps of up to 64 cells at once: the lower bits of all in one word, the upper bits in
/// another.
#[derive(Clone, Copy)]
pub(crate) struct StampPlanes {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

impl StampPlanes {
    /// The cells, in a line with this mark, that were touched in the epoch `now`. The stamp of an
    /// empty cell means nothing.
    #[inline(always)]
    pub(crate) const fn fresh(self, mark: Epoch, now: Epoch) -> u64 {
        // Three epochs after the mark, the bits of `now` mean four epochs ago.
        if is_in_window(mark, now) { self.stamped(now) } else { 0 }
    }

    /// The cells that were touched in the epoch `now` or the one before.
    #[inline(always)]
    pub(crate) const fn alive(self, mark: Epoch, now: Epoch) -> u64 {
        match now.0.wrapping_sub(mark.0) {
            0..=2 => self.stamped(now) | self.stamped(now.before()),
            3 => self.stamped(now.before()),
            _ => 0,
        }
    }

    /// These stamps with those of `cells` replaced by the stamp of `epoch`.
    #[inline]
    pub(crate) const fn with(self, cells: u64, epoch: Epoch) -> StampPlanes {
        let [low, high] = planes_full_of(epoch);
        StampPlanes {
            low: self.low & !cells | low & cells,
            high: self.high & !cells | high & cells,
        }
    }

    /// The cells that carry the two bits of this epoch.
    #[inline]
    const fn stamped(self, epoch: Epoch) -> u64 {
        let [low, high] = planes_full_of(epoch);
        !(self.low ^ low | self.high ^ high)
    }
}

/// The epoch in which a line with [`TouchBits`] was last cleared of stale slots: its lowest bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortMark(u32);

impl ShortMark {
    pub(crate) const BITS: u32 = 12;
    /// The largest one.
    pub(crate) const MASK: u64 = (1 << Self::BITS) - 1;

    /// Whether it is time to renew a mark of the epoch `oldest`: long before it comes round.
    #[inline]
    pub(crate) const fn is_due(oldest: Epoch, now: Epoch) -> bool {
        now.0.wrapping_sub(oldest.0) >> (Self::BITS - 1) != 0
    }

    /// Whether a mark of the epoch `oldest` looks like that of a later one.
    #[inline]
    pub(crate) const fn has_come_round(oldest: Epoch, now: Epoch) -> bool {
        now.0.wrapping_sub(oldest.0) >> Self::BITS != 0
    }

    #[inline]
    pub(crate) const fn of(epoch: Epoch) -> ShortMark {
        ShortMark::from_bits(epoch.0 as u64)
    }

    /// The mark in the lowest bits of a word.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> ShortMark {
        ShortMark((bits & Self::MASK) as u32)
    }

    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0 as u64
    }

    /// The age of its epoch at `now`.
    #[inline]
    pub(crate) const fn age(self, now: Epoch) -> Age {
        Epoch(0).age(Epoch(now.0.wrapping_sub(self.0) & Self::MASK as u32))
    }
}

/// The stamps of up to 64 slots at once, of one bit: whether a slot was touched in the epoch of the
/// mark. If not, that was in the epoch before. The bit of an empty slot means nothing.
#[derive(Clone, Copy)]
pub(crate) struct TouchBits(pub(crate) u64);

impl TouchBits {
    /// The slots, in a line with this mark, that were touched in the epoch `now`.
    #[inline(always)]
    pub(crate) const fn fresh(self, mark: ShortMark, now: Epoch) -> u64 {
        match mark.age(now) {
            Age::Current => self.0,
            Age::Previous | Age::Stale => 0,
        }
    }

    /// The slots that were touched in the epoch `now` or the one before.
    #[inline(always)]
    pub(crate) const fn alive(self, mark: ShortMark, now: Epoch) -> u64 {
        match mark.age(now) {
            Age::Current => u64::MAX,
            Age::Previous => self.0,
            Age::Stale => 0,
        }
    }
}

/// The lower and the upper bit of an epoch, for every cell.
#[inline]
const fn planes_full_of(epoch: Epoch) -> [u64; 2] {
    [0u64.wrapping_sub((epoch.0 & 1) as u64), 0u64.wrapping_sub((epoch.0 >> 1 & 1) as u64)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The epoch within the window of `mark` that has these two bits.
    fn epoch_of(bits: u32, mark: Epoch) -> Epoch {
        (0..4).map(|n| Epoch(mark.before().0.wrapping_add(n))).find(|e| e.0 & 3 == bits).unwrap()
    }

    #[test]
    fn two_bits_and_a_mark_tell_the_age_that_the_whole_epoch_has() {
        let planes = StampPlanes { low: 0x1b4e_93c6_d872_e4b1, high: 0x93c6_e4b1_1b4e_d872 };
        for mark in [0, 1, 2, 3, 1000, u32::MAX - 1] {
            for later in [0, 1, 2, 3, 4, 5, 6, 100, 1 << 30] {
                let (mark, now) = (Epoch(mark), Epoch(mark.wrapping_add(later)));
                let (fresh, alive) = (planes.fresh(mark, now), planes.alive(mark, now));
                assert!(alive == 0 || !is_all_stale(mark, now));
                for cell in 0..64 {
                    let bits = (planes.low >> cell & 1 | (planes.high >> cell & 1) << 1) as u32;
                    let stamp = epoch_of(bits, mark);
                    // The stamps of a line are never later than now.
                    if now.0.wrapping_sub(stamp.0) > later.wrapping_add(1) {
                        continue;
                    }
                    let age = stamp.age(now);
                    assert_eq!(fresh >> cell & 1 == 1, age == Age::Current, "{mark:?} {now:?}");
                    assert_eq!(alive >> cell & 1 == 1, age.is_alive(), "{mark:?} {now:?}");
                }
            }
        }
    }

    /// What was written into the active half is alive in this epoch and the next, and in no later
    /// one; what was written into the frozen half in this epoch only.
    #[test]
    fn halves_live_as_long_as_stamps() {
        for written in [0, 1, 2, 7, u32::MAX] {
            for later in [0u32, 1, 2, 3, 4, 5, 100, 1 << 31] {
                let (mark, now) = (Epoch(written), Epoch(written.wrapping_add(later)));
                for (half, stamp) in
                    [(Half::Active, mark.stamp()), (Half::Frozen, mark.half_stamp())]
                {
                    assert_eq!(Half::of(stamp), half);
                    let place = half.is_second(mark);
                    let seen = [Half::Active, Half::Frozen]
                        .into_iter()
                        .any(|asked| asked.is_second(now) == place && asked.is_current(mark, now));
                    assert_eq!(
                        seen,
                        stamp.epoch().age(now).is_alive(),
                        "{half:?} {mark:?} {now:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_stamp_is_left_on_the_given_cells() {
        let planes = StampPlanes { low: 0, high: 0 }.with(0b1010, Epoch(7));
        let planes = planes.with(0b0011, Epoch(7).half_stamp().epoch());
        assert_eq!((planes.low & 0xf, planes.high & 0xf), (0b1000, 0b1011));
    }

    #[test]
    fn one_bit_and_a_short_mark_tell_the_age_that_the_whole_epoch_has() {
        let touched = TouchBits(0b01);
        for marked in [0, 1, 4094, 4095, 4096, 70_000, u32::MAX - 1] {
            for later in [0, 1, 2, 3, 100, 4095] {
                let (marked, now) = (Epoch(marked), Epoch(marked.wrapping_add(later)));
                let mark = ShortMark::of(marked);
                assert!(!ShortMark::has_come_round(marked, now));
                let (fresh, alive) = (touched.fresh(mark, now), touched.alive(mark, now));
                for (slot, stamp) in [marked, marked.before()].into_iter().enumerate() {
                    let age = stamp.age(now);
                    assert_eq!(fresh >> slot & 1 == 1, age == Age::Current, "{marked:?} {now:?}");
                    assert_eq!(alive >> slot & 1 == 1, age.is_alive(), "{marked:?} {now:?}");
                }
            }
            let round = Epoch(marked.wrapping_add(4096));
            assert!(ShortMark::has_come_round(Epoch(marked), round));
            assert_eq!(ShortMark::of(Epoch(marked)), ShortMark::of(round));
        }
    }

    #[test]
    fn a_touch_never_makes_an_entry_older() {
        for now in [Epoch(0), Epoch(1), Epoch(7)] {
            assert_eq!(now.renewed(now.stamp()), now);
            assert_eq!(now.renewed(now.half_stamp()), now);
            assert_eq!(now.before().renewed(now.stamp()), now);
            assert_eq!(now.before().renewed(now.half_stamp()), now.before());
        }
    }
}
