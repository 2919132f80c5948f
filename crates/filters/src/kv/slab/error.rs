//! What a slab refuses, and why.

use thiserror::Error;

use crate::kv::KvError;
use crate::snapshot::SnapshotError;

/// An operation that is refused. Nothing was written.
#[derive(Debug, Error)]
pub enum SlabError {
    /// The bytes are not those of a slab.
    #[error(transparent)]
    NotASlab(#[from] SnapshotError),
    /// The header is one that no slab is created with.
    #[error("its parameters are not those of a slab")]
    Parameters,
    /// The parameters, or two slabs together, are not possible.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// More bytes than a slab may have.
    #[error("the slab would have {bytes} bytes; at most {limit} are possible")]
    TooLarge {
        /// As many as the parameters take.
        bytes: u64,
        /// The most.
        limit: usize,
    },
    /// More values than a slab may have.
    #[error("{values} values are wanted; a slab takes at most {limit}")]
    TooManyValues {
        /// How many are wanted.
        values: u32,
        /// The most.
        limit: u32,
    },
    /// More items than a slab can count.
    #[error("the slab would count {items} items, which are too many")]
    TooManyItems {
        /// How many.
        items: u64,
    },
    /// Items whose decoding may take too long in one call.
    #[error(
        "{items} items may take {needed} steps of decoding, and a call at most {limit}: \
         give at most {items_possible} such items in a call"
    )]
    TooMuchWork {
        /// How many items the call has.
        items: u64,
        /// The steps that they may take.
        needed: u64,
        /// The most.
        limit: u64,
        /// About as many items as a call can have.
        items_possible: u64,
    },
    /// A value for which there is no code.
    #[error("the value {value} is not below {values}")]
    Value {
        /// The value.
        value: u32,
        /// V: how many values there are.
        values: u32,
    },
    /// Batches of the client are missing.
    #[error("{next} is the next batch of client {client}, not {given}")]
    Gap {
        /// The client.
        client: u64,
        /// The sequence of the first batch that is missing.
        next: u64,
        /// The sequence that was given.
        given: u64,
    },
    /// The client is not known, and may be one whose entry was evicted.
    #[error(
        "{highest} is the highest id that was evicted; client {client} is unknown, and not above it"
    )]
    Evicted {
        /// The client.
        client: u64,
        /// The highest id that was evicted.
        highest: u64,
    },
}
