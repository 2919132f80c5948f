//! Which store is wanted, and what it takes.
//!
//! # Properties
//!
//! Pure arithmetic, without memory or I/O. A [`StoreSpec`] that cannot be met is a [`SpecError`],
//! which carries the values and limits in question.
//!
//! # Usage
//!
//! ```
//! use acsm_filters::{Backend, Budget, StoreSpec};
//!
//! let spec = StoreSpec { flows: 100_000, budget: Budget::FpRate(0.01), ..StoreSpec::new(Backend::Kbf, 6) };
//! let sizing = spec.sizing()?;
//! assert_eq!((sizing.hashes, sizing.cell_bits), (7, 8));
//! # Ok::<(), acsm_filters::SpecError>(())
//! ```
//!
//! # Implementation
//!
//! | file | what |
//! |---|---|
//! | `backend` | the table of stores: names, descriptions, capabilities |
//! | `expire`, `layout` | settings of a store |
//! | `sizing` | cells and hashes for a rate or a memory budget, within limits |
//! | `footprint` | how lines are divided into cells, slots and stamps |
//! | `error` | why a store cannot be made |

mod backend;
mod error;
mod expire;
mod footprint;
mod layout;
mod sizing;

pub use backend::{Backend, Storage, StoreInfo};
pub use error::{Setting, SpecError};
pub use expire::{Expire, RecycleAt};
pub(crate) use footprint::FCF_WINDOWS;
pub use footprint::{
    CellFormat, EXACT_FLOW_BYTES, FCF_WINDOW_SLOTS, Footprint, LINE_BYTES, SlotFormat,
    cells_per_line, fcf_fingerprints, fcf_slots_per_line,
};
pub use layout::{BLOCKED_LINES_LIMIT, LayoutKind, UnknownLayout};

use crate::digest::FlowId;
use crate::state::StateSet;

/// What decides how much memory a store gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// As much as this probability takes that an absent flow finds no empty cell.
    FpRate(f64),
    /// This many bytes, for all shards together.
    MemoryBytes(u64),
}

/// The rules of a stateful Bloom filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SbfRules {
    /// Flows of one state share a cell without loss.
    Stateful,
    /// As the kBF papers describe it: a cell with two or more flows answers nothing.
    PaperKbf,
    /// As the introduction of the kBF papers can be read: a cell holds the value itself, without a
    /// count. A flow that changes its state turns its cells into "don't know", and no cell is emptied
    /// but by the timer.
    NoCounters,
}

/// How a kBF decodes the state of a flow: the first three are the papers' ways, for a flow that is
/// alone on none of its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KbfDecode {
    /// The intersection of all cells with two flows, then of those with three.
    AllPairs,
    /// Algorithms 6 and 7 as printed, where a queue is a set: the first two different sums of two
    /// flows; if there is one only, it and the first sum of three.
    Literal,
    /// The 2014 text: the intersection of all cells with two or three flows.
    ThreeWay,
    /// Joint decoding: the states that all cells of the flow allow; none means absent.
    Joint,
    /// Joint decoding with salt: what a flow adds for a state differs from cell to cell.
    Salt,
}

impl KbfDecode {
    /// Whether all cells of a flow are decoded together.
    pub const fn is_joint(self) -> bool {
        matches!(self, KbfDecode::Joint | KbfDecode::Salt)
    }
}

/// A store as it is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreSpec {
    /// Which structure.
    pub backend: Backend,
    /// How many states the machine has.
    pub states: usize,
    /// States in which no flow is in the store: they are held by the pending table before it.
    pub held: StateSet,
    /// Peak number of flows alive at once.
    pub flows: u64,
    /// Memory, or the error rate that decides how much.
    pub budget: Budget,
    /// Cells per flow, if not the best number.
    pub hashes: Option<usize>,
    /// Width of a cell, if not the narrowest.
    pub cell_bits: Option<u32>,
    /// Where the cells of a flow lie.
    pub layout: LayoutKind,
    /// How silent flows leave.
    pub expire: Expire,
    /// When a store that recycles is full, if not with the planned number of flows.
    pub recycle_at: Option<RecycleAt>,
    /// Whether the flow that made it full stays (`recycle` only; in two phases it does).
    pub retain: bool,
    /// Rules of `sbf`.
    pub sbf: SbfRules,
    /// Decoding of `kbf`, if not the default of the way to expire.
    pub decode: Option<KbfDecode>,
    /// Whether `dbf` counts; without, cells are single bits that only age empties.
    pub dbf_counters: bool,
    /// Slots of the pending table before the store, if there is one. It is not part of the sizing.
    pub pending: Option<u64>,
}

/// What a [`StoreSpec`] comes to: totals over all shards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizing {
    /// Peak number of flows alive at once, as planned.
    pub flows: u64,
    /// Cells that flows can hash to, those of one half if there are two (entries for `exact`, slots
    /// for `fcf`).
    pub cells: u64,
    /// Cells per flow (0 for `exact`; for `fcf` the two windows that a flow can be in).
    pub hashes: usize,
    /// Bits of a cell, without its stamp.
    pub cell_bits: u32,
    /// Cells of one line, or of each of its halves (0 for `exact`).
    pub cells_per_line: usize,
    /// Where the cells of a flow lie.
    pub layout: LayoutKind,
    /// Arrays of equal size that the cells are cut into: 2 in two phases, else 1.
    pub phases: u64,
    /// When the store recycles, if it does.
    pub recycle_at: Option<RecycleAt>,
    /// Whether the flow that made it full stays.
    pub retain: bool,
    /// All that is allocated for the store: cells, stamps, marks, padding.
    pub bits: u64,
    /// Bits per flow at the planned number of flows.
    pub bits_per_flow: f64,
    /// Tables for decoding, which do not grow with flows: not in `bits`.
    pub table_bits: u64,
}

impl Sizing {
    /// How many of the planned flows a shard should have room for: its share, and two standard
    /// deviations, because shards do not get equally many.
    pub fn flows_per_shard(&self) -> u64 {
        let mean = self.flows as f64 / FlowId::SHARDS as f64;
        (mean + 2.0 * mean.sqrt()).ceil() as u64
    }
}

/// No store takes more than this: 64 GiB.
pub const MEMORY_LIMIT_BYTES: u64 = 1 << 36;
/// No flow has more cells than this.
pub const HASHES_LIMIT: usize = 32;
/// Cells of a bhbf: a 4-bit count and a 12-bit sum.
pub const BHBF_CELL_BITS: u32 = 16;
/// Up to this many flows on a cell, a bhbf's sum rules codes out: one table for each count.
pub const BHBF_TABLE_COUNTS: u32 = 5;

/// How many bits the greedy encodings (Algorithm 1) of this many states take.
pub const fn kbf_code_bits(states: usize) -> u32 {
    match states {
        0..=1 => 1,
        2 => 2,
        3 => 3,
        4..=5 => 4,
        6 => 5,
        7..=8 => 6,
        9..=11 => 7,
        _ => 8,
    }
}

/// What the cells of a kbf need: a 3-bit count and a code.
pub(crate) const fn kbf_cell_bits(states: usize) -> u32 {
    3 + kbf_code_bits(states)
}

impl StoreSpec {
    /// A store of this kind with default settings: a million flows at 1 % false positives.
    pub fn new(backend: Backend, states: usize) -> StoreSpec {
        StoreSpec {
            backend,
            states,
            held: StateSet::EMPTY,
            flows: 1_000_000,
            budget: Budget::FpRate(0.01),
            hashes: None,
            cell_bits: None,
            layout: LayoutKind::Spread,
            expire: Expire::Timer,
            recycle_at: None,
            retain: true,
            sbf: SbfRules::Stateful,
            decode: None,
            dbf_counters: true,
            pending: None,
        }
    }

    /// How a kbf decodes: by default with salt if it has two halves, else as in the papers.
    pub const fn kbf_decode(&self) -> KbfDecode {
        match (self.decode, self.expire) {
            (Some(decode), _) => decode,
            (None, Expire::Timer) => KbfDecode::Salt,
            (None, _) => KbfDecode::AllPairs,
        }
    }

    /// How many states of the machine can be in the store.
    pub const fn stored_states(&self) -> usize {
        self.states.saturating_sub(self.held.count())
    }
}
