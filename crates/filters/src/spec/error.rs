//! Why a store cannot be made as specified.

use std::fmt;

use thiserror::Error;

use super::{
    BHBF_CELL_BITS, BLOCKED_LINES_LIMIT, Backend, HASHES_LIMIT, LayoutKind, MEMORY_LIMIT_BYTES,
};
use crate::state::State;

/// A setting of a [`StoreSpec`](super::StoreSpec) that not every store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Setting {
    /// The number of cells per flow.
    Hashes,
    /// The width of a cell.
    CellBits,
    /// Where the cells of a flow lie.
    Layout,
    /// Emptying itself when full, at once or by halves.
    Recycling,
    /// When a store that recycles is full.
    RecycleAt,
    /// Whether a store that recycles forgets the flow that filled it.
    Retain,
    /// How `kbf` decodes.
    Decode,
    /// The rules of `sbf`.
    SbfRules,
    /// Whether `dbf` has counters.
    Counters,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Setting::Hashes => "a number of hashes",
            Setting::CellBits => "a cell width",
            Setting::Layout => "a layout",
            Setting::Recycling => "recycling",
            Setting::RecycleAt => "a recycling threshold",
            Setting::Retain => "forgetting the flow that fills the store",
            Setting::Decode => "a way to decode",
            Setting::SbfRules => "a set of sbf rules",
            Setting::Counters => "a choice of counters",
        })
    }
}

/// A specification that no store can meet: what is wrong, and the limit it exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum SpecError {
    /// No flows to keep.
    #[error("a store needs room for at least one flow")]
    NoFlows,
    /// A false positive rate outside (0, 1), or one that takes too many hashes.
    #[error("a false positive rate of {rate:?}: it must be above 2^-32 and below 1")]
    FpRate {
        /// The rate.
        rate: f64,
    },
    /// A rate below what fingerprints can reach.
    #[error("a false positive rate of {rate:?}: fingerprints of 32 bits reach {least:.1e}")]
    FingerprintRate {
        /// The rate.
        rate: f64,
        /// The lowest rate that fingerprints reach.
        least: f64,
    },
    /// A number of states that no cell can hold.
    #[error("{states} states: a machine has 1 to {limit}", limit = State::LIMIT)]
    States {
        /// The number of states.
        states: usize,
    },
    /// A number of hashes out of range.
    #[error("{hashes} hashes: a flow has 1 to {HASHES_LIMIT}")]
    Hashes {
        /// The number of hashes.
        hashes: usize,
    },
    /// More hashes than the lines of a flow have cells.
    #[error("{hashes} hashes: the lines of layout {layout} have {most} cells per flow at this width", layout = layout.name())]
    HashesInLines {
        /// The number of hashes.
        hashes: usize,
        /// The layout.
        layout: LayoutKind,
        /// The most that fit.
        most: usize,
    },
    /// A blocked layout with an impossible number of lines.
    #[error("a blocked layout has 1 to {BLOCKED_LINES_LIMIT} lines per flow")]
    Layout,
    /// A cell width that does not exist or does not fit the states.
    #[error("cells of {bits} bits: a cell has 8, 16 or 32 bits, and {states} states need {needed}")]
    CellBits {
        /// The width.
        bits: u32,
        /// The width that the states need.
        needed: u32,
        /// The number of states.
        states: usize,
    },
    /// A cell width that `bhbf` does not have.
    #[error("cells of {bits} bits: bhbf has cells of {BHBF_CELL_BITS} bits")]
    BhbfCellBits {
        /// The width.
        bits: u32,
    },
    /// A setting that this store does not have.
    #[error("{backend} does not have {setting}", backend = backend.name())]
    NotSupported {
        /// The setting.
        setting: Setting,
        /// The store.
        backend: Backend,
    },
    /// Less memory than one line (entry) per shard.
    #[error("{bytes} bytes are too few: the store takes at least {least}")]
    TooSmall {
        /// The memory budget.
        bytes: u64,
        /// The smallest budget that works.
        least: u64,
    },
    /// More memory than any store may take.
    #[error(
        "the store would take {gib:.1} GiB, the limit is {limit} GiB",
        gib = bytes / (1u64 << 30) as f64,
        limit = MEMORY_LIMIT_BYTES >> 30
    )]
    TooLarge {
        /// The memory it would take; a float, as it may exceed every integer.
        bytes: f64,
    },
    /// More cells than a store can address.
    #[error("the store would have {cells:.1e} cells, the limit is {limit:.1e}")]
    TooManyCells {
        /// The number of cells it would have.
        cells: f64,
        /// The number of cells it could have.
        limit: f64,
    },
    /// A recycling threshold out of range.
    #[error("a store recycles at a part of its cells between 0 and 1, or at one flow or more")]
    RecycleAt,
    /// A setting of stores that recycle, for one that does not.
    #[error("{setting} is for stores that recycle")]
    NotRecycling {
        /// The setting.
        setting: Setting,
    },
    /// Bits that nothing would ever clear.
    #[error("dbf without counters never forgets unless it ages or recycles")]
    NeverEmptied,
}
