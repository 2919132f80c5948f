//! The cells of several keys, computed at once.
//!
//! A cell and its salt take four multiplications. Where the processor has AVX-512, eight of each are one
//! instruction: the loop is the ordinary one, which is compiled again for it, and LLVM vectorizes it.
#![allow(unsafe_code)]

use crate::digest::{GOLDEN, mix};
use crate::spec::HASHES_LIMIT;

/// The most cells that are computed at once.
const GROUP_CELLS: usize = 48;
const _: () = assert!(GROUP_CELLS >= HASHES_LIMIT);

/// What the cells of a key depend on, besides its digest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// From 1 to [`HASHES_LIMIT`].
    pub(super) hashes: usize,
    pub(super) cells_per_part: u32,
    /// Salts are below this.
    pub(super) salts: u32,
}

impl Shape {
    /// How many keys make up a group.
    pub(super) const fn group(&self) -> usize {
        GROUP_CELLS / self.hashes
    }
}

/// The cells of a group of keys with their salts: first those of all keys in the first part, then those in the
/// second one, …
pub(super) struct Located {
    shape: Shape,
    keys: usize,
    low: [u64; GROUP_CELLS],
    high: [u64; GROUP_CELLS],
    cells: [u64; GROUP_CELLS],
    salts: [u64; GROUP_CELLS],
}

/// The cells of one key with their salts.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    located: &'a Located,
    key: usize,
}

impl Located {
    /// Those of no keys.
    #[inline(always)]
    pub(super) fn new(shape: Shape) -> Located {
        let zeros = [0; GROUP_CELLS];
        Located { shape, keys: 0, low: zeros, high: zeros, cells: zeros, salts: zeros }
    }

    /// Computes those of a group of keys with these digests.
    #[inline(always)] // into the loops over many keys
    pub(super) fn locate(&mut self, digests: impl ExactSizeIterator<Item = u128>) {
        self.keys = digests.len().min(self.shape.group());
        for ((low, high), digest) in self.low.iter_mut().zip(&mut self.high).zip(digests) {
            (*low, *high) = (digest as u64, (digest >> 64) as u64);
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the function needs nothing but these two, and this processor has them.
            return unsafe { self.compute_avx512() };
        }
        self.compute();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn compute_avx512(&mut self) {
        self.compute();
    }

    #[inline(always)] // compiled for each of the above
    fn compute(&mut self) {
        let Shape { hashes, cells_per_part, salts } = self.shape;
        let keys = self.keys;
        if keys == 0 {
            return;
        }
        let (low, high) = (&self.low[..keys], &self.high[..keys]);
        let parts = self.cells.chunks_exact_mut(keys).zip(self.salts.chunks_exact_mut(keys));
        let (mut stream, mut first) = (0u64, 0);
        for (cells, salts_of_part) in parts.take(hashes) {
            for (((low, high), cell), salt) in low.iter().zip(high).zip(cells).zip(salts_of_part) {
                let word = mix(low.wrapping_add(stream)) ^ high;
                *cell = first + u64::from(scaled((word >> 32) as u32, cells_per_part));
                *salt = scaled(word as u32, salts).into();
            }
            stream = stream.wrapping_add(GOLDEN);
            first += u64::from(cells_per_part);
        }
    }

    /// All cells.
    #[inline(always)]
    pub(super) fn cells(&self) -> &[u64] {
        &self.cells[..self.keys * self.shape.hashes]
    }

    /// Of each part the cells of all keys, and their salts.
    #[inline(always)]
    pub(super) fn parts(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
        let keys = self.keys.max(1);
        let parts = self.cells().chunks_exact(keys);
        parts.zip(self.salts.chunks_exact(keys))
    }

    /// The cells of a key of the group, which has this number in it.
    #[inline(always)]
    pub(super) fn places(&self, key: usize) -> Places<'_> {
        Places { located: self, key }
    }
}

impl Places<'_> {
    #[inline(always)]
    pub(super) fn iter(self) -> impl Iterator<Item = (usize, u32)> {
        let Places { located, key } = self;
        (0..located.shape.hashes).map(move |part| {
            let at = part * located.keys + key;
            (located.cells[at] as usize, located.salts[at] as u32)
        })
    }
}

/// Scales 32 random bits to a number below `bound`.
#[inline]
pub(super) const fn scaled(bits: u32, bound: u32) -> u32 {
    ((bits as u64 * bound as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::{KbfMap, KbfParameters, KvSpec};
    use crate::rng::Random;

    /// The cells are those of one key after another, however they are computed.
    #[test]
    fn cells_are_those_of_each_key() {
        let mut random = Random::new(9);
        for hashes in 1..=HASHES_LIMIT as u32 {
            let salted = random.chance(0.5);
            let parameters = KbfParameters::new(&KvSpec::new(1000, 3000)).unwrap();
            let parameters = KbfParameters { hashes, cells_per_part: 997, salted, ..parameters };
            let filter = KbfMap::new(parameters).unwrap();
            let shape = filter.shape();
            for keys in 0..=shape.group() {
                let digests: Vec<u128> = (0..keys)
                    .map(|_| u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()))
                    .collect();
                let mut located = Located::new(shape);
                located.locate(digests.iter().copied());
                let mut again = Located::new(shape);
                again.locate(digests.iter().copied());
                again.compute(); // as on a processor without wide registers
                assert_eq!(located.cells().len(), keys * hashes as usize);
                for (number, digest) in digests.iter().enumerate() {
                    let expected: Vec<(usize, u32)> = filter.cells_of(*digest).collect();
                    for located in [&located, &again] {
                        let found: Vec<(usize, u32)> = located.places(number).iter().collect();
                        assert_eq!(found, expected, "{hashes} hashes, key {number} of {keys}");
                    }
                }
            }
        }
    }
}
