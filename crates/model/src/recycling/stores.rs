//! Stores of states that recycle: errors averaged over a cycle, and errors of two halves.
//!
//! What the recycling paper does for membership, for all kinds of errors: a store fills with flows
//! at a constant rate from empty to its threshold, and lookups come at any time.

use crate::ErrorRates;

/// Intervals of Simpson's rule.
const INTERVALS: u32 = 64;

/// The mean errors of a store that fills from empty to `flows` and is then emptied.
///
/// ```
/// use acsm_model::recycling::over_cycle;
/// use acsm_model::{FlowCells, dbf};
///
/// let at = |flows: f64| dbf::errors(&FlowCells::at_load(7, 7.0 * flows / 1e6), 6);
/// assert!(over_cycle(1e5, at).false_positive < 0.3 * at(1e5).false_positive);
/// ```
pub fn over_cycle(flows: f64, errors_at: impl Fn(f64) -> ErrorRates) -> ErrorRates {
    let mut mean = ErrorRates::default();
    for point in 0..=INTERVALS {
        let weight = match point {
            0 | INTERVALS => 1.0,
            _ if point % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let errors = errors_at(flows * f64::from(point) / f64::from(INTERVALS));
        mean = mean.plus(&errors, weight / f64::from(3 * INTERVALS));
    }
    mean
}

/// An active and a frozen store, asked in this order: the second where the first says absent.
///
/// `in_frozen` is the part of the lookups of flows whose flow is only in the frozen store yet. Where
/// such a flow is found in the active store, its state is taken for wrong.
pub fn two_phase(active: &ErrorRates, frozen: &ErrorRates, in_frozen: f64) -> ErrorRates {
    let passed_on = 1.0 - active.of_absent();
    let lost = active.false_negative;
    // A flow of the active store that it denies is absent from the frozen one.
    let own = ErrorRates {
        false_negative: lost * (1.0 - frozen.of_absent()),
        dont_know: active.dont_know + lost * frozen.dont_know_absent,
        false_return: active.false_return + lost * frozen.false_positive,
        ..ErrorRates::default()
    };
    let old = ErrorRates {
        false_negative: passed_on * frozen.false_negative,
        dont_know: active.dont_know_absent + passed_on * frozen.dont_know,
        false_return: active.false_positive + passed_on * frozen.false_return,
        ..ErrorRates::default()
    };
    ErrorRates {
        false_positive: active.false_positive + passed_on * frozen.false_positive,
        dont_know_absent: active.dont_know_absent + passed_on * frozen.dont_know_absent,
        ..ErrorRates::default()
    }
    .plus(&own, 1.0 - in_frozen)
    .plus(&old, in_frozen)
}
