//! Traces made to measure: seeded, labelled, with exact counts.
//!
//! # Properties
//!
//! - The same [`TraceSpec`] gives the same bytes, on every machine.
//! - Exactly as many packets as asked for, attacks included; exactly as many flows (directed
//!   address pairs, as `acsm inspect` counts them), to which attacks add theirs.
//! - Packets in the order of time from [`Trace::START`] on; sequence and acknowledgement numbers
//!   agree; checksums are right for payloads of zeros, which is what they are.
//! - Memory follows the conversations under way at once, not the length of the trace.
//!
//! # Usage
//!
//! ```
//! use acsm::trace::{Profile, Trace, TraceSpec};
//!
//! let spec = TraceSpec { packets: 5_000, flows: 400, ..TraceSpec::new(Profile::Realistic) };
//! let mut pcap = Vec::new();
//! let truth = Trace::new(spec)?.write(&mut pcap)?;
//! assert_eq!((truth.packets, truth.counts.flows), (5_000, 400));
//! # Ok::<(), acsm::trace::TraceError>(())
//! ```
//!
//! # Implementation
//!
//! A profile ([`realistic`], [`paper`]) plans conversations one by one, in the order of their
//! starts; sizes are drawn twice from the same seed, first to add them up, then to share out the
//! packets. The schedule keeps the talkers under way in a heap by time; each makes its
//! next packet when it is due. [`attack`]s are talkers like any other.

pub mod attack;
mod connection;
mod conversation;
mod error;
mod facts;
mod generator;
mod network;
mod one_way;
pub mod paper;
mod pcap_writer;
mod popularity;
mod purpose;
pub mod realistic;
mod schedule;
mod segment;
mod sizes;
mod spec;
mod truth;

pub use attack::AttackKind;
pub use error::TraceError;
pub use facts::FlowCounts;
pub use generator::Trace;
pub use pcap_writer::{Format, Precision};
pub use segment::Link;
pub use spec::{Profile, TraceSpec};
pub use truth::{AttackTruth, Part, Truth};

use purpose::Purpose;
