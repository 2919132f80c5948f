//! `kv`: errors of a key-value Bloom filter with many values, by its decoding.
//!
//! [`kbf`](crate::kbf) is for machines of up to 16 states, which it enumerates; here are thousands of
//! values, whose codes are taken for random words. Cells are independent, and the codes of other keys
//! are uniform and independent of this key's: so it is with salt for any values, and without salt if all
//! values are equally frequent.
//!
//! # Notation
//!
//! λ = kn/m, the load; p_j the probability that j other keys are on a cell, Poisson with mean λ; V codes of P
//! bits, one per value; q = C(V, 2) / 2^P, the part of all words that is the sum of two codes; A values in
//! use, at most V.
//!
//! # Implementation
//!
//! A key is undecided if a wrong value survives all of its cells. A cell with one other key leaves one
//! wrong value, each with probability 1/V, or all if the two codes are equal. Of a cell with two others a
//! wrong value survives if the rest is the sum of two codes by chance, q, or because two of the four
//! codes involved are equal, 5/V (the wrong one and this key's are not). More keys exclude nothing. Joint
//! decoding leaves out values that are not in use, so there are A − 1 wrong ones; the papers' options
//! compare all V. If no cell has fewer than three keys, joint decoding tries every value in use, but only
//! up to 2^14 of them: with more it decides nothing.

use crate::bloom::{cell_has, cell_has_at_least};
use crate::special::power;

/// How the value of a key is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decoding {
    /// The first cell with one key, else what all cells with two keys have in common.
    Option1,
    /// The same, and all cells with three keys for what is left.
    Option2,
    /// Algorithms 6 and 7 as printed: two sums of two, or one of two and one of three.
    Literal,
    /// What no cell excludes.
    Joint,
}

/// A key-value Bloom filter at some load.
///
/// ```
/// use acsm_model::kv::{Decoding, KeyValueFilter};
///
/// // Six cells per key and pair, 3,000 values, codes of 28 bits.
/// let filter = KeyValueFilter {
///     hashes: 6,
///     load: 1.0,
///     values: 3000.0,
///     assigned: 3000.0,
///     code_bits: 28.0,
/// };
/// assert!(filter.undecided(Decoding::Joint) < 4e-5);
/// assert!(filter.undecided(Decoding::Option2) > 3e-4);
/// assert!(filter.false_positive(Decoding::Joint) < 1e-7);
/// assert!(filter.false_positive(Decoding::Option2) > 0.06);
///
/// let few = KeyValueFilter { assigned: 10.0, ..filter };
/// assert!(few.undecided(Decoding::Joint) < 1e-5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyValueFilter {
    /// k: cells per key.
    pub hashes: usize,
    /// λ = kn/m: keys per cell.
    pub load: f64,
    /// V: codes, and so the most values.
    pub values: f64,
    /// A: values in use.
    pub assigned: f64,
    /// P: bits of a code.
    pub code_bits: f64,
}

/// The most values that joint decoding tries one by one.
const ENUMERATED_MAX: f64 = (1 << 14) as f64;

impl KeyValueFilter {
    /// The probability that the value of a key in the filter is not decided.
    pub fn undecided(&self, decoding: Decoding) -> f64 {
        let (one, two) = (cell_has(1, self.load), cell_has(2, self.load));
        let cancelled = one / self.values;
        let survives = self.survives(5.0);
        let crowded = cell_has_at_least(3, self.load) + cancelled;
        // What says nothing in each decoding, and what leaves every wrong value.
        let without_threes = crowded + two;
        let with_threes = crowded + two * survives;
        let no_pair = self.all(without_threes);
        let wrong = match decoding {
            Decoding::Joint => self.assigned - 1.0,
            _ => self.values - 1.0,
        };
        let same_pair =
            |rest: f64| wrong.max(0.0) * (self.all(one / self.values + rest) - self.all(rest));
        let undecided = match decoding {
            Decoding::Option1 => no_pair + same_pair(without_threes),
            Decoding::Option2 => no_pair + same_pair(with_threes),
            Decoding::Literal => {
                let (any, none) = (same_pair(without_threes), same_pair(crowded));
                no_pair + none + survives * (any - none)
            }
            Decoding::Joint => {
                self.some_survive(crowded, two, survives, wrong) + same_pair(with_threes)
            }
        };
        undecided.clamp(0.0, 1.0)
    }

    /// The probability that an absent key gets an answer other than "absent". For joint decoding an upper
    /// bound: expected candidates in place of the probability that there is one.
    pub fn false_positive(&self, decoding: Decoding) -> f64 {
        let bloom = self.all(cell_has_at_least(1, self.load));
        if decoding != Decoding::Joint {
            return bloom;
        }
        let [one, two, three] = [1, 2, 3].map(|count| cell_has(count, self.load));
        // Of four codes, any two can be equal.
        let survives = self.survives(6.0);
        let crowded = cell_has_at_least(4, self.load) + two / self.values;
        let rest = crowded + three * survives;
        let anchored = self.all((one + 2.0 * two) / self.values + rest) - self.all(rest);
        let candidates = self.assigned * anchored;
        bloom.min(self.some_survive(crowded, three, survives, self.assigned) + candidates).max(0.0)
    }

    /// The probability that a wrong value survives a cell with three codes.
    fn survives(&self, coincidences: f64) -> f64 {
        let pair_sums = self.values * (self.values - 1.0) / 2.0 / self.code_bits.exp2();
        (pair_sums + coincidences / self.values).min(1.0)
    }

    /// All cells are crowded or have three codes, and one of `values` survives all of the latter, or they
    /// are too many to be tried.
    fn some_survive(&self, crowded: f64, three: f64, survives: f64, values: f64) -> f64 {
        let hashes = self.hashes as f64;
        let mut ways = 1.0;
        let mut sum = 0.0;
        for threes in 0..=self.hashes {
            let one = power(survives, threes);
            let some = match self.assigned > ENUMERATED_MAX {
                true => 1.0,
                false => -(values.max(0.0) * (-one.min(1.0 - 1e-16)).ln_1p()).exp_m1(),
            };
            sum += ways * power(three, threes) * power(crowded, self.hashes - threes) * some;
            ways *= (hashes - threes as f64) / (threes as f64 + 1.0);
        }
        sum
    }

    fn all(&self, cell: f64) -> f64 {
        power(cell, self.hashes)
    }
}

/// 1 − (1−p)^s: the probability that one of s filters errs, each with p.
///
/// ```
/// use acsm_model::kv;
///
/// assert!((kv::of_filters(0.001, 3) - 0.002997).abs() < 1e-8);
/// ```
pub fn of_filters(rate: f64, filters: usize) -> f64 {
    -(filters as f64 * (-rate).ln_1p()).exp_m1()
}
