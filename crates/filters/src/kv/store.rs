//! The store: byte strings as keys and values, over filters that grow in number.

use super::answer::{Answer, Write};
use super::error::{KvError, Mismatch};
use super::fcf::{FcfMap, FcfParameters};
use super::kbf::KbfMap;
use super::maplet::Maplet;
use super::parameters::{KbfParameters, KvSpec};
use super::stats::{KvBytes, KvStats};
use super::values::ValueTable;
use crate::memory::prefetch;

/// Keys have fewer bytes, and at least one.
pub const KEY_BYTES_LIMIT: usize = 1 << 20;

/// How many keys are fetched together.
const BATCH: usize = 32;

/// An approximate key-value store over maplets, [`KbfMap`] unless told otherwise.
///
/// When a filter is at its capacity, the next insertion adds a further one of the same size; a query asks
/// all of them. Operations on an absent key that is a false positive do damage: see the
/// [module](super).
pub struct KvStore<M = KbfMap> {
    filters: Vec<M>,
    values: ValueTable,
    counts: KvStats,
}

/// Which filters say something about a key.
struct Found {
    answer: Answer<u32>,
    /// The filter that has the key, if only one can.
    filter: Option<usize>,
}

impl KvStore<KbfMap> {
    /// An empty store that is sized for `spec`: CREATE(pairs, values, p).
    pub fn new(spec: &KvSpec) -> Result<Self, KvError> {
        Self::with_parameters(KbfParameters::new(spec)?)
    }

    /// An empty store with the cells and hashes of `parameters`: CREATE(m, k).
    pub fn with_parameters(parameters: KbfParameters) -> Result<Self, KvError> {
        let values = ValueTable::new(parameters.values as usize, parameters.hash_key)?;
        Self::from_parts(vec![KbfMap::new(parameters)?], values)
    }

    /// What its filters were made with.
    pub fn parameters(&self) -> &KbfParameters {
        // A store is never without a filter.
        self.filters[0].parameters()
    }

    /// JOIN: adds all pairs of another store, which has the same parameters and hash key. No key may be in
    /// both, and one table of values must begin with the other. The result may be beyond its capacity.
    pub fn join(&mut self, other: KvStore<KbfMap>) -> Result<(), KvError> {
        self.filters[0].check_joinable(other.parameters())?;
        if other.values.begins_with(&self.values) {
            self.values = other.values;
        } else if !self.values.begins_with(&other.values) {
            return Err(KvError::Different(Mismatch::Values));
        }
        let mut others = other.filters.into_iter();
        for (filter, other) in self.filters.iter_mut().zip(&mut others) {
            filter.join(&other)?;
        }
        self.filters.extend(others);
        self.counts.inserted += other.counts.inserted;
        Ok(())
    }

    /// COMPRESS: every filter in half of its cells. Errors become those of twice the pairs.
    pub fn compress(&mut self) -> Result<(), KvError> {
        let halves = self.filters.iter().map(KbfMap::compressed);
        self.filters = halves.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Joins neighbouring filters that together hold no more than the capacity of one.
    pub fn compact(&mut self) -> Result<(), KvError> {
        let mut at = 0;
        while let [first, second, ..] = &mut self.filters[at..] {
            if first.pairs() + second.pairs() <= first.parameters().capacity {
                first.join(second)?;
                self.filters.remove(at + 1);
            } else {
                at += 1;
            }
        }
        Ok(())
    }
}

impl KvStore<FcfMap> {
    /// An empty store over an fcf that is sized for `spec`.
    pub fn new_fcf(spec: &KvSpec) -> Result<Self, KvError> {
        let parameters = FcfParameters::new(spec)?;
        let values = ValueTable::new(parameters.values as usize, parameters.hash_key)?;
        Self::from_parts(vec![FcfMap::new(parameters)?], values)
    }

    /// What its tables were made with.
    pub fn parameters(&self) -> &FcfParameters {
        // A store is never without a filter.
        self.filters[0].parameters()
    }
}

impl<M: Maplet> KvStore<M> {
    /// The store with these filters, at least one and all alike, and values. Counts of what happened start
    /// at zero.
    pub fn from_parts(filters: Vec<M>, values: ValueTable) -> Result<Self, KvError> {
        let first = filters.first().ok_or(KvError::Inconsistent)?;
        let kind = |filter: &M| (filter.hash_key(), filter.values());
        let are_alike = filters.iter().all(|filter| kind(filter) == kind(first));
        match are_alike && values.limit() <= first.values() {
            true => Ok(KvStore { filters, values, counts: KvStats::default() }),
            false => Err(KvError::Inconsistent),
        }
    }

    /// An empty store with the same parameters, hash key and values: one that can be joined with this.
    pub fn like(&self) -> Result<Self, KvError> {
        // A store is never without a filter.
        let first = &self.filters[0];
        let (limit, values) = (self.values.limit(), self.values.values());
        let values = ValueTable::from_values(limit, first.hash_key(), values)?;
        Self::from_parts(vec![first.another()?], values)
    }

    /// The filters.
    pub fn filters(&self) -> &[M] {
        &self.filters
    }

    /// The different values.
    pub fn values(&self) -> &ValueTable {
        &self.values
    }

    /// QUERY. A key that cannot be in the store, as it is empty or too long, is absent.
    #[inline]
    pub fn query(&self, key: &[u8]) -> Answer<&[u8]> {
        match check_key(key) {
            Ok(()) => self.named(self.find(self.digest(key)).answer),
            Err(_) => Answer::Absent,
        }
    }

    /// The answers about several keys, in their order. Keys and cells are fetched before they are read, which
    /// is faster for keys and stores beyond the cache.
    pub fn query_many<'s, K: AsRef<[u8]>>(
        &'s self,
        keys: &[K],
        mut each: impl FnMut(usize, Answer<&'s [u8]>),
    ) {
        let mut digests = [None; BATCH];
        prefetch_keys(keys.iter().take(BATCH));
        for (batch, (keys, next_keys)) in batches(keys).enumerate() {
            prefetch_keys(next_keys.iter());
            for (digest, key) in digests.iter_mut().zip(keys) {
                *digest = check_key(key.as_ref()).ok().map(|()| self.digest(key.as_ref()));
                self.prefetch(*digest);
            }
            for (n, digest) in digests.iter().take(keys.len()).enumerate() {
                let answer = digest.map_or(Answer::Absent, |digest| self.find(digest).answer);
                each(batch * BATCH + n, self.named(answer));
            }
        }
    }

    /// INSERT: adds a pair. The key must not be in the store: one that is inserted twice cannot be told
    /// from a false positive, is counted, and its answers are wrong from then on.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        check_key(key)?;
        let index = self.values.index_or_insert(value)?;
        self.insert_index(self.digest(key), index)
    }

    /// Adds several pairs, in their order, up to the first that is refused. Keys and cells are fetched before
    /// they are read.
    pub fn insert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        pairs: &[(K, V)],
    ) -> Result<(), KvError> {
        let mut digests = [0; BATCH];
        prefetch_keys(pairs.iter().take(BATCH).map(|(key, _)| key));
        for (pairs, next_pairs) in batches(pairs) {
            prefetch_keys(next_pairs.iter().map(|(key, _)| key));
            for (digest, (key, _)) in digests.iter_mut().zip(pairs) {
                *digest = self.digest(key.as_ref());
                self.prefetch(Some(*digest));
            }
            for (digest, (key, value)) in digests.iter().zip(pairs) {
                check_key(key.as_ref())?;
                let index = self.values.index_or_insert(value.as_ref())?;
                self.insert_index(*digest, index)?;
            }
        }
        Ok(())
    }

    /// UPDATE: changes the value of a key.
    pub fn update(&mut self, key: &[u8], value: &[u8]) -> Result<Write, KvError> {
        check_key(key)?;
        let digest = self.digest(key);
        match self.place_of(digest) {
            Ok((filter, old)) => {
                let new = self.values.index_or_insert(value)?;
                self.filters[filter].update(digest, old, new);
                self.counts.updated += 1;
                Ok(Write::Done)
            }
            Err(why) => {
                self.counts.undecided_updates += u64::from(why == Write::Undecided);
                Ok(why)
            }
        }
    }

    /// Gives a key a value: an update if it is in the store, else an insertion. A false positive is
    /// updated, and whatever it shares cells with is damaged.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<Write, KvError> {
        check_key(key)?;
        let digest = self.digest(key);
        match self.find(digest).answer {
            Answer::Absent => {
                let index = self.values.index_or_insert(value)?;
                self.insert_index(digest, index)?;
                Ok(Write::Done)
            }
            _ => self.update(key, value),
        }
    }

    /// DELETE: removes a key and its value.
    pub fn delete(&mut self, key: &[u8]) -> Result<Write, KvError> {
        check_key(key)?;
        let digest = self.digest(key);
        match self.place_of(digest) {
            Ok((filter, old)) => {
                self.filters[filter].delete(digest, old);
                self.counts.deleted += 1;
                Ok(Write::Done)
            }
            Err(why) => {
                self.counts.undecided_deletes += u64::from(why == Write::Undecided);
                Ok(why)
            }
        }
    }

    /// Counts and sizes.
    pub fn stats(&self) -> KvStats {
        let sum = |of: fn(&M) -> u64| self.filters.iter().map(of).sum();
        KvStats {
            pairs: sum(M::pairs),
            capacity: sum(M::capacity),
            filters: self.filters.len(),
            values: self.values.len(),
            values_max: self.values.limit(),
            bytes: KvBytes {
                main: self.filters.iter().map(|filter| filter.bytes().len()).sum(),
                secondary: self.values.secondary_bytes(),
                mapping: self.values.mapping_bytes(),
                decoding: self.filters.first().map_or(0, M::table_bytes),
            },
            saturations: sum(M::saturations),
            secondary: self.values.stats(),
            ..self.counts
        }
    }

    #[inline]
    fn prefetch(&self, digest: Option<u128>) {
        if let Some(digest) = digest {
            self.filters.iter().for_each(|filter| filter.prefetch(digest));
        }
    }

    fn insert_index(&mut self, digest: u128, index: u32) -> Result<(), KvError> {
        let is_present = self.find(digest).answer != Answer::Absent;
        let mut is_full = false; // a table can be full below its capacity
        let done = self.filters.iter_mut().any(|filter| {
            let has_room = filter.pairs() < filter.capacity();
            let done = has_room && filter.insert(digest, index);
            is_full |= has_room && !done;
            done
        });
        if !done {
            let mut further = self.filters[0].another()?; // a store is never without a filter
            further.insert(digest, index);
            self.filters.push(further);
        }
        self.counts.full += u64::from(is_full);
        self.counts.inserts_of_present += u64::from(is_present);
        self.counts.inserted += 1;
        Ok(())
    }

    /// The one filter that can have a key, and the key's value; or why a write is not possible.
    fn place_of(&mut self, digest: u128) -> Result<(usize, u32), Write> {
        let found = self.find(digest);
        match (found.answer, found.filter) {
            (Answer::Absent, _) => {
                self.counts.writes_to_absent += 1;
                Err(Write::Absent)
            }
            (Answer::Found(value), Some(filter)) => Ok((filter, value)),
            _ => Err(Write::Undecided),
        }
    }

    #[inline]
    fn find(&self, digest: u128) -> Found {
        let assigned = self.values.len() as u32;
        let mut found = Found { answer: Answer::Absent, filter: None };
        for (at, filter) in self.filters.iter().enumerate() {
            match (filter.query(digest, assigned), &found.answer) {
                (Answer::Absent, _) => {}
                (answer, Answer::Absent) => found = Found { answer, filter: Some(at) },
                (answer, _) => {
                    found = Found { answer: found.answer.or(answer), filter: None };
                }
            }
        }
        found
    }

    /// Values for their indexes.
    #[inline]
    fn named(&self, answer: Answer<u32>) -> Answer<&[u8]> {
        // Every index below the number of values has one.
        answer.map(|index| self.values.value(index).unwrap_or_default())
    }

    #[inline]
    fn digest(&self, key: &[u8]) -> u128 {
        self.filters.first().map_or(0, |filter| filter.hash_key().digest_bytes(key))
    }
}

/// Batches, each with the one that follows it.
fn batches<T>(items: &[T]) -> impl Iterator<Item = (&[T], &[T])> {
    let next = items.chunks(BATCH).skip(1).chain([&[][..]]);
    items.chunks(BATCH).zip(next)
}

/// Starts loading keys. Most are short: their first and last bytes are in all lines that they have.
#[inline]
fn prefetch_keys<'k, K: AsRef<[u8]> + 'k>(keys: impl Iterator<Item = &'k K>) {
    for key in keys {
        prefetch(key.as_ref().first());
        prefetch(key.as_ref().last());
    }
}

/// Whether a key can be in a store.
pub fn check_key(key: &[u8]) -> Result<(), KvError> {
    match key.len() {
        0 => Err(KvError::EmptyKey),
        bytes if bytes >= KEY_BYTES_LIMIT => {
            Err(KvError::KeyTooLong { bytes, limit: KEY_BYTES_LIMIT })
        }
        _ => Ok(()),
    }
}
