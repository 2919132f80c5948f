//! Greedy codes of a kBF (Xiong et al., Algorithm 1): their pairwise XORs are all different.

use std::borrow::Cow;

use super::regression::RegressionTable;
use crate::state::State;

/// How many codes fit 29 bits, which is what a 3-bit counter leaves of a cell of 32.
const COUNT: usize = 4213;

/// The first greedy codes, all that are below 2^29: what Algorithm 1 finds, in ascending order.
pub static GREEDY_CODES: [u32; COUNT] = parsed(include_bytes!("greedy_codes.txt"));

/// Decimal numbers with single spaces or line ends after them.
const fn parsed(text: &[u8]) -> [u32; COUNT] {
    let (mut codes, mut found, mut at) = ([0; COUNT], 0, 0);
    while at < text.len() {
        match text[at] {
            digit @ b'0'..=b'9' => codes[found] = 10 * codes[found] + (digit - b'0') as u32,
            _ => found += 1,
        }
        at += 1;
    }
    assert!(found == COUNT);
    codes
}

/// The encodings of a machine's states.
///
/// No two of `e_i` and `e_i ⊕ e_j` (i < j) are equal, so that the XOR of one or two encodings
/// tells which they are. Three or more may be ambiguous.
///
/// ```
/// use acsm_filters::Encodings;
///
/// assert_eq!(Encodings::new(6).codes(), [1, 2, 4, 8, 15, 16]);
/// ```
#[derive(Debug, Clone)]
pub struct Encodings {
    codes: Cow<'static, [u32]>,
}

impl Encodings {
    /// Encodings for this many states, at most [`State::LIMIT`]: the sum of two tells which two.
    pub fn new(states: usize) -> Encodings {
        Encodings { codes: Cow::Borrowed(&GREEDY_CODES[..states.min(State::LIMIT)]) }
    }

    /// Encodings of at most this many bits: the sum of three tells which three, where there is room
    /// for that, else the sum of two.
    pub fn within(bits: u32, states: usize) -> Encodings {
        let wide = Self::telling_three(states);
        if wide.bits() <= bits { wide } else { Self::new(states) }
    }

    /// Encodings of which any three can be told by their XOR: no XOR of up to six of them is 0.
    fn telling_three(states: usize) -> Encodings {
        let mut codes: Vec<u32> = Vec::with_capacity(states.min(State::LIMIT));
        // By sum: how many codes it takes to make it. There are at most 16 codes.
        let mut terms = vec![0u32];
        let mut candidate = 1;
        while codes.len() < states.min(State::LIMIT) {
            if terms.len() <= candidate {
                terms.resize(2 * candidate, u32::MAX);
            }
            if terms.get(candidate).is_some_and(|&terms| terms >= 6) {
                codes.push(candidate as u32);
                let with = |sum: usize| {
                    terms.get(sum ^ candidate).map_or(u32::MAX, |&n| n.saturating_add(1))
                };
                terms = (0..terms.len())
                    .map(|sum| with(sum).min(terms.get(sum).copied().unwrap_or(u32::MAX)))
                    .collect();
            }
            candidate += 1;
        }
        Encodings { codes: Cow::Owned(codes) }
    }

    /// All codes, in the order of the states.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// How many bits the widest code takes.
    pub fn bits(&self) -> u32 {
        self.codes.last().map_or(0, |widest| u32::BITS - widest.leading_zeros())
    }
}

/// The first of [`GREEDY_CODES`], with what it takes to find their indexes.
///
/// An index is found by [regression](RegressionTable). A pair takes time in proportion to the number of
/// codes: each is tried, and a Bloom filter of all codes tells whether the rest can be one (what the
/// papers call *decode2*); whatever the Bloom filter lets through is looked up in the table.
#[derive(Debug, Clone)]
pub struct GreedyCodes {
    table: RegressionTable<'static>,
    bloom: Vec<u64>,
}

/// A byte or two for each code: one in fifteen others passes.
const BLOOM_BITS: u32 = 16;

impl GreedyCodes {
    /// The first `count` codes, or all there are.
    pub fn new(count: usize) -> GreedyCodes {
        let codes = &GREEDY_CODES[..count.min(COUNT)];
        let mut bloom = vec![0; 1 << BLOOM_BITS >> u64::BITS.ilog2()];
        for &code in codes {
            let (word, bit) = bloom_bit(code);
            bloom[word] |= bit;
        }
        GreedyCodes { table: RegressionTable::new(codes), bloom }
    }

    /// How many codes there are.
    pub fn count(&self) -> usize {
        self.codes().len()
    }

    /// How many bits the widest code of all takes.
    pub const fn bits() -> u32 {
        29
    }

    /// The bytes of the tables.
    pub fn table_bytes(&self) -> usize {
        size_of_val(self.codes()) + size_of_val(self.bloom.as_slice())
    }

    /// The codes, in ascending order.
    pub fn codes(&self) -> &'static [u32] {
        self.table.codes()
    }

    /// The code with this index, which is below [`count`](Self::count).
    #[inline]
    pub fn code(&self, index: u32) -> u64 {
        self.codes()[index as usize].into()
    }

    /// The index of a code.
    #[inline]
    pub fn index(&self, code: u64) -> Option<u32> {
        let code = u32::try_from(code).ok()?;
        let (word, bit) = bloom_bit(code);
        if self.bloom[word] & bit == 0 {
            return None;
        }
        self.table.position(code).index.map(|index| index as u32)
    }

    /// The indexes whose codes can be in this sum of three: with each, the rest is the sum of two codes, or 0.
    pub fn in_sum_of_three(&self, sum: u64) -> Vec<u32> {
        let is_in = |code: u64| sum == code || self.pair(sum ^ code).is_some();
        (0..self.count() as u32).filter(|&index| is_in(self.code(index))).collect()
    }

    /// The two indexes whose codes have this sum; `None` if no two have it.
    pub fn pair(&self, sum: u64) -> Option<[u32; 2]> {
        if sum == 0 {
            return None;
        }
        let codes = self.codes().iter().enumerate();
        codes.into_iter().find_map(|(i, &code)| {
            let other = self.index(sum ^ u64::from(code))?;
            Some([i as u32, other])
        })
    }
}

#[inline]
const fn bloom_bit(code: u32) -> (usize, u64) {
    let bit = code.wrapping_mul(0x9e37_79b1) >> (u32::BITS - BLOOM_BITS);
    (bit as usize / 64, 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::greedy_search::{Collisions, greedy_search};
    use crate::rng::Random;
    use crate::spec::kbf_code_bits;

    #[test]
    fn sums_of_two_are_unique_and_the_spec_knows_their_width() {
        for states in 1..=State::LIMIT {
            let encodings = Encodings::new(states);
            let codes = encodings.codes();
            assert_eq!(codes.len(), states);
            let mut sums = codes.to_vec();
            for (i, a) in codes.iter().enumerate() {
                sums.extend(codes[..i].iter().map(|b| a ^ b));
            }
            let count = sums.len();
            sums.sort_unstable();
            sums.dedup();
            assert_eq!((sums.len(), sums.contains(&0)), (count, false));
            assert_eq!(encodings.bits(), kbf_code_bits(states), "{states} states");
        }
    }

    #[test]
    fn the_search_finds_the_codes() {
        assert_eq!(greedy_search(600, 1 << 22, Collisions::Exact).unwrap(), GREEDY_CODES[..600]);
        // The width of the first codes, by their number.
        for (count, bits) in [(6, 5), (7, 6), (16, 8), (128, 16), (1024, 24), (3000, 28)] {
            assert_eq!(GREEDY_CODES[count - 1].ilog2() + 1, bits, "{count} codes");
        }
        assert_eq!(GREEDY_CODES[2999], 176_456_236);
        assert!(GREEDY_CODES[COUNT - 1] < 1 << 29);
    }

    /// A minute or two in an optimised build.
    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes minutes unless optimised")]
    fn the_search_finds_all_codes_of_29_bits() {
        let found = greedy_search(usize::MAX, 1 << 29, Collisions::Exact).unwrap();
        assert_eq!(found, GREEDY_CODES);
    }

    #[test]
    fn no_two_sums_of_all_codes_are_equal() {
        let mut taken = vec![0_u64; 1 << 29 >> 6];
        let mut take = |sum: u32| {
            let (word, bit) = (sum as usize / 64, 1 << (sum % 64));
            assert_eq!(taken[word] & bit, 0, "{sum} twice");
            taken[word] |= bit;
        };
        for (i, &code) in GREEDY_CODES.iter().enumerate() {
            take(code);
            GREEDY_CODES[..i].iter().for_each(|other| take(code ^ other));
        }
    }

    #[test]
    fn pairs_are_decoded() {
        let codes = GreedyCodes::new(3000);
        let mut random = Random::new(1);
        for _ in 0..300 {
            let [i, j] = [0; 2].map(|_| random.below(3000) as u32);
            assert_eq!(codes.index(codes.code(i)), Some(i));
            let mut pair = codes.pair(codes.code(i) ^ codes.code(j));
            pair.iter_mut().for_each(|pair| pair.sort_unstable());
            assert_eq!(pair, (i != j).then_some([i.min(j), i.max(j)]));
            let word = random.below(1 << 29);
            if let Some([i, j]) = codes.pair(word) {
                assert_eq!(codes.code(i) ^ codes.code(j), word);
            }
        }
        assert_eq!((codes.index(u64::MAX), codes.index(0)), (None, None));
        assert_eq!(GreedyCodes::new(usize::MAX).count(), COUNT);
    }
}
