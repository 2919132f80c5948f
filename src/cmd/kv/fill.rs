//! Putting all pairs of an input into a new store.
//!
//! Keys of a file that seem to be in the store are put aside, and the file is read once more for those. A
//! stream cannot be read again: they are inserted, and the user is told.

use std::collections::HashSet;

use anyhow::bail;

use super::store_file::refused;
use crate::cmd::pairs::repeats::{PutAside, SecondReading};
use crate::cmd::pairs::source::{OpenPairs, PairSource, Reading};
use acsm_filters::HashKey;
use acsm_filters::kv::{Answer, FCF_VALUES_MAX, KvStore, Maplet, VALUE_BYTES_LIMIT, check_key};

/// How many pairs and different values an input has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    pub pairs: u64,
    pub values: usize,
}

/// What was peculiar about the pairs.
#[derive(Debug, Default)]
pub struct Filled {
    /// Pairs that came again, with the same value, and were left out.
    pub repeated: u64,
    /// Keys of a stream that seemed to be in the store when they came.
    pub seemed_present: u64,
}

/// Counts, and finds lines that are wrong before anything is made for them.
pub fn count(source: &PairSource<'_>, reading: &mut Reading) -> anyhow::Result<Counted> {
    // Digests, not values: these may be long.
    let (mut pairs, mut values) = (0, HashSet::new());
    let digests = HashKey::from_seed(0);
    source.open(reading)?.for_each(reading, |pair| {
        check_key(&pair.key)?;
        pairs += 1;
        values.insert(digests.digest_bytes(&pair.value));
        if values.len() > FCF_VALUES_MAX {
            bail!("more than {FCF_VALUES_MAX} different values, which no store takes");
        }
        if pair.value.len() >= VALUE_BYTES_LIMIT {
            bail!("a value has {VALUE_BYTES_LIMIT} bytes or more");
        }
        Ok(())
    })?;
    Ok(Counted { pairs, values: values.len() })
}

/// Inserts all pairs.
pub fn fill<M: Maplet>(
    store: &mut KvStore<M>,
    source: &PairSource<'_>,
    pairs: OpenPairs,
    reading: &mut Reading,
) -> anyhow::Result<Filled> {
    let mut filled = Filled::default();
    let hash_key = hash_key(store);
    let mut aside = PutAside::default();
    pairs.for_each(reading, |pair| {
        check_key(&pair.key)?;
        if store.query(&pair.key) != Answer::Absent {
            if source.is_file() {
                aside.put(hash_key.digest_bytes(&pair.key), pair.line);
                return Ok(());
            }
            filled.seemed_present += 1;
        }
        store.insert(&pair.key, &pair.value).map_err(refused)
    })?;
    if !aside.is_empty() {
        filled.repeated = insert_aside(store, source, aside, reading)?;
    }
    Ok(filled)
}

/// Reads the file again and inserts keys that were false positives. Returns how many pairs came again.
fn insert_aside<M: Maplet>(
    store: &mut KvStore<M>,
    source: &PairSource<'_>,
    mut aside: PutAside,
    reading: &mut Reading,
) -> anyhow::Result<u64> {
    let hash_key = hash_key(store);
    let mut repeated = 0;
    source.open(reading)?.for_each(reading, |pair| {
        match aside.second(hash_key, pair)? {
            SecondReading::Other | SecondReading::Inserted => {}
            SecondReading::FalsePositive => {
                store.insert(&pair.key, &pair.value).map_err(refused)?
            }
            SecondReading::Repeated => repeated += 1,
        }
        Ok(())
    })?;
    Ok(repeated)
}

fn hash_key<M: Maplet>(store: &KvStore<M>) -> HashKey {
    // A store is never without a filter.
    store.filters()[0].hash_key()
}
