//! Bloom-g (Qiao, Li, Chen: "Fast Bloom Filters and Their Generalization", 2013): the k bits of an
//! element lie in g words, so that a query takes g memory accesses. Bloom-1 is g = 1; with g = k it
//! is a Bloom filter.
//!
//! m bits are l = m/w words of w bits. Each element picks g words and k/g bits in each, all with
//! replacement.

use crate::special::{any_of, binomial_mean, power, reach, solve_increasing};

/// Word sizes of interest: common processors, ECC memory, wide memory, a cache line.
pub const WORD_BITS: [u32; 5] = [32, 64, 72, 256, 512];

/// Words with more elements count as full.
const ENCODED_MAX: f64 = 10_000.0;

/// A Bloom-g filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BloomG {
    /// m: bits of the filter, a whole number of words.
    pub bits: f64,
    /// w: bits of a word.
    pub word_bits: u32,
    /// g: words of an element.
    pub words: usize,
    /// k: bits of an element, at least g.
    pub hashes: usize,
}

impl BloomG {
    /// l: how many words the filter has.
    pub fn word_count(&self) -> f64 {
        self.bits / f64::from(self.word_bits)
    }

    /// f_B1, equation (5), and f_Bg, equation (9) with its conditional chance put right.
    ///
    /// (7) is printed (1 − (1 − 1/w)^{k/g})^x; right is (1 − (1 − 1/w)^{xk/g})^{k/g}, as in (3),
    /// and as (10) uses it. k/g is not rounded, as in the paper; see
    /// [`BloomG::false_positive_rate_exact`].
    ///
    /// ```
    /// use acsm_model::bloom_g::BloomG;
    ///
    /// let bits = 1_048_576.0;
    /// let filter = BloomG { bits, word_bits: 64, words: 2, hashes: 3 };
    /// assert_eq!(format!("{:.1e}", filter.false_positive_rate(0.04 * bits)), "1.6e-3");
    /// assert_eq!(format!("{:.1e}", filter.false_positive_rate_printed(0.04 * bits)), "4.5e-5");
    /// ```
    pub fn false_positive_rate(&self, elements: f64) -> f64 {
        let share = self.hashes as f64 / self.words as f64;
        let in_word = self.mean_over_words(self.words as f64 * elements, |encoded| {
            any_of(encoded * share, 1.0 / f64::from(self.word_bits)).powf(share)
        });
        power(in_word, self.words)
    }

    /// Equations (7)–(9) as printed, to show that the paper's figures were not computed with them.
    pub fn false_positive_rate_printed(&self, elements: f64) -> f64 {
        let share = self.hashes as f64 / self.words as f64;
        let base = any_of(share, 1.0 / f64::from(self.word_bits));
        let in_word =
            self.mean_over_words(self.words as f64 * elements, |encoded| base.powf(encoded));
        power(in_word, self.words)
    }

    /// The rate without the two simplifications of the paper: the first words take ⌈k/g⌉ bits and
    /// the others ⌊k/g⌋, as §3.1 describes the filter, and the bits of a word are not taken for
    /// independent, as (3) does ([`AllSet`]). 2–6 % above [`BloomG::false_positive_rate`] for
    /// words of 64 bits.
    pub fn false_positive_rate_exact(&self, elements: f64) -> f64 {
        let words = self.words.max(1);
        let (fewer, long_words) = (self.hashes / words, self.hashes % words);
        let mean = words as f64 * elements / self.word_count();
        if mean > ENCODED_MAX {
            return 1.0;
        }
        let most = reach(mean) * (fewer + 1) as f64;
        // A word is encoded by elements' long and short parts alike.
        let in_word = |hashes: usize| {
            let table = AllSet::new(self.word_bits, hashes, most);
            self.mean_over_words(long_words as f64 * elements, |long| {
                self.mean_over_words((words - long_words) as f64 * elements, |short| {
                    table.after(long * (fewer + 1) as f64 + short * fewer as f64)
                })
            })
        };
        let long = if long_words > 0 { power(in_word(fewer + 1), long_words) } else { 1.0 };
        long * power(in_word(fewer), words - long_words)
    }

    /// The mean of f(X), X the number of `picks` that fall on one word: equations (4) and (6).
    fn mean_over_words(&self, picks: f64, f: impl FnMut(f64) -> f64) -> f64 {
        binomial_mean(picks.floor(), (1.0 / self.word_count()).min(1.0), f)
    }

    /// g log2 l + k log2 w: hash bits of a query, tables 2–6. (§3.2 prints log2 l for g = 2; its
    /// table 4 has 2 log2 l.)
    pub fn hash_bits(&self) -> f64 {
        self.words as f64 * self.word_count().log2()
            + self.hashes as f64 * f64::from(self.word_bits).log2()
    }

    /// Memory accesses of a query.
    pub const fn accesses(&self) -> usize {
        self.words
    }

    /// The same filter with the k with the fewest errors for this number of elements, from g to `most`.
    pub fn with_best_hashes(&self, elements: f64, most: usize) -> BloomG {
        let candidates = (self.words.max(1)..=most).map(|hashes| BloomG { hashes, ..*self });
        let rate = |filter: &BloomG| filter.false_positive_rate(elements);
        candidates.min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(*self)
    }

    /// The same filter with the best k that takes at most `hash_bits`: B1 and B2 (h = 3 log2 m).
    pub fn with_best_hashes_within(&self, elements: f64, hash_bits: f64) -> BloomG {
        let left = hash_bits - self.words as f64 * self.word_count().log2();
        let most = (left / f64::from(self.word_bits).log2()).max(0.0) as usize;
        self.with_best_hashes(elements, most.max(self.words))
    }

    /// §3.5: the most elements a growing set may have before the rate exceeds `rate`, with k as it
    /// is. The maximum load factor is that over m.
    pub fn most_elements(&self, rate: f64) -> f64 {
        solve_increasing((0.0, 4.0 * self.bits), rate, |elements| {
            self.false_positive_rate(elements)
        })
        .floor()
    }
}

/// Draws are followed one by one up to this number; after that the word counts as full.
const DRAWS_MAX: usize = 1 << 15;

/// The probability that all of `asked` random bits of a word are set, by the number of draws.
///
/// (1 − (1 − 1/w)^d)^j, which the paper has for j bits after d draws, takes the bits for
/// independent. In a word of 64 bits that is 2–6 % too low: the mean of a j-th power exceeds the
/// power of the mean. This is the exact probability, from the distribution of the number of set
/// bits.
#[derive(Debug, Clone)]
pub struct AllSet {
    after: Vec<f64>,
}

impl AllSet {
    /// For 0 to `draws` draws with replacement from `word_bits` bits, and `asked` random bits.
    /// O(w · draws).
    ///
    /// ```
    /// use acsm_model::bloom_g::AllSet;
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

    /// The chance after this many draws.
    pub fn after(&self, draws: f64) -> f64 {
        let last = self.after.last().copied().unwrap_or(0.0);
        self.after.get(draws as usize).copied().unwrap_or(last)
    }
}
