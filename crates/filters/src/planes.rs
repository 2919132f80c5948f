//! The stamps of up to 64 cells at once: the lower bits of all in one word, the upper in another.
//! So what is to be found out of a flow's cells in a line is found out of all of them together.

use super::aging::{Epoch, Stamp};

/// Two bits of an epoch for each cell.
#[derive(Clone, Copy)]
pub(super) struct StampPlanes {
    pub(super) low: u64,
    pub(super) high: u64,
}

impl StampPlanes {
    /// The cells of a line with this mark that were touched in the epoch `now`. It says nothing of
    /// cells that are empty.
    #[inline(always)]
    pub(super) const fn fresh(self, mark: Epoch, now: Epoch) -> u64 {
        match now.0.wrapping_sub(mark.0) {
            0..=2 => self.stamped(now),
            // Three epochs after the mark, the bits of `now` mean four epochs ago.
            _ => 0,
        }
    }

    /// Those touched in the epoch `now` or the one before.
    #[inline(always)]
    pub(super) const fn alive(self, mark: Epoch, now: Epoch) -> u64 {
        match now.0.wrapping_sub(mark.0) {
            0..=2 => self.stamped(now) | self.stamped(now.before()),
            3 => self.stamped(now.before()),
            _ => 0,
        }
    }

    /// The same with a stamp left on some cells.
    #[inline]
    pub(super) const fn with(self, cells: u64, stamp: Stamp) -> StampPlanes {
        let [low, high] = planes_full_of(stamp.epoch());
        StampPlanes {
            low: self.low & !cells | low & cells,
            high: self.high & !cells | high & cells,
        }
    }

    /// The cells that bear the bits of this epoch.
    #[inline]
    const fn stamped(self, epoch: Epoch) -> u64 {
        let [low, high] = planes_full_of(epoch);
        !(self.low ^ low | self.high ^ high)
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
    use crate::aging::age_of;

    #[test]
    fn all_stamps_age_as_each_alone() {
        let planes = StampPlanes { low: 0x1b4e_93c6_d872_e4b1, high: 0x93c6_e4b1_1b4e_d872 };
        for mark in [0, 1, 2, 3, 1000, u32::MAX - 1] {
            for later in [0, 1, 2, 3, 4, 5, 6, 100, 1 << 30] {
                let (mark, now) = (Epoch(mark), Epoch(mark.wrapping_add(later)));
                let (fresh, alive) = (planes.fresh(mark, now), planes.alive(mark, now));
                for cell in 0..64 {
                    let bits = (planes.low >> cell & 1 | (planes.high >> cell & 1) << 1) as u8;
                    let age = age_of(bits, mark, now);
                    // A line's stamps are never later than now.
                    if age <= later.wrapping_add(1) {
                        let seen = (fresh >> cell & 1 == 1, alive >> cell & 1 == 1);
                        assert_eq!(seen, (age == 0, age <= 1), "{mark:?} {now:?} {bits}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_stamp_is_left_on_the_cells_named() {
        let planes = StampPlanes { low: 0, high: 0 }.with(0b1010, Epoch(7).stamp());
        let planes = planes.with(0b0011, Epoch(7).half_stamp());
        assert_eq!((planes.low & 0xf, planes.high & 0xf), (0b1000, 0b1011));
    }
}
