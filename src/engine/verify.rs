//! The exact shadow: the same packets through an exact table, and how often the store differed.
//!
//! Closed loop: store and shadow each step from their own answer, so that an error of the store
//! can lead to others; that is what a user gets. The shadow forgets by the store's rule, so aging
//! and recycling are never counted as errors: it takes the store's own epochs, shard by shard.

use super::event::Event;
use super::worker::{is_half_open, write};
use crate::flow::FlowId;
use crate::machine::{Machine, RuleSet};
use acsm_filters::{Epoch, Flow, History, Stamp, Store, StoreError};
use acsm_filters::{Expire, StoreSpec};
use acsm_filters::{Lookup, State};

/// Flows that the shadow of a shard has room for before it first grows.
const FIRST_FLOWS: usize = 1 << 12;

/// How an answer can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The flow does not exist, and a state was told.
    FalsePositive,
    /// The flow does not exist, and the store could not tell.
    DontKnowAbsent,
    /// The flow exists, and was not found.
    FalseNegative,
    /// The flow exists, and its state could not be told.
    DontKnow,
    /// The flow exists, and a wrong state was told.
    FalseReturn,
}

impl ErrorKind {
    /// How many kinds there are.
    pub const COUNT: usize = 5;

    /// What is wrong with `answer`, if anything is. An exact table always knows.
    #[inline]
    pub fn of(answer: Lookup, truth: Lookup) -> Option<ErrorKind> {
        match (truth, answer) {
            (Lookup::Known(state), Lookup::Known(told)) if told == state => None,
            (Lookup::Known(_), Lookup::Known(_)) => Some(ErrorKind::FalseReturn),
            (Lookup::Known(_), Lookup::Absent) => Some(ErrorKind::FalseNegative),
            (Lookup::Known(_), Lookup::DontKnow) => Some(ErrorKind::DontKnow),
            (_, Lookup::Absent) => None,
            (_, Lookup::Known(_)) => Some(ErrorKind::FalsePositive),
            (_, Lookup::DontKnow) => Some(ErrorKind::DontKnowAbsent),
        }
    }
}

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
        match truth {
            Lookup::Known(_) => self.lookups_extant += 1,
            Lookup::Absent | Lookup::DontKnow => self.lookups_absent += 1,
        }
        let error = ErrorKind::of(answer, truth);
        if let Some(kind) = error {
            *self.of_kind(kind) += 1;
        }
        error.is_some()
    }

    /// The counter of one kind of error.
    pub(super) fn of_kind(&mut self, kind: ErrorKind) -> &mut u64 {
        match kind {
            ErrorKind::FalsePositive => &mut self.false_positive,
            ErrorKind::DontKnowAbsent => &mut self.dont_know_absent,
            ErrorKind::FalseNegative => &mut self.false_negative,
            ErrorKind::DontKnow => &mut self.dont_know,
            ErrorKind::FalseReturn => &mut self.false_return,
        }
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
    shadows: Vec<Shadow>,
    expire: Expire,
    /// Whether the flow that makes a store recycle is the first of its next cycle.
    retains: bool,
    half_open: [bool; State::LIMIT],
    errors: Errors,
    scope: Scope,
}

/// The truth about one shard.
struct Shadow {
    flows: History,
    /// Whether the store was ever wrong about a flow, by its number in `flows`.
    wrong: Vec<bool>,
}

impl Shadow {
    /// Notes that the store was wrong about the flow looked up last.
    fn note_wrong(&mut self) {
        self.wrong.resize(self.flows.flows(), false);
        if let Some(flow) = self.wrong.get_mut(self.flows.flow() as usize) {
            *flow = true;
        }
    }
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
        let forgets = store.expire != Expire::None;
        let shadow = |_| {
            let flows = History::new(forgets, FIRST_FLOWS)?;
            Ok(Shadow { flows, wrong: Vec::new() })
        };
        Ok(Verifier {
            shadows: (0..FlowId::SHARDS).map(shadow).collect::<Result<_, StoreError>>()?,
            expire: store.expire,
            retains: store.expire == Expire::Recycle && store.retain,
            half_open: machine.half_open(),
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
        let place = shadow.flows.locate(flow);
        let truth = shadow.flows.lookup(&place, before);
        if self.errors.count(answer, truth) {
            shadow.note_wrong();
        }
        let outcome = event.step(machine, truth);
        let stamp = |state| -> Stamp {
            match self.expire {
                Expire::Timer => event.tick().stamp(is_half_open(&self.half_open, state)),
                _ => before.stamp(),
            }
        };
        let now_in = write(&mut shadow.flows, &place, truth, outcome.next, &stamp, before);
        if let Some(state) = now_in.filter(|_| self.retains && before != after) {
            shadow.flows.insert(&place, state, after.stamp());
        }
        (truth, outcome.alerts)
    }

    /// What was counted; `None` if the shadow did not take everything.
    pub fn finish(mut self) -> Option<Errors> {
        for Shadow { flows, wrong } in &self.shadows {
            self.errors.flows_total += flows.flows() as u64;
            self.errors.flows_wrong += wrong.iter().filter(|wrong| **wrong).count() as u64;
        }
        (self.scope == Scope::Everything).then_some(self.errors)
    }
}
