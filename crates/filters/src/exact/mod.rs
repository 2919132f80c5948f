//! `exact`: a hash table of full keys, for comparison with the filters.
//!
//! `index` finds the slot of a key, `idle_lists` keeps slots in the order in which they go idle;
//! `ground_truth` is the variant that forgets no flow; `saved` is the table in a snapshot.

mod ground_truth;
mod idle_lists;
mod index;
mod saved;

pub use ground_truth::{FlowLookups, GroundTruth, RememberedFlow};

use crate::aging::{Epoch, Stamp};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::spec::Sizing;
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Store};
use idle_lists::{IdleLists, Links};
use index::Index;

/// An exact store: a hash table of full keys, of any type `K`.
///
/// 576 bits per flow with keys of two IPv6 addresses, ports and VLAN tags.
///
/// * It answers with the state of every flow that is alive, and `Absent` for any other: never
///   `DontKnow`.
/// * [Capped](Exact::capped), it holds a fixed number of flows, and evicts the one that was idle
///   longest for a new one. Idle time is counted by stamp, then by the order of touches; stale
///   flows go first. Every operation is O(1).
/// * [Growing](Exact::growing), it evicts nothing.
///
/// ```
/// use acsm_filters::{
///     Backend, Budget, Epoch, Exact, FlowId, HashKey, Lookup, State, Store, StoreSpec,
/// };
///
/// // One of 16 shards: room for 1,000 flows and no more.
/// let budget = Budget::MemoryBytes(72 * 16_000);
/// let sizing = StoreSpec { budget, ..StoreSpec::new(Backend::Exact, 6) }.sizing()?;
/// let mut shard = Exact::capped(&sizing, true)?;
/// let key = HashKey::from_seed(1);
/// let (now, open) = (Epoch(0), State::new(2).unwrap());
///
/// let places: Vec<_> =
///     (0..1001u64).map(|flow| shard.locate(FlowId(key.digest([flow])), flow)).collect();
/// for place in &places {
///     shard.insert(place, open, now.stamp());
/// }
/// assert_eq!(shard.lookup(&places[0], now).answer, Lookup::Absent); // evicted
/// for place in &places[1..] {
///     assert_eq!(shard.lookup(place, now).answer, Lookup::Known(open));
/// }
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub struct Exact<K> {
    entries: Vec<Entry<K>>,
    index: Index,
    idle: IdleLists,
    capacity: usize,
    capped: bool,
    timed: bool,
    counts: StoreStats,
}

/// One flow.
#[derive(Debug, Clone, Copy)]
struct Entry<K> {
    key: K,
    state: State,
    stamp: Epoch,
    links: Links,
    tag: u32,
}

/// The full key of a flow, and 32 bits of its digest for the index.
#[derive(Debug, Clone, Copy)]
pub struct ExactPlace<K> {
    key: K,
    tag: u32,
}

impl<K> ExactPlace<K> {
    #[inline]
    fn new(id: FlowId, key: K) -> ExactPlace<K> {
        ExactPlace { key, tag: (id.position_bits() >> 32) as u32 }
    }
}

/// The entry of a flow, alive or stale, if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactHandle {
    slot: u32,
}

const NONE: u32 = u32::MAX;

impl<K: Copy + Eq> Exact<K> {
    /// A shard that grows with the number of flows.
    pub fn growing(sizing: &Sizing, timed: bool) -> Result<Exact<K>, StoreError> {
        Exact::new(sizing, timed, false)
    }

    /// A shard that never takes more than its part of `sizing`.
    pub fn capped(sizing: &Sizing, timed: bool) -> Result<Exact<K>, StoreError> {
        Exact::new(sizing, timed, true)
    }

    fn new(sizing: &Sizing, timed: bool, capped: bool) -> Result<Exact<K>, StoreError> {
        let capacity = (sizing.cells as usize / FlowId::SHARDS).max(2);
        let mut entries = Vec::new();
        let bytes = capacity.saturating_mul(size_of::<Entry<K>>());
        entries.try_reserve_exact(capacity).map_err(|_| StoreError::OutOfMemory { bytes })?;
        Ok(Exact {
            entries,
            index: Index::new(capacity)?,
            idle: IdleLists::default(),
            capacity,
            capped,
            timed,
            counts: StoreStats::default(),
        })
    }

    /// The slot of a flow, alive or not.
    #[inline]
    fn find(&self, place: &ExactPlace<K>) -> Option<u32> {
        let is_it =
            |slot: u32| self.entries.get(slot as usize).is_some_and(|entry| entry.key == place.key);
        self.index.find(place.tag, is_it)
    }

    /// The slot that a lookup found, if its flow is alive.
    #[inline]
    fn alive_slot(&self, handle: ExactHandle) -> Option<u32> {
        (handle.slot != NONE && self.is_alive(handle.slot)).then_some(handle.slot)
    }

    fn is_alive(&self, slot: u32) -> bool {
        !self.timed || self.entries[slot as usize].stamp.age(self.idle.now()).is_alive()
    }

    fn advance(&mut self, now: Epoch) {
        if self.timed && now > self.idle.now() {
            self.idle.advance(&mut self.entries, now);
        }
    }

    /// Puts a slot at the end of the list of its epoch: of that list, the last to be evicted.
    fn stamp(&mut self, slot: u32, epoch: Epoch) {
        let epoch = if self.timed { epoch } else { Epoch(0) };
        self.idle.push(&mut self.entries, slot, epoch);
    }

    /// Empties a slot.
    fn free(&mut self, slot: u32) {
        self.idle.remove(&mut self.entries, slot);
        self.index.remove(self.entries[slot as usize].tag, slot);
        self.idle.add_free(&mut self.entries, slot);
    }

    /// A slot for a new flow, and whether a live one was evicted for it.
    fn take_slot(&mut self, empty: Entry<K>) -> (u32, bool) {
        if let Some(slot) = self.idle.take_free(&self.entries) {
            return (slot, false);
        }
        if self.entries.len() < self.capacity || !self.capped {
            self.entries.push(empty);
            return (self.entries.len() as u32 - 1, false);
        }
        let mut evicts = false;
        if let Some(slot) = self.idle.oldest() {
            evicts = self.is_alive(slot);
            self.counts.cells_aged += u64::from(!evicts);
            self.free(slot);
        }
        (self.idle.take_free(&self.entries).unwrap_or(0), evicts)
    }
}

impl<K: Copy + Eq + Send> Store for Exact<K> {
    type Key = K;
    type Place = ExactPlace<K>;
    type Handle = ExactHandle;

    const WRITES_WITHOUT_OLD_STATE: bool = false;

    #[inline]
    fn locate(&self, id: FlowId, key: K) -> ExactPlace<K> {
        ExactPlace::new(id, key)
    }

    #[inline]
    fn prefetch(&self, place: &ExactPlace<K>) {
        self.index.prefetch(place.tag);
    }

    #[inline]
    fn lookup(&mut self, place: &ExactPlace<K>, now: Epoch) -> Found<ExactHandle> {
        self.advance(now);
        let handle = ExactHandle { slot: self.find(place).unwrap_or(NONE) };
        let answer = match self.alive_slot(handle) {
            Some(slot) => Lookup::Known(self.entries[slot as usize].state),
            None => Lookup::Absent,
        };
        // Not settled: every touch counts, as it decides which flow is evicted.
        Found { answer, settled: false, handle }
    }

    #[inline]
    fn touch(&mut self, _place: &ExactPlace<K>, found: &Found<ExactHandle>, stamp: Stamp) {
        if let Some(slot) = self.alive_slot(found.handle) {
            let old = self.entries[slot as usize].stamp;
            let renewed = old.renewed(stamp);
            // The order of use within an epoch decides only which flow a full table evicts.
            if self.capped || renewed != old {
                self.idle.remove(&mut self.entries, slot);
                self.stamp(slot, renewed);
            }
        }
    }

    fn insert(&mut self, place: &ExactPlace<K>, state: State, stamp: Stamp) -> Insertion {
        self.advance(stamp.now());
        if let Some(slot) = self.find(place) {
            let alive = self.is_alive(slot);
            self.counts.inserts_of_present += u64::from(alive);
            self.counts.cells_aged += u64::from(!alive);
            self.free(slot);
        }
        let links = Links { older: NONE, newer: NONE };
        let entry = Entry { key: place.key, state, stamp: Epoch(0), links, tag: place.tag };
        let (slot, evicts) = self.take_slot(entry);
        self.index.reserve(self.entries.len());
        self.index.insert(place.tag, slot);
        self.entries[slot as usize] = entry;
        self.stamp(slot, stamp.epoch());
        self.counts.inserted += 1;
        self.counts.evicted += u64::from(evicts);
        if evicts { Insertion::Evicted } else { Insertion::STORED }
    }

    /// Capped: without the eviction of a live flow.
    #[inline]
    fn has_room(&self) -> bool {
        !self.capped || self.idle.alive() < self.capacity as u64
    }

    fn modify(
        &mut self,
        place: &ExactPlace<K>,
        found: &Found<ExactHandle>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        match self.alive_slot(found.handle) {
            Some(slot) => self.entries[slot as usize].state = new,
            None => self.counts.writes_to_absent += 1,
        }
        self.touch(place, found, stamp);
        None
    }

    fn delete(&mut self, _place: &ExactPlace<K>, found: &Found<ExactHandle>, _now: Epoch) {
        match self.alive_slot(found.handle) {
            Some(slot) => self.free(slot),
            None => self.counts.writes_to_absent += 1,
        }
        self.counts.deleted += 1;
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.advance(now);
        let mut freed = 0;
        while freed < budget_cells
            && let Some(slot) = self.idle.stale()
        {
            self.free(slot);
            freed += 1;
        }
        self.counts.cells_aged += freed as u64;
        freed
    }

    fn stats(&self) -> StoreStats {
        StoreStats {
            cells: self.capacity.max(self.entries.capacity()) as u64,
            occupied: self.idle.occupied(),
            live: self.idle.alive() as f64,
            live_estimated: false,
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::EXACT_FLOW_BYTES;

    #[test]
    fn an_entry_and_its_buckets_take_what_the_spec_says() {
        // Two addresses (17 bytes each), two ports, two tags.
        assert_eq!(size_of::<Entry<[u16; 21]>>() + 12, EXACT_FLOW_BYTES as usize);
    }
}
