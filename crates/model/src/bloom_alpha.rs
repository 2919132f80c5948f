//! Bloom-α (Qiao, Li, Chen, §4): Bloom-1 whose fullest words are split.
//!
//! Built offline: from the fullest word down, words pass the last ⌊k/2⌋ bits of each of their
//! elements on to a second word, until the part α of the elements is split; a flag in the word
//! says so. The paper has no formula for its rate, only a simulation; this is one.
//!
//! With X elements on a word (binomial) the words with most elements are split: all with X > c and
//! a part of those with X = c. Y elements (Poisson with mean αn/l) pass ⌊k/2⌋ bits on to any word.

use crate::bloom_g::AllSet;
use crate::special::{binomial, poisson_mean, reach};

/// Words with more elements are full.
const LOAD_MAX: f64 = 10_000.0;

/// A Bloom-α filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BloomAlpha {
    /// m: bits of the filter, flags included.
    pub bits: f64,
    /// w: bits of a word, its flag included.
    pub word_bits: u32,
    /// k: bits of an element.
    pub hashes: usize,
    /// α: the part of the elements that is split.
    pub alpha: f64,
}

/// Error and cost of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Query {
    /// The probability that an absent element is found.
    pub false_positive_rate: f64,
    /// Memory accesses per query of an absent element, on average; at most 1 + α.
    pub accesses: f64,
    /// The part of the words that are split.
    pub split_words: f64,
}

/// A number of elements on a word, how often it occurs, and the part of such words that is split.
struct Load {
    elements: f64,
    chance: f64,
    split: f64,
}

impl BloomAlpha {
    /// The rate and the accesses of queries for absent elements.
    ///
    /// ```
    /// use acsm_model::bloom_alpha::BloomAlpha;
    ///
    /// let bits = 1_048_576.0;
    /// let filter = BloomAlpha { bits, word_bits: 64, hashes: 3, alpha: 0.5 };
    /// let query = filter.query(0.1 * bits);
    /// assert!(query.accesses < 1.1 && query.split_words < 0.5);
    /// ```
    pub fn query(&self, elements: f64) -> Query {
        let load = elements / self.words();
        if load.is_nan() || load > LOAD_MAX {
            return Query { false_positive_rate: 1.0, accesses: 2.0, split_words: 1.0 };
        }
        let second = self.hashes / 2;
        let first = self.hashes - second;
        let loads = self.loads(elements);
        let moved = self.alpha.clamp(0.0, 1.0) * elements / self.words();
        let most = loads.len() as f64 * self.hashes as f64 + reach(moved) * second as f64;
        let table = |asked: usize| AllSet::new(self.word_bits.saturating_sub(1), asked, most);
        let (find_first, find_second, find_all) = (table(first), table(second), table(self.hashes));
        // The probability that a word's bits are set, where its own elements have `own` bits each.
        let found = |asked: &AllSet, load: f64, own: usize| {
            poisson_mean(moved, |more| asked.after(load * own as f64 + more * second as f64))
        };
        let elsewhere = |load: &Load| {
            load.split * found(&find_second, load.elements, first)
                + (1.0 - load.split) * found(&find_second, load.elements, self.hashes)
        };
        let in_second: f64 = loads.iter().map(|load| load.chance * elsewhere(load)).sum();
        let (mut rate, mut again, mut split_words) = (0.0, 0.0, 0.0);
        for load in &loads {
            let half = found(&find_first, load.elements, first);
            let whole = found(&find_all, load.elements, self.hashes);
            again += load.chance * load.split * half;
            rate += load.chance * (load.split * half * in_second + (1.0 - load.split) * whole);
            split_words += load.chance * load.split;
        }
        Query { false_positive_rate: rate, accesses: 1.0 + again, split_words }
    }

    /// 2 log2 l + k log2 w, table 6. (A bit of the word is its flag, so w − 1 would do.)
    pub fn hash_bits(&self) -> f64 {
        2.0 * self.words().log2() + self.hashes as f64 * f64::from(self.word_bits).log2()
    }

    fn words(&self) -> f64 {
        self.bits / f64::from(self.word_bits)
    }

    /// All loads a word can have, the fullest split until α of the elements are.
    fn loads(&self, elements: f64) -> Vec<Load> {
        let mean = elements / self.words();
        let most = reach(mean).min(elements) as u32;
        let mut left = self.alpha.clamp(0.0, 1.0) * mean;
        let load = |count: u32| {
            let count = f64::from(count);
            let chance = binomial(count, elements.floor(), (1.0 / self.words()).min(1.0));
            let here = chance * count;
            let split = if here > 0.0 { (left / here).min(1.0) } else { 0.0 };
            left = (left - here).max(0.0);
            Load { elements: count, chance, split }
        };
        (0..=most).rev().map(load).collect()
    }
}
