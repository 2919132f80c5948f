//! The index of an exact table: open addressing by 32 bits of the flow's digest, which is a keyed
//! hash already.

use crate::error::StoreError;
use crate::memory::allocate;
use crate::memory::prefetch;

/// The slot of an entry with this tag.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tag: u32,
    slot: u32,
}

const EMPTY: Bucket = Bucket { tag: 0, slot: super::NONE };

/// Linear probing over one and a half times as many buckets as entries.
#[derive(Debug)]
pub(super) struct Index {
    buckets: Vec<Bucket>,
    capacity: usize,
}

impl Index {
    /// An index for this many entries.
    pub(super) fn new(capacity: usize) -> Result<Index, StoreError> {
        Ok(Index { buckets: allocate(capacity + (capacity / 2).max(1), EMPTY)?, capacity })
    }

    /// Removes all slots.
    pub(super) fn clear(&mut self) {
        self.buckets.fill(EMPTY);
    }

    /// Makes room for this many entries, at least doubling the index if it grows.
    pub(super) fn reserve(&mut self, entries: usize) {
        if entries <= self.capacity {
            return;
        }
        let capacity = entries.max(2 * self.capacity);
        let buckets = vec![EMPTY; capacity + capacity / 2];
        let old = std::mem::replace(self, Index { buckets, capacity });
        for Bucket { tag, slot } in old.buckets {
            if slot != EMPTY.slot {
                self.insert(tag, slot);
            }
        }
    }

    /// The slot with this tag that `is_it` accepts.
    #[inline]
    pub(super) fn find(&self, tag: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(tag);
        loop {
            let bucket = self.buckets[at];
            if bucket.slot == EMPTY.slot {
                return None;
            }
            if bucket.tag == tag && is_it(bucket.slot) {
                return Some(bucket.slot);
            }
            at = self.after(at);
        }
    }

    /// Adds a slot that is not in the index yet.
    pub(super) fn insert(&mut self, tag: u32, slot: u32) {
        let mut at = self.home(tag);
        while self.buckets[at].slot != EMPTY.slot {
            at = self.after(at);
        }
        self.buckets[at] = Bucket { tag, slot };
    }

    /// Removes a slot that is in the index, and closes the gap so that no probe ends early.
    pub(super) fn remove(&mut self, tag: u32, slot: u32) {
        let mut gap = self.home(tag);
        while self.buckets[gap].slot != slot {
            gap = self.after(gap);
        }
        let mut at = self.after(gap);
        while self.buckets[at].slot != EMPTY.slot {
            let home = self.home(self.buckets[at].tag);
            if self.distance(home, at) >= self.distance(gap, at) {
                self.buckets[gap] = self.buckets[at];
                gap = at;
            }
            at = self.after(at);
        }
        self.buckets[gap] = EMPTY;
    }

    /// Starts loading the bucket that a search starts at.
    #[inline]
    pub(super) fn prefetch(&self, tag: u32) {
        prefetch(self.buckets.get(self.home(tag)));
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.buckets.len() as u64) >> 32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.buckets.len() - from }
    }
}
