//! `dbf`: a Bloom filter whose elements are (flow, state); ACSM 2006 §3.1.

use crate::special::{any_of, power};
use crate::{ErrorRates, FlowCells};

/// One test of an element that is not there: (1 − e^{−kn/m})^k.
///
/// (The available text of the paper reads 1 − e^{kn/m}, without the sign.)
pub fn false_positive_of_one_test(cells: &FlowCells) -> f64 {
    cells.all(|counts| counts.at_least(1))
}

/// 1 − (1 − f)^{s−1}: the probability that one of a flow's other states tests positive as well.
///
/// (The paper calls it "the probability of not having a false positive".)
pub fn dont_know(f: f64, states: usize) -> f64 {
    any_of(states.saturating_sub(1) as f64, f)
}

/// s (0.6)^{m/n}: that probability at the best k, as the paper rounds it. Correct is
/// (s − 1) · 0.6185^{m/n}, which is 1.3 times more at m/n = 14 and s = 6.
pub fn dont_know_as_printed(cells_per_flow: f64, states: usize) -> f64 {
    states as f64 * 0.6_f64.powf(cells_per_flow)
}

/// Errors of a lookup that tests all states. The tests of one lookup are taken for independent.
///
/// ```
/// use acsm_model::{FlowCells, dbf};
///
/// let errors = dbf::errors(&FlowCells::at_load(7, 0.7), 6);
/// assert!((errors.dont_know / errors.false_positive - 5.0 / 6.0).abs() < 0.05);
/// ```
pub fn errors(cells: &FlowCells, states: usize) -> ErrorRates {
    let f = false_positive_of_one_test(cells);
    let count = states as f64;
    let one = count * f * power(1.0 - f, states.saturating_sub(1));
    // 1 − (1 − f)^s − one, as a sum of what is positive.
    let two_or_more =
        (2..=states).map(|hits| crate::special::binomial(hits as f64, count, f)).sum();
    ErrorRates {
        false_positive: one,
        dont_know_absent: two_or_more,
        dont_know: dont_know(f, states),
        ..ErrorRates::default()
    }
}
