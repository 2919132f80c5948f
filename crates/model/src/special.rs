//! Probabilities of counts that stay exact for billions of trials.
//!
//! Differences of log-factorials lose all digits at n = 10^10 (ln n! is 2·10^11). Loader's
//! saddle-point form ("Fast and accurate computation of binomial probabilities", 2000) has no
//! such differences: its relative error stays near 10^−14 for any n.

use std::f64::consts::TAU;

/// Counts with a larger mean are taken for their mean.
const MEAN_MAX: f64 = 1e9;

/// ln n! − ln(√(2πn) (n/e)^n): what Stirling's formula lacks. `n` is a whole number; 0 gives 0.
fn stirling_error(n: f64) -> f64 {
    if n < 0.5 {
        return 0.0;
    }
    if n < 16.0 {
        let ln_factorial: f64 = (2..=n as u32).map(|i| f64::from(i).ln()).sum();
        return ln_factorial - (n + 0.5) * n.ln() + n - 0.5 * TAU.ln();
    }
    let square = n * n;
    let tail = (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square;
    (1.0 / 12.0 - (1.0 / 360.0 - tail) / square) / n
}

/// x ln(x/mean) + mean − x, without cancellation where x is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    let ratio = difference / (x + mean);
    let mut sum = difference * ratio;
    let mut term = 2.0 * x * ratio;
    for i in 1..1000 {
        term *= ratio * ratio;
        let next = sum + term / f64::from(2 * i + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// ln n! for whole n ≥ 0, to about 15 digits.
///
/// ```
/// use acsm_model::special::ln_factorial;
///
/// assert!((ln_factorial(20.0) - 2_432_902_008_176_640_000_f64.ln()).abs() < 1e-13);
/// ```
pub fn ln_factorial(n: f64) -> f64 {
    if n < 1.5 {
        return 0.0;
    }
    stirling_error(n) + (n + 0.5) * n.ln() - n + 0.5 * TAU.ln()
}

/// The probability of exactly `x` events where `mean` are expected. `x` is a whole number.
///
/// ```
/// use acsm_model::special::poisson;
///
/// assert!((poisson(2.0, 1.0) - (-1.0_f64).exp() / 2.0).abs() < 1e-16);
/// ```
pub fn poisson(x: f64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return f64::from(u8::from(x == 0.0));
    }
    if x <= 0.0 {
        return (-mean).exp();
    }
    (-stirling_error(x) - deviance(x, mean)).exp() / (TAU * x).sqrt()
}

/// The probability of exactly `x` successes in `trials`, each with probability `p`. `x` and `trials`
/// are whole numbers; 0 ≤ p ≤ 1.
///
/// ```
/// use acsm_model::special::binomial;
///
/// assert!((binomial(2.0, 4.0, 0.5) - 6.0 / 16.0).abs() < 1e-15);
/// ```
pub fn binomial(x: f64, trials: f64, p: f64) -> f64 {
    if x < 0.0 || x > trials {
        return 0.0;
    }
    if p <= 0.0 {
        return f64::from(u8::from(x == 0.0));
    }
    if p >= 1.0 {
        return f64::from(u8::from(x == trials));
    }
    if x == 0.0 {
        return (trials * (-p).ln_1p()).exp();
    }
    if x == trials {
        return (trials * p.ln()).exp();
    }
    let rest = trials - x;
    let exponent = stirling_error(trials)
        - stirling_error(x)
        - stirling_error(rest)
        - deviance(x, trials * p)
        - deviance(rest, trials * (1.0 - p));
    exponent.exp() * (trials / (TAU * x * rest)).sqrt()
}

/// Σ P(X = x) f(x) for X binomial: all x with a probability above about 10^−30, scaled for those
/// left out.
///
/// Takes O(√(trials·p)) calls of `f`.
pub fn binomial_mean(trials: f64, p: f64, f: impl FnMut(f64) -> f64) -> f64 {
    mean_near(trials * p, trials, |x| binomial(x, trials, p), f)
}

/// Σ P(X = x) f(x) for X Poisson with this mean. Takes O(√mean) calls of `f`.
pub fn poisson_mean(mean: f64, f: impl FnMut(f64) -> f64) -> f64 {
    mean_near(mean, f64::INFINITY, |x| poisson(x, mean), f)
}

/// A Poisson or binomial count with this mean exceeds this with a probability below 10^−30: twelve
/// standard deviations, and some more for the tails of small means.
pub(crate) fn reach(mean: f64) -> f64 {
    mean + 12.0 * mean.max(0.0).sqrt() + 40.0
}

fn mean_near(
    mean: f64,
    most: f64,
    chance: impl Fn(f64) -> f64,
    mut f: impl FnMut(f64) -> f64,
) -> f64 {
    if mean > MEAN_MAX {
        return f(mean);
    }
    let first = (2.0 * mean - reach(mean)).max(0.0).floor();
    let last = reach(mean).min(most).ceil();
    if !last.is_finite() {
        return f64::NAN;
    }
    let (mut x, mut sum, mut weight) = (first, 0.0, 0.0);
    while x <= last {
        let chance = chance(x);
        weight += chance;
        if chance > 0.0 {
            sum += chance * f(x);
        }
        x += 1.0;
    }
    if weight > 0.0 { sum / weight } else { 0.0 }
}

/// 1 − (1 − p)^n without cancellation: the probability that at least one of n events happens.
pub fn any_of(n: f64, p: f64) -> f64 {
    if p >= 1.0 { f64::from(u8::from(n > 0.0)) } else { -(n * (-p).ln_1p()).exp_m1() }
}

/// z^k for a probability and a number of hashes.
pub(crate) fn power(z: f64, k: usize) -> f64 {
    z.max(0.0).powi(i32::try_from(k).unwrap_or(i32::MAX))
}

/// The x in [low, high] where the increasing function `f` reaches `wanted`; the nearer end if it
/// does not.
pub(crate) fn solve_increasing(
    (low, high): (f64, f64),
    wanted: f64,
    f: impl Fn(f64) -> f64,
) -> f64 {
    let (mut low, mut high) = (low, high);
    if f(high) <= wanted {
        return high;
    }
    // 200 halvings exhaust any f64 interval.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if f(middle) <= wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The largest number up to `most` for which `holds`, where it holds for all smaller ones; `None` if
/// it does not hold for 0.
pub(crate) fn largest(most: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(0) {
        return None;
    }
    let (mut good, mut bad) = (0, most.saturating_add(1));
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}
