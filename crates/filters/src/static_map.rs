//! A map that never changes: a binary fuse filter (Graf and Lemire 2022) with values beside the fingerprints.
//!
//! A key has three cells in neighbouring segments; the XOR of the three is its fingerprint and its value. All keys
//! must be known in advance. It takes about 1.13 cells per key, less than any map that can change, and is what a
//! maplet is measured against.

use crate::digest::{GOLDEN, mix};
use crate::error::StoreError;
use crate::memory::allocate;

/// Cells of a key.
const ARITY: usize = 3;
/// A cell has at most this many bits.
const CELL_BITS_MAX: u32 = 32;
/// Layouts that are tried until one can be solved; one fails with a probability of some per cent.
const TRIALS: u64 = 64;

/// The parameters of a [`StaticMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticMapSpec {
    /// Bits of a value; with those of a fingerprint at most 32.
    pub value_bits: u32,
    /// Bits of a fingerprint f: an absent key seems to be there with probability 2⁻ᶠ.
    pub fingerprint_bits: u32,
}

/// A fixed map from digests to small numbers.
///
/// * A key that was given has its value.
/// * An absent digest has a value with probability 2⁻ᶠ.
/// * It takes (f + v) · 1.13 bits per key if there are many, f + v · 1.2 for some ten thousand.
///
/// ```
/// use acsm_filters::{Random, StaticMap, StaticMapSpec};
///
/// let mut random = Random::new(1);
/// let pairs: Vec<(u64, u32)> = (0..10_000).map(|n| (random.next_u64(), n % 3000)).collect();
/// let map = StaticMap::new(&pairs, StaticMapSpec { value_bits: 12, fingerprint_bits: 10 })?.unwrap();
/// assert!(pairs.iter().all(|(key, value)| map.get(*key) == Some(*value)));
/// let found = (0..10_000).filter(|_| map.get(random.next_u64()).is_some()).count();
/// assert!(found < 50);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StaticMap {
    spec: StaticMapSpec,
    shape: Shape,
    /// The cells, one after the other.
    words: Vec<u64>,
}

/// Where the cells of a key are.
#[derive(Debug, Clone, Copy)]
struct Shape {
    seed: u64,
    segment_bits: u32,
    /// Segments that a key's first cell can be in; there are two more.
    segments: u64,
}

impl Shape {
    fn new(keys: usize, seed: u64) -> Shape {
        let count = keys.max(2) as f64;
        // The paper's, for three cells.
        let segment_bits = ((count.ln() / 3.33_f64.ln() + 2.25).floor() as u32).clamp(2, 18);
        let factor = (0.875 + 0.25 * 1e6_f64.ln() / count.ln()).max(1.125);
        let cells = (count * factor).round() as u64;
        let segments = cells.div_ceil(1 << segment_bits).saturating_sub(ARITY as u64 - 1).max(1);
        Shape { seed, segment_bits, segments }
    }

    fn cells(self) -> usize {
        ((self.segments + ARITY as u64 - 1) << self.segment_bits) as usize
    }

    /// The hash of a digest in this layout.
    const fn hash(self, digest: u64) -> u64 {
        mix(digest ^ self.seed)
    }

    /// Three cells in neighbouring segments.
    const fn places(self, hash: u64) -> [usize; ARITY] {
        let width = self.segments << self.segment_bits;
        let first = ((hash as u128 * width as u128) >> 64) as u64;
        let (segment, mask) = (1 << self.segment_bits, (1 << self.segment_bits) - 1);
        let second = (first + segment) ^ ((hash >> 18) & mask);
        let third = (first + 2 * segment) ^ (hash & mask);
        [first as usize, second as usize, third as usize]
    }
}

impl StaticMap {
    /// The map of these pairs. `None` if two of the digests are equal, or a cell has no bits or more than 32.
    pub fn new(pairs: &[(u64, u32)], spec: StaticMapSpec) -> Result<Option<StaticMap>, StoreError> {
        if !(1..=CELL_BITS_MAX).contains(&(spec.value_bits + spec.fingerprint_bits)) {
            return Ok(None);
        }
        for trial in 0..TRIALS {
            let shape = Shape::new(pairs.len(), mix(GOLDEN.wrapping_mul(trial + 1)));
            if let Some(order) = peel(pairs, shape)? {
                return StaticMap::fill(pairs, spec, shape, &order).map(Some);
            }
        }
        Ok(None)
    }

    fn fill(
        pairs: &[(u64, u32)],
        spec: StaticMapSpec,
        shape: Shape,
        order: &[(u32, u32)],
    ) -> Result<StaticMap, StoreError> {
        let bits = shape.cells() * (spec.value_bits + spec.fingerprint_bits) as usize;
        // One word more, so that a cell never ends behind the last.
        let words = allocate(bits.div_ceil(64) + 1, 0)?;
        let mut map = StaticMap { spec, shape, words };
        for &(index, own) in order.iter().rev() {
            let Some(&(digest, value)) = pairs.get(index as usize) else { continue };
            let hash = shape.hash(digest);
            let others = shape.places(hash).into_iter().filter(|place| *place != own as usize);
            let known = others.fold(0, |sum, place| sum ^ map.cell(place));
            let wanted = map.fingerprint(hash) << spec.value_bits | u64::from(value) & map.values();
            map.set(own as usize, wanted ^ known);
        }
        Ok(map)
    }

    /// The value of a digest; for an absent one, one by chance or `None`.
    pub fn get(&self, digest: u64) -> Option<u32> {
        let hash = self.shape.hash(digest);
        let sum = self.shape.places(hash).into_iter().fold(0, |sum, place| sum ^ self.cell(place));
        let is_there = sum >> self.spec.value_bits == self.fingerprint(hash);
        is_there.then_some((sum & self.values()) as u32)
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    fn values(&self) -> u64 {
        (1 << self.spec.value_bits) - 1
    }

    fn fingerprint(&self, hash: u64) -> u64 {
        // Other bits than those of the places.
        mix(hash) & ((1 << self.spec.fingerprint_bits) - 1)
    }

    fn bits(&self) -> usize {
        (self.spec.value_bits + self.spec.fingerprint_bits) as usize
    }

    fn cell(&self, place: usize) -> u64 {
        let at = place * self.bits();
        let word = |n: usize| self.words.get(n).copied().unwrap_or(0);
        let both = u128::from(word(at / 64)) | u128::from(word(at / 64 + 1)) << 64;
        (both >> (at % 64)) as u64 & ((1 << self.bits()) - 1)
    }

    /// Sets a cell that is still empty.
    fn set(&mut self, place: usize, value: u64) {
        let at = place * self.bits();
        let both = u128::from(value) << (at % 64);
        for (n, part) in [(at / 64, both as u64), (at / 64 + 1, (both >> 64) as u64)] {
            if let Some(word) = self.words.get_mut(n) {
                *word |= part;
            }
        }
    }
}

/// Pairs with a cell of their own each, in an order in which that cell is in no later pair. `None` if there is none.
fn peel(pairs: &[(u64, u32)], shape: Shape) -> Result<Option<Vec<(u32, u32)>>, StoreError> {
    let cells = shape.cells();
    let mut counts: Vec<u32> = allocate(cells, 0)?;
    // The XOR of the indices of all pairs on a cell: the index of the only one.
    let mut indices: Vec<u32> = allocate(cells, 0)?;
    let places = |index: usize| {
        let digest = pairs.get(index).map_or(0, |pair| pair.0);
        shape.places(shape.hash(digest))
    };
    for index in 0..pairs.len() {
        for place in places(index) {
            counts[place] += 1;
            indices[place] ^= index as u32;
        }
    }
    let mut single: Vec<u32> = (0..cells as u32).filter(|n| counts[*n as usize] == 1).collect();
    let mut order = Vec::with_capacity(pairs.len());
    while let Some(own) = single.pop() {
        if counts[own as usize] != 1 {
            continue;
        }
        let index = indices[own as usize];
        order.push((index, own));
        for place in places(index as usize) {
            counts[place] -= 1;
            indices[place] ^= index;
            if counts[place] == 1 {
                single.push(place as u32);
            }
        }
    }
    Ok((order.len() == pairs.len()).then_some(order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    fn pairs(count: u32, seed: u64) -> Vec<(u64, u32)> {
        let mut random = Random::new(seed);
        (0..count).map(|_| (random.next_u64(), random.below(1 << 12) as u32)).collect()
    }

    #[test]
    fn every_pair_is_there_and_absent_keys_err_as_often_as_they_should() {
        for (count, fingerprint_bits) in
            [(0, 8), (1, 8), (2, 8), (100, 1), (5_000, 6), (200_000, 10)]
        {
            let pairs = pairs(count, 7);
            let spec = StaticMapSpec { value_bits: 12, fingerprint_bits };
            let map = StaticMap::new(&pairs, spec).unwrap().unwrap();
            assert!(pairs.iter().all(|(key, value)| map.get(*key) == Some(*value)), "{count}");
            let (mut random, asked) = (Random::new(8), 200_000);
            let found = (0..asked).filter(|_| map.get(random.next_u64()).is_some()).count() as f64;
            let expected = f64::from(asked) / f64::from(1_u32 << fingerprint_bits);
            // Five standard deviations of a binomial count; with no keys all cells are 0.
            let deviation = (expected * (1.0 - expected / f64::from(asked))).sqrt();
            assert!((found - expected).abs() < 5.0 * deviation, "{count}: {found}, {expected}");
        }
    }

    #[test]
    fn it_takes_an_eighth_more_than_its_cells_for_many_keys() {
        let spec = StaticMapSpec { value_bits: 12, fingerprint_bits: 10 };
        let map = StaticMap::new(&pairs(1_000_000, 1), spec).unwrap().unwrap();
        let bits = map.bytes() as f64 * 8.0 / 1e6;
        assert!((1.1 * 22.0..1.15 * 22.0).contains(&bits), "{bits} bits per key");
    }

    #[test]
    fn equal_digests_and_impossible_cells_are_refused() {
        let spec = StaticMapSpec { value_bits: 12, fingerprint_bits: 10 };
        assert!(StaticMap::new(&[(5, 1), (5, 2)], spec).unwrap().is_none());
        for (value_bits, fingerprint_bits) in [(0, 0), (20, 20)] {
            let spec = StaticMapSpec { value_bits, fingerprint_bits };
            assert!(StaticMap::new(&[(5, 1)], spec).unwrap().is_none());
        }
    }
}
