//! Stores that hold only some states of a machine: these are numbered without gaps, so that a store
//! spends no code, test or fingerprint on the others.
//!
//! Behind a [pending table](crate::pending) no flow is stored that is half-open or over: five of the
//! fourteen states of a TCP connection remain.

use crate::aging::{Epoch, Stamp};
use crate::digest::FlowId;
use crate::snapshot::{Decoder, Encoder, Persist, SnapshotError};
use crate::spec::StoreSpec;
use crate::state::{Lookup, State};
use crate::stats::StoreStats;
use crate::store::{Found, Insertion, Lines, Store};

/// A store of this type for some of a machine's states: all others are never in it.
///
/// ```
/// use acsm_filters::{Backend, Epoch, Fcf, FlowId, Lookup, State, Store, StoreSpec, StoredStates};
///
/// let [opening, open] = [0, 1].map(|index| State::new(index).unwrap());
/// let spec = StoreSpec { held: [opening].into_iter().collect(), ..StoreSpec::new(Backend::Fcf, 2) };
/// let fcf = Fcf::<true>::new(spec.stored_states(), &spec.sizing()?)?;
/// let mut shard = StoredStates::new(fcf, &spec);
///
/// let place = shard.locate(FlowId(1), ());
/// shard.insert(&place, open, Epoch(0).stamp());
/// assert_eq!(shard.lookup(&place, Epoch(0)).answer, Lookup::Known(open));
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub struct StoredStates<S> {
    store: S,
    /// By the machine's number of a state: its number in the store, if it can be there.
    numbers: [Option<State>; State::LIMIT],
    /// By the store's number: the machine's.
    states: [State; State::LIMIT],
}

impl<S: Store> StoredStates<S> {
    /// `store`, which was made for [that many states](StoreSpec::stored_states).
    pub fn new(store: S, spec: &StoreSpec) -> StoredStates<S> {
        let (mut numbers, mut states) = ([None; State::LIMIT], [State::FIRST; State::LIMIT]);
        let stored = (0..spec.states).filter_map(State::new).filter(|s| !spec.held.contains(*s));
        for (number, state) in stored.enumerate() {
            numbers[state.index()] = State::new(number);
            states[number] = state;
        }
        StoredStates { store, numbers, states }
    }

    #[inline]
    fn number(&self, state: State) -> Option<State> {
        self.numbers[state.index()]
    }

    /// An answer of the store in the machine's numbers.
    #[inline(always)]
    fn answer(&self, answer: Lookup) -> Lookup {
        match answer {
            Lookup::Known(number) => Lookup::Known(self.states[number.index()]),
            answer => answer,
        }
    }

    /// The same in the store's numbers. A state that cannot be there is as good as unknown.
    #[inline]
    fn numbered(&self, answer: Lookup) -> Lookup {
        match answer {
            Lookup::Known(state) => self.number(state).map_or(Lookup::DontKnow, Lookup::Known),
            answer => answer,
        }
    }

    #[inline]
    fn found(&self, found: &Found<S::Handle>) -> Found<S::Handle> {
        Found { answer: self.numbered(found.answer), ..*found }
    }
}

impl<S: Store> Store for StoredStates<S> {
    type Key = S::Key;
    type Place = S::Place;
    type Handle = S::Handle;

    const WRITES_WITHOUT_OLD_STATE: bool = S::WRITES_WITHOUT_OLD_STATE;

    #[inline(always)]
    fn locate(&self, id: FlowId, key: S::Key) -> S::Place {
        self.store.locate(id, key)
    }

    #[inline]
    fn prefetch(&self, place: &S::Place) {
        self.store.prefetch(place);
    }

    #[inline]
    fn lookup(&mut self, place: &S::Place, now: Epoch) -> Found<S::Handle> {
        let found = self.store.lookup(place, now);
        Found { answer: self.answer(found.answer), ..found }
    }

    #[inline]
    fn has(&mut self, place: &S::Place, now: Epoch) -> bool {
        self.store.has(place, now)
    }

    #[inline]
    fn handle_of(&mut self, place: &S::Place, answer: Lookup, now: Epoch) -> S::Handle {
        let answer = self.numbered(answer);
        self.store.handle_of(place, answer, now)
    }

    #[inline]
    fn touch(&mut self, place: &S::Place, found: &Found<S::Handle>, stamp: Stamp) {
        let found = self.found(found);
        self.store.touch(place, &found, stamp);
    }

    /// A flow in a state that cannot be stored is not taken.
    fn insert(&mut self, place: &S::Place, state: State, stamp: Stamp) -> Insertion {
        let Some(number) = self.number(state) else { return Insertion::Full };
        match self.store.insert(place, number, stamp) {
            Insertion::Stored { shared_cells, answer } => {
                let answer = answer.map(|answer| self.answer(answer));
                Insertion::Stored { shared_cells, answer }
            }
            insertion => insertion,
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.store.has_room()
    }

    /// A flow that goes to a state that cannot be stored leaves.
    fn modify(
        &mut self,
        place: &S::Place,
        found: &Found<S::Handle>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup> {
        let found = self.found(found);
        let Some(number) = self.number(new) else {
            self.store.delete(place, &found, stamp.now());
            return None;
        };
        let answer = self.store.modify(place, &found, number, stamp);
        answer.map(|answer| self.answer(answer))
    }

    fn delete(&mut self, place: &S::Place, found: &Found<S::Handle>, now: Epoch) {
        let found = self.found(found);
        self.store.delete(place, &found, now);
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.store.sweep(now, budget_cells)
    }

    #[inline]
    fn epoch(&self, now: Epoch) -> Epoch {
        self.store.epoch(now)
    }

    #[inline]
    fn lines(&self, place: &S::Place) -> Lines {
        self.store.lines(place)
    }

    fn stats(&self) -> StoreStats {
        self.store.stats()
    }
}

impl<S: Persist> Persist for StoredStates<S> {
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        self.store.encode(out);
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        self.store.decode(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcf::Fcf;
    use crate::spec::Backend;

    fn state(index: usize) -> State {
        State::new(index).unwrap()
    }

    /// Four of seven states, in slots for four.
    fn shard() -> StoredStates<Fcf<true>> {
        let held = [0, 3, 5].map(state).into_iter().collect();
        let spec = StoreSpec { held, flows: 16_000, ..StoreSpec::new(Backend::Fcf, 7) };
        assert_eq!(spec.stored_states(), 4);
        let sizing = spec.sizing().unwrap();
        let of_four = StoreSpec { flows: 16_000, ..StoreSpec::new(Backend::Fcf, 4) };
        assert_eq!(sizing, of_four.sizing().unwrap());
        StoredStates::new(Fcf::new(4, &sizing).unwrap(), &spec)
    }

    #[test]
    fn states_come_back_as_they_were_stored() {
        let mut shard = shard();
        let (now, stored) = (Epoch(0), [1, 2, 4, 6].map(state));
        for old in stored {
            for new in stored {
                let place = shard.locate(FlowId(7), ());
                shard.insert(&place, old, now.stamp());
                let found = shard.lookup(&place, now);
                assert_eq!(found.answer, Lookup::Known(old));
                shard.touch(&place, &found, now.stamp());
                let answer = shard.modify(&place, &found, new, now.stamp());
                assert!(answer.is_none_or(|answer| answer == Lookup::Known(new)), "{answer:?}");
                let found = shard.lookup(&place, now);
                assert_eq!(found.answer, Lookup::Known(new));
                shard.delete(&place, &found, now);
                assert_eq!(shard.lookup(&place, now).answer, Lookup::Absent);
            }
        }
    }

    #[test]
    fn flows_in_other_states_are_not_taken_and_leave() {
        let mut shard = shard();
        let (now, place) = (Epoch(0), shard.locate(FlowId(7), ()));
        for held in [0, 3, 5, 7, 15].map(state) {
            assert_eq!(shard.insert(&place, held, now.stamp()), Insertion::Full);
            assert_eq!(shard.lookup(&place, now).answer, Lookup::Absent);
            shard.insert(&place, state(4), now.stamp());
            let found = shard.lookup(&place, now);
            shard.modify(&place, &found, held, now.stamp());
            assert_eq!(shard.lookup(&place, now).answer, Lookup::Absent, "{held:?}");
        }
    }
}
