//! A store with types: keys and values that have a form as bytes.

use std::marker::PhantomData;

use super::answer::{Answer, Write};
use super::error::KvError;
use super::fcf::FcfMap;
use super::kbf::KbfMap;
use super::maplet::Maplet;
use super::parameters::KvSpec;
use super::store::KvStore;

/// What can be a key: it has a form as bytes, different ones for different keys.
pub trait KvKey {
    /// Calls `use_bytes` with its bytes.
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R;
}

/// What can be a value: it can be made from its bytes again.
pub trait KvValue: KvKey + Sized {
    /// The value with these bytes, if they are those of one.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// Integers are little-endian.
macro_rules! integers {
    ($($integer:ty),*) => {
        $(
            impl KvKey for $integer {
                fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                    use_bytes(&self.to_le_bytes())
                }
            }

            impl KvValue for $integer {
                fn from_bytes(bytes: &[u8]) -> Option<Self> {
                    Some(<$integer>::from_le_bytes(bytes.try_into().ok()?))
                }
            }
        )*
    };
}

integers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

/// What has its bytes already.
macro_rules! bytes {
    ($($type:ty),*) => {
        $(
            impl KvKey for $type {
                fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                    use_bytes(self.as_ref())
                }
            }
        )*
    };
}

bytes!(str, String, [u8], Vec<u8>);

impl<const N: usize> KvKey for [u8; N] {
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        use_bytes(self)
    }
}

impl<const N: usize> KvValue for [u8; N] {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

impl KvValue for String {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        String::from_utf8(bytes.to_vec()).ok()
    }
}

impl KvValue for Vec<u8> {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

/// A [`KvStore`] with keys and values of given types.
///
/// ```
/// use acsm_filters::kv::{Answer, Kv, KvSpec};
///
/// let mut colours: Kv<str, u16> = Kv::new(&KvSpec::new(1000, 500))?;
/// colours.insert("apple", &404)?;
/// assert_eq!(colours.get("apple"), Answer::Found(404));
/// # Ok::<(), acsm_filters::kv::KvError>(())
/// ```
pub struct Kv<K: ?Sized, V, M = KbfMap> {
    store: KvStore<M>,
    types: PhantomData<fn(&K, V)>,
}

impl<K: KvKey + ?Sized, V: KvValue> Kv<K, V, KbfMap> {
    /// An empty store over a key-value Bloom filter.
    pub fn new(spec: &KvSpec) -> Result<Self, KvError> {
        KvStore::new(spec).map(Kv::from)
    }
}

impl<K: KvKey + ?Sized, V: KvValue> Kv<K, V, FcfMap> {
    /// An empty store over a fingerprint cuckoo table.
    pub fn new_fcf(spec: &KvSpec) -> Result<Self, KvError> {
        KvStore::new_fcf(spec).map(Kv::from)
    }
}

impl<K: KvKey + ?Sized, V: KvValue, M: Maplet> Kv<K, V, M> {
    /// QUERY. A value that is not one of V, in a table from elsewhere, makes it undecided.
    pub fn get(&self, key: &K) -> Answer<V> {
        match key.with_bytes(|key| self.store.query(key)) {
            Answer::Absent => Answer::Absent,
            Answer::Found(value) => V::from_bytes(value).map_or(Answer::Undecided, Answer::Found),
            Answer::OneOf(several) => {
                let several: Option<Vec<V>> = several.into_iter().map(V::from_bytes).collect();
                several.map_or(Answer::Undecided, Answer::OneOf)
            }
            Answer::Undecided => Answer::Undecided,
        }
    }

    /// INSERT, as [`KvStore::insert`].
    pub fn insert(&mut self, key: &K, value: &V) -> Result<(), KvError> {
        key.with_bytes(|key| value.with_bytes(|value| self.store.insert(key, value)))
    }

    /// UPDATE, as [`KvStore::update`].
    pub fn update(&mut self, key: &K, value: &V) -> Result<Write, KvError> {
        key.with_bytes(|key| value.with_bytes(|value| self.store.update(key, value)))
    }

    /// An update or an insertion, as [`KvStore::set`].
    pub fn set(&mut self, key: &K, value: &V) -> Result<Write, KvError> {
        key.with_bytes(|key| value.with_bytes(|value| self.store.set(key, value)))
    }

    /// DELETE, as [`KvStore::delete`].
    pub fn delete(&mut self, key: &K) -> Result<Write, KvError> {
        key.with_bytes(|key| self.store.delete(key))
    }

    /// The store of bytes.
    pub fn store(&self) -> &KvStore<M> {
        &self.store
    }

    /// The store of bytes, to be changed.
    pub fn store_mut(&mut self) -> &mut KvStore<M> {
        &mut self.store
    }
}

impl<K: ?Sized, V, M> From<KvStore<M>> for Kv<K, V, M> {
    fn from(store: KvStore<M>) -> Self {
        Kv { store, types: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back() {
        let spec = KvSpec::new(100, 10);
        let mut numbers: Kv<[u8; 6], i64, FcfMap> = Kv::new_fcf(&spec).unwrap();
        numbers.insert(&[1; 6], &-5).unwrap();
        assert_eq!(numbers.set(&[2; 6], &i64::MIN), Ok(Write::Done));
        assert_eq!(numbers.get(&[1; 6]), Answer::Found(-5));
        assert_eq!(numbers.update(&[1; 6], &7), Ok(Write::Done));
        assert_eq!(numbers.delete(&[2; 6]), Ok(Write::Done));
        assert_eq!(numbers.get(&[2; 6]), Answer::Absent);
        assert_eq!(numbers.store().stats().pairs, 1);

        let mut texts: Kv<u128, Vec<u8>> = Kv::new(&spec).unwrap();
        texts.insert(&1, &b"one".to_vec()).unwrap();
        // Read as another type, its value is none of that type's.
        let texts: Kv<u128, u64> = Kv::from(texts.store);
        assert_eq!(texts.get(&1), Answer::Undecided);
        assert_eq!(texts.get(&2), Answer::Absent);
    }
}
