//! What the loop of a shard does with flows that are not in the store, where there is a pending table.

use super::admission::{AdmittingStore, PendingStep};
use super::batch::Event;
use super::shard::{PacketKey, ShardWork};
use super::shard_loop::StoreShard;
use crate::machine::{Next, Outcome};
use acsm_filters::{Found, Insertion, Lookup, State, Store};

/// Where the flow of an event enters a store.
struct Entrance<'a, 'w, S: Store> {
    store: &'a mut S,
    work: &'a ShardWork<'w>,
    event: &'a Event,
    place: S::Place,
    /// What a lookup would answer after its insertion, as far as that is known, if it is in.
    admitted: Option<Option<Lookup>>,
}

impl<S: Store<Key: PacketKey>> AdmittingStore for Entrance<'_, '_, S> {
    fn has_reverse(&mut self) -> bool {
        let Some(packet) = self.work.packets.get(self.event.index as usize) else { return false };
        let key = S::Key::of(&self.work.rules.keyer, packet).reversed();
        let place = self.store.locate(self.event.id.reverse(), key);
        self.store.has(&place, self.event.epoch)
    }

    fn admit(&mut self, state: State) -> bool {
        if !self.store.has_room() {
            return false;
        }
        let insertion = self.store.insert(&self.place, state, self.event.epoch.stamp());
        self.admitted = match insertion {
            Insertion::Stored { answer, .. } => Some(answer),
            Insertion::Evicted => Some(None),
            Insertion::Full => None,
        };
        self.admitted.is_some()
    }
}

/// Not inlined into the loop: without a pending table, none of this runs.
impl<S: Store<Key: PacketKey>> StoreShard<S> {
    /// One event of a flow that is not in the store, where there is a pending table.
    #[cold]
    #[inline(never)]
    pub(super) fn step_pending(
        &mut self,
        work: &ShardWork<'_>,
        index: usize,
        event: &Event,
    ) -> (Lookup, Outcome, Option<State>) {
        let place = self.place(index);
        let stamp = event.epoch.stamp();
        let StoreShard { store, pending: Some(pending), .. } = self else {
            return (Lookup::Absent, event.step(work.machine, Lookup::Absent), None);
        };
        let mut entrance = Entrance { store, work, event, place, admitted: None };
        let step = pending.step(work, event, &mut entrance);
        let admitted = entrance.admitted;
        let PendingStep { answer, outcome, state, is_refused, is_resumed } = step;
        self.stats.refused += u64::from(is_refused);
        self.stats.resets_ignored += u64::from(is_resumed);
        if let Some(answer) = admitted {
            self.wrote(index, answer, stamp);
        }
        if let Next::Go(state) = outcome.next {
            self.stats.entered[state.index()] += 1;
        }
        (answer, outcome, state)
    }

    /// Moves a flow from the store to the pending table.
    #[cold]
    #[inline(never)]
    pub(super) fn retire(
        &mut self,
        work: &ShardWork<'_>,
        index: usize,
        event: &Event,
        (place, found): (&S::Place, &Found<S::Handle>),
        state: State,
    ) -> Option<State> {
        self.delete(index, place, found, event.epoch);
        if let Some(pending) = &mut self.pending {
            pending.hold(work, event, state);
        }
        Some(state)
    }
}
