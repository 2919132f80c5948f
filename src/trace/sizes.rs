//! Heavy-tailed sizes that add up to an exact total.

use acsm_filters::rng::Random;

/// Sizes of flows: a Pareto distribution with exponent 8/7 (Crovella and Bestavros 1997 measured
/// around 1.1), from 1 to about 178,000.
///
/// Square roots are all it takes. They are exact on every machine, as `powf` and `ln` are not, and
/// a seed has to give the same trace everywhere.
pub fn heavy_tailed_size(random: &mut Random) -> f64 {
    let tail = REST_OF_TAIL + random.unit() * (1.0 - REST_OF_TAIL);
    tail.sqrt().sqrt().sqrt() / tail
}

/// The share of the unbounded distribution that is cut off.
const REST_OF_TAIL: f64 = 1e-6;

/// A wait with this mean, mostly shorter, sometimes much longer (Lomax with exponent 2).
pub fn heavy_tailed_wait(random: &mut Random, mean_nanos: u64) -> u64 {
    let tail = 1.0 - random.unit();
    ((1.0 / tail.sqrt() - 1.0) * mean_nanos as f64) as u64
}

/// Something between `least` and `most`, as often in one octave as half as much in the one below.
pub fn mostly_small(random: &mut Random, least: f64, most: f64) -> f64 {
    least / (1.0 - random.unit() * (1.0 - least / most))
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
        for (count, total) in [(1, 0), (1, 7), (1000, 3), (100_000, 12_345_678)] {
            let weights = || {
                let mut random = Random::new(5);
                (0..count).map(move |_| heavy_tailed_size(&mut random))
            };
            let mut apportion = Apportion::new(total, weights().sum());
            let given: u64 = weights().map(|weight| apportion.share(weight)).sum();
            assert_eq!(given, total);
        }
    }

    /// How many of `n` draws are below the median: binomial with p = 1/2, five deviations.
    fn has_median(n: usize, median: f64, mut draw: impl FnMut() -> f64) -> bool {
        let below = (0..n).filter(|_| draw() < median).count() as f64;
        (below - n as f64 / 2.0).abs() < 5.0 * (n as f64 / 4.0).sqrt()
    }

    #[test]
    fn distributions_have_their_medians_and_bounds() {
        let random = &mut Random::new(1);
        assert!(has_median(100_000, 2f64.powf(7.0 / 8.0), || heavy_tailed_size(random)));
        assert!(has_median(100_000, 2.0 / (1.0 + 0.01), || mostly_small(random, 1.0, 100.0)));
        let median_nanos = (2f64.sqrt() - 1.0) * 1e9;
        assert!(
            has_median(100_000, median_nanos, || heavy_tailed_wait(random, 1_000_000_000) as f64)
        );
        let sizes: Vec<f64> = (0..100_000).map(|_| heavy_tailed_size(random)).collect();
        assert!(sizes.iter().all(|size| (1.0..178_000.0).contains(size)));
        assert!(sizes.iter().any(|size| *size > 1e3), "a heavy tail");
    }
}
