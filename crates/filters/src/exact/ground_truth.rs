//! `GroundTruth`: an exact table that forgets no flow. Errors of other stores are counted against it.

use super::ExactPlace;
use super::index::Index;
use crate::aging::{Age, Epoch, Stamp};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::memory::prefetch;
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Store};

/// Every flow ever seen, by its full key, each with a number.
///
/// * It answers as a growing [`Exact`](super::Exact) does, aging included.
/// * Numbers are dense, in the order in which flows were first looked up, so a caller can keep its
///   own data on flows in an array.
/// * Lookups are counted per flow: while it was present, and while it was absent.
/// * A flow takes a cache line and 12 bytes of the index, which are never freed.
///
/// ```
/// use acsm_filters::{Epoch, FlowId, GroundTruth, Lookup, State, Store};
///
/// let mut history = GroundTruth::new(true, 1000)?;
/// let place = history.locate(FlowId(7), "10.0.0.1:80");
/// assert_eq!(history.lookup(&place, Epoch(0)).answer, Lookup::Absent);
/// history.insert(&place, State::FIRST, Epoch(0).stamp());
/// assert_eq!(history.lookup(&place, Epoch(1)).answer, Lookup::Known(State::FIRST));
///
/// let found = history.lookup(&place, Epoch(2));
/// assert_eq!(found.answer, Lookup::Absent, "idle for too long");
/// assert_eq!(found.handle, 0, "the first flow");
/// assert_eq!((history.flows(), history.alive()), (1, 0));
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub struct GroundTruth<K> {
    entries: Vec<Entry<K>>,
    index: Index,
    timed: bool,
    now: Epoch,
    /// Live flows by [`Age`]: stamped in this epoch, and in the one before.
    stamped: [u64; 2],
    counts: StoreStats,
}

/// One flow.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Entry<K> {
    key: K,
    /// `None` if it was never inserted, or was deleted.
    state: Option<State>,
    stamp: Epoch,
    lookups: FlowLookups,
}

/// What is known of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RememberedFlow<K> {
    /// Its full key.
    pub key: K,
    /// Its state, if it is alive.
    pub state: Option<State>,
    /// Whether it is alive or once was.
    pub was_alive: bool,
}

/// How often a flow was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowLookups {
    /// While it was present.
    pub extant: u32,
    /// While it was absent.
    pub absent: u32,
}

impl<K: Copy + Eq> GroundTruth<K> {
    /// The memory of one flow.
    pub const FLOW_BYTES: u64 = size_of::<Entry<K>>() as u64 + 12;

    /// An empty history that first grows beyond this many flows.
    pub fn new(timed: bool, flows: usize) -> Result<GroundTruth<K>, StoreError> {
        let mut entries = Vec::new();
        let bytes = flows.saturating_mul(size_of::<Entry<K>>());
        entries.try_reserve_exact(flows).map_err(|_| StoreError::OutOfMemory { bytes })?;
        Ok(GroundTruth {
            entries,
            index: Index::new(flows.max(2))?,
            timed,
            now: Epoch(0),
            stamped: [0; 2],
            counts: StoreStats::default(),
        })
    }

    /// How many flows were ever looked up.
    pub fn flows(&self) -> usize {
        self.entries.len()
    }

    /// How many flows are alive.
    pub fn alive(&self) -> u64 {
        self.stamped.iter().sum()
    }

    /// How often each flow was looked up, by its number.
    pub fn lookups(&self) -> impl Iterator<Item = FlowLookups> {
        self.entries.iter().map(|entry| entry.lookups)
    }

    /// Every flow ever looked up, by its number. Of flows that were deleted before lookups were
    /// [counted anew](Self::count_lookups_anew) it is not known that they were alive.
    pub fn remembered(&self) -> impl Iterator<Item = RememberedFlow<K>> {
        self.entries.iter().map(|entry| RememberedFlow {
            key: entry.key,
            state: entry.state.filter(|_| self.is_alive(entry)),
            was_alive: entry.state.is_some() || entry.lookups.extant > 0,
        })
    }

    /// Forgets how often flows were looked up so far.
    pub fn count_lookups_anew(&mut self) {
        for entry in &mut self.entries {
            entry.lookups = FlowLookups::default();
        }
    }

    /// Starts loading the entry of the flow, once [`prefetch`](Store::prefetch) has loaded the index.
    #[inline]
    pub fn prefetch_entry(&self, place: &ExactPlace<K>) {
        let slot = self.index.find(place.tag, |_| true);
        prefetch(slot.and_then(|slot| self.entries.get(slot as usize)));
    }

    /// The number of the flow; a new one if it was never seen.
    #[inline]
    fn number(&mut self, place: &ExactPlace<K>) -> u32 {
        let entries = &self.entries;
        let is_it =
            |slot: u32| entries.get(slot as usize).is_some_and(|entry| entry.key == place.key);
        match self.index.find(place.tag, is_it) {
            Some(slot) => slot,
            None => self.add(place),
        }
    }

    #[cold]
    fn add(&mut self, place: &ExactPlace<K>) -> u32 {
        // More flows than 32 bits can number would take over 300 GB.
        let slot = self.entries.len() as u32;
        let (key, stamp) = (place.key, Epoch(0));
        self.entries.push(Entry { key, state: None, stamp, lookups: FlowLookups::default() });
        self.index.reserve(self.entries.len());
        self.index.insert(place.tag, slot);
        slot
    }

    fn advance(&mut self, now: Epoch) {
        if self.timed && now > self.now {
            let previous = match self.now.age(now) {
                Age::Previous => self.stamped[0],
                _ => 0,
            };
            (self.now, self.stamped) = (now, [0, previous]);
        }
    }

    /// Whether the flow is present and not stale.
    #[inline]
    fn is_alive(&self, entry: &Entry<K>) -> bool {
        entry.state.is_some() && (!self.timed || entry.stamp.age(self.now).is_alive())
    }

    /// The counter of live flows with this stamp.
    fn stamped_in(&mut self, stamp: Epoch) -> &mut u64 {
        let is_older = self.timed && stamp.age(self.now) != Age::Current;
        &mut self.stamped[usize::from(is_older)]
    }

    /// Sets the state of the flow, or removes it, with a new stamp.
    fn set(&mut self, flow: u32, state: Option<State>, stamp: Epoch) {
        let Some(&old) = self.entries.get(flow as usize) else { return };
        if self.is_alive(&old) {
            *self.stamped_in(old.stamp) -= 1;
        }
        if state.is_some() {
            *self.stamped_in(stamp) += 1;
        }
        if let Some(entry) = self.entries.get_mut(flow as usize) {
            (entry.state, entry.stamp) = (state, stamp);
        }
    }

    /// The entry of this flow, if it is alive.
    fn alive_entry(&self, flow: u32) -> Option<Entry<K>> {
        let entry = *self.entries.get(flow as usize)?;
        self.is_alive(&entry).then_some(entry)
    }

    /// The stamp of a live flow after one more touch.
    fn renewed(&self, old: Epoch, stamp: Stamp) -> Epoch {
        if self.timed { old.renewed(stamp) } else { old }
    }
}

impl<K: Copy + Eq + Send> Store for GroundTruth<K> {
    type Key = K;
    type Place = ExactPlace<K>;
    /// The number of the flow.
    type Handle = u32;

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
    fn lookup(&mut self, place: &ExactPlace<K>, now: Epoch) -> Found<u32> {
        self.advance(now);
        let (now, timed) = (self.now, self.timed);
        let flow = self.number(place);
        let mut answer = Lookup::Absent;
        if let Some(entry) = self.entries.get_mut(flow as usize) {
            match entry.state {
                Some(state) if !timed || entry.stamp.age(now).is_alive() => {
                    entry.lookups.extant = entry.lookups.extant.saturating_add(1);
                    answer = Lookup::Known(state);
                }
                _ => entry.lookups.absent = entry.lookups.absent.saturating_add(1),
            }
        }
        Found { answer, settled: false, handle: flow }
    }

    /// Without a number for the flow, if it has none.
    fn has(&mut self, place: &ExactPlace<K>, now: Epoch) -> bool {
        self.advance(now);
        let is_it =
            |slot: u32| self.entries.get(slot as usize).is_some_and(|entry| entry.key == place.key);
        let slot = self.index.find(place.tag, is_it);
        slot.and_then(|slot| self.alive_entry(slot)).is_some()
    }

    #[inline]
    fn touch(&mut self, _place: &ExactPlace<K>, found: &Found<u32>, stamp: Stamp) {
        if let Some(entry) = self.alive_entry(found.handle) {
            let renewed = self.renewed(entry.stamp, stamp);
            if renewed != entry.stamp {
                self.set(found.handle, entry.state, renewed);
            }
        }
    }

    fn insert(&mut self, place: &ExactPlace<K>, state: State, stamp: Stamp) -> Insertion {
        self.advance(stamp.now());
        let flow = self.number(place);
        let epoch = if self.timed { stamp.epoch() } else { Epoch(0) };
        self.set(flow, Some(state), epoch);
        self.counts.inserted += 1;
        Insertion::STORED
    }

    fn modify(
        &mut self,
        _place: &ExactPlace<K>,
        found: &Found<u32>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        match self.alive_entry(found.handle) {
            Some(entry) => {
                self.set(found.handle, Some(new), self.renewed(entry.stamp, stamp));
            }
            None => self.counts.writes_to_absent += 1,
        }
        None
    }

    fn delete(&mut self, _place: &ExactPlace<K>, found: &Found<u32>, _now: Epoch) {
        match self.alive_entry(found.handle) {
            Some(entry) => self.set(found.handle, None, entry.stamp),
            None => self.counts.writes_to_absent += 1,
        }
        self.counts.deleted += 1;
    }

    /// Nothing to do: stale flows are never cleared.
    fn sweep(&mut self, _now: Epoch, _budget_cells: usize) -> usize {
        0
    }

    fn stats(&self) -> StoreStats {
        let flows = self.entries.len() as u64;
        let live = self.alive() as f64;
        StoreStats { cells: flows, occupied: self.alive(), live, ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exact;
    use crate::rng::Random;
    use crate::spec::{Backend, StoreSpec};

    /// Any operations, in any order, epochs that pass and jump.
    #[test]
    fn answers_as_the_exact_store_does() {
        for timed in [true, false] {
            let sizing = StoreSpec::new(Backend::Exact, 6).sizing().unwrap();
            let mut exact = Exact::growing(&sizing, timed).unwrap();
            let mut history = GroundTruth::new(timed, 2).unwrap();
            let mut random = Random::new(3);
            let mut now = Epoch(0);
            for _ in 0..200_000 {
                if random.chance(0.002) {
                    now = Epoch(now.0 + 1 + random.below(3) as u32);
                }
                let flow = random.below(300);
                let place = history.locate(id(flow), flow);
                let in_exact = exact.lookup(&place, now);
                let in_history = history.lookup(&place, now);
                assert_eq!(in_history.answer, in_exact.answer);
                let state = State::new(random.below(6) as usize).unwrap();
                let stamp = if random.chance(0.3) { now.half_stamp() } else { now.stamp() };
                match (in_exact.answer, random.below(10)) {
                    (Lookup::Absent, 0..7) => {
                        exact.insert(&place, state, stamp);
                        history.insert(&place, state, stamp);
                    }
                    (Lookup::Known(_), 0..4) => {
                        exact.touch(&place, &in_exact, stamp);
                        history.touch(&place, &in_history, stamp);
                    }
                    (Lookup::Known(_), 4..6) => {
                        exact.modify(&place, &in_exact, state, stamp);
                        history.modify(&place, &in_history, state, stamp);
                    }
                    (Lookup::Known(_), 6) => {
                        exact.delete(&place, &in_exact, now);
                        history.delete(&place, &in_history, now);
                    }
                    _ => {}
                }
                assert_eq!(history.stats().live, exact.stats().live);
            }
            assert!(history.alive() > 0);
        }
    }

    fn id(flow: u64) -> FlowId {
        FlowId(crate::digest::mix(flow).into())
    }

    #[test]
    fn flows_are_numbered_as_they_come_and_lookups_counted() {
        let mut history = GroundTruth::new(false, 1).unwrap();
        for flow in (0..1000).chain(0..1000) {
            let place = history.locate(id(flow), flow);
            let found = history.lookup(&place, Epoch(0));
            assert_eq!(u64::from(found.handle), flow);
            if found.answer == Lookup::Absent {
                history.insert(&place, State::FIRST, Epoch(0).stamp());
            }
        }
        assert_eq!(history.flows(), 1000);
        assert!(history.lookups().all(|lookups| lookups == FlowLookups { extant: 1, absent: 1 }));
        let first = history.remembered().next().unwrap();
        assert_eq!(first, RememberedFlow { key: 0, state: Some(State::FIRST), was_alive: true });
        history.count_lookups_anew();
        assert!(history.lookups().all(|lookups| lookups == FlowLookups::default()));
    }

    #[test]
    fn flows_that_aged_and_flows_that_never_were_are_remembered_apart() {
        let mut history = GroundTruth::new(true, 1).unwrap();
        for (flow, epoch) in [(1, 0), (2, 5)] {
            let place = history.locate(id(flow), flow);
            history.lookup(&place, Epoch(epoch));
            history.insert(&place, State::FIRST, Epoch(epoch).stamp());
        }
        let place = history.locate(id(3), 3);
        history.lookup(&place, Epoch(5));
        let fates = history.remembered().map(|flow| (flow.state.is_some(), flow.was_alive));
        assert_eq!(fates.collect::<Vec<_>>(), [(false, true), (true, true), (false, false)]);
    }

    #[test]
    fn a_flow_of_two_addresses_ports_and_tags_takes_one_cache_line() {
        assert_eq!(size_of::<Entry<[u16; 21]>>(), 64);
    }
}
