//! Counts and sizes of a store.

use super::values::ValueStats;

/// What a store holds, what it takes, and what can have broken its guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KvStats {
    /// Pairs in the store: those inserted and not deleted.
    pub pairs: u64,
    /// How many pairs the filters hold together at the error rate that they were made for.
    pub capacity: u64,
    /// Filters.
    pub filters: usize,
    /// Different values so far.
    pub values: usize,
    /// How many there can be.
    pub values_max: usize,
    /// Memory.
    pub bytes: KvBytes,
    /// Insertions.
    pub inserted: u64,
    /// Updates that were done.
    pub updated: u64,
    /// Deletions that were done.
    pub deleted: u64,
    /// Updates and deletions of keys that are absent.
    pub writes_to_absent: u64,
    /// Insertions of keys that seemed to be present: false positives, or keys inserted twice.
    pub inserts_of_present: u64,
    /// Updates that were not done, as the old value is not decided.
    pub undecided_updates: u64,
    /// Deletions that were not done, as the value is not decided.
    pub undecided_deletes: u64,
    /// Counters that have reached their maximum: such a cell says nothing any more.
    pub saturations: u64,
    /// Insertions that found an fcf full below its capacity and went to another.
    pub full: u64,
    /// Errors of the secondary filter, none of which has an effect.
    pub secondary: ValueStats,
}

/// The memory of a store, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KvBytes {
    /// The filters.
    pub main: usize,
    /// The secondary filter, from values to their indexes.
    pub secondary: usize,
    /// The table from indexes to values.
    pub mapping: usize,
    /// Tables for decoding, which depend on nothing but the codes.
    pub decoding: usize,
}

impl KvBytes {
    /// All of it.
    pub const fn total(&self) -> usize {
        self.main + self.secondary + self.mapping + self.decoding
    }
}

impl KvStats {
    /// ρ: pairs in multiples of the capacity.
    pub fn rho(&self) -> f64 {
        self.pairs as f64 / self.capacity.max(1) as f64
    }

    /// Bits of the whole store per pair in it.
    pub fn bits_per_pair(&self) -> f64 {
        8.0 * self.bytes.total() as f64 / self.pairs.max(1) as f64
    }
}
