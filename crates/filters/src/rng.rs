//! Seeded randomness with output that never changes: the same seed gives the same bytes, on every
//! machine and in every version.

use crate::digest::{GOLDEN, mix};

/// A SplitMix64 generator (Steele, Lea, Flood 2014): small, fast, full period, any seed is good.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator for `seed`.
    pub const fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// An independent generator for one purpose, so that drawing more for one thing does not
    /// change what another thing gets.
    pub const fn for_purpose(seed: u64, purpose: u64) -> Self {
        Random { state: mix(seed ^ mix(purpose.wrapping_add(GOLDEN))) }
    }

    /// 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number below `bound` (0 for a bound of 0); its bias is below `bound` / 2^64.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// A number in [0, 1).
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`.
    pub const fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_splitmix64s() {
        // First outputs for seed 1234567, from the reference implementation.
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn bounds_hold_and_means_are_right() {
        let mut random = Random::for_purpose(1, 2);
        let n = 100_000;
        let mut sum = 0.0;
        for _ in 0..n {
            assert!(random.below(10) < 10);
            let unit = random.unit();
            assert!((0.0..1.0).contains(&unit));
            sum += unit;
        }
        // The mean of n uniforms has standard deviation 1/sqrt(12 n); five of them.
        assert!((sum / n as f64 - 0.5).abs() < 5.0 / (12.0 * n as f64).sqrt());
        assert_eq!(random.below(0), 0);
    }
}
