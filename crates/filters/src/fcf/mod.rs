//! `fcf`: a fingerprint-compressed filter, fingerprints and states in a cuckoo table.
//!
//! ACSM 2006 found fingerprints in a d-left table to need the least memory of all its structures.
//! Cuckoo filters (Fan et al., CoNEXT 2014) fill their tables further, and moving a flow takes
//! nothing but what is stored. With a state beside each fingerprint such a filter is a map: a
//! *maplet*.

mod buckets;
mod cuckoo;

pub use cuckoo::FcfPlace;

use crate::aging::{Age, Epoch, Stamp};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::line::{Line, LineArray, OwnedLines};
use crate::memory::Arena;
use crate::spec::{FCF_BUCKET_SLOTS, Sizing, fcf_fingerprints};
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};
use buckets::{Buckets, Slot};
use cuckoo::{Places, SearchAllowance, make_room};

/// A fingerprint cuckoo filter: one slot per flow, in one of two buckets. With `TIMED` slots age.
///
/// 17 bits per flow for a false-positive rate of 0.01 with six states, stamps included. While every
/// insertion finds room, no flow is inserted twice and none is removed that was not inserted:
///
/// * a flow that was inserted is never answered `Absent`, and `Known` is its state;
/// * an absent flow is answered `Absent` except with probability 8 α / F: eight slots, in use with
///   the load α, each with one of F fingerprints;
/// * a flow is found in one of two cache lines, whatever the error rate.
///
/// Unlike a filter of shared cells it can be full: then an insertion says so, and nothing else
/// changes. At the planned load of 95 % it is not.
///
/// ```
/// use acsm_filters::{
///     Backend, Epoch, Fcf, FlowId, HashKey, Insertion, Lookup, State, Store, StoreSpec,
/// };
///
/// // One of 16 shards: 1,000 flows, at the default false-positive rate of 0.01.
/// let spec = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Fcf, 6) };
/// let sizing = spec.sizing()?;
/// assert!(sizing.bits_per_flow < 19.0);
/// let mut shard = Fcf::<true>::new(6, &sizing)?;
/// let key = HashKey::from_seed(1);
/// let id = |flow: u64| FlowId(key.digest([flow]));
/// let (now, open) = (Epoch(0), State::new(2).unwrap());
///
/// for flow in 0..1000 {
///     let place = shard.locate(id(flow), ());
///     assert_eq!(shard.insert(&place, open, now.stamp()), Insertion::STORED);
///     assert_eq!(shard.lookup(&place, now).answer, Lookup::Known(open));
/// }
/// let false_positives = (1000..11_000).filter(|&absent| {
///     let place = shard.locate(id(absent), ());
///     shard.lookup(&place, now).answer != Lookup::Absent
/// });
/// assert!(false_positives.count() < 150);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
///
/// # Rules
///
/// A slot *matches* a flow if it is in one of the flow's two buckets, holds its fingerprint and is
/// not stale.
///
/// | operation | effect |
/// |---|---|
/// | lookup | no slot matches: Absent; all in one state: Known; in several: DontKnow |
/// | touch | all matching slots |
/// | insert | fills a free or stale slot; moves other flows if necessary; *full* if that fails |
/// | modify | touches all matching slots; of those in the old state the least recently touched one changes |
/// | delete | of the matching slots in the old state, empties the least recently touched one |
///
/// Flows with the same fingerprint and buckets are one to the store: which of the matching slots
/// belongs to which flow is unknown. The rules therefore do not depend on the order of slots, and answers do
/// not depend on which flow was moved where.
pub struct Fcf<const TIMED: bool, L = OwnedLines> {
    places: Places,
    buckets: Buckets<TIMED, L>,
    allowance: SearchAllowance,
    /// How many flows this shard was planned for.
    flows_planned: u64,
    counts: StoreStats,
}

/// The slots that match a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FcfHandle {
    /// Which of the flow's eight slots.
    slots: u8,
    /// Which states they are in.
    states: u16,
    /// Whether some were last touched in the previous epoch.
    any_older: bool,
}

impl<const TIMED: bool> Fcf<TIMED> {
    /// An empty shard for a machine with this many states: one of equal parts of `sizing`.
    pub fn new(states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        Self::new_in(&Arena::default(), states, sizing)
    }

    /// An empty shard with its memory in `arena`.
    pub fn new_in(arena: &Arena, states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        let buckets = Buckets::new_in(arena, slots_per_shard(sizing), sizing.cell_bits)?;
        Ok(Fcf::of(buckets, states, sizing))
    }
}

impl<'a, const TIMED: bool> Fcf<TIMED, &'a mut [Line]> {
    /// The shard that `bytes` hold, of any alignment and [`array_bytes`](crate::array_bytes) long:
    /// all zero if it is empty. Only what is in the table is taken from them, not the counts of
    /// what happened.
    pub fn over(bytes: &'a mut [u8], states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        let buckets = Buckets::over(bytes, slots_per_shard(sizing), sizing.cell_bits)?;
        Ok(Fcf::of(buckets, states, sizing))
    }
}

fn slots_per_shard(sizing: &Sizing) -> usize {
    sizing.cells as usize / FlowId::SHARDS
}

impl<const TIMED: bool, L: LineArray> Fcf<TIMED, L> {
    fn of(buckets: Buckets<TIMED, L>, states: usize, sizing: &Sizing) -> Self {
        let places = Places {
            states: states.max(1) as u64,
            fingerprints: fcf_fingerprints(sizing.cell_bits, states.max(1)),
            buckets: buckets.buckets(),
            buckets_per_line: buckets.buckets_per_line(),
        };
        let (allowance, counts) = (SearchAllowance::FULL, StoreStats::default());
        Fcf { places, buckets, allowance, flows_planned: sizing.flows_per_shard(), counts }
    }

    /// The slots that match a flow.
    #[inline]
    fn matches(&self, place: &FcfPlace, now: Epoch) -> FcfHandle {
        let mut matches = FcfHandle::default();
        for (home, &bucket) in place.homes.iter().enumerate() {
            for (index, value) in self.buckets.values(bucket).iter().enumerate() {
                // An empty slot is below the first value of every flow.
                let state = value.wrapping_sub(place.base);
                if state >= self.places.states {
                    continue;
                }
                let age = self.buckets.age(Slot { bucket, index: index as u32 }, now);
                if age.is_alive() {
                    matches.slots |= 1 << (home * FCF_BUCKET_SLOTS + index);
                    matches.states |= 1 << state;
                    matches.any_older |= age == Age::Previous;
                }
            }
        }
        matches
    }

    /// Touches all slots that match.
    fn touch_all(&mut self, place: &FcfPlace, matches: FcfHandle, stamp: Stamp) {
        for slot in matches.slots_of(place) {
            self.buckets.touch(slot, stamp);
        }
    }

    /// A free slot in one of a flow's buckets; others are moved for it if necessary.
    fn free_slot(&mut self, place: &FcfPlace, now: Epoch) -> Option<Slot> {
        let [first, second] = place.homes.map(|bucket| self.buckets.free_slot(bucket, now));
        let (buckets, allowance) = (&mut self.buckets, &mut self.allowance);
        let free = first
            .or(second)
            .or_else(|| make_room(buckets, &self.places, place.homes, allowance, now));
        allowance.note(free.is_some());
        free
    }

    /// Of the slots that match and are in this state, the least recently touched one.
    fn oldest_in(
        &self,
        place: &FcfPlace,
        matches: FcfHandle,
        state: State,
        now: Epoch,
    ) -> Option<Slot> {
        let wanted = place.base + state.index() as u64;
        let in_state = matches.slots_of(place).filter(|&slot| self.buckets.value(slot) == wanted);
        in_state.min_by_key(|&slot| std::cmp::Reverse(self.buckets.age(slot, now)))
    }
}

impl FcfHandle {
    fn slots_of(self, place: &FcfPlace) -> impl Iterator<Item = Slot> {
        let (homes, mut left) = (place.homes, self.slots);
        std::iter::from_fn(move || {
            let at = left.trailing_zeros() as usize;
            let bucket = *homes.get(at / FCF_BUCKET_SLOTS)?;
            left &= left - 1;
            Some(Slot { bucket, index: (at % FCF_BUCKET_SLOTS) as u32 })
        })
    }
}

impl<const TIMED: bool, L: LineArray> Store for Fcf<TIMED, L> {
    type Key = ();
    type Place = FcfPlace;
    type Handle = FcfHandle;

    const WRITES_WITHOUT_OLD_STATE: bool = false;

    #[inline]
    fn locate(&self, id: FlowId, (): ()) -> FcfPlace {
        self.places.of(id)
    }

    #[inline]
    fn prefetch(&self, place: &FcfPlace) {
        place.homes.into_iter().for_each(|bucket| self.buckets.prefetch(bucket));
    }

    #[inline]
    fn lookup(&mut self, place: &FcfPlace, now: Epoch) -> Found<FcfHandle> {
        let matches = self.matches(place, now);
        let one = State::new(matches.states.trailing_zeros() as usize);
        let answer = match (matches.states.count_ones(), one) {
            (1, Some(state)) => Lookup::Known(state),
            (0, _) => Lookup::Absent,
            _ => Lookup::DontKnow,
        };
        Found { answer, settled: true, handle: matches }
    }

    #[inline]
    fn touch(&mut self, place: &FcfPlace, found: &Found<FcfHandle>, stamp: Stamp) {
        if TIMED && stamp.renews() && found.handle.any_older {
            self.touch_all(place, found.handle, stamp);
        }
    }

    fn insert(&mut self, place: &FcfPlace, state: State, stamp: Stamp) -> Insertion {
        let now = stamp.now();
        let present = self.matches(place, now).slots != 0;
        self.counts.inserts_of_present += u64::from(present);
        let Some(free) = self.free_slot(place, now) else {
            self.counts.full += 1;
            return Insertion::Full;
        };
        self.buckets.fill(free, place.base + state.index() as u64, stamp);
        self.counts.inserted += 1;
        Insertion::STORED
    }

    /// Stale slots that no sweep has cleared yet count as in use.
    #[inline]
    fn has_room(&self) -> bool {
        self.buckets.usage().occupied < self.flows_planned
    }

    fn modify(
        &mut self,
        place: &FcfPlace,
        found: &Found<FcfHandle>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        if let Lookup::Known(old) = found.answer {
            match self.oldest_in(place, found.handle, old, stamp.now()) {
                Some(slot) => self.buckets.set_value(slot, place.base + new.index() as u64),
                None => self.counts.writes_to_absent += 1,
            }
        }
        self.touch_all(place, found.handle, stamp);
        None
    }

    fn delete(&mut self, place: &FcfPlace, found: &Found<FcfHandle>, now: Epoch) {
        let Lookup::Known(old) = found.answer else { return };
        match self.oldest_in(place, found.handle, old, now) {
            Some(slot) => self.buckets.empty(slot),
            None => self.counts.writes_to_absent += 1,
        }
        self.counts.deleted += 1;
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.buckets.sweep(now, budget_cells)
    }

    /// A flow that is moved for another is found as before, in its other bucket, with its stamp.
    #[inline]
    fn lines(&self, place: &FcfPlace) -> Lines {
        let [one, other] = place.homes.map(|bucket| bucket.line as usize);
        Lines::of(one, other)
    }

    fn stats(&self) -> StoreStats {
        let cells = u64::from(self.buckets.buckets()) * FCF_BUCKET_SLOTS as u64;
        let usage = self.buckets.usage();
        let fill = usage.occupied as f64 / cells as f64;
        let compared = (2 * FCF_BUCKET_SLOTS) as f64;
        StoreStats {
            cells,
            occupied: usage.occupied,
            // One slot per flow; but flows that look alike may share one, and a flow that found no
            // room has none.
            live: usage.occupied as f64,
            live_estimated: true,
            false_positive_chance: compared * fill / self.places.fingerprints as f64,
            cells_aged: usage.aged,
            ..self.counts
        }
    }
}
