//! Entries in the order in which they go idle: one list per [`Age`], and a list of free slots. Every
//! operation is O(1), the change of an epoch included.

use super::{Entry, NONE};
use crate::aging::{Age, Epoch};

/// An entry's neighbours in its list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub(super) older: u32,
    pub(super) newer: u32,
}

/// A doubly linked list through the entries.
#[derive(Debug, Clone, Copy)]
struct List {
    oldest: u32,
    newest: u32,
    len: u64,
}

const EMPTY: List = List { oldest: NONE, newest: NONE, len: 0 };

/// The lists.
#[derive(Debug)]
pub(super) struct IdleLists {
    now: Epoch,
    /// By [`Age`], the oldest last.
    lists: [List; 3],
    free: u32,
}

impl Default for IdleLists {
    fn default() -> Self {
        IdleLists { now: Epoch(0), lists: [EMPTY; 3], free: NONE }
    }
}

const STALE: usize = Age::Stale as usize;

impl IdleLists {
    /// No entries, in this epoch.
    pub(super) fn at(now: Epoch) -> IdleLists {
        IdleLists { now, ..IdleLists::default() }
    }

    pub(super) fn now(&self) -> Epoch {
        self.now
    }

    pub(super) fn alive(&self) -> u64 {
        self.occupied() - self.lists[STALE].len
    }

    pub(super) fn occupied(&self) -> u64 {
        self.lists.iter().map(|list| list.len).sum()
    }

    /// Any stale entry.
    pub(super) fn stale(&self) -> Option<u32> {
        self.lists[STALE].first()
    }

    /// The entry that has been idle the longest.
    pub(super) fn oldest(&self) -> Option<u32> {
        self.lists.iter().rev().find_map(List::first)
    }

    /// All entries, in the order in which they would be evicted.
    pub(super) fn in_order<'a, K: Copy>(
        &'a self,
        entries: &'a [Entry<K>],
    ) -> impl Iterator<Item = &'a Entry<K>> {
        let entry = |slot: u32| entries.get(slot as usize);
        let firsts = self.lists.iter().rev().map(move |list| entry(list.oldest));
        firsts.flat_map(move |first| {
            std::iter::successors(first, move |last| entry(last.links.newer))
        })
    }

    /// Moves on to a later epoch.
    pub(super) fn advance<K: Copy>(&mut self, entries: &mut [Entry<K>], now: Epoch) {
        let [current, previous, stale] = self.lists;
        let stale = stale.joined(entries, previous);
        self.lists = match self.now.age(now) {
            Age::Previous => [EMPTY, current, stale],
            _ => [EMPTY, EMPTY, stale.joined(entries, current)],
        };
        self.now = now;
    }

    fn list_of(&self, stamp: Epoch) -> usize {
        stamp.age(self.now) as usize
    }

    /// Stamps an entry that is in no list and puts it at the end of its list.
    pub(super) fn push<K: Copy>(&mut self, entries: &mut [Entry<K>], slot: u32, stamp: Epoch) {
        let list = self.list_of(stamp);
        let entry = &mut entries[slot as usize];
        entry.stamp = stamp;
        entry.links = Links { older: NONE, newer: NONE };
        let single = List { oldest: slot, newest: slot, len: 1 };
        self.lists[list] = self.lists[list].joined(entries, single);
    }

    /// Takes an entry out of its list.
    pub(super) fn remove<K: Copy>(&mut self, entries: &mut [Entry<K>], slot: u32) {
        let Entry { links: Links { older, newer }, stamp, .. } = entries[slot as usize];
        let index = self.list_of(stamp);
        let list = &mut self.lists[index];
        match entries.get_mut(older as usize) {
            Some(entry) => entry.links.newer = newer,
            None => list.oldest = newer,
        }
        match entries.get_mut(newer as usize) {
            Some(entry) => entry.links.older = older,
            None => list.newest = older,
        }
        list.len -= 1;
    }

    /// Adds a slot that is in no list to the free ones.
    pub(super) fn add_free<K: Copy>(&mut self, entries: &mut [Entry<K>], slot: u32) {
        entries[slot as usize].links = Links { older: NONE, newer: self.free };
        self.free = slot;
    }

    /// Takes a free slot.
    pub(super) fn take_free<K: Copy>(&mut self, entries: &[Entry<K>]) -> Option<u32> {
        let slot = self.free;
        self.free = entries.get(slot as usize)?.links.newer;
        Some(slot)
    }
}

impl List {
    fn first(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// This list followed by a newer one.
    fn joined<K: Copy>(self, entries: &mut [Entry<K>], newer: List) -> List {
        match (entries.get_mut(self.newest as usize), newer.len) {
            (_, 0) => return self,
            (None, _) => return newer,
            (Some(last), _) => last.links.newer = newer.oldest,
        }
        entries[newer.oldest as usize].links.older = self.newest;
        List { oldest: self.oldest, newest: newer.newest, len: self.len + newer.len }
    }
}
