//! What a key-value store is wanted for, and the parameters that follow from it.

use std::ops::RangeInclusive;

use super::decode::Decoding;
use super::error::{KvError, Mismatch};
use super::sizing::Shape;
use crate::codes::{CodeFamily, GREEDY_CODES};
use crate::digest::HashKey;
use crate::spec::{HASHES_LIMIT, MEMORY_LIMIT_BYTES};

/// The family that codes are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeChoice {
    /// Greedy codes: as in the papers, up to 4,213 values.
    Greedy,
    /// Algebraic codes: over the largest field that fits the cell.
    Algebraic,
}

/// A store as it is wanted: CREATE(pairs, values, p).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvSpec {
    /// How many pairs.
    pub pairs: u64,
    /// How many different values. There is room for 128 at least.
    pub values: usize,
    /// p: at most so often is an absent key found, and a key that is there undecided.
    pub rate: f64,
    /// How values are decoded.
    pub decoding: Decoding,
    /// Which codes they have.
    pub codes: CodeChoice,
    /// Whether the codes of a key differ from cell to cell, so that equal values do not cancel.
    pub salted: bool,
    /// What keys are hashed with.
    pub hash_key: HashKey,
}

impl KvSpec {
    /// For `pairs` pairs with `values` different values, at an error rate of 0.001: joint decoding of
    /// salted algebraic codes. The hash key is public; choose a secret one if keys come from others.
    pub fn new(pairs: u64, values: usize) -> KvSpec {
        KvSpec {
            pairs,
            values,
            rate: 1e-3,
            decoding: Decoding::Joint,
            codes: CodeChoice::Algebraic,
            salted: true,
            hash_key: HashKey::from_seed(0),
        }
    }
}

/// The parameters of a key-value Bloom filter. Filters can be joined if all are equal but for the
/// capacity, the rate and the decoding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KbfParameters {
    /// Cells of each of k parts; m = k times this.
    pub cells_per_part: u32,
    /// k: cells per key, one in each part.
    pub hashes: u32,
    /// Bits of a cell, 32 or 64.
    pub cell_bits: u32,
    /// The codes.
    pub family: CodeFamily,
    /// V: how many of the codes are used.
    pub values: u32,
    /// How values are decoded.
    pub decoding: Decoding,
    /// Whether codes are salted.
    pub salted: bool,
    /// What keys are hashed with.
    pub hash_key: HashKey,
    /// p: the error rate…
    pub rate: f64,
    /// …that is reached with this number of pairs.
    pub capacity: u64,
}

/// The degree of algebraic codes in cells of 32 bits: 28 bits of code and 4 of counter.
const DEGREE_IN_32: u32 = 14;
/// The same of 64 bits: 56 and 8. Larger fields decide no more, and leave less for the counter.
const DEGREE_IN_64: u32 = 28;
/// Few codes would often be equal by chance, with salt or without: there is room for more values.
const VALUES_LEAST: usize = 128;
/// The most values of a kBF in cells of 64 bits.
const VALUES_MAX: usize = (1 << 24) - 1;
/// The number of cells of a part is a multiple of this: whole lines, which can be halved four times.
const PART_CELLS: u32 = 16;
/// Error rates that are possible: smaller ones are not computed reliably.
pub(super) const RATES: RangeInclusive<f64> = 1e-12..=0.5;

impl KbfParameters {
    /// Why a filter with the other parameters cannot be joined with one of these.
    pub(super) fn check_joinable(&self, other: &KbfParameters) -> Result<(), KvError> {
        let differ = [
            (self.hashes != other.hashes, Mismatch::Hashes),
            (self.cells_per_part != other.cells_per_part, Mismatch::Cells),
            (self.cell_bits != other.cell_bits, Mismatch::CellBits),
            (self.family != other.family || self.values != other.values, Mismatch::Codes),
            (self.salted != other.salted, Mismatch::Salt),
            (self.hash_key != other.hash_key, Mismatch::HashKey),
        ];
        match differ.into_iter().find(|(differs, _)| *differs) {
            Some((_, what)) => Err(KvError::Different(what)),
            None => Ok(()),
        }
    }

    /// The parameters that take the least memory.
    pub fn new(spec: &KvSpec) -> Result<KbfParameters, KvError> {
        let mut found = KbfParameters::unsized_for(spec)?;
        let (hashes, load) = found.shape().best(spec.rate);
        let cells_per_part = (spec.pairs as f64 / load).ceil();
        found.set_cells(cells_per_part * hashes as f64, hashes)?;
        Ok(found)
    }

    /// CREATE(m, k): as many cells, rounded up, and hashes as are given. `pairs` of the specification is
    /// not used: the capacity follows from `rate`.
    pub fn with_cells(spec: &KvSpec, cells: u64, hashes: usize) -> Result<KbfParameters, KvError> {
        let mut found = KbfParameters::unsized_for(spec)?;
        if hashes == 0 || hashes > HASHES_LIMIT {
            return Err(KvError::Hashes { hashes, most: HASHES_LIMIT });
        }
        found.set_cells(cells as f64, hashes)?;
        Ok(found)
    }

    /// m: all cells.
    pub const fn cells(&self) -> usize {
        self.cells_per_part as usize * self.hashes as usize
    }

    /// P: bits of the codes in use, which decide how often a word is the sum of two codes by chance.
    pub fn code_bits(&self) -> u32 {
        match self.family {
            CodeFamily::Greedy => {
                let last = (self.values as usize).clamp(1, GREEDY_CODES.len()) - 1;
                GREEDY_CODES[last].ilog2() + 1
            }
            CodeFamily::Algebraic { .. } => self.family.bits(),
        }
    }

    /// λ = kn/m for this number of pairs: pairs per cell.
    pub fn load(&self, pairs: u64) -> f64 {
        pairs as f64 / f64::from(self.cells_per_part.max(1))
    }

    /// ρ for this number of pairs: in multiples of the capacity.
    pub fn rho(&self, pairs: u64) -> f64 {
        pairs as f64 / self.capacity.max(1) as f64
    }

    /// The same filter with half of the cells: COMPRESS.
    pub fn halved(&self) -> Result<KbfParameters, KvError> {
        let cells_per_part = self.cells_per_part;
        if cells_per_part < 2 || !cells_per_part.is_multiple_of(2) {
            return Err(KvError::NotHalvable { cells_per_part });
        }
        let mut half = KbfParameters { cells_per_part: cells_per_part / 2, ..*self };
        half.set_capacity();
        Ok(half)
    }

    /// Everything but the number of cells.
    fn unsized_for(spec: &KvSpec) -> Result<KbfParameters, KvError> {
        let KvSpec { pairs, values, rate, .. } = *spec;
        if pairs == 0 || values == 0 {
            return Err(KvError::Nothing { pairs, values });
        }
        // NaN is in no range.
        if !RATES.contains(&rate) {
            return Err(KvError::Rate { rate, least: *RATES.start() });
        }
        let (family, cell_bits, limit) = match spec.codes {
            CodeChoice::Greedy => (CodeFamily::Greedy, 32, CodeFamily::Greedy.limit()),
            CodeChoice::Algebraic => {
                let narrow = CodeFamily::Algebraic { degree: DEGREE_IN_32 };
                let wide = CodeFamily::Algebraic { degree: DEGREE_IN_64 };
                match values <= narrow.limit() {
                    true => (narrow, 32, narrow.limit()),
                    false => (wide, 64, VALUES_MAX),
                }
            }
        };
        if values > limit {
            return Err(KvError::TooManyValues { values, family, limit });
        }
        Ok(KbfParameters {
            cells_per_part: 0,
            hashes: 0,
            cell_bits,
            family,
            values: values.max(VALUES_LEAST) as u32,
            decoding: spec.decoding,
            salted: spec.salted,
            hash_key: spec.hash_key,
            rate,
            capacity: 0,
        })
    }

    fn set_cells(&mut self, cells: f64, hashes: usize) -> Result<(), KvError> {
        let bytes = cells * f64::from(self.cell_bits) / 8.0;
        let cells_per_part = (cells / hashes as f64).ceil();
        let is_addressable = cells_per_part <= f64::from(u32::MAX - PART_CELLS);
        if bytes > MEMORY_LIMIT_BYTES as f64 || !is_addressable {
            return Err(KvError::TooLarge { bytes, limit: MEMORY_LIMIT_BYTES });
        }
        self.cells_per_part = (cells_per_part as u32).max(1).next_multiple_of(PART_CELLS);
        self.hashes = hashes as u32;
        self.set_capacity();
        Ok(())
    }

    fn set_capacity(&mut self) {
        let load = self.shape().load_for(self.hashes as usize, self.rate);
        self.capacity = ((load * f64::from(self.cells_per_part)) as u64).max(1);
    }

    fn shape(&self) -> Shape {
        let values = f64::from(self.values);
        let pair_sums = values * (values - 1.0) / 2.0 / f64::from(self.code_bits()).exp2();
        Shape { decoding: self.decoding, values, pair_sums }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_is_at_least_what_is_asked_for() {
        for pairs in [1, 7, 100, 12_345, 10_000_000] {
            for values in [1, 6, 3000, 16_383, 16_384, 1 << 20] {
                for decoding in [Decoding::Option1, Decoding::Joint] {
                    let spec = KvSpec { decoding, ..KvSpec::new(pairs, values) };
                    let parameters = KbfParameters::new(&spec).unwrap();
                    assert!(parameters.capacity >= pairs, "{spec:?}");
                    assert!(parameters.values as usize >= values);
                    assert_eq!(parameters.cell_bits, if values < 16_384 { 32 } else { 64 });
                }
            }
        }
    }

    /// The figures that the documentation quotes.
    #[test]
    fn bits_per_pair() {
        let bits = |spec: KvSpec| {
            let parameters = KbfParameters::new(&spec).unwrap();
            parameters.cells() as f64 * f64::from(parameters.cell_bits) / spec.pairs as f64
        };
        let joint = KvSpec::new(1_000_000, 3000);
        assert!((136.0..137.0).contains(&bits(joint)), "{}", bits(joint));
        let option = KvSpec { decoding: Decoding::Option2, ..joint };
        assert!((459.0..462.0).contains(&bits(option)), "{}", bits(option));
        let greedy = KvSpec { codes: CodeChoice::Greedy, ..joint };
        assert!((136.0..138.0).contains(&bits(greedy)), "{}", bits(greedy));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_numbers() {
        let spec = KvSpec::new(1000, 3000);
        let error = |spec: KvSpec| KbfParameters::new(&spec).unwrap_err();
        let greedy = KvSpec { values: 4214, codes: CodeChoice::Greedy, ..spec };
        let family = CodeFamily::Greedy;
        let refused = KvError::TooManyValues { values: 4214, family, limit: 4213 };
        assert_eq!(error(greedy), refused);
        assert_eq!(refused.to_string(), "4214 values are wanted; greedy codes are enough for 4213");
        assert!(matches!(
            error(KvSpec { values: 1 << 24, ..spec }),
            KvError::TooManyValues { limit: VALUES_MAX, .. }
        ));
        assert!(matches!(error(KvSpec { pairs: 0, ..spec }), KvError::Nothing { .. }));
        assert!(matches!(error(KvSpec { values: 0, ..spec }), KvError::Nothing { .. }));
        for rate in [0.0, -1.0, 0.6, f64::NAN, 1e-13] {
            assert!(matches!(error(KvSpec { rate, ..spec }), KvError::Rate { .. }), "{rate}");
        }
        assert!(matches!(error(KvSpec { pairs: u64::MAX, ..spec }), KvError::TooLarge { .. }));
        for hashes in [0, HASHES_LIMIT + 1] {
            let refused = KbfParameters::with_cells(&spec, 1000, hashes).unwrap_err();
            assert_eq!(refused, KvError::Hashes { hashes, most: HASHES_LIMIT });
        }
        let odd = KbfParameters { cells_per_part: 7, ..KbfParameters::new(&spec).unwrap() };
        assert_eq!(odd.halved(), Err(KvError::NotHalvable { cells_per_part: 7 }));
    }
}
