//! The exact shadow: the same packets through an exact table, and how often the store differed.
//!
//! Closed loop: store and shadow each step from their own answer, so that an error of the store
//! can lead to others; that is what a user gets. The shadow ages by the store's rule, so aging is
//! never counted as an error.

use super::worker::{Event, is_half_open, write};
use crate::machine::{Machine, RuleSet};
use crate::state::{Lookup, State};
use crate::store::{Flow, History, Store, StoreError};

/// Flows that a shadow has room for before it first grows.
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
    shadow: History,
    half_open: [bool; State::LIMIT],
    /// Whether the store was ever wrong about a flow, by the shadow's number of it.
    wrong: Vec<bool>,
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
    /// A shadow for flows of `machine` that ages if `timed`.
    pub fn new(machine: &Machine, timed: bool, scope: Scope) -> Result<Verifier, StoreError> {
        let shadow = History::new(timed, FIRST_FLOWS)?;
        let half_open = machine.half_open();
        Ok(Verifier { shadow, half_open, wrong: Vec::new(), errors: Errors::default(), scope })
    }

    /// Whether the shadow takes this packet.
    pub fn follows(&self, event: &Event) -> bool {
        self.scope == Scope::Everything || event.watched
    }

    /// Compares the store's answer with the truth, then lets the shadow take the packet. Returns
    /// the truth and the alerts that follow from it.
    pub fn check(
        &mut self,
        flow: &Flow,
        event: &Event,
        answer: Lookup,
        machine: &Machine,
    ) -> (Lookup, RuleSet) {
        let place = self.shadow.locate(flow);
        let truth = self.shadow.lookup(&place, event.tick.epoch);
        let wrong = self.errors.count(answer, truth);
        if wrong {
            self.wrong.resize(self.shadow.flows(), false);
            if let Some(flow) = self.wrong.get_mut(self.shadow.flow() as usize) {
                *flow = true;
            }
        }
        let outcome = event.step(machine, truth);
        let stamp = |state| event.tick.stamp(is_half_open(&self.half_open, state));
        write(&mut self.shadow, &place, truth, outcome.next, &stamp, event.tick.epoch);
        (truth, outcome.alerts)
    }

    /// What was counted; `None` if the shadow did not take everything.
    pub fn finish(mut self) -> Option<Errors> {
        self.errors.flows_total = self.shadow.flows() as u64;
        self.errors.flows_wrong = self.wrong.iter().filter(|wrong| **wrong).count() as u64;
        (self.scope == Scope::Everything).then_some(self.errors)
    }
}
