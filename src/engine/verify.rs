//! The exact shadow: the same packets through an exact table, and how often the store differed.
//!
//! Closed loop: store and shadow each step from their own answer, so that an error of the store
//! can lead to others; that is what a user gets. The shadow forgets by the store's rule, so aging
//! and recycling are never counted as errors: it takes the store's own epochs, shard by shard.

use std::collections::HashMap;

use super::event::Event;
use super::worker::{is_half_open, write};
use crate::flow::{FlowId, FlowKey};
use crate::machine::{Machine, RuleSet};
use crate::spec::{Backend, Expire, StoreSpec};
use crate::state::{Lookup, State};
use crate::store::{Epoch, Exact, Flow, Stamp, Store, StoreError};

/// Flows that the shadows of all shards have room for before they first grow.
const FIRST_FLOWS: u64 = 1 << 16;

/// How often the store was wrong, before the step, at every lookup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    /// Lookups of flows that exist.
    pub lookups_extant: u64,
    /// Lookups of flows that do not.
    pub lookups_absent: u64,
    /// The flow does not exist, and a state was told.
    pub false_positive: u64,
    /// The flow does not exist, and the store could not tell.
    pub dont_know_absent: u64,
    /// The flow exists, and was not found.
    pub false_negative: u64,
    /// The flow exists, and its state could not be told.
    pub dont_know: u64,
    /// The flow exists, and a wrong state was told.
    pub false_return: u64,
    /// Flows with any error.
    pub flows_wrong: u64,
    /// All flows.
    pub flows_total: u64,
}

impl Errors {
    /// Counts one answer against the truth; says whether it was wrong.
    fn count(&mut self, answer: Lookup, truth: Lookup) -> bool {
        let counter = match truth {
            Lookup::Known(state) => {
                self.lookups_extant += 1;
                match answer {
                    Lookup::Known(told) if told == state => return false,
                    Lookup::Known(_) => &mut self.false_return,
                    Lookup::Absent => &mut self.false_negative,
                    Lookup::DontKnow => &mut self.dont_know,
                }
            }
            // An exact table always knows.
            Lookup::Absent | Lookup::DontKnow => {
                self.lookups_absent += 1;
                match answer {
                    Lookup::Absent => return false,
                    Lookup::Known(_) => &mut self.false_positive,
                    Lookup::DontKnow => &mut self.dont_know_absent,
                }
            }
        };
        *counter += 1;
        true
    }

    /// Adds another worker's counts: its flows are different ones.
    pub fn merge(&mut self, other: &Errors) {
        self.lookups_extant += other.lookups_extant;
        self.lookups_absent += other.lookups_absent;
        self.false_positive += other.false_positive;
        self.dont_know_absent += other.dont_know_absent;
        self.false_negative += other.false_negative;
        self.dont_know += other.dont_know;
        self.false_return += other.false_return;
        self.flows_wrong += other.flows_wrong;
        self.flows_total += other.flows_total;
    }

    /// Errors of every kind.
    pub fn total(&self) -> u64 {
        self.false_positive
            + self.dont_know_absent
            + self.false_negative
            + self.dont_know
            + self.false_return
    }

    /// Lookups of every kind.
    pub fn lookups(&self) -> u64 {
        self.lookups_extant + self.lookups_absent
    }
}

/// The exact shadow of one worker's shards.
pub struct Verifier {
    /// By shard: each forgets at its own time.
    shadows: Vec<Exact>,
    expire: Expire,
    /// Whether the flow that makes a store recycle is the first of its next cycle.
    retains: bool,
    half_open: [bool; State::LIMIT],
    /// Every flow that ever was, and whether the store was ever wrong about it.
    flows: HashMap<FlowKey, bool>,
    errors: Errors,
    scope: Scope,
}

/// Which packets the shadow takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All: to count errors.
    Everything,
    /// Those of the watched flow: to show the truth beside each step.
    Watched,
}

impl Verifier {
    /// A shadow for flows of `machine` that forgets as `store` does.
    pub fn new(machine: &Machine, store: &StoreSpec, scope: Scope) -> Result<Verifier, StoreError> {
        let mut spec = StoreSpec::new(Backend::Exact, machine.states().len());
        spec.flows = FIRST_FLOWS;
        let sizing = spec.sizing()?;
        let forgets = store.expire != Expire::None;
        let shadow = |_| Exact::growing(&sizing, forgets);
        Ok(Verifier {
            shadows: (0..FlowId::SHARDS).map(shadow).collect::<Result<_, _>>()?,
            expire: store.expire,
            retains: store.expire == Expire::Recycle && store.retain,
            half_open: machine.half_open(),
            flows: HashMap::new(),
            errors: Errors::default(),
            scope,
        })
    }

    /// Whether the shadow takes this packet.
    pub fn follows(&self, event: &Event) -> bool {
        self.scope == Scope::Everything || event.watched
    }

    /// Compares the store's answer with the truth, then lets the shadow take the packet. `before`
    /// and `after` are the store's epochs at its lookup and after its write: they differ if it
    /// recycled. Returns the truth and the alerts that follow from it.
    pub fn check(
        &mut self,
        flow: &Flow,
        event: &Event,
        answer: Lookup,
        (before, after): (Epoch, Epoch),
        machine: &Machine,
    ) -> (Lookup, RuleSet) {
        let shadow = &mut self.shadows[event.id.shard()];
        let place = shadow.locate(flow);
        let truth = shadow.lookup(&place, before);
        let wrong = self.errors.count(answer, truth);
        *self.flows.entry(flow.key).or_default() |= wrong;
        let outcome = event.step(machine, truth);
        let stamp = |state| -> Stamp {
            match self.expire {
                Expire::Timer => event.tick().stamp(is_half_open(&self.half_open, state)),
                _ => before.stamp(),
            }
        };
        let now_in = write(shadow, &place, truth, outcome.next, &stamp, before);
        if let Some(state) = now_in.filter(|_| self.retains && before != after) {
            shadow.insert(&place, state, after.stamp());
        }
        (truth, outcome.alerts)
    }

    /// What was counted; `None` if the shadow did not take everything.
    pub fn finish(mut self) -> Option<Errors> {
        self.errors.flows_total = self.flows.len() as u64;
        self.errors.flows_wrong = self.flows.values().filter(|wrong| **wrong).count() as u64;
        (self.scope == Scope::Everything).then_some(self.errors)
    }
}
