//! Errors of a store: how an answer can be wrong, and how often it was.

use acsm_filters::Lookup;

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

/// How often a store was wrong: at every lookup, before the step.
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
    /// Counts one answer against the truth; returns whether it was wrong.
    pub(super) fn count(&mut self, answer: Lookup, truth: Lookup) -> bool {
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

    /// Adds the counts of another shard, whose flows are different ones.
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
