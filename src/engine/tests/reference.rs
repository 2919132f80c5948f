//! The loop of a shard written once more, slowly: every event looks the store up and writes it, and
//! nothing is cached.

use super::super::base_rates::BaseRates;
use super::super::batch::Event;
use super::super::shard::PacketKey;
use super::super::shard::ShardWork;
use crate::machine::{Next, Outcome, RuleId};
use acsm_filters::{Epoch, Found, Lookup, State, Store};

/// One event as the loop saw it: what [`Answer`](super::super::shard::Answer) says.
pub type Answered = (Lookup, Outcome, (Epoch, Epoch));

/// An alert: packet, rule, answer, state of the flow after it, bits of the confidence.
pub type Alerted = (u32, RuleId, Lookup, Option<State>, u64);

/// A store and what the loop remembers between events.
pub struct Reference<S> {
    pub store: S,
    epoch: Epoch,
    events: u64,
    /// As of the first alert since the last sweep.
    false_positive_chance: Option<f64>,
    base_rates: BaseRates,
    pub answers: Vec<Answered>,
    pub alerts: Vec<Alerted>,
    pub entered: [u64; State::LIMIT],
}

impl<S: Store<Key: PacketKey>> Reference<S> {
    pub fn new(store: S) -> Self {
        let (epoch, entered) = (Epoch(0), [0; State::LIMIT]);
        Reference {
            store,
            epoch,
            events: 0,
            false_positive_chance: None,
            base_rates: BaseRates::default(),
            answers: vec![],
            alerts: vec![],
            entered,
        }
    }

    /// Moves on to an epoch; a gap of more than one clears the store.
    pub fn advance_to(&mut self, epoch: Epoch) {
        if epoch.0 > self.epoch.0 + 1 {
            self.sweep_all(epoch);
            self.false_positive_chance = None;
        }
        self.epoch = self.epoch.max(epoch);
    }

    pub fn sweep_all(&mut self, now: Epoch) {
        while self.store.sweep(now, usize::MAX) > 0 {}
    }

    pub fn process(&mut self, work: &ShardWork<'_>) {
        for event in work.events {
            self.event(work, event);
        }
    }

    fn event(&mut self, work: &ShardWork<'_>, event: &Event) {
        self.advance_to(event.epoch);
        let key = S::Key::of(&work.rules.keyer, &work.packets[event.index as usize]);
        let place = self.store.locate(event.id, key);
        let before = self.store.epoch(event.epoch);
        let found = self.store.lookup(&place, event.epoch);
        let outcome = event.step(work.machine, found.answer);
        if let Next::Go(state) = outcome.next {
            self.entered[state.index()] += 1;
        }
        let basis = work.given.map_or(found.answer, |truths| truths[event.index as usize]);
        let next = event.step(work.machine, basis).next;
        let state = self.write(work, event, &place, (Found { answer: basis, ..found }, next));
        self.events += 1;
        if self.events.is_multiple_of(64) {
            self.store.sweep(event.epoch, 256);
            self.false_positive_chance = None;
        }
        if found.answer == Lookup::Absent {
            self.base_rates.absent(event.flags);
        }
        let chance = match found.answer {
            Lookup::Known(_) if !outcome.alerts.is_empty() => {
                let chance = || self.store.stats().false_positive_chance;
                *self.false_positive_chance.get_or_insert_with(chance)
            }
            _ => 0.0,
        };
        for rule in outcome.alerts.intersection(work.rules.shown).iter() {
            let confidence = match found.answer {
                Lookup::DontKnow => 0.0,
                _ => self.base_rates.confidence(rule, event.flags, chance),
            };
            self.alerts.push((event.index, rule, found.answer, state, confidence.to_bits()));
        }
        self.answers.push((found.answer, outcome, (before, self.store.epoch(event.epoch))));
    }

    /// Returns the state of the flow afterwards, if known.
    fn write(
        &mut self,
        work: &ShardWork<'_>,
        event: &Event,
        place: &S::Place,
        (found, next): (Found<S::Handle>, Next),
    ) -> Option<State> {
        let now = event.epoch;
        let stamp =
            |state: State| match work.rules.half_open[state.index()] && !event.tick().is_late {
                true => now.half_stamp(),
                false => now.stamp(),
            };
        let blind = S::WRITES_WITHOUT_OLD_STATE;
        match (found.answer, next) {
            (Lookup::Absent, Next::Go(state)) => {
                self.store.insert(place, state, stamp(state));
                Some(state)
            }
            (Lookup::Absent, _) => {
                if work.rules.touch_absent {
                    self.store.touch(place, &found, now.stamp());
                }
                None
            }
            (Lookup::Known(state), Next::Keep) => {
                self.store.touch(place, &found, stamp(state));
                Some(state)
            }
            (answer, Next::Go(state)) if answer != Lookup::DontKnow || blind => {
                self.store.modify(place, &found, state, stamp(state));
                Some(state)
            }
            (answer, Next::Delete) if answer != Lookup::DontKnow || blind => {
                self.store.delete(place, &found, now);
                None
            }
            _ => {
                self.store.touch(place, &found, now.stamp());
                None
            }
        }
    }
}
