//! How full one word is after so many draws of its bits.
//!
//! (1 − (1 − 1/w)^d)^j, which the Bloom-g paper has for the chance that j bits are set after d
//! draws, takes the bits for independent. In a word of 64 that is 2–6 % too low: the mean of a
//! j-th power exceeds the power of the mean. This is the exact chance, from the distribution of
//! the number of set bits.

use super::special::power;

/// Draws followed one by one; later ones see the word as good as full.
const DRAWS_MAX: usize = 1 << 15;

/// The chance that `asked` random bits are all set, by the number of draws.
#[derive(Debug, Clone)]
pub struct AllSet {
    after: Vec<f64>,
}

impl AllSet {
    /// For 0 to `draws` draws with replacement from `word_bits` bits, and `asked` draws of a
    /// stranger. O(w · draws).
    ///
    /// ```
    /// use acsm_model::word::AllSet;
    ///
    /// // Two draws set one bit of two with chance 1/2, else both.
    /// let chance = AllSet::new(2, 2, 2.0).after(2.0);
    /// assert!((chance - (0.5 * 0.25 + 0.5)).abs() < 1e-15);
    /// ```
    pub fn new(word_bits: u32, asked: usize, draws: f64) -> AllSet {
        let bits = word_bits.max(1) as usize;
        let found: Vec<f64> =
            (0..=bits).map(|set| power(set as f64 / bits as f64, asked)).collect();
        let mut odds = vec![0.0; bits + 1];
        odds.iter_mut().take(1).for_each(|none| *none = 1.0);
        let mut after = vec![];
        for _ in 0..=(draws as usize).min(DRAWS_MAX) {
            after.push(odds.iter().zip(&found).map(|(odds, found)| odds * found).sum());
            let mut fewer = 0.0;
            for (set, odds) in odds.iter_mut().enumerate() {
                let part = set as f64 / bits as f64;
                let before = *odds;
                *odds = before * part + fewer * (1.0 - part + 1.0 / bits as f64);
                fewer = before;
            }
        }
        AllSet { after }
    }

    /// The chance after so many draws.
    pub fn after(&self, draws: f64) -> f64 {
        let last = self.after.last().copied().unwrap_or(0.0);
        self.after.get(draws as usize).copied().unwrap_or(last)
    }
}
