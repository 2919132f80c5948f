//! Equations (1)–(3): filters that are emptied after N messages.

use super::filter::Filter;
use crate::special::{any_of, power};

/// Sums longer than this are integrals.
const TERMS_MAX: f64 = 100_000.0;
const INTERVALS: u32 = 4096;

/// f_w: the rate for the message after the first `messages`, equation (1).
///
/// (1 − (1 − 1/M)^{kn})^k: slightly too low (by Jensen's inequality; Bose et al. 2008), by up to a
/// few per cent at M = 1000.
pub fn worst(bits: f64, hashes: usize, messages: f64) -> f64 {
    power(any_of(hashes as f64 * messages, 1.0 / bits), hashes)
}

/// f_o: the average rate of N messages if all are counted, seen or not; equation (2).
///
/// The i-th message finds i − 1 others. Beyond 10^5 messages the sum is an integral.
pub fn oracle(bits: f64, hashes: usize, messages: f64) -> f64 {
    mean_over(messages, |found| worst(bits, hashes, found))
}

/// f_a: a lower bound for the average rate if only the N messages that set bits are counted;
/// equation (3). Between two of these, p/(1 − p) messages that set none are expected.
///
/// ```
/// use acsm_model::recycling::n_bounded::{actual, oracle, worst};
///
/// let (f_w, f_o, f_a) = (worst(1e9, 7, 1e8), oracle(1e9, 7, 1e8), actual(1e9, 7, 1e8));
/// assert!(f_o < f_a && f_a < f_w);
/// ```
pub fn actual(bits: f64, hashes: usize, messages: f64) -> f64 {
    let unseen = mean_over(messages, |found| {
        let rate = worst(bits, hashes, found);
        rate / (1.0 - rate)
    });
    // Rates of 1 make both sums infinite, and the average 1.
    if unseen.is_finite() { unseen / (1.0 + unseen) } else { 1.0 }
}

/// What f_a bounds: the average rate if only messages that set bits are counted, and N of them
/// end the cycle. Follows the distribution of set bits from message to message: O(k²MN), for small
/// filters.
pub fn exact(filter: &Filter, messages: u64) -> f64 {
    let states = filter.bits as usize + 1;
    let rows: Vec<Vec<f64>> = (0..filter.bits).map(|set| filter.step(set)).collect();
    let mut odds = vec![0.0; states];
    odds.iter_mut().take(1).for_each(|first| *first = 1.0);
    let (mut unseen, mut seen) = (0.0, 0.0);
    for _ in 0..messages {
        let mut next = vec![0.0; states];
        for (set, (row, odds)) in rows.iter().zip(&odds).enumerate().filter(|(_, (_, o))| **o > 0.0)
        {
            let stays = row.first().copied().unwrap_or(0.0);
            unseen += odds * stays / (1.0 - stays);
            seen += odds;
            let above = next.iter_mut().skip(set + 1);
            let moves = row.iter().skip(1);
            above.zip(moves).for_each(|(next, chance)| *next += odds * chance / (1.0 - stays));
        }
        odds = next;
    }
    if seen > 0.0 { unseen / (seen + unseen) } else { 0.0 }
}

/// The mean of f(0), f(1), … f(count − 1).
fn mean_over(count: f64, f: impl Fn(f64) -> f64) -> f64 {
    if count < 1.0 {
        return f(0.0);
    }
    if count <= TERMS_MAX {
        return (0..count as u64).map(|i| f(i as f64)).sum::<f64>() / count.floor();
    }
    // Simpson's rule, and half a step at the ends (Euler–Maclaurin).
    let at = |point: u32| f(count * f64::from(point) / f64::from(INTERVALS));
    let weight = |point: u32| match point {
        0 | INTERVALS => 1.0,
        _ if point % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let sum: f64 = (0..=INTERVALS).map(|point| weight(point) * at(point)).sum();
    sum / f64::from(3 * INTERVALS) - (f(count) - f(0.0)) / (2.0 * count)
}

/// The most messages that keep an increasing `rate` at `wanted` or below; at least 0.
///
/// ```
/// use acsm_model::recycling::n_bounded::{most_messages, worst};
///
/// let most = most_messages(1e6, 0.01, |messages| worst(1e6, 7, messages));
/// assert!((most / 1e6 - 0.1043).abs() < 1e-4);
/// ```
pub fn most_messages(bits: f64, wanted: f64, rate: impl Fn(f64) -> f64) -> f64 {
    crate::special::solve_increasing((0.0, 64.0 * bits), wanted, rate)
}
