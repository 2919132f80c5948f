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

    /// The stamp of half-open flows, one epoch older: they live half as long.
    #[inline]
    pub const fn half_stamp(self) -> Stamp {
        Stamp { now: self, half: true }
    }

    /// Whether something stamped in this epoch is alive at `now`. Wraps: epoch −1 comes before 0.
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
