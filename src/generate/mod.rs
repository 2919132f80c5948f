//! Generating traces: seeded, labelled, with exact counts.
//!
//! # Properties
//!
//! - The same [`TraceSpec`] gives the same bytes on every machine.
//! - A trace has exactly as many packets as specified, attacks included; and exactly as many flows
//!   (directed address pairs, as `acsm inspect` counts them), to which those of attacks and of long-lived
//!   connections are added.
//! - Packets are in time order, from [`TraceSpec::START`] on. Sequence and acknowledgement numbers
//!   agree except where an attacker guesses: in a connection their sum is the same in both directions, but
//!   for data in flight. Checksums are right for payloads of zeros, which is what they are, except
//!   where an attacker wants the victim to drop a packet.
//! - Memory is proportional to the conversations and probes active at once, not to the length of the trace.
//!
//! # Usage
//!
//! ```
//! use acsm::generate::{Profile, Trace, TraceSpec};
//!
//! let spec = TraceSpec { packets: 5_000, flows: 400, ..TraceSpec::new(Profile::Realistic) };
//! let mut pcap = Vec::new();
//! let truth = Trace::new(spec)?.write(&mut pcap)?;
//! assert_eq!((truth.packets, truth.counts.flows), (5_000, 400));
//! # Ok::<(), acsm::generate::TraceError>(())
//! ```
//!
//! # Implementation
//!
//! A profile ([`realistic`], [`paper`]) plans conversations one by one, in the order of their
//! starts. Sizes are drawn twice from the same seed: first to add them up, then to divide the
//! packets. The schedule keeps the active talkers in a heap by time; each creates its next packet
//! when it is due. Attacks are talkers like any other.
//!
//! | file | what |
//! |---|---|
//! | `spec` | [`TraceSpec`], [`TraceError`] |
//! | `generator` | [`Trace`]: from the specification to the pcap file |
//! | `truth`, `counts` | the ground truth, and the counts of flows in it |
//! | `realistic`, `paper` | the profiles of ordinary traffic |
//! | `paper_traffic` | what the papers tell of their trace, and what they do not |
//! | `paper_roles` | which flows of `paper` open, which have a FIN or a RST |
//! | `conversation`, `connection`, `one_way` | TCP connections, packet by packet |
//! | `long_lived`, `long_lived_connection` | connections as long as the trace |
//! | `attack_kind`, `exchange`, `attack_ends` | attacks: names and sizes, packets, addresses |
//! | `attack` | an attack, probe by probe |
//! | `schedule` | packets of all senders in time order |
//! | `segment` | the bytes of a packet |
//! | `address_plan`, `distributions` | addresses; random sizes and times |

mod address_plan;
mod attack;
mod attack_ends;
mod attack_kind;
mod connection;
mod conversation;
mod counts;
mod distributions;
mod exchange;
mod generator;
mod long_lived;
mod long_lived_connection;
mod one_way;
pub mod paper;
mod paper_roles;
mod paper_traffic;
pub mod realistic;
mod schedule;
mod segment;
mod spec;
mod truth;

pub use crate::capture::Precision;
pub use attack_kind::{AttackKind, AttackSpec, UnknownAttack};
pub use counts::FlowCounts;
pub use generator::Trace;
pub use one_way::Pace;
pub use paper_traffic::PaperTraffic;
pub use segment::Link;
pub use spec::{Format, Profile, TraceError, TraceSpec};
pub use truth::{AttackTruth, Part, SilentEnds, Truth};
