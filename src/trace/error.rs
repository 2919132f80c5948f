//! Why a trace could not be made.

use std::io;

/// Why a trace could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A number that has to be positive is zero.
    #[error("{what} must be at least 1")]
    Zero {
        /// Which number.
        what: &'static str,
    },
    /// More than the address plan has room for.
    #[error("{flows} flows are more than the {limit} that the address plan has room for")]
    TooManyFlows {
        /// How many were wanted.
        flows: u64,
        /// How many there can be.
        limit: u64,
    },
    /// The packets do not suffice for the flows.
    #[error(
        "{packets} packets are too few for {flows} flows{attacks}: these need at least {needed}; raise --packets or lower --flows",
        attacks = if *with_attacks { " and the attacks" } else { "" }
    )]
    TooFewPackets {
        /// How many were wanted.
        packets: u64,
        /// How many flows they were to make.
        flows: u64,
        /// How many packets these flows and attacks have at the least.
        needed: u64,
        /// Whether attacks take part of them.
        with_attacks: bool,
    },
    /// Well-behaved connections have two directions.
    #[error(
        "a well-behaved trace has an even number of flows, each connection being two directed pairs; {flows} is odd"
    )]
    OddFlows {
        /// How many were wanted.
        flows: u64,
    },
    /// Options that contradict each other, or the format.
    #[error("{0}")]
    Contradiction(&'static str),
    /// The trace could not be written.
    #[error("cannot write the trace")]
    Io(#[from] io::Error),
}

impl TraceError {
    /// Whether what was asked for is at fault, not what happened while it was done.
    pub fn is_wrong_usage(&self) -> bool {
        !matches!(self, TraceError::Io(_))
    }
}
