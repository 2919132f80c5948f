//! Putting all pairs of an input into a new store.
//!
//! A key must not be inserted twice, and a store cannot tell such a key from a false positive. So keys of
//! a file that seem to be in the store are put aside, a thousandth of all or so, and the file is read once
//! more for those. A stream cannot be read again: they are inserted, and the user is told.

use std::collections::{HashMap, HashSet};

use anyhow::bail;

use super::source::{OpenPairs, PairSource, Reading};
use super::store_file::refused;
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
    // Keys put aside, and the line in which that happened first.
    let mut aside: HashMap<u128, u64> = HashMap::new();
    pairs.for_each(reading, |pair| {
        check_key(&pair.key)?;
        if store.query(&pair.key) != Answer::Absent {
            if source.is_file() {
                aside.entry(hash_key.digest_bytes(&pair.key)).or_insert(pair.line);
                return Ok(());
            }
            filled.seemed_present += 1;
        }
        store.insert(&pair.key, &pair.value).map_err(refused)
    })?;
    if !aside.is_empty() {
        filled.repeated = insert_aside(store, source, &aside, reading)?;
    }
    Ok(filled)
}

/// Reads the file again. A key that was put aside is inserted if the line in which that happened is its
/// first. Returns how many pairs came again.
fn insert_aside<M: Maplet>(
    store: &mut KvStore<M>,
    source: &PairSource<'_>,
    aside: &HashMap<u128, u64>,
    reading: &mut Reading,
) -> anyhow::Result<u64> {
    let hash_key = hash_key(store);
    // The first line of each, and the index of its value.
    let mut firsts: HashMap<u128, (u64, Option<u32>)> = HashMap::new();
    let mut repeated = 0;
    source.open(reading)?.for_each(reading, |pair| {
        let digest = hash_key.digest_bytes(&pair.key);
        let Some(put_aside_in) = aside.get(&digest) else { return Ok(()) };
        match firsts.get(&digest) {
            None => {
                if *put_aside_in == pair.line {
                    store.insert(&pair.key, &pair.value).map_err(refused)?;
                }
                firsts.insert(digest, (pair.line, store.values().index(&pair.value)));
            }
            Some((_, value)) if *value == store.values().index(&pair.value) => repeated += 1,
            Some((line, _)) => bail!(
                "the key {} has another value in line {line}; a store has one per key",
                String::from_utf8_lossy(&pair.key)
            ),
        }
        Ok(())
    })?;
    Ok(repeated)
}

fn hash_key<M: Maplet>(store: &KvStore<M>) -> HashKey {
    // A store is never without a filter.
    store.filters()[0].hash_key()
}
