//! Recycling of large filters, where only s = σ/M matters.
//!
//! A message sets k(1 − x) of M bits when the part x is set, so a cycle spends its messages with
//! density M / (k (1 − x)) on x. Hence, with L = −ln(1 − s),
//!
//! * f_σ¹ = ∫₀ˢ x^k/(1 − x) dx / L = Σ_{j>k} s^j/j / L,
//! * E\[N_0\] = M L / k,
//! * f_σ² = 1 − (1 − f_σ¹)(1 − s^k).
//!
//! The recursion differs from this in order k/σ: below 0.1 % at M = 10^5 and rates of practice.

use crate::special::{power, solve_increasing};

/// f_σ¹ for filters filled to the part `s` of their bits, 0 ≤ s < 1.
pub fn false_positive_rate(hashes: usize, s: f64) -> f64 {
    if s <= 0.0 {
        return 0.0;
    }
    if s >= 1.0 {
        return 1.0;
    }
    let length = -(-s).ln_1p();
    let term = |j: usize| power(s, j) / j as f64;
    if s > 0.9 {
        // Little cancels here, and the series would be long.
        return 1.0 - (1..=hashes).map(term).sum::<f64>() / length;
    }
    let (mut sum, mut j) = (0.0, hashes + 1);
    loop {
        let next = sum + term(j);
        if next <= sum || next.is_nan() {
            return sum / length;
        }
        (sum, j) = (next, j + 1);
    }
}

/// f_σ² of two filters, each filled to the part `s`.
pub fn two_phase_rate(hashes: usize, s: f64) -> f64 {
    let in_active = false_positive_rate(hashes, s);
    in_active + (1.0 - in_active) * power(s, hashes)
}

/// E\[N_0\] / M: messages of a cycle per bit of one filter.
pub fn messages_per_bit(hashes: usize, s: f64) -> f64 {
    -(-s).ln_1p() / hashes as f64
}

/// The part of bits to fill for an average rate.
///
/// ```
/// use acsm_model::recycling::limit;
///
/// let s = limit::largest_fill(5, 0.01);
/// assert!((limit::false_positive_rate(5, s) - 0.01).abs() < 1e-12);
/// ```
pub fn largest_fill(hashes: usize, rate: f64) -> f64 {
    solve_increasing((0.0, 1.0), rate, |s| false_positive_rate(hashes, s))
}

/// The part of bits to fill for an average rate of two phases.
pub fn largest_two_phase_fill(hashes: usize, rate: f64) -> f64 {
    solve_increasing((0.0, 1.0), rate, |s| two_phase_rate(hashes, s))
}
