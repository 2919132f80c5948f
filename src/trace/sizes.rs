//! Heavy-tailed sizes that add up to an exact total.

use crate::random::Random;

/// A bounded Pareto distribution on [1, `max`]: most are small, a few are huge.
#[derive(Debug, Clone, Copy)]
pub struct BoundedPareto {
    /// The tail's exponent; around 1.1 for the sizes of flows (Crovella and Bestavros 1997).
    pub alpha: f64,
    /// The largest value.
    pub max: f64,
}

impl BoundedPareto {
    /// Draws one value.
    pub fn sample(&self, random: &mut Random) -> f64 {
        let tail = 1.0 - self.max.powf(-self.alpha);
        (1.0 - random.unit() * tail).powf(-1.0 / self.alpha)
    }
}

/// Shares out a total in proportion to weights, in whole numbers that add up to it exactly.
///
/// The weights come one by one, in the order in which their sum was made.
#[derive(Debug, Clone)]
pub struct Apportion {
    total: u64,
    weight_sum: f64,
    weight_so_far: f64,
    given: u64,
}

impl Apportion {
    /// Shares out `total` over weights that add up to `weight_sum`.
    pub fn new(total: u64, weight_sum: f64) -> Self {
        Apportion { total, weight_sum, weight_so_far: 0.0, given: 0 }
    }

    /// The share of the next one.
    pub fn share(&mut self, weight: f64) -> u64 {
        self.weight_so_far += weight;
        let part = if self.weight_sum > 0.0 { self.weight_so_far / self.weight_sum } else { 0.0 };
        let given_then = ((part * self.total as f64) as u64).clamp(self.given, self.total);
        let share = given_then - self.given;
        self.given = given_then;
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_whatever_the_weights() {
        let pareto = BoundedPareto { alpha: 1.1, max: 1e6 };
        for (count, total) in [(1, 0), (1, 7), (1000, 3), (100_000, 12_345_678)] {
            let weights = || {
                let mut random = Random::new(5);
                (0..count).map(move |_| pareto.sample(&mut random))
            };
            let mut apportion = Apportion::new(total, weights().sum());
            let given: u64 = weights().map(|weight| apportion.share(weight)).sum();
            assert_eq!(given, total);
        }
    }

    #[test]
    fn pareto_has_its_median_and_bounds() {
        let pareto = BoundedPareto { alpha: 1.1, max: 1e6 };
        let mut random = Random::new(1);
        let n = 100_000;
        let median = 2f64.powf(1.0 / 1.1); // the bound moves it by less than 1e-6
        let samples: Vec<f64> = (0..n).map(|_| pareto.sample(&mut random)).collect();
        assert!(samples.iter().all(|x| (1.0..=1e6 + 1.0).contains(x)));
        let below = samples.iter().filter(|x| **x < median).count() as f64;
        // Binomial with p = 1/2: five standard deviations.
        assert!((below - n as f64 / 2.0).abs() < 5.0 * (n as f64 / 4.0).sqrt());
        assert!(samples.iter().any(|x| *x > 1e3), "a heavy tail");
    }
}
