//! What a key-value store refuses, and why.

use std::fmt;

use thiserror::Error;

use crate::codes::CodeFamily;
use crate::error::StoreError;

/// What keeps two stores from being joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// They have different numbers of cells.
    Cells,
    /// They have different numbers of cells per key.
    Hashes,
    /// Their cells have different widths.
    CellBits,
    /// They have different codes, or a different number of them.
    Codes,
    /// One of them is salted.
    Salt,
    /// Their keys are hashed with different secrets.
    HashKey,
    /// Neither table of values begins with the other.
    Values,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mismatch::Cells => "numbers of cells",
            Mismatch::Hashes => "numbers of cells per key",
            Mismatch::CellBits => "widths of cells",
            Mismatch::Codes => "codes",
            Mismatch::Salt => "ways to salt codes",
            Mismatch::HashKey => "hash keys",
            Mismatch::Values => "tables of values",
        })
    }
}

/// An operation or a specification that is refused. Nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum KvError {
    /// A key of no bytes.
    #[error("a key is empty")]
    EmptyKey,
    /// A key that is too long.
    #[error("a key has {bytes} bytes; it must have fewer than {limit}")]
    KeyTooLong {
        /// Its length.
        bytes: usize,
        /// The first length that is refused.
        limit: usize,
    },
    /// A value that is too long.
    #[error("a value has {bytes} bytes; it must have fewer than {limit}")]
    ValueTooLong {
        /// Its length.
        bytes: usize,
        /// The first length that is refused.
        limit: usize,
    },
    /// All values together are too long.
    #[error("the different values have more than {limit} bytes together")]
    ValueBytes {
        /// The most that the table of values holds.
        limit: usize,
    },
    /// One different value too many.
    #[error("the store was made for {values} different values, and all are in use")]
    ValuesInUse {
        /// How many there are.
        values: usize,
    },
    /// More values than there are codes.
    #[error("{values} values are wanted; {} codes are enough for {limit}", .family.name())]
    TooManyValues {
        /// How many are wanted.
        values: usize,
        /// The codes…
        family: CodeFamily,
        /// …and the number of values that they are enough for.
        limit: usize,
    },
    /// More values than slots of an fcf can tell apart.
    #[error("{values} values are wanted; an fcf takes at most {limit}")]
    TooManySlotValues {
        /// How many are wanted.
        values: usize,
        /// The most.
        limit: usize,
    },
    /// No pairs, or no values.
    #[error("a store for {pairs} pairs and {values} values")]
    Nothing {
        /// Pairs wanted.
        pairs: u64,
        /// Values wanted.
        values: usize,
    },
    /// A rate that is no rate, or too small.
    #[error("an error rate of {rate}; it must be from {least:e} up to 0.5")]
    Rate {
        /// The rate wanted.
        rate: f64,
        /// The least that can be had.
        least: f64,
    },
    /// A number of cells per key that cannot be.
    #[error("{hashes} cells per key; it must be from 1 to {most}")]
    Hashes {
        /// The number wanted.
        hashes: usize,
        /// The largest.
        most: usize,
    },
    /// More memory than a store may take.
    #[error("the store would take {bytes:.3e} bytes, and the most is {limit}")]
    TooLarge {
        /// What it would take.
        bytes: f64,
        /// The most.
        limit: u64,
    },
    /// Cells that cannot be halved.
    #[error("a filter of {cells_per_part} cells per hash cannot be halved")]
    NotHalvable {
        /// Cells of a part.
        cells_per_part: u32,
    },
    /// Two stores that cannot be joined.
    #[error("the stores cannot be joined: they have different {0}")]
    Different(Mismatch),
    /// Parameters and contents that do not belong together.
    #[error("the contents do not belong to the parameters")]
    Inconsistent,
    /// Memory.
    #[error(transparent)]
    Store(#[from] StoreError),
}
