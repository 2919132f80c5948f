//! Algorithm 1 of the kBF papers: the search for greedy codes, with and without its Bloom filter.
//!
//! Candidates are tried in ascending order. One is taken if it and its XORs with all codes taken
//! before are different from those codes and their pairwise XORs. The papers keep these in a Bloom
//! filter "to admit or reject each candidate in constant time"; but a candidate takes one probe for
//! each code taken before, and a false positive rejects a candidate that would fit, so that the codes
//! depend on the filter's hash functions. An exact set of sums is one bit per word.

use crate::digest::mix;
use crate::error::StoreError;
use crate::memory::allocate;

/// What tells the search that a sum is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collisions {
    /// One bit for every number below the limit of the search.
    Exact,
    /// A Bloom filter with this number of bits and of hashes.
    Bloom {
        /// Bits of the filter.
        bits: usize,
        /// Bits per sum.
        hashes: u32,
    },
}

/// The first `count` greedy codes, or those below `limit`, a power of two.
///
/// ```
/// use acsm_filters::codes::{Collisions, greedy_search};
///
/// let exact = greedy_search(7, 1 << 8, Collisions::Exact)?;
/// assert_eq!(exact, [1, 2, 4, 8, 15, 16, 32]);
/// // A large Bloom filter errs rarely, a small one rejects codes that fit.
/// let bloom = |bits| greedy_search(7, 1 << 8, Collisions::Bloom { bits, hashes: 4 });
/// assert_eq!(bloom(1 << 16)?, exact);
/// assert_ne!(bloom(1 << 6)?, exact);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
pub fn greedy_search(
    count: usize,
    limit: u32,
    collisions: Collisions,
) -> Result<Vec<u32>, StoreError> {
    let limit = limit.next_power_of_two();
    match collisions {
        Collisions::Exact => Ok(search(count, limit, &mut SumBits::new(limit)?)),
        Collisions::Bloom { bits, hashes } => {
            Ok(search(count, limit, &mut SumBloom::new(bits, hashes)?))
        }
    }
}

/// The codes taken, and their pairwise sums.
trait Sums {
    fn contains(&self, sum: u32) -> bool;
    fn insert(&mut self, sum: u32);
}

fn search(count: usize, limit: u32, sums: &mut impl Sums) -> Vec<u32> {
    let mut codes: Vec<u32> = vec![];
    for candidate in 1..limit {
        if codes.len() >= count {
            break;
        }
        let collides = |code: &u32| sums.contains(code ^ candidate);
        if !sums.contains(candidate) && !codes.iter().any(collides) {
            sums.insert(candidate);
            codes.iter().for_each(|code| sums.insert(code ^ candidate));
            codes.push(candidate);
        }
    }
    codes
}

/// One bit per number.
struct SumBits(Vec<u64>);

impl SumBits {
    fn new(limit: u32) -> Result<SumBits, StoreError> {
        allocate((limit as usize).div_ceil(64), 0).map(SumBits)
    }
}

impl Sums for SumBits {
    #[inline]
    fn contains(&self, sum: u32) -> bool {
        self.0[sum as usize / 64] >> (sum % 64) & 1 == 1
    }

    #[inline]
    fn insert(&mut self, sum: u32) {
        self.0[sum as usize / 64] |= 1 << (sum % 64);
    }
}

/// A classic Bloom filter.
struct SumBloom {
    words: Vec<u64>,
    hashes: u32,
}

impl SumBloom {
    fn new(bits: usize, hashes: u32) -> Result<SumBloom, StoreError> {
        Ok(SumBloom { words: allocate(bits.div_ceil(64).max(1), 0)?, hashes: hashes.max(1) })
    }

    fn bits(&self, sum: u32) -> impl Iterator<Item = usize> + use<> {
        let bits = self.words.len() as u128 * 64;
        (0..self.hashes).map(move |n| {
            let hash = mix(u64::from(sum) | u64::from(n) << 32);
            ((u128::from(hash) * bits) >> 64) as usize
        })
    }
}

impl Sums for SumBloom {
    #[inline]
    fn contains(&self, sum: u32) -> bool {
        self.bits(sum).all(|bit| self.words[bit / 64] >> (bit % 64) & 1 == 1)
    }

    #[inline]
    fn insert(&mut self, sum: u32) {
        self.bits(sum).for_each(|bit| self.words[bit / 64] |= 1 << (bit % 64));
    }
}
