//! Why a store cannot be as it was wished for.

use thiserror::Error;

use super::{BHBF_CELL_BITS, HASHES_LIMIT, MEMORY_LIMIT_BYTES};
use crate::state::State;

/// A wish that cannot be met. The message names the option and what would do.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum SpecError {
    /// `--flows 0`.
    #[error("--flows 0: a store needs room for at least one flow")]
    NoFlows,
    /// A rate that is no rate, or one that takes more hashes than a flow can have.
    #[error("--fp-rate {0:?}: it must be above 2^-32 (about 2.4e-10) and below 1, such as 0.01")]
    FpRate(f64),
    /// A rate below what fingerprints can reach.
    #[error("--fp-rate {rate:?}: fingerprints of 32 bits reach {least:.1e}; raise it to that")]
    FingerprintRate {
        /// The rate asked for.
        rate: f64,
        /// The least that works.
        least: f64,
    },
    /// A number of states that no cell can hold.
    #[error("{0} states: a machine has 1 to {limit}", limit = State::LIMIT)]
    States(usize),
    /// A number of hashes out of range.
    #[error("--hashes {0}: it must be 1 to {HASHES_LIMIT}")]
    Hashes(usize),
    /// Lines with too few cells for so many hashes.
    #[error(
        "--hashes {hashes}: the lines of --layout {layout} have {most} cells for a flow at this width"
    )]
    HashesInLines {
        /// The number asked for.
        hashes: usize,
        /// The layout.
        layout: &'static str,
        /// The most that fit.
        most: usize,
    },
    /// No layout.
    #[error("no such layout; write spread, or blocked:1, blocked:2 or blocked:3 (lines a flow)")]
    Layout,
    /// A width that does not exist or does not fit the states.
    #[error(
        "--cell-bits {bits}: a cell has 8, 16 or 32 bits, and {states} states need at least {needed}"
    )]
    CellBits {
        /// The width asked for.
        bits: u32,
        /// The width that the states take.
        needed: u32,
        /// How many states there are.
        states: usize,
    },
    /// A width that the codes of a bhbf do not have.
    #[error(
        "--cell-bits {0}: bhbf has cells of {BHBF_CELL_BITS} bits, for a count and sums modulo 4095; leave it out"
    )]
    BhbfCellBits(u32),
    /// An option that means nothing for this structure.
    #[error("{option} does not apply to --backend {backend}: leave it out")]
    NotFor {
        /// The option.
        option: &'static str,
        /// The structure.
        backend: &'static str,
    },
    /// Memory for not even one line per shard.
    #[error("--memory {bytes}B is too small: the least that works here is {least}B")]
    TooSmall {
        /// The memory asked for.
        bytes: u64,
        /// The least that works.
        least: u64,
    },
    /// More memory than any store may take.
    #[error(
        "the store would take {gib:.1} GiB, the limit is {limit} GiB: lower --flows or --memory, or raise --fp-rate",
        gib = bytes / (1u64 << 30) as f64,
        limit = MEMORY_LIMIT_BYTES >> 30
    )]
    TooLarge {
        /// What it would take; a float, as it may be beyond all integers.
        bytes: f64,
    },
    /// More cells than a store can number.
    #[error(
        "the store would have {cells:.1e} cells, the limit is {limit:.1e}: lower --flows or --memory, or raise --fp-rate"
    )]
    TooManyCells {
        /// How many it would have.
        cells: f64,
        /// How many it could have.
        limit: f64,
    },
    /// No threshold.
    #[error(
        "a store recycles at fill:S, with S between 0 and 1, or at flows:N, such as fill:0.5 or flows:1M"
    )]
    RecycleAt,
    /// A threshold for stores that do not recycle.
    #[error("{option} is for stores that recycle: add --expire {with}")]
    NotRecycling {
        /// The option.
        option: &'static str,
        /// What it goes with.
        with: &'static str,
    },
    /// No gate.
    #[error(
        "no such gate; write none, bloom, bloom-1, bloom-2 or bloom-3, and `,recycle` behind it if it is to forget all at once"
    )]
    Gate,
    /// A gate for no flows, or for too many.
    #[error("a gate for {0} flows cannot be: --gate-flows takes 1 to about 4 billion")]
    GateFlows(u64),
    /// Bits that nothing would ever clear.
    #[error("dbf without counters never forgets unless it ages or recycles: use --expire timer")]
    NeverEmptied,
}
