//! How idle flows leave the store.

use std::fmt;

use super::SpecError;

/// How idle flows leave the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expire {
    /// Flows not touched in this epoch or the last are gone. Cells have two halves that change with
    /// the epoch, the active one and that of the epoch before; the slot of a flow has a stamp.
    Timer,
    /// Cells not touched in this epoch or the last are empty (ACSM 2006 §3.2): each has a stamp. In
    /// stores without cells the same as `Timer`.
    Stamps,
    /// All at once, when the store is full.
    Recycle,
    /// By halves: when the active half is full it is frozen, and the frozen one emptied for it.
    TwoPhase,
    /// Never.
    None,
}

impl Expire {
    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Expire::Timer => "timer",
            Expire::Stamps => "stamps",
            Expire::Recycle => "recycle",
            Expire::TwoPhase => "two-phase",
            Expire::None => "none",
        }
    }

    /// The number of arrays that the cells of a shard are cut into.
    pub const fn phases(self) -> u64 {
        if matches!(self, Expire::TwoPhase) { 2 } else { 1 }
    }

    /// Whether flows leave by time.
    pub const fn is_timed(self) -> bool {
        matches!(self, Expire::Timer | Expire::Stamps)
    }

    /// Whether stores empty themselves when they are full.
    pub const fn recycles(self) -> bool {
        matches!(self, Expire::Recycle | Expire::TwoPhase)
    }
}

/// When a store (in two phases: its active half) is full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecycleAt {
    /// When more than this part of the cells is in use: the recycling paper's σ.
    Fill(f64),
    /// After this number of inserts that took an empty cell, over all shards: its N.
    Flows(u64),
}

impl RecycleAt {
    /// Refuses a fill outside (0, 1), and 0 flows.
    pub fn check(self) -> Result<(), SpecError> {
        match self {
            RecycleAt::Fill(fill) if fill > 0.0 && fill < 1.0 => Ok(()),
            RecycleAt::Flows(flows) if flows > 0 => Ok(()),
            _ => Err(SpecError::RecycleAt),
        }
    }
}

impl fmt::Display for RecycleAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecycleAt::Fill(fill) => write!(f, "fill:{fill:.4}"),
            RecycleAt::Flows(flows) => write!(f, "flows:{flows}"),
        }
    }
}
