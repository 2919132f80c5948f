//! What a trace is to be like.

use super::attack::AttackKind;
use super::paper::PAPER_FLOWS;
use super::pcap_writer::{Format, Precision};
use super::segment::Link;
use crate::time::NANOS_PER_SEC;

/// What the ordinary traffic is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Clients and servers as an enterprise's border sees them; see [`realistic`](super::realistic).
    Realistic,
    /// The kBF papers' hour of a backbone; see [`paper`](super::paper).
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

/// What a trace is to be like. [`TraceSpec::new`] gives each profile's defaults.
#[derive(Debug, Clone)]
pub struct TraceSpec {
    /// What the ordinary traffic is like.
    pub profile: Profile,
    /// Exactly how many packets, attacks included.
    pub packets: u64,
    /// Exactly how many flows (directed address pairs), to which attacks add theirs.
    pub flows: u64,
    /// Seed of all chances.
    pub seed: u64,
    /// About how long the trace is.
    pub duration_nanos: u64,
    /// The share of conversations in IPv6 (realistic only).
    pub ipv6_share: f64,
    /// Nothing but connections that are opened and closed properly (realistic only).
    pub well_behaved: bool,
    /// Attacks, each once, in this order.
    pub attacks: Vec<AttackKind>,
    /// How packets are put into the file.
    pub format: Format,
}

impl TraceSpec {
    /// The most flows that the address plan has room for.
    pub const MAX_FLOWS: u64 = 10_000_000;

    /// The most packets of a trace: some 70 TB of them.
    pub const MAX_PACKETS: u64 = 1_000_000_000_000;

    /// The longest a trace can be; pcap's seconds end in 2106.
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
            attacks: Vec::new(),
            format: Format {
                link: Link::Raw,
                snaplen: Self::IP_SNAPLEN,
                precision: Precision::Micros,
            },
        }
    }
}
