//! What store is wanted, and what that takes: cells, hashes and bits by the option table of the
//! design. Pure arithmetic: both the stores and the models of them start from here.

mod error;
mod expire;
mod fcf;
mod gate;
mod layout;
mod sizing;

pub use error::SpecError;
pub use expire::{Expire, RecycleAt};
pub use fcf::{FCF_BUCKET_SLOTS, fcf_buckets_per_line, fcf_fingerprints};
pub use gate::GateSpec;
pub use layout::{BLOCKED_LINES_LIMIT, LayoutKind};

/// The structures that can keep flow state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// A hash table of full keys: the oracle, and the baseline.
    Exact,
    /// Direct Bloom filter (ACSM 2006 §3.1): the elements are (flow, state).
    Dbf,
    /// Stateful Bloom filter (ACSM 2006 §3.3): a cell holds a state and a count.
    Sbf,
    /// Key-value Bloom filter (2014): a cell holds a count and the XOR of encoded states.
    Kbf,
    /// B_h-sequence Bloom filter: a cell holds a count and the sum of salted codes of states.
    Bhbf,
    /// Fingerprints and states in a cuckoo table: ACSM 2006's best structure, as a maplet.
    Fcf,
}

impl Backend {
    /// Whether a flow has cells in it, which have a layout and can recycle; else it has one place
    /// of its own.
    pub const fn has_cells(self) -> bool {
        !matches!(self, Backend::Exact | Backend::Fcf)
    }

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Exact => "exact",
            Backend::Dbf => "dbf",
            Backend::Sbf => "sbf",
            Backend::Kbf => "kbf",
            Backend::Bhbf => "bhbf",
            Backend::Fcf => "fcf",
        }
    }
}

/// What decides how much memory a store gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// As much as it takes for this probability that an absent flow finds no empty cell.
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
}

/// How a kBF makes a state out of the cells of a flow when none of them is the flow's alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KbfDecode {
    /// What all cells with two flows have in common, then those with three.
    AllPairs,
    /// Algorithms 6 and 7 as printed: the first two cells with two flows, or one of two flows and
    /// one of three.
    Literal,
    /// The 2014 text: what all cells with two or three flows have in common.
    ThreeWay,
}

/// A store as it is wished for.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreSpec {
    /// Which structure.
    pub backend: Backend,
    /// How many states the machine has.
    pub states: usize,
    /// Peak number of flows alive at once.
    pub flows: u64,
    /// Memory, or the error rate it is to be bought for.
    pub budget: Budget,
    /// Cells per flow, if not the best number.
    pub hashes: Option<usize>,
    /// Width of a cell, if not the narrowest.
    pub cell_bits: Option<u32>,
    /// Where the cells of a flow lie.
    pub layout: LayoutKind,
    /// How silent flows leave.
    pub expire: Expire,
    /// When a store that recycles is full, if not with as many flows as it is made for.
    pub recycle_at: Option<RecycleAt>,
    /// Whether the flow that made it full stays (`recycle` only; in two phases it does).
    pub retain: bool,
    /// Rules of `sbf`.
    pub sbf: SbfRules,
    /// Decoding of `kbf`.
    pub decode: KbfDecode,
    /// Whether `dbf` counts; without, cells are single bits and only the timer empties them.
    pub dbf_counters: bool,
    /// What flows have to pass before they enter the store, if anything.
    pub gate: Option<GateSpec>,
}

/// What a [`StoreSpec`] comes to: totals over all shards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizing {
    /// Cells that flows can hash to (entries for `exact`, slots for `fcf`).
    pub cells: u64,
    /// Cells per flow (0 for `exact`; for `fcf` the two buckets that a flow can be in).
    pub hashes: usize,
    /// Bits of a cell, without its stamp.
    pub cell_bits: u32,
    /// Cells of one line (0 for `exact`).
    pub cells_per_line: usize,
    /// Where the cells of a flow lie.
    pub layout: LayoutKind,
    /// Arrays of equal size that the cells are cut into: 2 in two phases, else 1.
    pub phases: u64,
    /// When the store recycles, if it does.
    pub recycle_at: Option<RecycleAt>,
    /// Whether the flow that made it full stays.
    pub retain: bool,
    /// All that is allocated for the store: cells, stamps, marks, padding, a gate.
    pub bits: u64,
    /// Those of them that are the gate's.
    pub gate_bits: u64,
    /// Bits per flow at the number of flows asked for.
    pub bits_per_flow: f64,
    /// Tables for decoding, which do not grow with flows: not in `bits`.
    pub table_bits: u64,
}

/// No store takes more than this: 64 GiB.
pub const MEMORY_LIMIT_BYTES: u64 = 1 << 36;
/// No flow has more cells than this.
pub const HASHES_LIMIT: usize = 32;
/// Filters are made of lines of this size, each within one cache line.
pub const LINE_BYTES: usize = 64;
/// What one flow takes in the exact store: its entry and two buckets of the index.
pub const EXACT_FLOW_BYTES: u64 = 72;

/// Cells of a bhbf: a 4-bit count and a 12-bit sum.
pub const BHBF_CELL_BITS: u32 = 16;
/// Up to this many flows on a cell, a bhbf's sum rules codes out: as many tables it has.
pub const BHBF_TABLE_COUNTS: u32 = 5;

/// How many cells fit a line. With the timer each cell has a 2-bit stamp beside it, and each line
/// a 32-bit epoch.
pub const fn cells_per_line(cell_bits: u32, expire: Expire) -> usize {
    let line_bits = 8 * LINE_BYTES as u32;
    match expire {
        Expire::Timer => ((line_bits - 32) / (cell_bits + 2)) as usize,
        Expire::Recycle | Expire::TwoPhase | Expire::None => (line_bits / cell_bits) as usize,
    }
}

/// How many bits tell the cells of a line apart.
pub const fn slot_bits(cells_per_line: usize) -> u32 {
    cells_per_line.next_power_of_two().trailing_zeros()
}

/// How many bits the greedy encodings (Algorithm 1) of so many states take.
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

impl StoreSpec {
    /// A store of this kind with the defaults of the command line.
    pub fn new(backend: Backend, states: usize) -> StoreSpec {
        StoreSpec {
            backend,
            states,
            flows: 1_000_000,
            budget: Budget::FpRate(0.01),
            hashes: None,
            cell_bits: None,
            layout: LayoutKind::Spread,
            expire: Expire::Timer,
            recycle_at: None,
            retain: true,
            sbf: SbfRules::Stateful,
            decode: KbfDecode::AllPairs,
            dbf_counters: true,
            gate: None,
        }
    }
}
