//! How flows that went silent leave the store.

use std::fmt;
use std::str::FromStr;

use super::SpecError;

/// How flows that went silent leave the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expire {
    /// Cells not touched in this epoch or the last are empty (ACSM 2006 §3.2).
    Timer,
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
            Expire::Recycle => "recycle",
            Expire::TwoPhase => "two-phase",
            Expire::None => "none",
        }
    }

    /// Into how many arrays the cells of a shard are cut.
    pub const fn phases(self) -> u64 {
        if matches!(self, Expire::TwoPhase) { 2 } else { 1 }
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
    /// After so many flows that came in and took an empty cell: its N. For all shards together.
    Flows(u64),
}

impl RecycleAt {
    /// What can be: a part between 0 and 1, some flows.
    pub(super) fn check(self) -> Result<(), SpecError> {
        match self {
            RecycleAt::Fill(fill) if fill > 0.0 && fill < 1.0 => Ok(()),
            RecycleAt::Flows(flows) if flows > 0 => Ok(()),
            _ => Err(SpecError::RecycleAt),
        }
    }
}

impl FromStr for RecycleAt {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<RecycleAt, SpecError> {
        let at = match text.split_once(':') {
            Some(("fill", share)) => crate::units::parse_share(share).ok().map(RecycleAt::Fill),
            Some(("flows", count)) => crate::units::parse_count(count).ok().map(RecycleAt::Flows),
            _ => None,
        };
        let at = at.ok_or(SpecError::RecycleAt)?;
        at.check().map(|()| at)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_as_people_write_them() {
        for (text, at) in [
            ("fill:0.5", RecycleAt::Fill(0.5)),
            ("fill:40%", RecycleAt::Fill(0.4)),
            ("flows:1.5M", RecycleAt::Flows(1_500_000)),
        ] {
            assert_eq!(text.parse(), Ok(at), "{text}");
        }
        for text in ["", "0.5", "fill:", "fill:0", "fill:1", "fill:1.5", "flows:0", "cells:3"] {
            assert!(text.parse::<RecycleAt>().is_err(), "{text}");
        }
    }
}
