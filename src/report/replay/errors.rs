//! The errors of a store against its exact shadow, with a rate for each kind.

use serde::Serialize;

use crate::engine::{AlertDifference, Errors};

/// ERRORS of the contract. A rate whose denominator is 0 is 0: nothing was asked, nothing erred.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)] // named in the contract; counted as `Errors` says
pub struct ErrorReport {
    pub lookups_extant: u64,
    pub lookups_absent: u64,
    pub false_positive: u64,
    pub dont_know_absent: u64,
    pub false_negative: u64,
    pub dont_know: u64,
    pub false_return: u64,
    pub false_positive_rate: f64,
    pub dont_know_absent_rate: f64,
    pub false_negative_rate: f64,
    pub dont_know_rate: f64,
    pub false_return_rate: f64,
    pub total_rate: f64,
    pub flows_wrong: u64,
    pub flows_total: u64,
    pub alerts_missed: u64,
    pub alerts_spurious: u64,
}

impl ErrorReport {
    /// The rates of `errors`, and how alerts differed.
    pub fn new(errors: &Errors, alerts: AlertDifference) -> Self {
        let rate =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let of_absent = |part| rate(part, errors.lookups_absent);
        let of_extant = |part| rate(part, errors.lookups_extant);
        ErrorReport {
            lookups_extant: errors.lookups_extant,
            lookups_absent: errors.lookups_absent,
            false_positive: errors.false_positive,
            dont_know_absent: errors.dont_know_absent,
            false_negative: errors.false_negative,
            dont_know: errors.dont_know,
            false_return: errors.false_return,
            false_positive_rate: of_absent(errors.false_positive),
            dont_know_absent_rate: of_absent(errors.dont_know_absent),
            false_negative_rate: of_extant(errors.false_negative),
            dont_know_rate: of_extant(errors.dont_know),
            false_return_rate: of_extant(errors.false_return),
            total_rate: rate(errors.total(), errors.lookups()),
            flows_wrong: errors.flows_wrong,
            flows_total: errors.flows_total,
            alerts_missed: alerts.missed,
            alerts_spurious: alerts.spurious,
        }
    }
}
