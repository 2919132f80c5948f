//! The key-value Bloom filter of Xiong et al., for keys with any value: [`KbfMap`].

use std::ops::Deref;
use std::sync::Arc;

use super::answer::Answer;
use super::cells::{Cell, CellFormat, Cells};
use super::decode::{Decoder, KeyCell};
use super::error::KvError;
use super::locate::{Shape, scaled};
use super::maplet::Maplet;
use super::parameters::KbfParameters;
use crate::codes::{CodeFamily, Codes, DEGREES};
use crate::digest::{GOLDEN, HashKey, mix};
use crate::error::StoreError;
use crate::line::{Line, LineArray, OwnedLines};
use crate::spec::HASHES_LIMIT;

/// A key-value Bloom filter: a counter and the XOR of the codes of all its keys in each cell.
///
/// A key has one cell in each of k parts, and its value a code in each: with salt, position i of key x
/// holds code (index + rᵢ(x)) mod V, so that equal values have different codes. All operations are
/// linear: the filter depends on the pairs in it, not on what was there before, and two filters are
/// joined cell by cell.
///
/// ```
/// use acsm_filters::kv::{Answer, KbfMap, KbfParameters, KvSpec};
///
/// let parameters = KbfParameters::new(&KvSpec::new(10_000, 3000))?;
/// let mut filter = KbfMap::new(parameters)?;
/// let digest = |key: &str| parameters.hash_key.digest_bytes(key.as_bytes());
/// filter.insert(digest("apple"), 7);
/// filter.insert(digest("pear"), 2999);
/// assert_eq!(filter.query(digest("apple"), 3000), Answer::Found(7));
/// filter.update(digest("apple"), 7, 8);
/// filter.delete(digest("pear"), 2999);
/// assert_eq!(filter.query(digest("apple"), 3000), Answer::Found(8));
/// assert_eq!(filter.query(digest("pear"), 3000), Answer::Absent);
/// # Ok::<(), acsm_filters::kv::KvError>(())
/// ```
pub struct KbfMap<L = OwnedLines> {
    parameters: KbfParameters,
    codes: Arc<Codes>,
    format: CellFormat,
    pub(super) cells: Cells<L>,
    pub(super) pairs: u64,
    pub(super) saturations: u64,
}

impl KbfMap {
    /// CREATE: an empty filter.
    pub fn new(parameters: KbfParameters) -> Result<KbfMap, KvError> {
        bytes_of(&parameters)?;
        KbfMap::with_codes(parameters, codes_of(&parameters)?)
    }

    /// An empty filter with codes that others may share.
    fn with_codes(parameters: KbfParameters, codes: Arc<Codes>) -> Result<KbfMap, KvError> {
        let format = format_of(&parameters);
        let cells = Cells::new(format, parameters.cells())?;
        Ok(KbfMap { parameters, codes, format, cells, pairs: 0, saturations: 0 })
    }

    /// The filter with these contents: what [`bytes`](Self::bytes) of one with `pairs` pairs were.
    pub fn from_parts(
        parameters: KbfParameters,
        pairs: u64,
        bytes: &[u8],
    ) -> Result<KbfMap, KvError> {
        check_bytes(&parameters, bytes)?; // before anything is allocated
        let empty = KbfMap::with_codes(parameters, codes_of(&parameters)?)?;
        Ok(empty.with_contents(pairs, bytes))
    }

    /// The same with the parameters of this filter, and the same codes in memory.
    pub fn another_from_parts(&self, pairs: u64, bytes: &[u8]) -> Result<KbfMap, KvError> {
        check_bytes(&self.parameters, bytes)?;
        Ok(self.another()?.with_contents(pairs, bytes))
    }

    /// Replaces the contents by as many bytes.
    fn with_contents(mut self, pairs: u64, bytes: &[u8]) -> KbfMap {
        self.cells.bytes_mut().copy_from_slice(bytes);
        self.pairs = pairs;
        self.saturations = self.cells.usage().1;
        self
    }
}

impl<'a> KbfMap<&'a mut [Line]> {
    /// The filter in borrowed bytes of any alignment, which has `pairs` pairs: all zero if it is empty.
    pub fn over(
        parameters: KbfParameters,
        pairs: u64,
        bytes: &'a mut [u8],
    ) -> Result<Self, KvError> {
        let (needed, given) = (bytes_of(&parameters)?, bytes.len());
        let (lines, rest) = bytes.as_chunks_mut();
        if !rest.is_empty() {
            return Err(StoreError::WrongLength { needed, given }.into());
        }
        let codes = codes_of(&parameters)?;
        let mut filter =
            KbfMap::in_lines(parameters, codes, lines, Counts { pairs, saturations: 0 })?;
        filter.saturations = filter.cells.usage().1;
        Ok(filter)
    }
}

fn format_of(parameters: &KbfParameters) -> CellFormat {
    CellFormat::new(parameters.cell_bits, parameters.family.bits())
}

fn codes_of(parameters: &KbfParameters) -> Result<Arc<Codes>, KvError> {
    Ok(Arc::new(Codes::new(parameters.family, parameters.values as usize)?))
}

/// Whether these are as many bytes as such a filter has.
fn check_bytes(parameters: &KbfParameters, bytes: &[u8]) -> Result<(), KvError> {
    match (bytes_of(parameters)?, bytes.len()) {
        (needed, given) if needed != given => Err(StoreError::WrongLength { needed, given }.into()),
        _ => Ok(()),
    }
}

/// What a filter has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) pairs: u64,
    pub(super) saturations: u64,
}

/// The bytes of a filter, if its parameters make sense.
pub(super) fn bytes_of(parameters: &KbfParameters) -> Result<usize, KvError> {
    let KbfParameters { cells_per_part, hashes, cell_bits, family, values, .. } = *parameters;
    let has_field = match family {
        CodeFamily::Greedy => true,
        CodeFamily::Algebraic { degree } => DEGREES.contains(&degree),
    };
    let makes_sense = has_field
        && cells_per_part > 0
        && (1..=HASHES_LIMIT as u32).contains(&hashes)
        && matches!(cell_bits, 32 | 64)
        && family.bits() < cell_bits
        && (1..=family.limit()).contains(&(values as usize));
    match makes_sense {
        true => Ok(format_of(parameters).bytes_of(parameters.cells())),
        false => Err(KvError::Inconsistent),
    }
}

impl<L: Deref<Target = [Line]>> KbfMap<L> {
    /// The filter in these lines, with codes that others use as well.
    pub(super) fn in_lines(
        parameters: KbfParameters,
        codes: Arc<Codes>,
        lines: L,
        Counts { pairs, saturations }: Counts,
    ) -> Result<Self, KvError> {
        bytes_of(&parameters)?;
        let format = format_of(&parameters);
        let cells = Cells::over(lines, format, parameters.cells())?;
        Ok(KbfMap { parameters, codes, format, cells, pairs, saturations })
    }

    /// COMPRESS: the same pairs in half of the cells, with the errors of twice the load. Each two
    /// neighbouring cells become one, as if the filter had been made with half of the cells.
    pub fn compressed(&self) -> Result<KbfMap, KvError> {
        let mut half = KbfMap::with_codes(self.parameters.halved()?, Arc::clone(&self.codes))?;
        for cell in 0..self.cells.len() {
            half.saturations += u64::from(half.cells.merge(cell / 2, self.cells.get(cell)));
        }
        half.pairs = self.pairs;
        Ok(half)
    }

    /// What it was made with.
    pub fn parameters(&self) -> &KbfParameters {
        &self.parameters
    }

    /// Cells in use.
    pub fn occupied(&self) -> u64 {
        self.cells.usage().0
    }

    /// Why a filter with these parameters cannot be joined with this one.
    pub fn check_joinable(&self, other: &KbfParameters) -> Result<(), KvError> {
        self.parameters.check_joinable(other)
    }

    /// The key's cells and their salts. The i-th word of the digest's stream has the position in its
    /// upper half and the salt in its lower one, so that salts are the same in a filter of half the size.
    #[inline]
    pub(super) fn cells_of(&self, digest: u128) -> impl Iterator<Item = (usize, u32)> + use<L> {
        let (low, high) = (digest as u64, (digest >> 64) as u64);
        let Shape { hashes, cells_per_part, salts } = self.shape();
        (0..hashes).map(move |part| {
            let word = mix(low.wrapping_add(GOLDEN.wrapping_mul(part as u64))) ^ high;
            let position = scaled((word >> 32) as u32, cells_per_part);
            let first = part * cells_per_part as usize;
            (first + position as usize, scaled(word as u32, salts))
        })
    }

    /// What the cells of a key depend on.
    #[inline]
    pub(super) fn shape(&self) -> Shape {
        let KbfParameters { cells_per_part, values, salted, hashes, .. } = self.parameters;
        let salts = if salted { values } else { 1 }; // one value: no salt but 0
        Shape { hashes: hashes as usize, cells_per_part, salts }
    }

    pub(super) fn decoder(&self, assigned: u32) -> Decoder<'_> {
        Decoder { codes: &self.codes, assigned: assigned.min(self.parameters.values) }
    }

    /// How many pairs are in it: those inserted and not deleted.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// The cells: all zero if it is empty.
    pub fn bytes(&self) -> &[u8] {
        self.cells.bytes()
    }

    /// Starts loading the cells of a key.
    #[inline]
    pub fn prefetch(&self, digest: u128) {
        self.cells_of(digest).for_each(|(cell, _)| self.cells.prefetch(cell));
    }

    /// QUERY: the index of the key's value, which is below `assigned`.
    #[inline]
    pub fn query(&self, digest: u128, assigned: u32) -> Answer<u32> {
        self.decoded(self.cells_of(digest), assigned, &mut [KeyCell::default(); HASHES_LIMIT])
    }

    /// The value in these cells, given with their salts. `room` is for what is read from them.
    #[inline(always)] // into the loop over many keys
    pub(super) fn decoded(
        &self,
        places: impl Iterator<Item = (usize, u32)>,
        assigned: u32,
        room: &mut [KeyCell; HASHES_LIMIT],
    ) -> Answer<u32> {
        let mut found = 0;
        for (entry, (cell, salt)) in room.iter_mut().zip(places) {
            *entry = self.read(cell, salt);
            if entry.count == 0 {
                return Answer::Absent;
            }
            found += 1;
        }
        self.decoder(assigned).decode(self.parameters.decoding, &room[..found])
    }

    /// A cell of a key.
    #[inline(always)]
    pub(super) fn read(&self, cell: usize, salt: u32) -> KeyCell {
        let Cell { count, sum } = self.cells.get(cell);
        let is_full = count == self.format.count_max();
        KeyCell { count: if is_full { KeyCell::UNKNOWN } else { count }, sum, salt }
    }

    pub(super) fn codes(&self) -> Arc<Codes> {
        Arc::clone(&self.codes)
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { pairs: self.pairs, saturations: self.saturations }
    }
}

impl<L: LineArray> KbfMap<L> {
    /// JOIN: adds all pairs of another filter. A key must not be in both.
    pub fn join<M>(&mut self, other: &KbfMap<M>) -> Result<(), KvError>
    where
        M: Deref<Target = [Line]>,
    {
        self.check_joinable(&other.parameters)?;
        for cell in 0..self.cells.len() {
            self.saturations += u64::from(self.cells.merge(cell, other.cells.get(cell)));
        }
        self.pairs += other.pairs;
        Ok(())
    }

    /// INSERT: adds a pair. The key must not be in the filter. Returns whether there is such a value.
    pub fn insert(&mut self, digest: u128, value: u32) -> bool {
        if value >= self.parameters.values {
            return false;
        }
        for (cell, salt) in self.cells_of(digest) {
            let code = self.decoder(0).code(value, salt);
            self.saturations += u64::from(self.cells.insert(cell, code));
        }
        self.pairs += 1;
        true
    }

    /// UPDATE: changes the value of a key that is there. Nothing happens if there are no such values.
    pub fn update(&mut self, digest: u128, old: u32, new: u32) {
        if old.max(new) >= self.parameters.values {
            return;
        }
        for (cell, salt) in self.cells_of(digest) {
            let decoder = self.decoder(0);
            let codes = decoder.code(old, salt) ^ decoder.code(new, salt);
            self.cells.exchange(cell, codes);
        }
    }

    /// DELETE: removes a pair that is there. Nothing happens if there is no such value.
    pub fn delete(&mut self, digest: u128, value: u32) {
        if value >= self.parameters.values {
            return;
        }
        for (cell, salt) in self.cells_of(digest) {
            let code = self.decoder(0).code(value, salt);
            self.cells.remove(cell, code);
        }
        self.pairs = self.pairs.saturating_sub(1);
    }
}

impl Maplet for KbfMap {
    fn another(&self) -> Result<Self, KvError> {
        KbfMap::with_codes(self.parameters, Arc::clone(&self.codes))
    }

    fn hash_key(&self) -> HashKey {
        self.parameters.hash_key
    }

    fn values(&self) -> usize {
        self.parameters.values as usize
    }

    fn capacity(&self) -> u64 {
        self.parameters.capacity
    }

    fn pairs(&self) -> u64 {
        self.pairs
    }

    #[inline]
    fn prefetch(&self, digest: u128) {
        self.prefetch(digest);
    }

    #[inline]
    fn query(&self, digest: u128, assigned: u32) -> Answer<u32> {
        self.query(digest, assigned)
    }

    fn insert(&mut self, digest: u128, value: u32) -> bool {
        self.insert(digest, value)
    }

    fn update(&mut self, digest: u128, old: u32, new: u32) {
        self.update(digest, old, new);
    }

    fn delete(&mut self, digest: u128, value: u32) {
        self.delete(digest, value);
    }

    fn bytes(&self) -> &[u8] {
        self.bytes()
    }

    fn saturations(&self) -> u64 {
        self.saturations
    }

    fn table_bytes(&self) -> usize {
        self.codes.table_bytes()
    }
}
