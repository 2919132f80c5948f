//! From the digest of an element to words and to bits of a word: what [`BloomG`](crate::BloomG) and
//! [`StaticSet`](crate::StaticSet) have in common.
//!
//! All are drawn with replacement, as in the paper: two bits of an element may be the same one.

use crate::digest::{GOLDEN, mix};

/// How many slots take their digits from one word of hash: 7 × 9 bits, for words of up to 512 bits.
const SLOTS_PER_HASH: u32 = 7;

/// An element of a set: a random number, or the keyed hash of what it stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element(pub u64);

impl Element {
    /// The n-th word of hash.
    #[inline]
    const fn hash(self, n: u32) -> u64 {
        mix(self.0.wrapping_add(GOLDEN.wrapping_mul(n as u64 + 1)))
    }

    /// The n-th of its words, among `words`.
    #[inline]
    pub(crate) const fn word(self, n: u32, words: usize) -> usize {
        ((self.hash(n + 1) as u128 * words as u128) >> 64) as usize
    }

    /// Its bits in words of `slots` bits, without end.
    #[inline]
    pub(crate) const fn slots(self, slots: u32) -> Slots {
        let seed = self.hash(0);
        Slots { seed, left: seed, drawn: 0, slots }
    }
}

/// The digits of a fraction, in a base that need not be a power of two.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    seed: u64,
    left: u64,
    drawn: u32,
    slots: u32,
}

impl Iterator for Slots {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.drawn > 0 && self.drawn.is_multiple_of(SLOTS_PER_HASH) {
            self.left = mix(self.seed.wrapping_add(GOLDEN.wrapping_mul(self.drawn.into())));
        }
        self.drawn = self.drawn.wrapping_add(1);
        let product = u128::from(self.left) * u128::from(self.slots);
        self.left = product as u64;
        Some((product >> 64) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each slot as often as any other: χ² with 71 degrees of freedom stays below 150 with
    /// probability 1 − 10⁻⁷.
    #[test]
    fn slots_are_even_however_many_are_drawn() {
        let mut counts = [[0u32; 72]; 20];
        for digest in 0..20_000 {
            for (n, slot) in Element(digest).slots(72).take(20).enumerate() {
                counts[n][slot as usize] += 1;
            }
        }
        for (n, counts) in counts.iter().enumerate() {
            let mean = 20_000.0 / 72.0;
            let chi: f64 =
                counts.iter().map(|&count| (f64::from(count) - mean).powi(2) / mean).sum();
            assert!(chi < 150.0, "the {n}-th slot: {chi}");
        }
    }
}
