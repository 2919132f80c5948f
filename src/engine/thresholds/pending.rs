//! First packets that wait for an answer: a fixed slab, listed in the order of their deadlines.
//!
//! All wait equally long, so the list is in order of arrival and expiry looks at its head alone.
//! A table of small counters says for most packets that nothing of theirs waits; it fits the
//! first caches. Once half of the slab is taken, only a share of further first packets is watched,
//! the smaller the fuller it is: a flood beyond its size is sampled evenly over time, and so is
//! what goes on beside it. What is not watched is counted.

use crate::flow::Packet;
use acsm_filters::memory::prefetch;
use acsm_filters::memory::{Arena, Table};

const NONE: u32 = u32::MAX;
const EMPTY: u64 = u64::MAX;
const FILTER_COUNTERS: usize = 1 << 15;

/// What kind of first packet waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstKind {
    /// SYN without ACK.
    Syn,
    /// Neither SYN nor ACK nor RST: NULL, FIN and XMAS scans. No stack sends these.
    Flagless,
    /// A bare ACK or FIN+ACK on an unknown 5-tuple: a probe, or a flow older than the capture.
    BareAck,
    /// SYN+ACK that no SYN asked for, as far as was seen.
    SynAck,
}

/// A first packet and what came of it so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    pub hash: u64,
    pub packet: Packet,
    pub kind: FirstKind,
    /// The direction of the packet in its 5-tuple.
    pub forward: bool,
    /// Whether the other end said anything but RST.
    pub answered: bool,
    /// When waiting ends.
    pub due_nanos: u64,
}

/// Two cache lines, not parts of three.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Slot {
    /// What waits here, or what last did.
    first: Option<First>,
    older: u32,
    /// The next younger one, or the next free slot.
    newer: u32,
}

/// Where something that waits was found; good until something is let wait or ends its waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Its place in the index.
    at: usize,
    slot: u32,
}

/// The first packets that wait.
#[derive(Debug)]
pub(super) struct Pending {
    slots: Table<Slot>,
    free: u32,
    oldest: u32,
    newest: u32,
    /// Open addressing with linear probing, at most half full. An entry is the upper half of a
    /// hash and the number of its slot, so that the slot is read only where that half matches.
    index: Table<u64>,
    filter: Box<[u8; FILTER_COUNTERS]>,
    waiting: usize,
    unwatched: u64,
}

impl Pending {
    /// Room for `capacity` first packets.
    pub fn new_in(arena: &Arena, capacity: usize) -> Self {
        let capacity = capacity.clamp(1, 1 << 24);
        let mut slots = arena.small_table(capacity, Slot { first: None, older: NONE, newer: NONE });
        for (slot, next) in slots.iter_mut().zip(1..capacity) {
            slot.newer = next as u32;
        }
        Pending {
            slots,
            free: 0,
            oldest: NONE,
            newest: NONE,
            index: arena.small_table((2 * capacity).next_power_of_two(), EMPTY),
            filter: Box::new([0; FILTER_COUNTERS]),
            waiting: 0,
            unwatched: 0,
        }
    }

    /// False if nothing of this 5-tuple waits; true means it may.
    #[inline]
    pub fn may_hold(&self, hash: u64) -> bool {
        self.filter[filter_at(hash)] != 0
    }

    /// Begins to load what finding this 5-tuple will need.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(self.index.get(home(hash) & (self.index.len() - 1)));
    }

    /// The longest waiting one.
    #[inline]
    pub fn next_due(&self) -> Option<&First> {
        self.first_at(self.oldest)
    }

    /// How many first packets found no room.
    pub fn unwatched(&self) -> u64 {
        self.unwatched
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.index) + size_of_val(&*self.filter)
    }

    /// The first packet of this 5-tuple that waits.
    #[inline]
    pub fn find(&mut self, hash: u64) -> Option<(Found, &mut First)> {
        let is_it = |entry: u64| {
            entry >> 32 == hash >> 32
                && self.first_at(entry as u32).is_some_and(|first| first.hash == hash)
        };
        let found = self.probe(hash, is_it)?;
        let first = self.slots.get_mut(found.slot as usize)?.first.as_mut()?;
        Some((found, first))
    }

    /// Lets a first packet wait, due no earlier than those that wait already; it must not wait yet.
    pub fn insert(&mut self, first: First) {
        let slot = self.free;
        let watched = self.admits(&first);
        let Some(place) = self.slots.get_mut(slot as usize).filter(|_| watched) else {
            self.unwatched += 1;
            return;
        };
        self.waiting += 1;
        self.free = place.newer;
        *place = Slot { first: Some(first), older: self.newest, newer: NONE };
        match self.slots.get_mut(self.newest as usize) {
            Some(newest) => newest.newer = slot,
            None => self.oldest = slot,
        }
        self.newest = slot;
        let mask = self.index.len() - 1;
        let mut at = home(first.hash) & mask;
        while self.index.get(at).is_some_and(|&taken| taken != EMPTY) {
            at = (at + 1) & mask;
        }
        if let Some(entry) = self.index.get_mut(at) {
            *entry = first.hash >> 32 << 32 | u64::from(slot);
        }
        let counter = &mut self.filter[filter_at(first.hash)];
        *counter = counter.saturating_add(1);
    }

    /// Ends the waiting of what was found, and shows it a last time.
    #[inline]
    pub fn end(&mut self, Found { at, slot }: Found) -> Option<&First> {
        self.close_gap(at);
        self.release(slot)
    }

    /// Ends the waiting of the longest waiting one if it is due, and shows it a last time.
    pub fn pop_due(&mut self, now_nanos: u64) -> Option<&First> {
        let slot = self.oldest;
        let oldest = self.slots.get(slot as usize)?;
        let first = oldest.first.as_ref().filter(|first| first.due_nanos <= now_nanos)?;
        // The one after the next: by its turn it is here.
        if let Some(next) = self.slots.get(oldest.newer as usize) {
            prefetch(self.slots.get(next.newer as usize));
        }
        let found = self.probe(first.hash, |entry| entry as u32 == slot)?;
        self.end(found)
    }

    /// All while at least half is free, 1 in 4 with a quarter free, 1 in 16 with an eighth, …
    /// Bare ACKs, of which the begin of a capture is full, have a quarter of the room.
    fn admits(&self, first: &First) -> bool {
        let capacity = self.slots.len();
        let room = if first.kind == FirstKind::BareAck { capacity / 4 } else { capacity };
        let free = room.saturating_sub(self.waiting).max(1);
        if free > room / 4 {
            return true;
        }
        let halvings = (room / (2 * free)).checked_ilog2().unwrap_or(0);
        first.hash.rotate_left(8) & ((1 << (2 * halvings)) - 1) == 0
    }

    fn first_at(&self, slot: u32) -> Option<&First> {
        self.slots.get(slot as usize)?.first.as_ref()
    }

    /// Goes through the entries that may have this hash, to the one that is meant.
    #[inline(always)]
    fn probe(&self, hash: u64, is_it: impl Fn(u64) -> bool) -> Option<Found> {
        let mask = self.index.len() - 1;
        let mut at = home(hash) & mask;
        loop {
            let entry = *self.index.get(at)?;
            if entry == EMPTY {
                return None;
            }
            if is_it(entry) {
                return Some(Found { at, slot: entry as u32 });
            }
            at = (at + 1) & mask;
        }
    }

    /// Empties a place of the index and moves up those behind it that may move, so that probing
    /// needs no tombstones.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.index.len() - 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let Some(&entry) = self.index.get(at).filter(|&&entry| entry != EMPTY) else {
                break;
            };
            let from_home = at.wrapping_sub(home(entry)) & mask;
            if from_home >= at.wrapping_sub(gap) & mask {
                self.index.swap(gap, at);
                gap = at;
            }
        }
        if let Some(entry) = self.index.get_mut(gap) {
            *entry = EMPTY;
        }
    }

    /// Unlinks a slot and gives it back. What it holds stays until it is used again.
    fn release(&mut self, slot: u32) -> Option<&First> {
        let place = self.slots.get_mut(slot as usize)?;
        let hash = place.first.as_ref()?.hash;
        let (older, newer) = (place.older, place.newer);
        place.newer = self.free;
        self.free = slot;
        self.waiting -= 1;
        match self.slots.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        let counter = &mut self.filter[filter_at(hash)];
        // A counter that is full no longer knows how many it stands for: it stays.
        *counter -= u8::from((1..u8::MAX).contains(counter));
        self.first_at(slot)
    }
}

#[inline]
fn filter_at(hash: u64) -> usize {
    (hash >> 24) as usize % FILTER_COUNTERS
}

/// Where a hash begins to probe: by bits of its upper half, which an entry keeps.
#[inline]
fn home(hash: u64) -> usize {
    (hash >> 39) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::TcpFlags;
    use crate::time::Timestamp;
    use acsm_filters::rng::Random;
    use std::collections::BTreeMap;

    fn first(hash: u64, due_nanos: u64) -> First {
        let packet = Packet {
            time: Timestamp::default(),
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
            src_port: 1,
            dst_port: 2,
            flags: TcpFlags::SYN,
            vlan: [0; 2],
            payload_bytes: 0,
            wire_bytes: 60,
        };
        First { hash, packet, kind: FirstKind::Syn, forward: true, answered: false, due_nanos }
    }

    /// Random inserts, removals and expiries against an ordered map of due times.
    #[test]
    fn does_what_a_map_does() {
        let mut random = Random::new(1);
        let mut pending = Pending::new_in(&Arena::default(), 64);
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        let mut unwatched = 0;
        for now in 0..200_000u64 {
            // Few hashes that share their home: long runs in the index, and wrap-around.
            let hash = random.below(100) << 32 | (random.below(2) * 0x1ff) << 39;
            match random.below(10) {
                0..6 if !model.contains_key(&hash) => {
                    let before = pending.unwatched();
                    pending.insert(first(hash, now));
                    if pending.unwatched() == before {
                        model.insert(hash, now);
                    } else {
                        assert!(model.len() >= 32, "half of it takes everything");
                        unwatched += 1;
                    }
                }
                6..9 => {
                    let found = pending.find(hash).map(|(found, first)| (found, first.due_nanos));
                    assert_eq!(found.map(|(_, due)| due), model.remove(&hash));
                    let ended = found.and_then(|(found, _)| pending.end(found).copied());
                    assert_eq!(ended.map(|first| first.due_nanos), found.map(|(_, due)| due));
                }
                _ => {
                    let due = now.saturating_sub(100);
                    while let Some(popped) = pending.pop_due(due) {
                        assert_eq!(model.values().min(), Some(&popped.due_nanos));
                        assert_eq!(model.remove(&popped.hash), Some(popped.due_nanos));
                    }
                    assert!(model.values().all(|&waiting| waiting > due));
                }
            }
            let next_due = pending.next_due().map(|first| first.due_nanos);
            assert_eq!(next_due, model.values().min().copied());
            assert!(model.keys().all(|&hash| pending.may_hold(hash)));
        }
        assert_eq!(pending.unwatched(), unwatched);
        while pending.pop_due(u64::MAX).is_some() {}
        assert!(pending.filter.iter().all(|&counter| counter == 0));
        assert!(pending.index.iter().all(|&entry| entry == EMPTY));
    }
}
