//! What the loop of a shard does with flows that are not in the store, where there is a pending table.

use super::admission::{PendingVisit, Visit};
use super::batch::Event;
use super::pending_step::PendingStep;
use super::shard::{PacketKey, ShardWork};
use super::shard_loop::StoreShard;
use crate::machine::{Next, Outcome};
use acsm_filters::{Found, Insertion, Lookup, State, Store};

/// Not inlined into the loop: without a pending table, none of this runs.
impl<S: Store<Key: PacketKey>> StoreShard<S> {
    /// One event of a flow that is not in the store, where there is a pending table.
    #[inline]
    pub(super) fn step_pending(
        &mut self,
        work: &ShardWork<'_>,
        index: usize,
        event: &Event,
    ) -> (Lookup, Outcome, Option<State>) {
        let Some(pending) = &mut self.pending else {
            return (Lookup::Absent, event.step(work.machine, Lookup::Absent), None);
        };
        let step = match pending.visit(work, event) {
            Visit::Settled(step) => step,
            Visit::Open(visit) => self.decide(work, index, event, visit),
        };
        self.stats.resets_ignored += u64::from(step.is_resumed);
        if let Next::Go(state) = step.outcome.next {
            self.stats.entered[state.index()] += 1;
        }
        (step.answer, step.outcome, step.state)
    }

    /// Admits a flow to the store if it belongs there and there is room.
    #[inline(never)]
    fn decide(
        &mut self,
        work: &ShardWork<'_>,
        index: usize,
        event: &Event,
        mut visit: PendingVisit,
    ) -> PendingStep {
        let place = self.place(index);
        let StoreShard { store, pending: Some(pending), .. } = self else { return visit.step() };
        if visit.awaits_reverse() && has_reverse(store, work, event) {
            visit.reverse_is_stored();
        }
        let stamp = event.epoch.stamp();
        let admitted = match visit.state_to_admit(work) {
            Some(state) if store.has_room() => store.insert(&place, state, stamp),
            _ => Insertion::Full,
        };
        let step = pending.finish(work, event, visit, admitted != Insertion::Full);
        match admitted {
            Insertion::Stored { answer, .. } => self.wrote(index, answer, stamp),
            Insertion::Evicted => self.wrote(index, None, stamp),
            Insertion::Full => {}
        }
        if admitted != Insertion::Full && self.admits_both && work.rules.keyer.is_directed() {
            self.stats.refused += u64::from(!self.admit_reverse(work, event) && step.completes);
        }
        self.stats.refused += step.refused;
        step
    }

    /// Admits the flow of the other direction too, if it is pending: the evidence is that of both.
    /// Returns false if there is no room for it.
    fn admit_reverse(&mut self, work: &ShardWork<'_>, event: &Event) -> bool {
        let StoreShard { store, pending: Some(pending), .. } = self else { return true };
        let Some(state) = pending.reverse_to_admit(work, event) else { return true };
        let Some(place) = reverse_place(store, work, event) else { return true };
        let stamp = event.epoch.stamp();
        if !store.has_room() || store.insert(&place, state, stamp) == Insertion::Full {
            return false;
        }
        pending.admitted_reverse(event);
        self.wrote_at(&place);
        true
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

/// Whether the flow of the other direction is in a store.
#[cold]
fn has_reverse<S: Store<Key: PacketKey>>(
    store: &mut S,
    work: &ShardWork<'_>,
    event: &Event,
) -> bool {
    reverse_place(store, work, event).is_some_and(|place| store.has(&place, event.epoch))
}

/// The place of the flow of the other direction.
fn reverse_place<S: Store<Key: PacketKey>>(
    store: &S,
    work: &ShardWork<'_>,
    event: &Event,
) -> Option<S::Place> {
    let packet = work.packets.get(event.index as usize)?;
    let key = S::Key::of(&work.rules.keyer, packet).reversed();
    Some(store.locate(event.id.reverse(), key))
}
