//! Why a store could not be made.

use thiserror::Error;

use crate::digest::FlowId;
use crate::memory::{Arena, Table};
use crate::spec::SpecError;

/// A store that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum StoreError {
    /// The wish itself cannot be met.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The machine does not have the memory.
    #[error(
        "not enough memory: one of {shards} parts of the store takes {mib} MiB; lower --flows or --memory",
        shards = FlowId::SHARDS,
        mib = bytes >> 20
    )]
    OutOfMemory {
        /// What one shard asked for.
        bytes: usize,
    },
}

/// A vector of `len` times `value`, or an error in place of an abort.
pub(super) fn allocate<T: Clone>(len: usize, value: T) -> Result<Vec<T>, StoreError> {
    let mut vector = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>());
    vector.try_reserve_exact(len).map_err(|_| StoreError::OutOfMemory { bytes })?;
    vector.resize(len, value);
    Ok(vector)
}

/// The same in an arena.
pub(super) fn allocate_in<T: Copy>(
    arena: &Arena,
    len: usize,
    value: T,
) -> Result<Table<T>, StoreError> {
    let bytes = len.saturating_mul(size_of::<T>());
    arena.table(len, value).ok_or(StoreError::OutOfMemory { bytes })
}
