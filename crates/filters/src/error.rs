//! Why a store could not be made.

use thiserror::Error;

use crate::spec::SpecError;

/// A store that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum StoreError {
    /// The specification cannot be met.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The system does not have the memory.
    #[error("not enough memory: an allocation of {bytes} bytes failed")]
    OutOfMemory {
        /// The size of the allocation: one table of one shard.
        bytes: usize,
    },
    /// The borrowed bytes are not as many as the store has.
    #[error("the store takes {needed} bytes, and {given} were given")]
    WrongLength {
        /// How many bytes one array of lines takes: [`array_bytes`](crate::array_bytes).
        needed: usize,
        /// How many bytes were given.
        given: usize,
    },
}
