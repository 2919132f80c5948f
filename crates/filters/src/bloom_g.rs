//! Bloom-g, and Bloom-1 with g = 1 (Qiao, Li, Chen: *Fast Bloom Filters and Their Generalization*,
//! §2 and §3): a Bloom filter that reads g words of memory, however many bits an element has.

use thiserror::Error;

use crate::element::Element;
use crate::error::StoreError;
use crate::memory::allocate;
use crate::static_set::Membership;

/// The widest words: a cache line.
const WORD_BITS_MAX: u32 = 512;
/// The most words, and bits, of an element.
const HASHES_MAX: u32 = 128;

/// The parameters of a [`BloomG`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomGSpec {
    /// m: bits of the filter; what is left of a last word is not used.
    pub bits: u64,
    /// w: bits of a word, a multiple of 8 up to 512. The paper looks at 32, 64, 72 and 256.
    pub word_bits: u32,
    /// g: words of an element, 1 to 128.
    pub words: u32,
    /// k: bits of an element, g to 128.
    pub hashes: u32,
}

/// A [`BloomG`] that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum BloomGError {
    /// Words of no whole number of bytes, or too wide.
    #[error("words of {0} bits: they must have 8, 16, 24, … or 512")]
    WordBits(u32),
    /// No word for an element, or too many.
    #[error("g = {0} words of an element: from 1 to 128")]
    Words(u32),
    /// Fewer bits of an element than it has words, or too many.
    #[error("k = {hashes} bits of an element with g = {words} words: from g to 128")]
    Hashes {
        /// k.
        hashes: u32,
        /// g.
        words: u32,
    },
    /// Not one word.
    #[error("{bits} bits are less than one word of {word_bits}")]
    NoWord {
        /// m.
        bits: u64,
        /// w.
        word_bits: u32,
    },
    /// The system does not have the memory.
    #[error(transparent)]
    Memory(#[from] StoreError),
}

/// A set of digests to which elements can be added.
///
/// * An element is always found.
/// * An absent digest is found with the probability `false_positive_rate_exact` of `bloom_g` in
///   `acsm-model`: 0.023 for g = 1 and 0.018 for g = 2 at 10 bits per element, k = 3 and words of 64
///   bits, where a Bloom filter has 0.017. Wider words err less.
/// * A query reads at most g words; an absent digest is refused by the first word that lacks one of
///   its bits.
/// * With g = k it is a Bloom filter.
///
/// ```
/// use acsm_filters::{BloomG, BloomGSpec, Random};
///
/// let mut random = Random::new(1);
/// let elements: Vec<u64> = (0..10_000).map(|_| random.next_u64()).collect();
/// let mut set = BloomG::new(&BloomGSpec { bits: 100_000, word_bits: 64, words: 1, hashes: 3 })?;
/// for &element in &elements {
///     set.insert(element);
/// }
/// assert!(elements.iter().all(|&element| set.contains(element)));
///
/// let asked: Vec<_> = (0..100_000).map(|_| set.query(random.next_u64())).collect();
/// assert!(asked.iter().all(|query| query.accesses == 1));
/// // 2.2 %, give or take five standard deviations of this filter and of the sample.
/// let found = asked.iter().filter(|query| query.found).count();
/// assert!((1_800..2_600).contains(&found), "{found}");
/// # Ok::<(), acsm_filters::BloomGError>(())
/// ```
///
/// # Rules
///
/// An element picks g words, and bits in each: ⌈k/g⌉ in the first k mod g of them, ⌊k/g⌋ in the
/// others; all with replacement. Insertion sets them; a query asks whether all are set.
#[derive(Debug, Clone)]
pub struct BloomG {
    /// Words without gaps: those of 72 bits are 9 bytes.
    bytes: Vec<u8>,
    word_count: usize,
    word_bits: u32,
    words: u32,
    hashes: u32,
}

impl BloomG {
    /// An empty set.
    pub fn new(spec: &BloomGSpec) -> Result<BloomG, BloomGError> {
        let BloomGSpec { bits, word_bits, words, hashes } = *spec;
        if !word_bits.is_multiple_of(8) || !(8..=WORD_BITS_MAX).contains(&word_bits) {
            return Err(BloomGError::WordBits(word_bits));
        }
        if !(1..=HASHES_MAX).contains(&words) {
            return Err(BloomGError::Words(words));
        }
        if !(words..=HASHES_MAX).contains(&hashes) {
            return Err(BloomGError::Hashes { hashes, words });
        }
        let word_count = usize::try_from(bits / u64::from(word_bits)).unwrap_or(usize::MAX);
        if word_count == 0 {
            return Err(BloomGError::NoWord { bits, word_bits });
        }
        let bytes = allocate(word_count.saturating_mul(word_bits as usize / 8), 0)?;
        Ok(BloomG { bytes, word_count, word_bits, words, hashes })
    }

    /// Adds a digest. Returns how many bits were not set before; 0 if it seemed to be in the set.
    #[inline]
    pub fn insert(&mut self, element: u64) -> u32 {
        let element = Element(element);
        let mut slots = element.slots(self.word_bits);
        let mut new = 0;
        for n in 0..self.words {
            let start = self.start_of(element, n);
            for slot in slots.by_ref().take(self.share(n)) {
                let (byte, bit) = (start + slot as usize / 8, 1 << (slot % 8));
                new += u32::from(self.bytes[byte] & bit == 0);
                self.bytes[byte] |= bit;
            }
        }
        new
    }

    /// Whether this digest seems to be in the set.
    #[inline]
    pub fn contains(&self, element: u64) -> bool {
        self.query(element).found
    }

    /// Whether this digest seems to be in the set, and how many words the query read.
    #[inline]
    pub fn query(&self, element: u64) -> Membership {
        let element = Element(element);
        let mut slots = element.slots(self.word_bits);
        for n in 0..self.words {
            let start = self.start_of(element, n);
            let mut all = 1;
            for slot in slots.by_ref().take(self.share(n)) {
                all &= self.bytes[start + slot as usize / 8] >> (slot % 8);
            }
            if all & 1 == 0 {
                return Membership { found: false, accesses: n + 1 };
            }
        }
        Membership { found: true, accesses: self.words }
    }

    /// The number of the n-th word of a digest, from 0 to g − 1: its load is how many elements have it.
    pub fn word_of(&self, element: u64, n: u32) -> usize {
        Element(element).word(n, self.word_count)
    }

    /// l: how many words there are.
    pub fn word_count(&self) -> usize {
        self.word_count
    }

    /// The memory it takes.
    pub fn bits(&self) -> u64 {
        self.bytes.len() as u64 * 8
    }

    /// The fraction of bits that is set.
    pub fn fill_ratio(&self) -> f64 {
        let set: u64 = self.bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
        set as f64 / self.bits() as f64
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// How many bits an element has in its n-th word.
    #[inline]
    fn share(&self, n: u32) -> usize {
        (self.hashes / self.words + u32::from(n < self.hashes % self.words)) as usize
    }

    /// The first byte of the n-th word of an element.
    #[inline]
    fn start_of(&self, element: Element, n: u32) -> usize {
        element.word(n, self.word_count) * (self.word_bits as usize / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_made_is_refused() {
        let good = BloomGSpec { bits: 1000, word_bits: 72, words: 2, hashes: 3 };
        for (spec, error) in [
            (BloomGSpec { word_bits: 60, ..good }, BloomGError::WordBits(60)),
            (BloomGSpec { word_bits: 0, ..good }, BloomGError::WordBits(0)),
            (BloomGSpec { word_bits: 520, ..good }, BloomGError::WordBits(520)),
            (BloomGSpec { words: 0, ..good }, BloomGError::Words(0)),
            (BloomGSpec { words: 129, ..good }, BloomGError::Words(129)),
            (BloomGSpec { hashes: 1, ..good }, BloomGError::Hashes { hashes: 1, words: 2 }),
            (BloomGSpec { hashes: 129, ..good }, BloomGError::Hashes { hashes: 129, words: 2 }),
            (BloomGSpec { bits: 71, ..good }, BloomGError::NoWord { bits: 71, word_bits: 72 }),
        ] {
            assert_eq!(BloomG::new(&spec).err(), Some(error), "{spec:?}");
        }
        assert!(matches!(
            BloomG::new(&BloomGSpec { bits: u64::MAX, ..good }),
            Err(BloomGError::Memory(StoreError::OutOfMemory { .. }))
        ));
        let set = BloomG::new(&good).expect("thirteen words and a rest");
        assert_eq!((set.word_count(), set.bits()), (13, 936));
    }
}
