//! A set that never changes: Bloom-α (Qiao, Li, Chen: *Fast Bloom Filters and Their
//! Generalization*, §4).
//!
//! Bloom-1 puts all k bits of an element into one word, so that a query reads one word; but words
//! fill unevenly, and the fullest ones err most. Bloom-α splits those: the last ⌊k/2⌋ bits of their
//! elements go to a second word, and a flag says so. All elements must be known in advance, so it
//! is no store for flows: it serves lists of addresses or keys that are built once and queried
//! often.

use crate::element::Element;
use crate::error::StoreError;
use crate::memory::allocate;

/// Bits of a word for elements; the last bit is its flag.
const SLOTS: u32 = u64::BITS - 1;
const FLAG: u64 = 1 << SLOTS;

/// The parameters of a [`StaticSet`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StaticSetSpec {
    /// Bits for each element, flags included.
    pub bits_per_element: f64,
    /// k: bits that an element sets, 1 to 32.
    pub hashes: u32,
    /// α: the fraction of elements, 0 to 1, that is split. 0 is Bloom-1.
    pub alpha: f64,
}

/// A fixed set of digests.
///
/// * An element is always found.
/// * An absent digest is found with a probability between those of Bloom-1 and Bloom-2: 0.02 at 10
///   bits per element, three hashes and α = 0.5 (`bloom_alpha` in `acsm-model`).
/// * A query reads one word; a second one only if the first is split and has all of the first
///   ⌈k/2⌉ bits.
///
/// ```
/// use acsm_filters::{Random, StaticSet, StaticSetSpec};
///
/// let mut random = Random::new(1);
/// let elements: Vec<u64> = (0..10_000).map(|_| random.next_u64()).collect();
/// let spec = StaticSetSpec { bits_per_element: 10.0, hashes: 3, alpha: 0.5 };
/// let set = StaticSet::new(&elements, &spec)?;
/// assert!(elements.iter().all(|element| set.contains(*element)));
/// let false_positives = (0..10_000).filter(|_| set.contains(random.next_u64())).count();
/// assert!(false_positives < 300);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StaticSet {
    words: Vec<u64>,
    hashes: u32,
}

/// The result of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// Whether the digest seems to be in the set.
    pub found: bool,
    /// How many words were read: 1 or 2.
    pub accesses: u32,
}

impl StaticSet {
    /// The set of these digests: random numbers, or keyed hashes of what they stand for.
    pub fn new(elements: &[u64], spec: &StaticSetSpec) -> Result<StaticSet, StoreError> {
        let bits = (elements.len() as f64 * spec.bits_per_element).max(1.0);
        let words = allocate((bits / f64::from(u64::BITS)).ceil() as usize, 0)?;
        let mut set = StaticSet { words, hashes: spec.hashes.clamp(1, 32) };
        set.flag_fullest(elements, spec.alpha)?;
        for element in elements.iter().copied().map(Element) {
            let (first, second) = set.masks(element);
            let word = set.word(element, 0);
            if set.words[word] & FLAG == 0 {
                set.words[word] |= first | second;
            } else {
                let second_word = set.word(element, 1);
                set.words[word] |= first;
                set.words[second_word] |= second;
            }
        }
        Ok(set)
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
        let (first, second) = self.masks(element);
        let word = self.words[self.word(element, 0)];
        if word & FLAG == 0 || word & first != first {
            let all = first | second;
            return Membership { found: word & all == all, accesses: 1 };
        }
        let found = self.words[self.word(element, 1)] & second == second;
        Membership { found, accesses: 2 }
    }

    /// The memory it takes.
    pub fn bits(&self) -> u64 {
        self.words.len() as u64 * u64::from(u64::BITS)
    }

    /// The fraction of words that is split.
    pub fn split_words(&self) -> f64 {
        let split = self.words.iter().filter(|word| *word & FLAG != 0).count();
        split as f64 / self.words.len() as f64
    }

    /// Flags words from the fullest down until `alpha` of the elements are on flagged ones.
    fn flag_fullest(&mut self, elements: &[u64], alpha: f64) -> Result<(), StoreError> {
        let mut loads = allocate(self.words.len(), 0u32)?;
        for element in elements {
            loads[self.word(Element(*element), 0)] += 1;
        }
        let mut fullest: Vec<usize> = (0..loads.len()).collect();
        fullest.sort_by_key(|&word| std::cmp::Reverse(loads[word]));
        let mut left = alpha * elements.len() as f64;
        for word in fullest {
            if left <= 0.0 {
                break;
            }
            left -= f64::from(loads[word]);
            self.words[word] |= FLAG;
        }
        Ok(())
    }

    /// The first ⌈k/2⌉ bits of an element, and the other ⌊k/2⌋.
    #[inline]
    fn masks(&self, element: Element) -> (u64, u64) {
        let first = self.hashes.div_ceil(2);
        let mut masks = (0, 0);
        for (n, slot) in (0..self.hashes).zip(element.slots(SLOTS)) {
            let mask = if n < first { &mut masks.0 } else { &mut masks.1 };
            *mask |= 1 << slot;
        }
        masks
    }

    /// The first word of an element, or the second one.
    #[inline]
    fn word(&self, element: Element, n: u32) -> usize {
        element.word(n, self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    #[test]
    fn elements_are_found_however_odd_the_wish() {
        let mut random = Random::new(3);
        let elements: Vec<u64> = (0..500).map(|_| random.next_u64()).collect();
        for hashes in [0, 1, 2, 3, 9, 32, 99] {
            for alpha in [-1.0, 0.0, 0.25, 1.0, f64::NAN, f64::INFINITY] {
                for bits_per_element in [-1.0, 0.0, 0.1, 12.0, f64::NAN] {
                    let spec = StaticSetSpec { bits_per_element, hashes, alpha };
                    let set = StaticSet::new(&elements, &spec).expect("a set");
                    assert!(elements.iter().all(|element| set.contains(*element)), "{spec:?}");
                }
            }
        }
        let spec = StaticSetSpec { bits_per_element: 10.0, hashes: 3, alpha: 0.5 };
        let nothing = StaticSet::new(&[], &spec).expect("a set");
        assert!(!nothing.contains(0) && nothing.bits() == 64);
        let vast = StaticSetSpec { bits_per_element: f64::INFINITY, ..spec };
        assert!(StaticSet::new(&elements, &vast).is_err());
    }
}
