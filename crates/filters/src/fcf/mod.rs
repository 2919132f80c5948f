//! `fcf`: a fingerprint-compressed filter, fingerprints and states in a cuckoo table.
//!
//! ACSM 2006 found fingerprints in a d-left table to need the least memory of all its structures.
//! Cuckoo filters (Fan et al., CoNEXT 2014) fill their tables further, and moving a flow takes
//! nothing but what is stored. With a state beside each fingerprint such a filter is a map: a
//! *maplet*. Its buckets here are overlapping windows of two slots (Schmitz, Zentgraf, Rahmann,
//! arXiv 2505.05847), so that a lookup compares half as many slots at nearly the same load.

mod cuckoo;
mod line_format;
mod table;
mod windows;

pub use cuckoo::FcfPlace;
pub(crate) use table::FcfTable;

use crate::aging::{Epoch, Stamp};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::line::{Line, LineArray, OwnedLines};
use crate::memory::Arena;
use crate::snapshot::{Decoder, Encoder, Persist, SnapshotError};
use crate::spec::{FCF_WINDOW_SLOTS, FCF_WINDOWS, Sizing, fcf_fingerprints};
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};
use cuckoo::{Places, Search, SearchAllowance};
use line_format::{Slot, Window};
use windows::Slots;

/// A fingerprint cuckoo filter: one slot per flow, in one of two windows of two adjacent slots.
/// With `TIMED` slots age.
///
/// 15 bits per flow for a false-positive rate of 0.01 with six states, stamps included. While every
/// insertion finds room, no flow is inserted twice and none is removed that was not inserted:
///
/// * a flow that was inserted is never answered `Absent`, and `Known` is its state;
/// * an absent flow is answered `Absent` except with probability 2 α / F: four slots, in use with
///   the load α, half of them by flows for which they are the same slot of a window, each with one
///   of F fingerprints;
/// * a flow is found in one of two cache lines, whatever the error rate.
///
/// Unlike a filter of shared cells it can be full: then an insertion says so, and nothing else
/// changes. At the planned load of 93 % it is not.
///
/// ```
/// use acsm_filters::{
///     Backend, Epoch, Fcf, FlowId, HashKey, Insertion, Lookup, State, Store, StoreSpec,
/// };
///
/// // One of 16 shards: 1,000 flows, at the default false-positive rate of 0.01.
/// let spec = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Fcf, 6) };
/// let sizing = spec.sizing()?;
/// assert!(sizing.bits_per_flow < 17.0);
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
/// A slot *matches* a flow if it is the first or the second slot of one of the flow's two windows,
/// holds that and its fingerprint, and is not stale.
///
/// | operation | effect |
/// |---|---|
/// | lookup | no slot matches: Absent; all in one state: Known; in several: DontKnow |
/// | touch | all matching slots |
/// | insert | fills a free or stale slot; moves other flows if necessary; *full* if that fails |
/// | modify | touches all matching slots; of those in the old state the least recently touched one changes |
/// | delete | of the matching slots in the old state, empties the least recently touched one |
///
/// Flows with the same fingerprint and windows are one to the store: which of the matching slots
/// belongs to which flow is unknown. The rules therefore do not depend on the order of slots, and answers do
/// not depend on which flow was moved where.
pub struct Fcf<const TIMED: bool, L = OwnedLines> {
    places: Places,
    slots: Slots<TIMED, L>,
    allowance: SearchAllowance,
    /// How many flows this shard was planned for.
    flows_planned: u64,
    counts: StoreStats,
}

/// The slots that match a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FcfHandle {
    /// Which of the flow's four slots.
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
        let slots = Slots::new_in(arena, slots_per_shard(sizing), sizing.cell_bits)?;
        Ok(Fcf::of(slots, states, sizing))
    }
}

impl<'a, const TIMED: bool> Fcf<TIMED, &'a mut [Line]> {
    /// The shard that `bytes` hold, of any alignment and [`array_bytes`](crate::array_bytes) long:
    /// all zero if it is empty. Only what is in the table is taken from them, not the counts of
    /// what happened. Bytes that were put aside for more than 4,000 epochs are to be zeroed: they
    /// do not tell how long that was.
    pub fn over(bytes: &'a mut [u8], states: usize, sizing: &Sizing) -> Result<Self, StoreError> {
        let slots = Slots::over(bytes, slots_per_shard(sizing), sizing.cell_bits)?;
        Ok(Fcf::of(slots, states, sizing))
    }
}

fn slots_per_shard(sizing: &Sizing) -> usize {
    sizing.cells as usize / FlowId::SHARDS
}

impl<const TIMED: bool, L: LineArray> Fcf<TIMED, L> {
    fn of(slots: Slots<TIMED, L>, states: usize, sizing: &Sizing) -> Self {
        let places = Places {
            states: states.max(1) as u64,
            fingerprints: fcf_fingerprints(sizing.cell_bits, states.max(1)),
            lines: slots.lines(),
            slots_per_line: slots.slots_per_line(),
        };
        let (allowance, counts) = (SearchAllowance::FULL, StoreStats::default());
        Fcf { places, slots, allowance, flows_planned: sizing.flows_per_shard(), counts }
    }

    /// The slots that match a flow. Most flows have none, or one: ages are read where a slot holds
    /// the flow's fingerprint.
    #[inline]
    fn matches(&self, place: &FcfPlace, now: Epoch) -> FcfHandle {
        let mut matches = FcfHandle::default();
        let states = self.places.states;
        for (home, &window) in place.homes.iter().enumerate() {
            let [one, other] = self.slots.values(window);
            // An empty slot is below the first value of every flow.
            let offsets = [one.wrapping_sub(place.base), other.wrapping_sub(place.base + states)];
            if offsets.into_iter().any(|state| state < states) {
                self.add_matches(&mut matches, home, window, offsets, now);
            }
        }
        matches
    }

    /// Adds the slots of a flow's window that are in one of its states and alive.
    #[inline]
    fn add_matches(
        &self,
        matches: &mut FcfHandle,
        home: usize,
        window: Window,
        states: [u64; FCF_WINDOW_SLOTS],
        now: Epoch,
    ) {
        let ages = self.slots.ages(window.line, now);
        for (offset, state) in states.into_iter().enumerate() {
            let index = self.slots.slot(window, offset as u8).index;
            let is_match = u64::from(state < self.places.states) & ages.alive >> index;
            matches.slots |= (is_match as u8) << (home * FCF_WINDOW_SLOTS + offset);
            matches.states |= (is_match as u16) << (state % State::LIMIT as u64);
            matches.any_older |= is_match & !(ages.fresh >> index) != 0;
        }
    }

    /// The slots that match, each with its number in its window.
    #[inline]
    fn matching(
        &self,
        place: &FcfPlace,
        matches: FcfHandle,
    ) -> impl Iterator<Item = (Slot, u8)> + use<TIMED, L> {
        let (slots, mut left) = (self.slots.slots_of(place.homes), matches.slots);
        std::iter::from_fn(move || {
            let slot = *slots.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(slot)
        })
    }

    /// Touches all slots that match.
    fn touch_all(&mut self, place: &FcfPlace, matches: FcfHandle, stamp: Stamp) {
        for (slot, _) in self.matching(place, matches) {
            self.slots.touch(slot, stamp);
        }
    }

    /// Of the slots that match and are in this state, the least recently touched one.
    fn oldest_in(
        &self,
        place: &FcfPlace,
        matches: FcfHandle,
        state: State,
        now: Epoch,
    ) -> Option<(Slot, u8)> {
        if matches.slots.is_power_of_two() && matches.states == 1 << state.index() {
            return self.matching(place, matches).next();
        }
        let is_in_state = |&(slot, offset): &(Slot, u8)| {
            self.slots.value(slot) == self.places.value(place, offset, state.index())
        };
        let in_state = self.matching(place, matches).filter(is_in_state);
        in_state.min_by_key(|&(slot, _)| std::cmp::Reverse(self.slots.age(slot, now)))
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
        place.homes.into_iter().for_each(|window| self.slots.prefetch(window));
    }

    #[inline]
    fn lookup(&mut self, place: &FcfPlace, now: Epoch) -> Found<FcfHandle> {
        self.slots.renew_marks(now);
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
        self.slots.renew_marks(now);
        let present = self.matches(place, now).slots != 0;
        self.counts.inserts_of_present += u64::from(present);
        let mut search = Search { slots: &mut self.slots, places: &self.places, now };
        let Some((free, offset)) = search.free_slot(place.homes, &mut self.allowance) else {
            self.counts.full += 1;
            return Insertion::Full;
        };
        self.slots.fill(free, self.places.value(place, offset, state.index()), stamp);
        self.counts.inserted += 1;
        Insertion::STORED
    }

    /// Stale slots that no sweep has cleared yet count as in use.
    #[inline]
    fn has_room(&self) -> bool {
        self.slots.usage().occupied < self.flows_planned
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
                Some((slot, offset)) => {
                    self.slots.set_value(slot, self.places.value(place, offset, new.index()));
                }
                None => self.counts.writes_to_absent += 1,
            }
        }
        self.touch_all(place, found.handle, stamp);
        None
    }

    fn delete(&mut self, place: &FcfPlace, found: &Found<FcfHandle>, now: Epoch) {
        let Lookup::Known(old) = found.answer else { return };
        match self.oldest_in(place, found.handle, old, now) {
            Some((slot, _)) => self.slots.empty(slot),
            None => self.counts.writes_to_absent += 1,
        }
        self.counts.deleted += 1;
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.slots.sweep(now, budget_cells)
    }

    /// A flow that is moved for another is found as before, in another of its slots, with its stamp.
    #[inline]
    fn lines(&self, place: &FcfPlace) -> Lines {
        let [one, other] = place.homes.map(|window| window.line as usize);
        Lines::of(one, other)
    }

    fn stats(&self) -> StoreStats {
        let cells = u64::from(self.slots.lines()) * u64::from(self.slots.slots_per_line());
        let usage = self.slots.usage();
        let fill = usage.occupied as f64 / cells as f64;
        StoreStats {
            cells,
            occupied: usage.occupied,
            // One slot per flow; but flows that look alike may share one, and a flow that found no
            // room has none.
            live: usage.occupied as f64,
            live_estimated: true,
            false_positive_chance: FCF_WINDOWS as f64 * fill / self.places.fingerprints as f64,
            cells_aged: usage.aged,
            ..self.counts
        }
    }
}

impl<const TIMED: bool, L: LineArray> Persist for Fcf<TIMED, L> {
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        self.counts.encode(out);
        self.allowance.encode(out);
        self.slots.encode(out);
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.counts.decode(input)?;
        self.allowance = SearchAllowance::decode(input)?;
        self.slots.decode(input)
    }
}
