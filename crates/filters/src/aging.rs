//! The aging clock: epochs, and the stamps that cells carry.
//!
//! A cell is alive iff it was touched in the current or the previous epoch. Two bits of the epoch
//! are enough to tell, as long as they are read within a window of four epochs: each line of cells
//! has a *mark*, the epoch in which it was last cleared of stale cells. From then until two epochs
//! later all its stamps lie within `mark − 1 ..= mark + 2`. Whoever writes to a line later than
//! that clears it first; whoever only reads needs no more than the window. So a sweep that comes
//! late, or time that jumps by years, costs one line's clearing and never a wrong answer.

/// A tick of the aging clock: floor(t / P), with t the largest packet time so far and P the idle
/// timeout; or that less the trace's first, so that it never outgrows 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u32);

/// What a touch leaves on a cell: the epoch, or the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub(super) now: Epoch,
    pub(super) half: bool,
}

impl Epoch {
    /// The stamp of most flows: alive for this epoch and the next.
    #[inline]
    pub const fn stamp(self) -> Stamp {
        Stamp { now: self, half: false }
    }

    /// One epoch older: alive until this epoch ends. For flows that are to live shorter.
    #[inline]
    pub const fn half_stamp(self) -> Stamp {
        Stamp { now: self, half: true }
    }

    /// The epoch before. Wraps: −1 comes before 0.
    #[inline]
    pub(super) const fn before(self) -> Epoch {
        Epoch(self.0.wrapping_sub(1))
    }

    /// Whether something stamped in this epoch is alive at `now`.
    #[inline]
    pub(super) const fn is_alive(self, now: Epoch) -> bool {
        now.0.wrapping_sub(self.0) <= 1
    }
}

impl Stamp {
    /// When the touch happens.
    #[inline]
    pub const fn now(self) -> Epoch {
        self.now
    }

    /// Whether it leaves the epoch before.
    #[inline]
    pub const fn is_half(self) -> bool {
        self.half
    }

    /// The epoch that is left on the cell.
    #[inline]
    pub(super) const fn epoch(self) -> Epoch {
        Epoch(self.now.0.wrapping_sub(self.half as u32))
    }

    /// Its two bits.
    #[inline]
    pub(super) const fn bits(self) -> u8 {
        (self.epoch().0 & 3) as u8
    }
}

/// How many epochs before `now` a stamp with these two bits was left, in a line with this mark.
#[inline]
pub(super) const fn age_of(bits: u8, mark: Epoch, now: Epoch) -> u32 {
    if is_in_window(now, mark) {
        return now.0.wrapping_sub(bits as u32) & 3;
    }
    let first = mark.0.wrapping_sub(1);
    let epoch = first.wrapping_add((bits as u32).wrapping_sub(first) & 3);
    now.0.wrapping_sub(epoch)
}

/// Whether a line with this mark can take stamps of `now` before it is cleared.
#[inline]
pub(super) const fn is_in_window(now: Epoch, mark: Epoch) -> bool {
    now.0.wrapping_sub(mark.0) <= 2
}

/// How many stamps fit a word.
pub(super) const STAMPS_PER_WORD: usize = 32;

/// The lower bit of each stamp in a word.
const LOW_BITS: u64 = 0x5555_5555_5555_5555;

/// A word full of stamps of this epoch.
#[inline]
pub(super) const fn repeated(epoch: Epoch) -> u64 {
    (epoch.0 & 3) as u64 * LOW_BITS
}

/// Which of the first `count` stamps in a word are too old at `now`, in a line with this mark: the
/// lower bit of each. The same as [`age_of`] says of each, for all at once.
#[inline]
pub(super) const fn stale_stamps(word: u64, mark: Epoch, now: Epoch, count: usize) -> u64 {
    let since_mark = now.0.wrapping_sub(mark.0);
    // Three epochs after the mark, the bits of `now` mean four epochs ago.
    let of_now = if since_mark <= 2 { equal_stamps(word, now) } else { 0 };
    let of_previous = if since_mark <= 3 { equal_stamps(word, now.before()) } else { 0 };
    let first = if count < STAMPS_PER_WORD { (1 << (2 * count)) - 1 } else { u64::MAX };
    !(of_now | of_previous) & LOW_BITS & first
}

const fn equal_stamps(word: u64, epoch: Epoch) -> u64 {
    let differing = word ^ repeated(epoch);
    !(differing | differing >> 1) & LOW_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stamps_of_a_word_age_as_each_alone() {
        let word = 0x1b4e_93c6_d872_e4b1_u64;
        for mark in [0, 1, 2, 3, 1000, u32::MAX - 1] {
            for later in [0, 1, 2, 3, 4, 5, 6, 100, 1 << 30] {
                let (mark, now) = (Epoch(mark), Epoch(mark.wrapping_add(later)));
                let stale = stale_stamps(word, mark, now, 31);
                for stamp in 0..31 {
                    let bits = (word >> (2 * stamp) & 3) as u8;
                    let expected = age_of(bits, mark, now) > 1;
                    // A line's stamps are never later than now.
                    let possible = age_of(bits, mark, now) <= later.wrapping_add(1);
                    if possible {
                        assert_eq!(
                            stale >> (2 * stamp) & 1 == 1,
                            expected,
                            "{mark:?} {now:?} {bits}"
                        );
                    }
                }
                assert_eq!(stale >> 62, 0, "only the first 31 were asked for");
            }
        }
    }
}
