//! A fingerprint cuckoo table as a maplet: [`FcfMap`].

use super::answer::Answer;
use super::error::KvError;
use super::maplet::Maplet;
use super::parameters::KvSpec;
use crate::digest::HashKey;
use crate::fcf::FcfTable;
use crate::spec::{Expire, MEMORY_LIMIT_BYTES, fcf_fingerprints, fcf_slots_per_line};

/// The most different values: slots have up to 24 bits for them.
pub const FCF_VALUES_MAX: usize = (1 << 24) - 1;

/// The part of the slots in use at capacity; tables of this shape are full at 0.965.
const LOAD_PLANNED: f64 = 0.93;
/// With fewer, keys with equal fingerprints compete for the same few slots.
const FINGERPRINTS_LEAST: f64 = 64.0;
/// A slot is read from one word of a line, at any bit.
const SLOT_BITS_MAX: u32 = 56;
/// Two slots, one in each window of a key, in which another key with its fingerprint would match.
const COMPARED: f64 = 2.0;
/// The narrowest slot.
const SLOT_BITS_LEAST: u32 = 8;

/// The parameters of an [`FcfMap`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FcfParameters {
    /// Slots, in whole lines of 64 bytes.
    pub slots: u64,
    /// Bits of a slot: a fingerprint, a value, and which of a window's two slots it is.
    pub slot_bits: u32,
    /// V: the number of values.
    pub values: u32,
    /// What keys are hashed with.
    pub hash_key: HashKey,
    /// p: the error rate…
    pub rate: f64,
    /// …up to this number of pairs.
    pub capacity: u64,
}

impl FcfParameters {
    /// The parameters that take the least memory. Decoding, codes and salt do not matter here.
    pub fn new(spec: &KvSpec) -> Result<FcfParameters, KvError> {
        let KvSpec { pairs, values, rate, hash_key, .. } = *spec;
        if pairs == 0 || values == 0 {
            return Err(KvError::Nothing { pairs, values });
        }
        if values > FCF_VALUES_MAX {
            return Err(KvError::TooManySlotValues { values, limit: FCF_VALUES_MAX });
        }
        // 2 α / F ≤ p, for F fingerprints and the load α.
        let fingerprints = (COMPARED * LOAD_PLANNED / rate).max(FINGERPRINTS_LEAST);
        let mut widths = SLOT_BITS_LEAST..=SLOT_BITS_MAX;
        let is_enough = |bits: &u32| fcf_fingerprints(*bits, values) as f64 >= fingerprints;
        let narrowest = widths.find(is_enough).filter(|_| rate > 0.0 && rate <= 0.5);
        let Some(slot_bits) = narrowest else {
            let most = fcf_fingerprints(SLOT_BITS_MAX, values) as f64;
            return Err(KvError::Rate { rate, least: COMPARED * LOAD_PLANNED / most });
        };
        let per_line = fcf_slots_per_line(slot_bits, Expire::None);
        // One line more than the load asks for: small tables vary more.
        let lines = (pairs as f64 / LOAD_PLANNED / per_line as f64).ceil() + 1.0;
        let bytes = lines * 64.0;
        if bytes > MEMORY_LIMIT_BYTES as f64 {
            return Err(KvError::TooLarge { bytes, limit: MEMORY_LIMIT_BYTES });
        }
        let slots = lines as u64 * per_line as u64;
        let capacity = pairs.max((slots as f64 * LOAD_PLANNED) as u64 - per_line as u64);
        Ok(FcfParameters { slots, slot_bits, values: values as u32, hash_key, rate, capacity })
    }

    /// How many different fingerprints there are.
    pub fn fingerprints(&self) -> u64 {
        match (SLOT_BITS_LEAST..=SLOT_BITS_MAX).contains(&self.slot_bits) {
            true => fcf_fingerprints(self.slot_bits, self.values.max(1) as usize),
            false => 0,
        }
    }
}

/// Fingerprints and values in a cuckoo table: one slot per pair.
///
/// About 26 bits per pair for 3,000 values at an error rate of 0.001. Unlike a filter of shared cells it
/// can be full, which an insertion says, and two of them cannot be joined or compressed. A key that is there
/// is undecided if another key has its fingerprint and windows, and another value.
///
/// Numbers below V can be stored without a table of values:
///
/// ```
/// use acsm_filters::kv::{Answer, FcfMap, FcfParameters, KvSpec, Maplet};
///
/// let parameters = FcfParameters::new(&KvSpec::new(10_000, 1 << 20))?;
/// let mut map = FcfMap::new(parameters)?;
/// let digest = |key: &str| parameters.hash_key.digest_bytes(key.as_bytes());
/// assert!(map.insert(digest("apple"), 1_000_000));
/// assert_eq!(map.query(digest("apple"), 1 << 20), Answer::Found(1_000_000));
/// assert_eq!(map.query(digest("pear"), 1 << 20), Answer::Absent);
/// # Ok::<(), acsm_filters::kv::KvError>(())
/// ```
pub struct FcfMap {
    parameters: FcfParameters,
    table: FcfTable,
}

impl FcfMap {
    /// An empty table.
    pub fn new(parameters: FcfParameters) -> Result<FcfMap, KvError> {
        let slots = slots_of(&parameters)?;
        let FcfParameters { slot_bits, values, .. } = parameters;
        Ok(FcfMap { parameters, table: FcfTable::new(slots, slot_bits, values as usize)? })
    }

    /// The table with these contents: what [`bytes`](Maplet::bytes) of another were.
    pub fn from_parts(parameters: FcfParameters, bytes: &[u8]) -> Result<FcfMap, KvError> {
        let slots = slots_of(&parameters)?;
        let FcfParameters { slot_bits, values, .. } = parameters;
        let table = FcfTable::from_bytes(bytes, slots, slot_bits, values as usize)?;
        Ok(FcfMap { parameters, table })
    }

    /// What it was made with.
    pub fn parameters(&self) -> &FcfParameters {
        &self.parameters
    }

    /// The part of the slots in use.
    pub fn load(&self) -> f64 {
        self.table.occupied() as f64 / self.table.len() as f64
    }
}

/// The slots of a table, if its parameters make sense.
fn slots_of(parameters: &FcfParameters) -> Result<usize, KvError> {
    let FcfParameters { slots, values, .. } = *parameters;
    let has_values = values > 0 && values as usize <= FCF_VALUES_MAX;
    if !has_values || parameters.fingerprints() == 0 {
        return Err(KvError::Inconsistent);
    }
    let bytes = slots as f64 * f64::from(parameters.slot_bits) / 8.0;
    match usize::try_from(slots) {
        Ok(slots) if bytes <= MEMORY_LIMIT_BYTES as f64 => Ok(slots),
        _ => Err(KvError::TooLarge { bytes, limit: MEMORY_LIMIT_BYTES }),
    }
}

impl Maplet for FcfMap {
    fn another(&self) -> Result<Self, KvError> {
        FcfMap::new(self.parameters)
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
        self.table.occupied()
    }

    #[inline]
    fn prefetch(&self, digest: u128) {
        self.table.prefetch(digest);
    }

    #[inline]
    fn query(&self, digest: u128, assigned: u32) -> Answer<u32> {
        let mut found = self.table.matches(digest).filter(|value| *value < assigned);
        match (found.next(), found.next()) {
            (None, _) => Answer::Absent,
            (Some(value), None) => Answer::Found(value),
            (Some(value), Some(second)) => {
                let mut several: Vec<u32> = found.chain([value, second]).collect();
                several.sort_unstable();
                several.dedup();
                Answer::of(several.into_iter())
            }
        }
    }

    fn insert(&mut self, digest: u128, value: u32) -> bool {
        value < self.parameters.values && self.table.insert(digest, value)
    }

    fn update(&mut self, digest: u128, old: u32, new: u32) {
        if old.max(new) < self.parameters.values {
            self.table.update(digest, old, new);
        }
    }

    fn delete(&mut self, digest: u128, value: u32) {
        if value < self.parameters.values {
            self.table.delete(digest, value);
        }
    }

    fn bytes(&self) -> &[u8] {
        self.table.lines().as_flattened()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_per_pair() {
        let bits = |spec: KvSpec| {
            let map = FcfMap::new(FcfParameters::new(&spec).unwrap()).unwrap();
            map.bytes().len() as f64 * 8.0 / spec.pairs as f64
        };
        let spec = KvSpec::new(300_000, 3000);
        assert!((26.0..26.5).contains(&bits(spec)), "{}", bits(spec));
        assert!(bits(KvSpec { values: FCF_VALUES_MAX, ..spec }) < 41.0);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let spec = KvSpec::new(1000, 3000);
        let error = |spec: KvSpec| FcfParameters::new(&spec).unwrap_err();
        assert!(matches!(error(KvSpec { pairs: 0, ..spec }), KvError::Nothing { .. }));
        let values = FCF_VALUES_MAX + 1;
        assert!(matches!(error(KvSpec { values, ..spec }), KvError::TooManySlotValues { .. }));
        for rate in [0.0, f64::NAN, -1.0, 0.7, 1e-13] {
            assert!(matches!(error(KvSpec { rate, ..spec }), KvError::Rate { .. }), "{rate}");
        }
        assert!(matches!(error(KvSpec { pairs: 1 << 60, ..spec }), KvError::TooLarge { .. }));
        let good = FcfParameters::new(&spec).unwrap();
        for bad in [
            FcfParameters { slot_bits: 0, ..good },
            FcfParameters { slot_bits: 60, ..good },
            FcfParameters { values: 0, ..good },
            FcfParameters { slot_bits: 8, ..good },
        ] {
            assert!(FcfMap::new(bad).is_err(), "{bad:?}");
        }
        assert!(FcfMap::from_parts(good, &[0; 64]).is_err());
    }
}
