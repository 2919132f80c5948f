//! What the structures behind a store have in common: maps from digests of keys to indexes of values.

use super::answer::Answer;
use super::error::KvError;
use crate::digest::HashKey;

/// A map from keys to the indexes of values, in fixed memory and with one-sided errors: a *maplet*.
///
/// A key is given by its digest. Updates and deletions take the old value, so whoever calls them has to
/// know it, from a query or otherwise; with a wrong one, other keys are damaged.
pub trait Maplet: Sized {
    /// An empty one with the same parameters.
    fn another(&self) -> Result<Self, KvError>;

    /// The secret that keys are hashed with.
    fn hash_key(&self) -> HashKey;

    /// V: indexes of values are below.
    fn values(&self) -> usize;

    /// How many pairs it holds at the error rate that it was made for.
    fn capacity(&self) -> u64;

    /// How many pairs are in it: those inserted and not deleted.
    fn pairs(&self) -> u64;

    /// Starts loading what a query of this key reads.
    fn prefetch(&self, digest: u128);

    /// The index of the key's value, which is below `assigned`.
    fn query(&self, digest: u128, assigned: u32) -> Answer<u32>;

    /// Adds a pair. The key must not be in it. Returns whether there was room, and such a value.
    fn insert(&mut self, digest: u128, value: u32) -> bool;

    /// Changes the value of a key that is there.
    fn update(&mut self, digest: u128, old: u32, new: u32);

    /// Removes a pair that is there.
    fn delete(&mut self, digest: u128, value: u32);

    /// The contents: all zero if it is empty.
    fn bytes(&self) -> &[u8];

    /// Counters that have reached their maximum, where they stay.
    fn saturations(&self) -> u64 {
        0
    }

    /// The bytes of tables that are the same for all such maps with these parameters.
    fn table_bytes(&self) -> usize {
        0
    }
}
