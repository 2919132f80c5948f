//! The specification of a trace, and why it cannot be generated.

use std::io;

use super::attack_kind::AttackSpec;
use super::paper_traffic::{PAPER_FLOWS, PaperTraffic};
use super::segment::Link;
use crate::capture::Precision;
use crate::time::{NANOS_PER_SEC, Timestamp};

/// The kind of ordinary traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Clients and servers at the border of an enterprise network; see [`realistic`](super::realistic).
    Realistic,
    /// The backbone hour of the kBF papers; see [`paper`](super::paper).
    Paper,
}

impl Profile {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Realistic => "realistic",
            Profile::Paper => "paper",
        }
    }
}

/// How packets are written to the file.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The link-layer header of frames.
    pub link: Link,
    /// The most bytes of a frame that are in the file.
    pub snaplen: u32,
    /// The resolution of timestamps.
    pub precision: Precision,
}

/// The specification of a trace. [`TraceSpec::new`] has the defaults of each profile.
#[derive(Debug, Clone)]
pub struct TraceSpec {
    /// The kind of ordinary traffic.
    pub profile: Profile,
    /// How many packets, exactly, attacks included.
    pub packets: u64,
    /// How many flows (directed address pairs), exactly; those of attacks and of long-lived connections
    /// are added.
    pub flows: u64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The duration, approximately.
    pub duration_nanos: u64,
    /// The share of conversations in IPv6 (realistic only).
    pub ipv6_share: f64,
    /// Only connections that are opened and closed properly (realistic only).
    pub well_behaved: bool,
    /// The share of connections that end silently, without FIN or RST (realistic only); `None`: a few of
    /// those that are the last between their hosts.
    pub silent_share: Option<f64>,
    /// How many connections live as long as the trace and talk regularly (realistic only).
    pub long_lived: u64,
    /// What the papers do not tell of their trace (paper only).
    pub paper: PaperTraffic,
    /// Attacks, each once, in this order.
    pub attacks: Vec<AttackSpec>,
    /// How packets are written to the file.
    pub format: Format,
}

impl TraceSpec {
    /// When every trace begins: 2024-01-01T00:00:00Z.
    pub const START: Timestamp = Timestamp::new(1_704_067_200, 0);

    /// The most flows: limited by the address plan.
    pub const MAX_FLOWS: u64 = 10_000_000;

    /// The most packets of a trace: some 70 TB of them.
    pub const MAX_PACKETS: u64 = 1_000_000_000_000;

    /// The longest duration; the seconds of pcap end in 2106.
    pub const MAX_DURATION_NANOS: u64 = 366 * 86_400 * NANOS_PER_SEC;

    /// How many bytes are kept of a packet from its IP header on, as CAIDA does.
    pub const IP_SNAPLEN: u32 = 64;

    /// A trace with the defaults of `profile`.
    pub fn new(profile: Profile) -> Self {
        let (packets, flows, duration_secs) = match profile {
            Profile::Realistic => (1_000_000, 100_000, 300),
            Profile::Paper => (5_000_000, PAPER_FLOWS, 3600),
        };
        TraceSpec {
            profile,
            packets,
            flows,
            seed: 1,
            duration_nanos: duration_secs * NANOS_PER_SEC,
            ipv6_share: 0.1,
            well_behaved: false,
            silent_share: None,
            long_lived: 0,
            paper: PaperTraffic::default(),
            attacks: Vec::new(),
            format: Format {
                link: Link::Raw,
                snaplen: Self::IP_SNAPLEN,
                precision: Precision::Micros,
            },
        }
    }
}

/// Why a trace cannot be generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A number that has to be positive is zero.
    #[error("{what} must be at least 1")]
    Zero {
        /// Its name.
        what: &'static str,
    },
    /// More than the address plan allows.
    #[error("{flows} flows are more than the {limit} that the address plan has room for")]
    TooManyFlows {
        /// The number in the specification.
        flows: u64,
        /// The largest number.
        limit: u64,
    },
    /// Too few packets for the flows.
    #[error(
        "{packets} packets are too few for {flows} flows{and}: these need at least {needed}",
        and = additions(*with_attacks, *with_long_lived)
    )]
    TooFewPackets {
        /// The number in the specification.
        packets: u64,
        /// The number of flows in the specification.
        flows: u64,
        /// How many packets these flows and all that is added to them need at least.
        needed: u64,
        /// Whether there are attacks.
        with_attacks: bool,
        /// Whether there are long-lived connections.
        with_long_lived: bool,
    },
    /// More probes than an attack has different addresses and ports for.
    #[error(
        "{probes} probes of {attack} are too many: its addresses and ports are enough for {limit}"
    )]
    TooManyProbes {
        /// The name of the attack.
        attack: &'static str,
        /// The number in the specification.
        probes: u64,
        /// The largest number.
        limit: u64,
    },
    /// Well-behaved connections have two directions.
    #[error(
        "a well-behaved trace has an even number of flows, each connection being two directed pairs; {flows} is odd"
    )]
    OddFlows {
        /// The number in the specification.
        flows: u64,
    },
    /// More than [`TraceSpec::MAX_PACKETS`].
    #[error("a trace has 10^12 packets at the most")]
    TooManyPackets,
    /// Longer than [`TraceSpec::MAX_DURATION_NANOS`].
    #[error("a trace lasts a year at the most")]
    TooLong,
    /// The paper profile has one direction of connections only.
    #[error(
        "the paper profile sees one direction of connections begun before: it cannot be well-behaved"
    )]
    WellBehavedPaper,
    /// Attacks are not well-behaved.
    #[error("a well-behaved trace has no attacks in it")]
    WellBehavedAttacks,
    /// Silent ends are not proper ones.
    #[error("a well-behaved trace has no connections that end silently")]
    WellBehavedSilence,
    /// The paper profile has one direction of connections only.
    #[error(
        "the paper profile sees one direction of connections, few of which end: it has neither a share \
         of silent ends nor long-lived connections"
    )]
    OneWayPaper,
    /// Only the paper profile has these.
    #[error(
        "shares of SYNs, FINs and RSTs, gaps and lifetimes can be chosen for the paper profile only"
    )]
    PaperOnly,
    /// Shares that leave no room for each other, or times that are none.
    #[error(
        "of the paper profile, the flows of one SYN leave too few for the other shares, or a time is zero or \
         its least is more than its most"
    )]
    ImpossiblePaper,
    /// The trace could not be written.
    #[error("cannot write the trace")]
    Io(#[from] io::Error),
}

/// What needs packets beside the flows.
const fn additions(with_attacks: bool, with_long_lived: bool) -> &'static str {
    match (with_attacks, with_long_lived) {
        (false, false) => "",
        (true, false) => " and the attacks",
        (false, true) => " and the long-lived connections",
        (true, true) => ", the long-lived connections and the attacks",
    }
}

impl TraceError {
    /// Whether the specification is at fault, not the writing.
    pub fn is_wrong_usage(&self) -> bool {
        !matches!(self, TraceError::Io(_))
    }
}
