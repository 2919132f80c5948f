//! Pending first packets: those that were not answered yet, in a table of fixed size, linked in the
//! order of their deadlines.
//!
//! The time limit is the same for all, so the list is in order of arrival, and expiry reads its head
//! alone. A table of small counters, which fits the first-level cache, tells for most packets that
//! their 5-tuple has nothing pending. Once three quarters of the slots are in use, only a sample of
//! further first packets is watched, the smaller the fewer slots are free: a flood beyond the
//! capacity is sampled evenly over time, and so is the traffic beside it. First packets that are not
//! watched are counted.

use super::services::ServiceAt;
use crate::flow::Packet;
use acsm_filters::memory::prefetch;
use acsm_filters::memory::{Arena, Table};

const NONE: u32 = u32::MAX;
const EMPTY: u64 = u64::MAX;
const FILTER_COUNTERS: usize = 1 << 15;

/// The kind of a first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstKind {
    /// SYN without ACK.
    Syn,
    /// Neither SYN nor ACK nor RST: NULL, FIN and XMAS scans. No stack sends these.
    Flagless,
    /// A bare ACK or FIN+ACK on an unknown 5-tuple: a probe, or a flow older than the capture.
    BareAck,
    /// SYN+ACK without a SYN before it in the capture.
    SynAck,
    /// A connection whose handshake was completed, until it has data.
    Opened,
}

/// A pending first packet, and whether the other end has answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstPacket {
    pub hash: u64,
    pub packet: Packet,
    pub kind: FirstKind,
    /// The direction of the packet in its 5-tuple.
    pub forward: bool,
    /// Whether the other end sent anything but RST.
    pub answered: bool,
    /// The sum of the numbers of the SYN+ACK that answered, if one did.
    pub granted_sum: Option<u32>,
    /// The account of the service that was asked.
    pub service: ServiceAt,
    /// How many first packets it stands for, where only a sample is watched.
    pub amount: u32,
    /// The deadline for its answer.
    pub due_nanos: u64,
}

/// A slot of the table. Aligned, so that it takes two cache lines and not parts of three.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Slot {
    /// The pending packet; in a free slot, the last one it held.
    first: Option<FirstPacket>,
    older: u32,
    /// The next younger slot; in a free slot, the next free one.
    newer: u32,
}

/// Where a pending packet was found; valid until the next insertion or removal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Its position in the index.
    at: usize,
    slot: u32,
}

/// The pending first packets.
#[derive(Debug)]
pub(super) struct PendingFirstPackets {
    slots: Table<Slot>,
    free: u32,
    oldest: u32,
    newest: u32,
    /// Open addressing with linear probing, at most half full. An entry is the upper half of a
    /// hash and a slot number: the slot is read only if that half matches.
    index: Table<u64>,
    filter: Box<[u8; FILTER_COUNTERS]>,
    count: usize,
    unwatched: u64,
}

impl PendingFirstPackets {
    /// Room for `capacity` first packets.
    pub fn new_in(arena: &Arena, capacity: usize) -> Self {
        let capacity = capacity.clamp(1, 1 << 24);
        let mut slots = arena.small_table(capacity, Slot { first: None, older: NONE, newer: NONE });
        for (slot, next) in slots.iter_mut().zip(1..capacity) {
            slot.newer = next as u32;
        }
        PendingFirstPackets {
            slots,
            free: 0,
            oldest: NONE,
            newest: NONE,
            index: arena.small_table((2 * capacity).next_power_of_two(), EMPTY),
            filter: Box::new([0; FILTER_COUNTERS]),
            count: 0,
            unwatched: 0,
        }
    }

    /// Whether this 5-tuple may have a pending first packet; false is certain.
    #[inline]
    pub fn may_hold(&self, hash: u64) -> bool {
        self.filter[filter_at(hash)] != 0
    }

    /// Prefetches the index entry of this 5-tuple.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(self.index.get(home(hash) & (self.index.len() - 1)));
    }

    /// The packet with the earliest deadline.
    #[inline]
    pub fn next_due(&self) -> Option<&FirstPacket> {
        self.first_at(self.oldest)
    }

    /// First packets that were not watched for lack of room.
    pub fn unwatched(&self) -> u64 {
        self.unwatched
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.index) + size_of_val(&*self.filter)
    }

    /// The pending first packet of this 5-tuple.
    #[inline]
    pub fn find(&mut self, hash: u64) -> Option<(Found, &mut FirstPacket)> {
        let is_it = |entry: u64| {
            entry >> 32 == hash >> 32
                && self.first_at(entry as u32).is_some_and(|first| first.hash == hash)
        };
        let found = self.probe(hash, is_it)?;
        let first = self.slots.get_mut(found.slot as usize)?.first.as_mut()?;
        Some((found, first))
    }

    /// The packet that was found.
    pub fn get(&self, found: Found) -> Option<&FirstPacket> {
        self.first_at(found.slot)
    }

    /// Adds a first packet. Its 5-tuple must have none pending, and its deadline must not be earlier
    /// than that of any other. Returns whether it is watched.
    pub fn insert(&mut self, mut first: FirstPacket) -> bool {
        let slot = self.free;
        let amount = self.admits(&first);
        let Some(place) = self.slots.get_mut(slot as usize).filter(|_| amount > 0) else {
            self.unwatched += 1;
            return false;
        };
        first.amount = amount;
        self.count += 1;
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
        true
    }

    /// Watches a packet that was found for longer, until a deadline that is not earlier than any other.
    pub fn renew(&mut self, found: Found, kind: FirstKind, due_nanos: u64) {
        let slot = found.slot;
        let Some(place) = self.slots.get_mut(slot as usize) else { return };
        if let Some(first) = &mut place.first {
            (first.kind, first.due_nanos) = (kind, due_nanos);
        }
        let (older, newer) = (place.older, place.newer);
        if newer == NONE {
            return;
        }
        (place.older, place.newer) = (self.newest, NONE);
        self.unlink(older, newer);
        if let Some(newest) = self.slots.get_mut(self.newest as usize) {
            newest.newer = slot;
        }
        self.newest = slot;
    }

    /// Removes the packet that was found, and returns it.
    #[inline]
    pub fn remove(&mut self, Found { at, slot }: Found) -> Option<&FirstPacket> {
        self.close_gap(at);
        self.release(slot)
    }

    /// Removes the packet with the earliest deadline if that has passed, and returns it.
    pub fn pop_due(&mut self, now_nanos: u64) -> Option<&FirstPacket> {
        let slot = self.oldest;
        let oldest = self.slots.get(slot as usize)?;
        let first = oldest.first.as_ref().filter(|first| first.due_nanos <= now_nanos)?;
        // The one after the next, so that it is loaded in time.
        if let Some(next) = self.slots.get(oldest.newer as usize) {
            prefetch(self.slots.get(next.newer as usize));
        }
        let found = self.probe(first.hash, |entry| entry as u32 == slot)?;
        self.remove(found)
    }

    /// Which share of first packets is watched, as how many each stands for; 0 if this one is not watched.
    /// All are while more than a quarter is free, 1 in 4 with a quarter
    /// free, 1 in 16 with an eighth, … Bare ACKs, which are frequent at the start of a capture, get
    /// a quarter of the slots.
    fn admits(&self, first: &FirstPacket) -> u32 {
        let capacity = self.slots.len();
        let room = if first.kind == FirstKind::BareAck { capacity / 4 } else { capacity };
        let free = room.saturating_sub(self.count).max(1);
        if free > room / 4 {
            return 1;
        }
        let halvings = (room / (2 * free)).checked_ilog2().unwrap_or(0).min(15);
        let is_taken = first.hash.rotate_left(8) & ((1 << (2 * halvings)) - 1) == 0;
        u32::from(is_taken) << (2 * halvings)
    }

    fn first_at(&self, slot: u32) -> Option<&FirstPacket> {
        self.slots.get(slot as usize)?.first.as_ref()
    }

    /// Probes the index from the home of this hash to the first entry that `is_it` accepts.
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

    /// Clears an index entry and moves up later entries of the same run, so that probing needs no
    /// tombstones.
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

    /// Links the neighbours of a slot to each other.
    fn unlink(&mut self, older: u32, newer: u32) {
        match self.slots.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
    }

    /// Unlinks a slot and frees it. Its content stays until the slot is used again.
    fn release(&mut self, slot: u32) -> Option<&FirstPacket> {
        let place = self.slots.get_mut(slot as usize)?;
        let hash = place.first.as_ref()?.hash;
        let (older, newer) = (place.older, place.newer);
        place.newer = self.free;
        self.free = slot;
        self.count -= 1;
        self.unlink(older, newer);
        let counter = &mut self.filter[filter_at(hash)];
        // A saturated counter has lost its count: it stays.
        *counter -= u8::from((1..u8::MAX).contains(counter));
        self.first_at(slot)
    }
}

#[inline]
fn filter_at(hash: u64) -> usize {
    (hash >> 24) as usize % FILTER_COUNTERS
}

/// Where probing for a hash starts, by bits of its upper half, which index entries contain.
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

    fn first(hash: u64, due_nanos: u64) -> FirstPacket {
        let packet = Packet {
            time: Timestamp::default(),
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
            src_port: 1,
            dst_port: 2,
            flags: TcpFlags::SYN,
            vlan: [0; 2],
            payload_bytes: 0,
            sequence_sum: 0,
            wire_bytes: 60,
        };
        FirstPacket {
            hash,
            packet,
            kind: FirstKind::Syn,
            forward: true,
            answered: false,
            granted_sum: None,
            service: ServiceAt(0),
            amount: 1,
            due_nanos,
        }
    }

    /// Random inserts, removals and expiries against an ordered map of due times.
    #[test]
    fn agrees_with_an_ordered_map() {
        let mut random = Random::new(1);
        let mut pending = PendingFirstPackets::new_in(&Arena::default(), 64);
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
                        assert!(model.len() >= 32, "up to half of the capacity, all are watched");
                        unwatched += 1;
                    }
                }
                6..9 => {
                    let found = pending.find(hash).map(|(found, first)| (found, first.due_nanos));
                    assert_eq!(found.map(|(_, due)| due), model.remove(&hash));
                    let ended = found.and_then(|(found, _)| pending.remove(found).copied());
                    assert_eq!(ended.map(|first| first.due_nanos), found.map(|(_, due)| due));
                }
                _ => {
                    let due = now.saturating_sub(100);
                    while let Some(popped) = pending.pop_due(due) {
                        assert_eq!(model.values().min(), Some(&popped.due_nanos));
                        assert_eq!(model.remove(&popped.hash), Some(popped.due_nanos));
                    }
                    assert!(model.values().all(|&deadline| deadline > due));
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
