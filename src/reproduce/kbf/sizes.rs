//! Keys and values as byte strings, with the sizes that the papers take from Facebook's Memcached pools.

use acsm_filters::rng::Random;

use super::filter::VALUES;
use crate::reproduce::Context;

/// GEV: μ, σ, k of key sizes in bytes.
const KEYS: [f64; 3] = [30.7984, 8.20449, 0.078_688];
/// GPD: σ, k of value sizes in bytes; θ is 0.
const VALUE_SIZES: [f64; 2] = [214.476, 0.348_238];
/// Memcached has no longer keys.
const KEY_BYTES_MAX: f64 = 250.0;
/// A limit to the tail of value sizes: Memcached's own.
const VALUE_BYTES_MAX: f64 = 1e6;
/// Purpose of random numbers.
const STRINGS: u64 = 0x7374_7269;

/// Keys and values by their numbers.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    seed: u64,
}

impl Sizes {
    /// Those of this run.
    pub fn new(context: &Context<'_>) -> Sizes {
        let [seed] = context.seed.numbers(STRINGS);
        Sizes { seed }
    }

    /// Key `n`, of letters and digits. Keys differ with near certainty: none is short.
    pub fn key(&self, n: u64) -> Vec<u8> {
        let mut random = Random::for_purpose(self.seed, n);
        let [mu, sigma, k] = KEYS;
        let size = mu + sigma * ((-positive_unit(&mut random).ln()).powf(-k) - 1.0) / k;
        letters(&mut random, size.round().clamp(1.0, KEY_BYTES_MAX) as usize)
    }

    /// The number of the value of key `n`.
    pub fn value_of(&self, n: u64) -> u32 {
        Random::for_purpose(!self.seed, n).below(u64::from(VALUES)) as u32
    }

    /// A value. It begins with its number, so that values differ.
    pub fn value(&self, value: u32) -> Vec<u8> {
        let mut random = Random::for_purpose(self.seed, u64::MAX - u64::from(value));
        let [sigma, k] = VALUE_SIZES;
        let size = sigma * (positive_unit(&mut random).powf(-k) - 1.0) / k;
        let mut bytes = format!("{value:x}.").into_bytes();
        let rest = (size.min(VALUE_BYTES_MAX) as usize).saturating_sub(bytes.len());
        bytes.extend(letters(&mut random, rest));
        bytes
    }
}

/// The mean size of the values in use.
pub fn mean_value_bytes(context: &Context<'_>) -> f64 {
    let sizes = Sizes::new(context);
    let bytes: usize = (0..VALUES).map(|value| sizes.value(value).len()).sum();
    bytes as f64 / f64::from(VALUES)
}

/// In (0, 1].
fn positive_unit(random: &mut Random) -> f64 {
    1.0 - random.unit()
}

fn letters(random: &mut Random, count: usize) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = Vec::with_capacity(count + 9);
    while text.len() < count {
        let bits = random.next_u64();
        text.extend((0..10).map(|n| LETTERS[(bits >> (6 * n)) as usize % 64]));
    }
    text.truncate(count);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_means_of_their_distributions() {
        let sizes = Sizes { seed: 3 };
        let keys: usize = (0..20_000).map(|n| sizes.key(n).len()).sum();
        // GEV: μ + σ (Γ(1 − k) − 1)/k = 36.1; standard deviation 11.5, so ±0.3 of 20,000.
        let mean = keys as f64 / 20_000.0;
        assert!((35.7..36.6).contains(&mean), "{mean}");
        let values: usize = (0..20_000).map(|value| sizes.value(value).len()).sum();
        // GPD: σ/(1 − k) = 329; standard deviation 597, so ±17 of 20,000.
        let mean = values as f64 / 20_000.0;
        assert!((310.0..350.0).contains(&mean), "{mean}");
        assert!(sizes.value(17).starts_with(b"11."));
    }
}
