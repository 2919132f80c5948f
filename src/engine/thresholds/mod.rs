//! Floods, scans and storms: a number of events per key within a window.
//!
//! # What is counted
//! The first packet of a 5-tuple is pending until it is answered ([`SketchLimits::pending`]). Its
//! fate is counted per key: a SYN without a later ACK of its sender is half-open; a first packet of
//! any kind that is refused or times out is an attempt at a port and at a host. RST and FIN are
//! counted if they are stray or repeated, SYN+ACK if no SYN came before it and nothing follows.
//! Clients and crawlers that talk to many hosts which answer are therefore no sweep; a capture that
//! starts in the middle of flows is no ACK scan (data, a second packet or any answer clears it); and
//! in one-way captures the sender's ACK replaces the answer that was not captured.
//!
//! # Bounds
//! All memory is allocated by [`Thresholds::new`]. Under floods that exceed it the counts are lower
//! bounds, and [`Thresholds::losses`] tells what is missing. The error of distinct counts is given in
//! [`distinct`]; a window covers between three quarters and the whole of its length.
//!
//! # Time
//! Time is the largest packet time so far. Deadlines between two packets are handled in order, each
//! with its own time.
//!
//! | file | what |
//! |---|---|
//! | `detector` | what a packet counts as: half-open, attempt, stray or repeated ending |
//! | `pending` | first packets that wait for an answer |
//! | `tuples` | 5-tuples that were seen |
//! | `first_packets` | what a packet is for its 5-tuple: an answer, the end of a handshake, a first packet |
//! | `fates` | what the next packets make of a first packet |
//! | `rule_counters`, `rule_counter` | which rule counts what, by which key |
//! | `services`, `account` | SYNs and connections per (destination, port) |
//! | `cases` | what is known of a key since its count was reached |
//! | `failures` | the latest first packets that failed |
//! | `decided` | rules about packets of no connection |
//! | `window_counts`, `slice_counters` | counts per key in a window, in fixed memory, and the cool-down of each key |
//! | [`distinct`] | distinct counts |
//! | `hit` | what is reported: [`ThresholdHit`], with the [`Evidence`] of its case |
//! | `limits` | how much memory it takes |
//! | `stage` | the detector in the pool of a run |

mod account;
mod cases;
mod decided;
mod detector;
pub mod distinct;
mod failures;
mod fates;
mod first_packets;
mod hit;
mod limits;
mod pending;
mod rule_counter;
mod rule_counters;
mod services;
mod slice_counters;
pub(super) mod stage;
mod tuples;
mod window_counts;

pub use detector::{PreparedTuple, Thresholds};
pub use hit::{Evidence, HitStage, ThresholdHit};
pub use limits::{Losses, SketchLimits};
