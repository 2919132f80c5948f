//! The different values of a store: from a value to its index and back.
//!
//! Indexes are handed out in ascending order, so the table of values is a list. The index of a value is
//! found by a *secondary* key-value Bloom filter, as in the papers, whose keys are the values. What it
//! answers is compared with the table, so that its errors have no effect: a false positive would
//! otherwise give a new value the code of another, silently and for ever. A value that it cannot decide is
//! looked for in the whole table.

use super::answer::Answer;
use super::error::KvError;
use super::kbf::KbfMap;
use super::parameters::{KbfParameters, KvSpec};
use crate::digest::HashKey;

/// Values have fewer bytes.
pub const VALUE_BYTES_LIMIT: usize = 1 << 20;
/// The bytes of all values together.
const TOTAL_BYTES_MAX: usize = u32::MAX as usize;

/// A table of values, and the secondary filter that finds them.
pub struct ValueTable {
    /// All values, one after the other…
    bytes: Vec<u8>,
    /// …and where each of them ends.
    ends: Vec<u32>,
    values_max: usize,
    secondary: KbfMap,
    stats: ValueStats,
}

/// How often the secondary filter erred. None of it has an effect on answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValueStats {
    /// New values for which it had another value: caught by comparing with the table.
    pub false_positives: u64,
    /// Values that it could not decide: the whole table was searched.
    pub undecided: u64,
}

/// The result of a search.
struct Search {
    index: Option<u32>,
    /// The secondary filter had only other values.
    is_false_positive: bool,
    /// It could not decide, and the whole table was searched.
    is_undecided: bool,
}

impl ValueTable {
    /// An empty table for this number of values.
    pub fn new(values_max: usize, hash_key: HashKey) -> Result<ValueTable, KvError> {
        Self::with_secondary(values_max, secondary_parameters(values_max, hash_key)?)
    }

    fn with_secondary(values_max: usize, secondary: KbfParameters) -> Result<ValueTable, KvError> {
        let secondary = KbfMap::new(secondary)?;
        let (bytes, ends, stats) = (vec![], vec![], ValueStats::default());
        Ok(ValueTable { bytes, ends, values_max, secondary, stats })
    }

    /// The table with these values, in the order of their indexes. The secondary filter is computed.
    pub fn from_values<'v>(
        values_max: usize,
        hash_key: HashKey,
        values: impl IntoIterator<Item = &'v [u8]>,
    ) -> Result<ValueTable, KvError> {
        let mut table = ValueTable::new(values_max, hash_key)?;
        for value in values {
            if table.find(value).index.is_some() {
                return Err(KvError::Inconsistent); // twice
            }
            table.push(value)?;
        }
        table.stats = ValueStats::default();
        Ok(table)
    }

    /// The table with these values and this content of the secondary filter. Nothing is allocated for
    /// more values than the filter has bytes for.
    pub fn from_parts(
        values_max: usize,
        hash_key: HashKey,
        values: &[&[u8]],
        secondary: &[u8],
    ) -> Result<ValueTable, KvError> {
        let parameters = secondary_parameters(values_max, hash_key)?;
        let secondary = KbfMap::from_parts(parameters, values.len() as u64, secondary)?;
        let (bytes, ends, stats) = (vec![], vec![], ValueStats::default());
        let mut table = ValueTable { bytes, ends, values_max, secondary, stats };
        values.iter().try_for_each(|value| table.append(value))?;
        Ok(table)
    }

    /// The secondary filter.
    pub fn secondary(&self) -> &KbfMap {
        &self.secondary
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many values there can be.
    pub fn limit(&self) -> usize {
        self.values_max
    }

    /// The value with this index.
    #[inline]
    pub fn value(&self, index: u32) -> Option<&[u8]> {
        let end = *self.ends.get(index as usize)? as usize;
        let begin = match index {
            0 => 0,
            _ => *self.ends.get(index as usize - 1)? as usize,
        };
        self.bytes.get(begin..end)
    }

    /// All values, in the order of their indexes.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).filter_map(|index| self.value(index))
    }

    /// The index of a value; it gets one if it is new.
    pub fn index_or_insert(&mut self, value: &[u8]) -> Result<u32, KvError> {
        let found = self.find(value);
        let index = match found.index {
            Some(index) => index,
            None => self.push(value)?,
        };
        self.stats.false_positives += u64::from(found.is_false_positive);
        self.stats.undecided += u64::from(found.is_undecided);
        Ok(index)
    }

    /// The index of a value.
    pub fn index(&self, value: &[u8]) -> Option<u32> {
        self.find(value).index
    }

    /// How often the secondary filter erred.
    pub fn stats(&self) -> ValueStats {
        self.stats
    }

    /// The bytes of the secondary filter.
    pub fn secondary_bytes(&self) -> usize {
        self.secondary.bytes().len()
    }

    /// The bytes of the table.
    pub fn mapping_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(self.ends.as_slice())
    }

    /// Whether this table begins with all values of the other.
    pub fn begins_with(&self, other: &ValueTable) -> bool {
        self.len() >= other.len() && self.values().zip(other.values()).all(|(a, b)| a == b)
    }

    fn find(&self, value: &[u8]) -> Search {
        let is_it = |index: &u32| self.value(*index) == Some(value);
        let answer = self.secondary.query(self.digest(value), self.len() as u32);
        let (is_undecided, seems_known) = (answer == Answer::Undecided, answer != Answer::Absent);
        let index = match answer {
            Answer::Absent => None,
            Answer::Found(index) => Some(index).filter(is_it),
            Answer::OneOf(several) => several.into_iter().find(is_it),
            Answer::Undecided => (0..self.len() as u32).find(is_it),
        };
        Search { index, is_undecided, is_false_positive: seems_known && index.is_none() }
    }

    fn push(&mut self, value: &[u8]) -> Result<u32, KvError> {
        let index = self.len() as u32;
        self.append(value)?;
        self.secondary.insert(self.digest(value), index);
        Ok(index)
    }

    /// Adds a value to the table, and not to the secondary filter.
    fn append(&mut self, value: &[u8]) -> Result<(), KvError> {
        if value.len() >= VALUE_BYTES_LIMIT {
            return Err(KvError::ValueTooLong { bytes: value.len(), limit: VALUE_BYTES_LIMIT });
        }
        if self.len() >= self.values_max {
            return Err(KvError::ValuesInUse { values: self.values_max });
        }
        let end = self.bytes.len() + value.len();
        if end > TOTAL_BYTES_MAX {
            return Err(KvError::ValueBytes { limit: TOTAL_BYTES_MAX });
        }
        self.bytes.extend_from_slice(value);
        self.ends.push(end as u32);
        Ok(())
    }

    fn digest(&self, value: &[u8]) -> u128 {
        self.secondary.parameters().hash_key.digest_bytes(value)
    }
}

/// Values are hashed with a secret of their own, so that keys and values with the same bytes have
/// different cells.
fn secondary_parameters(values: usize, hash_key: HashKey) -> Result<KbfParameters, KvError> {
    let hash_key = HashKey::from_bits(hash_key.digest_bytes(b"values"));
    KbfParameters::new(&KvSpec { hash_key, ..KvSpec::new(values.max(1) as u64, values.max(1)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A secondary filter that is far too small: every index is right all the same.
    #[test]
    fn errors_of_the_secondary_filter_have_no_effect() {
        let spec = KvSpec::new(1000, 1000);
        let tiny = KbfParameters::with_cells(&spec, 3 * 320, 3).unwrap();
        let mut table = ValueTable::with_secondary(1000, tiny).unwrap();
        let text = |number: u32| format!("value {number}").into_bytes();
        for number in 0..1000 {
            assert_eq!(table.index_or_insert(&text(number)), Ok(number));
        }
        let stats = table.stats();
        assert!(stats.false_positives > 50, "{stats:?}");
        for number in 0..1000 {
            assert_eq!(table.index_or_insert(&text(number)), Ok(number));
            assert_eq!(table.value(number), Some(text(number).as_slice()));
        }
        assert!(table.stats().undecided > 200, "{:?}", table.stats());
        assert_eq!(table.stats().false_positives, stats.false_positives);
        assert_eq!((table.len(), table.index(b"another")), (1000, None));
    }
}
