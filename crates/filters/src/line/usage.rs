//! Counts of the fields of a table of lines: in use, cleared, in which half.

use crate::aging::Epoch;

/// Fields in use, and fields cleared because they were stale.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Stale fields that are not yet cleared included, but for halves: those are counted exactly.
    pub(crate) occupied: u64,
    pub(crate) aged: u64,
    /// Those of the fields in use that are in a frozen half.
    pub(crate) frozen: u64,
    /// Flows of this epoch that are in both halves.
    pub(crate) copies: u64,
    /// The epoch whose halves are counted.
    pub(crate) epoch: Epoch,
}

impl Usage {
    /// So many fields in use, and no halves.
    pub(crate) fn of(occupied: u64) -> Usage {
        Usage { occupied, ..Usage::default() }
    }

    /// Fields in use in the active half and in the frozen one.
    pub(crate) fn halves(&self) -> [u64; 2] {
        [self.occupied.saturating_sub(self.frozen), self.frozen]
    }

    /// Counts the halves of this epoch from now on: what was active is frozen, and what was frozen
    /// is stale. Lines are cleared later, when they are written; by then they are counted.
    #[inline]
    pub(crate) fn pass_to(&mut self, now: Epoch) {
        if self.epoch != now {
            let is_next = now.0.wrapping_sub(self.epoch.0) == 1;
            self.clear(if is_next { self.frozen } else { self.occupied });
            (self.frozen, self.copies, self.epoch) = (self.occupied, 0, now);
        }
    }

    /// So many stale fields were cleared.
    #[inline]
    pub(crate) fn clear(&mut self, fields: u64) {
        self.aged += fields;
        self.occupied = self.occupied.saturating_sub(fields);
    }
}
