//! Bloom-g as words of plain booleans. The n-th word of a digest is the (n + 1)-th word of SplitMix64
//! from it, scaled; its bits are digits of the 0th, seven from one word of hash.

use acsm_filters::BloomGSpec;
use acsm_filters::digest::mix;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

pub struct SlowBloomG {
    words: Vec<Vec<bool>>,
    spec: BloomGSpec,
}

impl SlowBloomG {
    pub fn new(spec: &BloomGSpec) -> SlowBloomG {
        let words = (spec.bits / u64::from(spec.word_bits)) as usize;
        SlowBloomG { words: vec![vec![false; spec.word_bits as usize]; words], spec: *spec }
    }

    /// The bits of a digest as (which of its words, word, bit).
    fn places(&self, digest: u64) -> Vec<(u32, usize, usize)> {
        let hash = |n: u64| mix(digest.wrapping_add(GOLDEN.wrapping_mul(n + 1)));
        let (g, k) = (self.spec.words, self.spec.hashes);
        // The first words have the bits that are left over.
        let mut owners: Vec<u32> = (0..k).map(|bit| bit % g).collect();
        owners.sort_unstable();
        let mut digits = 0;
        let place = |(n, owner): (usize, u32)| {
            if n == 0 {
                digits = hash(0);
            } else if n % 7 == 0 {
                digits = mix(hash(0).wrapping_add(GOLDEN.wrapping_mul(n as u64)));
            }
            let product = u128::from(digits) * u128::from(self.spec.word_bits);
            digits = product as u64;
            let word = (u128::from(hash(u64::from(owner) + 1)) * self.words.len() as u128) >> 64;
            (owner, word as usize, (product >> 64) as usize)
        };
        owners.into_iter().enumerate().map(place).collect()
    }

    pub fn insert(&mut self, digest: u64) -> u32 {
        let mut new = 0;
        for (_, word, bit) in self.places(digest) {
            new += u32::from(!self.words[word][bit]);
            self.words[word][bit] = true;
        }
        new
    }

    /// Whether it is found, and how many words that takes.
    pub fn query(&self, digest: u64) -> (bool, u32) {
        let missing =
            self.places(digest).into_iter().find(|&(_, word, bit)| !self.words[word][bit]);
        missing.map_or((true, self.spec.words), |(owner, ..)| (false, owner + 1))
    }
}
