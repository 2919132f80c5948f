//! The kinds of error: what each is called, and where its figures are.

use crate::report::compare::Run;

/// A kind of error, or all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Total,
    FalsePositive,
    DontKnowAbsent,
    FalseNegative,
    DontKnow,
    FalseReturn,
}

impl Kind {
    pub const ALL: [Kind; 6] = [
        Kind::Total,
        Kind::FalsePositive,
        Kind::DontKnowAbsent,
        Kind::FalseNegative,
        Kind::DontKnow,
        Kind::FalseReturn,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Kind::Total => "All errors",
            Kind::FalsePositive => "False positive",
            Kind::DontKnowAbsent => "Don’t know, absent",
            Kind::FalseNegative => "False negative",
            Kind::DontKnow => "Don’t know",
            Kind::FalseReturn => "False return",
        }
    }

    /// What its rate is of.
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Total => "per lookup",
            Kind::FalsePositive | Kind::DontKnowAbsent => "per lookup of an absent flow",
            Kind::FalseNegative | Kind::DontKnow | Kind::FalseReturn => {
                "per lookup of an extant flow"
            }
        }
    }

    /// The name of its rate and of its interval in the report.
    pub fn rate_name(self) -> &'static str {
        match self {
            Kind::Total => "total_rate",
            Kind::FalsePositive => "false_positive_rate",
            Kind::DontKnowAbsent => "dont_know_absent_rate",
            Kind::FalseNegative => "false_negative_rate",
            Kind::DontKnow => "dont_know_rate",
            Kind::FalseReturn => "false_return_rate",
        }
    }

    pub fn rate(self, run: &Run) -> f64 {
        match self {
            Kind::Total => run.errors.total_rate,
            Kind::FalsePositive => run.errors.false_positive_rate,
            Kind::DontKnowAbsent => run.errors.dont_know_absent_rate,
            Kind::FalseNegative => run.errors.false_negative_rate,
            Kind::DontKnow => run.errors.dont_know_rate,
            Kind::FalseReturn => run.errors.false_return_rate,
        }
    }

    pub fn interval(self, run: &Run) -> [f64; 2] {
        match self {
            Kind::Total => run.interval.total_rate,
            Kind::FalsePositive => run.interval.false_positive_rate,
            Kind::DontKnowAbsent => run.interval.dont_know_absent_rate,
            Kind::FalseNegative => run.interval.false_negative_rate,
            Kind::DontKnow => run.interval.dont_know_rate,
            Kind::FalseReturn => run.interval.false_return_rate,
        }
    }

    /// How many lookups could have erred this way.
    pub fn asked(self, run: &Run) -> u64 {
        let errors = &run.errors;
        match self {
            Kind::Total => errors.lookups_absent.saturating_add(errors.lookups_extant),
            Kind::FalsePositive | Kind::DontKnowAbsent => errors.lookups_absent,
            Kind::FalseNegative | Kind::DontKnow | Kind::FalseReturn => errors.lookups_extant,
        }
    }
}
