//! The filter of the papers' experiments, and the pairs in it.
//!
//! m = −n ln p / ln² 2 cells, k = log₂ 1/p rounded, greedy codes of 28 bits for 3,000 values, which are
//! drawn uniformly; no salt. Of smaller filters the number of cells shrinks and k stays: the papers do not say
//! so, but otherwise k would follow m and the false negatives of their figure 7 would not grow.

use std::f64::consts::LN_2;
use std::ops::Range;

use acsm_filters::kv::{Answer, CodeChoice, Decoding, KbfMap, KbfParameters, KvSpec};
use acsm_filters::rng::Random;
use acsm_filters::{HashKey, StaticMapSpec};
use acsm_model::{bloom, kv};

use crate::reproduce::{Context, Failure, Rate};

/// Different values.
pub const VALUES: u32 = 3000;
/// A static map of as many values, at an error in a thousand for absent keys.
pub const STATIC_MAP: StaticMapSpec = StaticMapSpec { value_bits: 12, fingerprint_bits: 10 };
/// Bits of the largest of that many greedy codes.
pub const CODE_BITS: f64 = 28.0;
/// The papers' second option: Algorithms 6 and 7 as they are printed.
pub const PRINTED: Decoding = Decoding::Literal;
/// The error rates that the papers show: "between 0.001 to 0.000001".
pub const RATES: [f64; 4] = [1e-3, 1e-4, 1e-5, 1e-6];

/// A filter as the papers size it.
#[derive(Debug, Clone, Copy)]
pub struct Sizing {
    /// n.
    pub pairs: u64,
    /// p.
    pub rate: f64,
    /// Cells in parts of m.
    pub part_of_m: f64,
}

impl Sizing {
    /// k.
    pub fn hashes(&self) -> usize {
        (-self.rate.log2()).round() as usize
    }

    /// Cells.
    pub fn cells(&self) -> f64 {
        -(self.pairs as f64) * self.rate.ln() / (LN_2 * LN_2) * self.part_of_m
    }

    /// λ with this number of pairs.
    pub fn load(&self, pairs: f64) -> f64 {
        bloom::load(self.cells(), self.hashes(), pairs)
    }

    /// The closed forms with this number of pairs.
    pub fn form(&self, pairs: f64) -> kv::KeyValueFilter {
        kv::KeyValueFilter {
            hashes: self.hashes(),
            load: self.load(pairs),
            values: f64::from(VALUES),
            assigned: f64::from(VALUES),
            code_bits: CODE_BITS,
        }
    }

    /// The probability that a key among this number of pairs is undecided.
    pub fn undecided(&self, pairs: f64, decoding: Decoding) -> f64 {
        self.form(pairs).undecided(match decoding {
            Decoding::Option1 => kv::Decoding::Option1,
            Decoding::Option2 => kv::Decoding::Option2,
            Decoding::Literal => kv::Decoding::Literal,
            Decoding::Joint => kv::Decoding::Joint,
        })
    }

    /// The probability that an absent key gets a value, but for those that are undecided.
    pub fn false_positive(&self, pairs: f64) -> f64 {
        self.form(pairs).false_positive(kv::Decoding::Option2)
    }

    /// An empty filter.
    pub fn filter(&self, decoding: Decoding, hash_key: HashKey) -> Result<KbfMap, Failure> {
        let spec = KvSpec {
            rate: self.rate,
            decoding,
            codes: CodeChoice::Greedy,
            salted: false,
            hash_key,
            ..KvSpec::new(self.pairs, VALUES as usize)
        };
        let parameters =
            KbfParameters::with_cells(&spec, self.cells().ceil() as u64, self.hashes())?;
        Ok(KbfMap::new(parameters)?)
    }
}

/// Pairs with random keys and values: the n-th is always the same.
#[derive(Debug, Clone, Copy)]
pub struct Pairs {
    hash_key: HashKey,
    seed: u64,
}

/// Keys whose cells are fetched together.
const BATCH: u64 = 32;
/// Purpose of the values' seed.
const VALUES_OF_PAIRS: u64 = 0x7061_6972;

impl Pairs {
    /// The pairs of repetition `n`.
    pub fn new(context: &Context<'_>, n: u64) -> Pairs {
        let [seed] = context.seed.plus(n).numbers(VALUES_OF_PAIRS);
        Pairs { hash_key: context.hash_key(n), seed }
    }

    /// What keys are hashed with.
    pub fn hash_key(&self) -> HashKey {
        self.hash_key
    }

    /// The digest of key `n`.
    pub fn digest(&self, n: u64) -> u128 {
        self.hash_key.digest([n])
    }

    /// The value of key `n` after `updates` updates.
    pub fn value(&self, n: u64, updates: u64) -> u32 {
        Random::for_purpose(self.seed ^ n, updates).below(u64::from(VALUES)) as u32
    }

    /// Inserts these keys.
    pub fn insert(&self, filter: &mut KbfMap, keys: Range<u64>) {
        let mut digests = [0; BATCH as usize];
        for begin in keys.clone().step_by(BATCH as usize) {
            let batch = begin..keys.end.min(begin + BATCH);
            for (digest, n) in digests.iter_mut().zip(batch.clone()) {
                *digest = self.digest(n);
                filter.prefetch(*digest);
            }
            for (digest, n) in digests.iter().zip(batch) {
                filter.insert(*digest, self.value(n, 0));
            }
        }
    }
}

/// What queries answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answers {
    /// Queries.
    pub queries: u64,
    /// Null: absent or undecided.
    pub null: u64,
    /// Absent.
    pub absent: u64,
    /// Another value than the key's.
    pub wrong: u64,
    /// A value.
    pub found: u64,
}

impl Answers {
    /// Asks for these keys, with the values that they should have.
    pub fn of(filter: &KbfMap, mut keys: impl Iterator<Item = (u128, u32)>) -> Answers {
        let mut answers = Answers::default();
        let mut batch = Vec::with_capacity(BATCH as usize);
        loop {
            batch.clear();
            batch.extend(keys.by_ref().take(BATCH as usize));
            if batch.is_empty() {
                return answers;
            }
            batch.iter().for_each(|(digest, _)| filter.prefetch(*digest));
            batch.iter().for_each(|(digest, value)| answers.ask(filter, *digest, *value));
        }
    }

    fn ask(&mut self, filter: &KbfMap, digest: u128, value: u32) {
        self.queries += 1;
        match filter.query(digest, VALUES) {
            Answer::Found(found) => {
                self.found += 1;
                self.wrong += u64::from(found != value);
            }
            answer => {
                self.null += 1;
                self.absent += u64::from(answer == Answer::Absent);
            }
        }
    }

    /// Adds others.
    pub fn add(&mut self, other: Answers) {
        self.queries += other.queries;
        self.null += other.null;
        self.absent += other.absent;
        self.wrong += other.wrong;
        self.found += other.found;
    }

    /// The rate of null answers.
    pub fn null_rate(&self) -> Rate {
        Rate { events: self.null, trials: self.queries }
    }

    /// The rate of answers with another value.
    pub fn wrong_rate(&self) -> Rate {
        Rate { events: self.wrong, trials: self.queries }
    }

    /// The rate of answers with a value.
    pub fn found_rate(&self) -> Rate {
        Rate { events: self.found, trials: self.queries }
    }
}

/// `p = 0.001`.
pub fn name(rate: f64) -> String {
    format!("p = {rate}")
}
