//! `fcf`: fingerprints and states in a cuckoo table.
//!
//! ACSM 2006 found fingerprints in a d-left table to need the least memory of all its structures
//! (fingerprint-compressed filter, FCF). Cuckoo filters (Fan et al., CoNEXT 2014) fill their tables
//! further, and moving flows takes nothing but what is stored. With a state beside each
//! fingerprint such a filter is a map: a *maplet*.
//!
//! | | slots that match: in a flow's two buckets, with its fingerprint, not stale |
//! |---|---|
//! | lookup | none → Absent; all in one state → Known; in several → DontKnow |
//! | touch | all that match |
//! | insert | one more, in a free or stale slot; others move if they must; *full* if that does not help |
//! | modify | touches all; of those in the old state the one touched least recently changes |
//! | delete | of those in the old state the one touched least recently is emptied |
//!
//! What matches are the slots of flows that are one to the store: same fingerprint, same buckets.
//! Which of them is the asking flow's nobody can tell, so the rules do not depend on the order of
//! slots, and answers do not depend on who was moved where.
//!
//! `place`: a flow's buckets and fingerprint. `buckets`: packed slots and their aging. `room`: who
//! moves where.

mod buckets;
mod place;
mod room;

pub use place::FcfPlace;

use super::aging::{Epoch, Stamp};
use super::error::StoreError;
use super::stats::StoreStats;
use super::store::{Found, Insertion, Lines, Store};
use crate::digest::FlowId;
use crate::memory::Arena;
use crate::spec::{FCF_BUCKET_SLOTS, Sizing, fcf_fingerprints};
use crate::state::{Lookup, State};
use buckets::{Buckets, Slot};
use place::Places;
use room::Allowance;

/// A fingerprint cuckoo filter, with `TIMED` slots that age.
///
/// While every insertion finds room, no flow is inserted twice and none removed that is not there:
///
/// * a flow that is there is never answered `Absent`, and `Known` tells its state;
/// * a flow that is not there is answered `Absent` but for a chance of 8 α / F: eight slots, in
///   use with the load α, each with one of F fingerprints;
/// * flows are found in one of two cache lines, whatever the error rate.
///
/// Unlike a filter of shared cells it can be *full*: then an insertion says so, and nothing else
/// changes. At the planned 95 % of its slots it is not.
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
pub struct Fcf<const TIMED: bool> {
    places: Places,
    buckets: Buckets<TIMED>,
    allowance: Allowance,
    counts: StoreStats,
}

/// The slots that match a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Matches {
    /// Which of the flow's eight slots.
    slots: u8,
    /// Which states they are in.
    states: u16,
    /// Whether some were last touched in the epoch before this.
    any_older: bool,
}

impl<const TIMED: bool> Fcf<TIMED> {
    /// An empty shard for a machine with so many states: one of equal parts of what `sizing`
    /// allows.
    pub fn new(states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        Self::new_in(&Arena::default(), states, sizing)
    }

    /// The same, with its buckets beside those of other shards.
    pub fn new_in(arena: &Arena, states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        let slots = sizing.cells as usize / FlowId::SHARDS;
        let buckets = Buckets::new_in(arena, slots, sizing.cell_bits)?;
        let places = Places {
            states: states.max(1) as u64,
            fingerprints: fcf_fingerprints(sizing.cell_bits, states.max(1)),
            buckets: buckets.buckets(),
            buckets_per_line: buckets.buckets_per_line(),
        };
        let (allowance, counts) = (Allowance::FULL, StoreStats::default());
        Ok(Fcf { places, buckets, allowance, counts })
    }

    /// The slots that match a flow.
    #[inline]
    fn matches(&self, place: &FcfPlace, now: Epoch) -> Matches {
        let mut matches = Matches::default();
        for (home, bucket) in place.homes.into_iter().enumerate() {
            let values = self.buckets.values(bucket);
            for (value, slot) in values.into_iter().zip(bucket.slots()) {
                // An empty slot is below every flow's first value.
                let state = value.wrapping_sub(place.base);
                if state >= self.places.states {
                    continue;
                }
                let age = self.buckets.age(slot, now);
                if age <= 1 {
                    matches.slots |= 1 << (home * FCF_BUCKET_SLOTS + slot.index as usize);
                    matches.states |= 1 << state;
                    matches.any_older |= age == 1;
                }
            }
        }
        matches
    }

    /// Touches all slots that match.
    fn touch_all(&mut self, place: &FcfPlace, matches: Matches, stamp: Stamp) {
        for slot in matches.slots_of(place) {
            self.buckets.touch(slot, stamp);
        }
    }

    /// A free slot in one of a flow's buckets; others move for it if they must.
    fn free_slot(&mut self, place: &FcfPlace, now: Epoch) -> Option<Slot> {
        self.allowance.earn();
        let [first, second] = place.homes.map(|bucket| self.buckets.free_slot(bucket, now));
        let (buckets, allowance) = (&mut self.buckets, &mut self.allowance);
        first
            .or(second)
            .or_else(|| room::make_room(buckets, &self.places, place.homes, allowance, now))
    }

    /// Of the slots that match and are in this state, the one touched least recently.
    fn oldest_in(
        &self,
        place: &FcfPlace,
        matches: Matches,
        state: State,
        now: Epoch,
    ) -> Option<Slot> {
        let wanted = place.base + state.index() as u64;
        let in_state = matches.slots_of(place).filter(|&slot| self.buckets.value(slot) == wanted);
        in_state.min_by_key(|&slot| std::cmp::Reverse(self.buckets.age(slot, now)))
    }
}

impl Matches {
    fn slots_of(self, place: &FcfPlace) -> impl Iterator<Item = Slot> {
        let slots = place.homes.into_iter().flat_map(|bucket| bucket.slots());
        slots.enumerate().filter(move |(at, _)| self.slots >> at & 1 == 1).map(|(_, slot)| slot)
    }
}

impl<const TIMED: bool> Store for Fcf<TIMED> {
    type Key = ();
    type Place = FcfPlace;
    type Handle = Matches;

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
    fn lookup(&mut self, place: &FcfPlace, now: Epoch) -> Found<Matches> {
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
    fn touch(&mut self, place: &FcfPlace, found: &Found<Matches>, stamp: Stamp) {
        if TIMED && !stamp.half && found.handle.any_older {
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

    fn modify(
        &mut self,
        place: &FcfPlace,
        found: &Found<Matches>,
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

    fn delete(&mut self, place: &FcfPlace, found: &Found<Matches>, now: Epoch) {
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
        let occupied = self.buckets.occupied();
        let fill = occupied as f64 / cells as f64;
        let compared = (2 * FCF_BUCKET_SLOTS) as f64;
        StoreStats {
            cells,
            occupied,
            // One slot per flow; but flows that the store cannot tell apart count once, and those
            // that found no room not at all.
            live: occupied as f64,
            live_estimated: true,
            false_positive_chance: compared * fill / self.places.fingerprints as f64,
            cells_aged: self.buckets.aged(),
            ..self.counts
        }
    }
}
