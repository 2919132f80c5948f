//! `exact`: a hash table of full keys. The oracle, and what a user would pick instead of a filter.
//!
//! `table` finds a key's slot, `generations` keeps slots in the order in which they go idle;
//! `history` is the variant that forgets no flow.

mod generations;
mod history;
mod table;

pub use history::{FlowLookups, History};

use super::aging::{Epoch, Stamp};
use super::error::{StoreError, allocate};
use super::stats::{Insertion, StoreStats};
use super::{Flow, Store};
use crate::digest::FlowId;
use crate::key::FlowKey;
use crate::spec::Sizing;
use crate::state::{Lookup, State};
use generations::{Generations, Links};
use table::Index;

/// An exact store.
///
/// * It answers with the state of every flow that is alive, and `Absent` for any other: never
///   `DontKnow`.
/// * Capped, it holds so many flows and no more: the longest idle one leaves for a new one. Idle
///   is counted by stamp, then by the order of touches; flows past their time go first.
///   Everything is O(1).
/// * Uncapped, it grows.
///
/// ```
/// # use acsm_filters::{FlowId, FlowKey};
/// use acsm_filters::Random;
/// use acsm_filters::{Backend, Budget, StoreSpec};
/// use acsm_filters::{Lookup, State};
/// use acsm_filters::{Epoch, Exact, Flow, Store};
///
/// let budget = Budget::MemoryBytes(72 * 16 * 1000);
/// let sizing = StoreSpec { budget, ..StoreSpec::new(Backend::Exact, 6) }.sizing()?;
/// let mut shard = Exact::capped(&sizing, true)?;
/// let mut random = Random::new(1);
/// # let key = |n: u32| FlowKey { src: n.to_be_bytes().into(), dst: [0; 4].into(), src_port: 0, dst_port: 0, vlan: [0; 2] };
/// let (now, open) = (Epoch(0), State::new(2).unwrap());
/// let places: Vec<_> = (0..1001)
///     .map(|n| shard.locate(&Flow { key: key(n), id: FlowId(random.next_u64().into()) }))
///     .collect();
///
/// for place in &places {
///     shard.insert(place, open, now.stamp());
/// }
/// assert_eq!(shard.lookup(&places[0], now), Lookup::Absent);
/// assert!(places[1..].iter().all(|place| shard.lookup(place, now) == Lookup::Known(open)));
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub struct Exact {
    entries: Vec<Entry>,
    index: Index,
    generations: Generations,
    capacity: usize,
    capped: bool,
    timed: bool,
    /// The slot found last: an operation mostly follows a lookup of the same flow.
    recent: u32,
    counts: StoreStats,
}

/// One flow.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: FlowKey,
    state: State,
    stamp: Epoch,
    links: Links,
    tag: u32,
}

/// The full key of a flow, and 32 bits of its digest to find it by.
#[derive(Debug, Clone, Copy)]
pub struct ExactPlace {
    key: FlowKey,
    tag: u32,
}

impl ExactPlace {
    #[inline]
    fn of(flow: &Flow) -> ExactPlace {
        ExactPlace { key: flow.key, tag: (flow.id.position_bits() >> 32) as u32 }
    }
}

const NONE: u32 = u32::MAX;

impl Exact {
    /// A shard that grows as it must.
    pub fn growing(sizing: &Sizing, timed: bool) -> Result<Exact, StoreError> {
        Exact::new(sizing, timed, false)
    }

    /// A shard that never takes more than its part of what `sizing` allows.
    pub fn capped(sizing: &Sizing, timed: bool) -> Result<Exact, StoreError> {
        Exact::new(sizing, timed, true)
    }

    fn new(sizing: &Sizing, timed: bool, capped: bool) -> Result<Exact, StoreError> {
        let capacity = (sizing.cells as usize / FlowId::SHARDS).max(2);
        let mut entries = allocate(0, Entry::EMPTY)?;
        let bytes = capacity.saturating_mul(size_of::<Entry>());
        entries.try_reserve_exact(capacity).map_err(|_| StoreError::OutOfMemory { bytes })?;
        Ok(Exact {
            entries,
            index: Index::new(capacity)?,
            generations: Generations::default(),
            capacity,
            capped,
            timed,
            recent: NONE,
            counts: StoreStats::default(),
        })
    }

    /// The slot of a flow, alive or not.
    #[inline]
    fn find(&mut self, place: &ExactPlace) -> Option<u32> {
        let is_it =
            |slot: u32| self.entries.get(slot as usize).is_some_and(|entry| entry.key == place.key);
        if self.recent == NONE || !is_it(self.recent) {
            self.recent = self.index.find(place.tag, is_it)?;
        }
        Some(self.recent)
    }

    /// The slot of a flow that is alive.
    #[inline]
    fn find_alive(&mut self, place: &ExactPlace, now: Epoch) -> Option<u32> {
        self.advance(now);
        let slot = self.find(place)?;
        self.is_alive(slot).then_some(slot)
    }

    fn is_alive(&self, slot: u32) -> bool {
        !self.timed || self.entries[slot as usize].stamp.is_alive(self.generations.now())
    }

    fn advance(&mut self, now: Epoch) {
        if self.timed && now > self.generations.now() {
            self.generations.advance(&mut self.entries, now);
        }
    }

    /// Puts a slot where its stamp belongs, last in line to go.
    fn stamp(&mut self, slot: u32, stamp: Stamp) {
        let epoch = if self.timed { stamp.epoch() } else { Epoch(0) };
        self.generations.push(&mut self.entries, slot, epoch);
    }

    /// Empties a slot.
    fn free(&mut self, slot: u32) {
        self.generations.remove(&mut self.entries, slot);
        self.index.remove(self.entries[slot as usize].tag, slot);
        self.generations.recycle(&mut self.entries, slot);
        if self.recent == slot {
            self.recent = NONE;
        }
    }

    /// A slot for a new flow, and whether another had to leave for it.
    fn take_slot(&mut self) -> (u32, bool) {
        if let Some(slot) = self.generations.take_free(&self.entries) {
            return (slot, false);
        }
        if self.entries.len() < self.capacity || !self.capped {
            self.entries.push(Entry::EMPTY);
            return (self.entries.len() as u32 - 1, false);
        }
        let mut evicts = false;
        if let Some(slot) = self.generations.oldest() {
            evicts = self.is_alive(slot);
            self.counts.cells_aged += u64::from(!evicts);
            self.free(slot);
        }
        (self.generations.take_free(&self.entries).unwrap_or(0), evicts)
    }
}

impl Entry {
    const EMPTY: Entry = Entry {
        key: FlowKey {
            src: std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            dst: std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            src_port: 0,
            dst_port: 0,
            vlan: [0; 2],
        },
        state: State::FIRST,
        stamp: Epoch(0),
        links: Links { older: NONE, newer: NONE },
        tag: 0,
    };
}

impl Store for Exact {
    type Place = ExactPlace;

    const WRITES_UNKNOWN: bool = false;
    const BY_KEY: bool = true;

    #[inline]
    fn locate(&self, flow: &Flow) -> ExactPlace {
        ExactPlace::of(flow)
    }

    #[inline]
    fn prefetch(&mut self, place: &ExactPlace) {
        self.index.prefetch(place.tag);
    }

    #[inline]
    fn lookup(&mut self, place: &ExactPlace, now: Epoch) -> Lookup {
        match self.find_alive(place, now) {
            Some(slot) => Lookup::Known(self.entries[slot as usize].state),
            None => Lookup::Absent,
        }
    }

    #[inline]
    fn touch(&mut self, place: &ExactPlace, _found: Lookup, stamp: Stamp) {
        if let Some(slot) = self.find_alive(place, stamp.now()) {
            self.generations.remove(&mut self.entries, slot);
            let kept = self.entries[slot as usize].stamp;
            // Half a touch does not make a flow older than it is.
            let newer = if kept == stamp.now() { stamp.now().stamp() } else { stamp };
            self.stamp(slot, newer);
        }
    }

    fn insert(&mut self, place: &ExactPlace, state: State, stamp: Stamp) -> Insertion {
        self.advance(stamp.now());
        if let Some(slot) = self.find(place) {
            let alive = self.is_alive(slot);
            self.counts.inserts_of_present += u64::from(alive);
            self.counts.cells_aged += u64::from(!alive);
            self.free(slot);
        }
        let (slot, evicts) = self.take_slot();
        self.index.reserve(self.entries.len());
        self.index.insert(place.tag, slot);
        let entry = &mut self.entries[slot as usize];
        (entry.key, entry.tag, entry.state) = (place.key, place.tag, state);
        self.stamp(slot, stamp);
        self.recent = slot;
        self.counts.inserted += 1;
        self.counts.evicted += u64::from(evicts);
        if evicts { Insertion::Evicted } else { Insertion::Stored { shared_cells: 0 } }
    }

    fn modify(&mut self, place: &ExactPlace, old: Lookup, new: State, stamp: Stamp) {
        match self.find_alive(place, stamp.now()) {
            Some(slot) => self.entries[slot as usize].state = new,
            None => self.counts.writes_to_absent += 1,
        }
        self.touch(place, old, stamp);
    }

    fn delete(&mut self, place: &ExactPlace, _old: Lookup, now: Epoch) {
        match self.find_alive(place, now) {
            Some(slot) => self.free(slot),
            None => self.counts.writes_to_absent += 1,
        }
        self.counts.deleted += 1;
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.advance(now);
        let mut freed = 0;
        while freed < budget_cells
            && let Some(slot) = self.generations.stale()
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
            occupied: self.generations.occupied(),
            live: self.generations.alive() as f64,
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
        assert_eq!(size_of::<Entry>() + 12, EXACT_FLOW_BYTES as usize);
    }
}
