//! Algebraic codes: (x, x³) over GF(2^r), whose pairwise XORs are all different.
//!
//! {(x, x³) : x ≠ 0} are the columns of the parity check of a BCH code with distance 5, so no four
//! of them, or fewer, sum to 0: 2^r − 1 codes of 2r bits, without a search and without a table. The
//! bound for codes of 2r bits is about 1.4 times as many.
//!
//! A sum (a, b) of two codes has x + y = a and x³ + y³ = b, so xy = a² + b/a; with x = a t this is
//! t² + t = 1 + b/a³, which one linear map solves, or finds unsolvable: then it is the sum of no two. In
//! small fields three look-ups of logarithms give both indexes.

use super::gf2::Field;
use crate::digest::mix;
use crate::error::StoreError;
use crate::memory::allocate;

/// The degrees r of the fields that codes can be made from.
pub const DEGREES: std::ops::RangeInclusive<u32> = 2..=30;

/// Codes (x, x³) with x = g^index for a primitive g.
///
/// The x of consecutive indexes would be a subspace if they were consecutive numbers, and the sums of
/// three codes then coincide with sums of two more often than at random; powers do not have that.
///
/// ```
/// use acsm_filters::codes::AlgebraicCodes;
///
/// let codes = AlgebraicCodes::new(14, 3000)?;
/// let sum = codes.code(17) ^ codes.code(2999);
/// let mut pair = codes.pair(sum).unwrap();
/// pair.sort();
/// assert_eq!(pair, [17, 2999]);
/// # Ok::<(), acsm_filters::StoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct AlgebraicCodes {
    field: Field,
    codes: Vec<u64>,
    /// With logarithms: x³ of each code, which takes a quarter of the cache lines that the codes take.
    cubes: Vec<u16>,
    /// Without logarithms: where each x of a code is found, by its hash; [`VACANT`] if nowhere.
    index: Vec<u32>,
}

const VACANT: u32 = u32::MAX;

impl AlgebraicCodes {
    /// The first `count` codes over GF(2^`degree`), or all there are.
    pub fn new(degree: u32, count: usize) -> Result<AlgebraicCodes, StoreError> {
        let field = Field::new(degree.clamp(*DEGREES.start(), *DEGREES.end()));
        let count = count.min(field.order() as usize);
        let mut codes = allocate(count, 0)?;
        let mut x = 1;
        for code in &mut codes {
            *code = u64::from(x) | u64::from(field.cube(x)) << field.degree();
            x = field.double(x);
        }
        let has_logs = field.log(1).is_some();
        let (cubes, slots) = match has_logs {
            true => (count, 0),
            false => (0, (2 * count).next_power_of_two()),
        };
        let mut cubes = allocate(cubes, 0)?;
        for (cube, code) in cubes.iter_mut().zip(&codes) {
            *cube = (code >> field.degree()) as u16; // fields with logarithms have no more bits
        }
        let mut found = AlgebraicCodes { field, codes, cubes, index: allocate(slots, VACANT)? };
        if !has_logs {
            found.fill_index();
        }
        Ok(found)
    }

    fn fill_index(&mut self) {
        let mask = self.index.len().wrapping_sub(1);
        for (index, &code) in self.codes.iter().enumerate() {
            let mut slot = hash(self.x_of(code)) & mask;
            while self.index[slot] != VACANT {
                slot = (slot + 1) & mask;
            }
            self.index[slot] = index as u32;
        }
    }

    /// How many codes there are.
    pub fn count(&self) -> usize {
        self.codes.len()
    }

    /// How many bits a code takes.
    pub fn bits(&self) -> u32 {
        2 * self.field.degree()
    }

    /// The bytes of the tables.
    pub fn table_bytes(&self) -> usize {
        let logs = if self.index.is_empty() { 10 * (self.field.order() as usize + 1) } else { 0 };
        let cubes = size_of_val(self.cubes.as_slice());
        cubes
            + size_of_val(self.codes.as_slice())
            + size_of_val(self.index.as_slice())
            + 4096
            + logs
    }

    /// The code with this index, which is below [`count`](Self::count).
    #[inline]
    pub fn code(&self, index: u32) -> u64 {
        self.codes[index as usize]
    }

    /// The index of a code.
    #[inline]
    pub fn index(&self, code: u64) -> Option<u32> {
        let x = self.x_of(code);
        match self.field.log(x).filter(|_| x != 0) {
            Some(log) => {
                let cube = u64::from(*self.cubes.get(log as usize)?);
                (cube == code >> self.field.degree()).then_some(log)
            }
            None => self.find(x).filter(|index| self.codes[*index as usize] == code),
        }
    }

    /// The two indexes whose codes have this sum; `None` if no two have it.
    #[inline(always)] // into the loop over all codes
    pub fn pair(&self, sum: u64) -> Option<[u32; 2]> {
        let (a, b) = (self.x_of(sum), sum >> self.field.degree());
        if a == 0 || b > self.field.order().into() {
            return None;
        }
        let b = b as u32;
        match self.field.summand_logs(a, b) {
            // Without a branch between the two: neither can be predicted.
            Some(logs) => (self.has(logs[0]) & self.has(logs[1])).then_some(logs),
            None => {
                let [x, y] = self.field.summands(a, b)?;
                Some([self.find(x)?, self.find(y)?])
            }
        }
    }

    /// The indexes whose codes can be in this sum of three: with each, the rest is the sum of two codes, or 0.
    pub fn in_sum_of_three(&self, sum: u64) -> Vec<u32> {
        let mut found = vec![];
        for (index, code) in (0..).zip(&self.codes) {
            if sum == *code || self.pair(sum ^ code).is_some() {
                found.push(index);
            }
        }
        found
    }

    #[inline]
    fn has(&self, index: u32) -> bool {
        (index as usize) < self.codes.len()
    }

    #[inline]
    fn x_of(&self, code: u64) -> u32 {
        code as u32 & self.field.order()
    }

    /// Without logarithms: the index whose code begins with x.
    fn find(&self, x: u32) -> Option<u32> {
        let mask = self.index.len().wrapping_sub(1);
        let mut slot = hash(x) & mask;
        loop {
            let index = *self.index.get(slot)?;
            // A vacant slot is beyond the codes.
            let code = *self.codes.get(index as usize)?;
            if self.x_of(code) == x {
                return Some(index);
            }
            slot = (slot + 1) & mask;
        }
    }
}

#[inline]
const fn hash(x: u32) -> usize {
    mix(x as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;
    use std::collections::HashMap;

    /// Every sum of two is decoded, and nothing else is, for all words of small fields.
    #[test]
    fn pairs_are_decoded_and_other_words_are_not() {
        for degree in 2..=8 {
            for count in [1, 3, 1 << (degree - 1), usize::MAX] {
                let codes = AlgebraicCodes::new(degree, count).unwrap();
                let count = codes.count() as u32;
                assert!(count < 1 << degree);
                let mut sums = HashMap::new();
                for i in 0..count {
                    for j in 0..i {
                        let sum = codes.code(i) ^ codes.code(j);
                        assert_eq!(sums.insert(sum, [j, i]), None, "degree {degree}");
                    }
                }
                // Wider words than any code as well.
                let wide = [1, u64::from(u32::MAX), u64::MAX].map(|word| word << codes.bits() | 5);
                for sum in (0..2 << codes.bits()).chain(wide) {
                    let mut pair = codes.pair(sum);
                    pair.iter_mut().for_each(|pair| pair.sort_unstable());
                    assert_eq!(pair, sums.get(&sum).copied(), "degree {degree}, sum {sum}");
                    let index = (0..count).find(|&index| codes.code(index) == sum);
                    assert_eq!(codes.index(sum), index);
                    assert!(index.is_none() || !sums.contains_key(&sum));
                }
            }
        }
    }

    #[test]
    fn large_fields_decode_pairs() {
        for (degree, count) in [(14, 16_383), (16, 3000), (17, 70_000), (20, 5000), (30, 5000)] {
            let codes = AlgebraicCodes::new(degree, count).unwrap();
            assert_eq!((codes.count(), codes.bits()), (count, 2 * degree));
            let mut random = Random::new(degree.into());
            for _ in 0..2000 {
                let [i, j] = [0; 2].map(|_| random.below(count as u64) as u32);
                assert_eq!(codes.index(codes.code(i)), Some(i));
                let mut pair = codes.pair(codes.code(i) ^ codes.code(j));
                pair.iter_mut().for_each(|pair| pair.sort_unstable());
                assert_eq!(pair, (i != j).then_some([i.min(j), i.max(j)]));
                let word = random.next_u64() >> (64 - codes.bits());
                if let Some([i, j]) = codes.pair(word) {
                    assert_eq!(codes.code(i) ^ codes.code(j), word);
                }
            }
        }
    }

    /// A sum of three codes is a sum of two others about as often as a random word is.
    #[test]
    fn sums_of_three_look_random() {
        let (count, trials) = (3000, 200_000);
        let codes = AlgebraicCodes::new(14, count).unwrap();
        let mut random = Random::new(5);
        let mut hits = 0;
        for _ in 0..trials {
            let four: [u32; 4] = std::array::from_fn(|_| random.below(count as u64) as u32);
            let sum = four.iter().fold(0, |sum, &index| sum ^ codes.code(index));
            let differ = (0..4).all(|i| (0..i).all(|j| four[i] != four[j]));
            hits += u32::from(differ && codes.pair(sum).is_some());
        }
        let expected = trials as f64 * (3000.0 * 2999.0 / 2.0) / f64::from(1 << 28);
        let bound = 5.0 * expected.sqrt() + 0.03 * expected;
        assert!((f64::from(hits) - expected).abs() < bound, "{hits}, expected {expected:.0}");
    }
}
