//! # acsm: TCP flow state in small, fixed memory
//!
//! ```text
//! Source → parse → dispatch → [ worker: lookup → step → update → age ] × n → Sink → Report
//! ```
//!
//! Nothing flows back but the pressure of bounded queues. A folder is a stage; a file is one
//! structure, under the name the papers give it.
//!
//! | layer | where | what |
//! |---|---|---|
//! | A vocabulary | [`time`] | nanoseconds, from packets |
//! | | [`flow`] | `TcpFlags`, `Packet` |
//! | | [`state`] | `State`, `Lookup` |
//! | | [`hash`], [`random`] | keyed digests; seeded randomness |
//! | B pure core | [`machine`] | what a packet means for its flow; rules |
//! | C pipeline | [`capture`] | `Source`, `Frame`; file readers; parsing to TCP |
//! | | [`engine`] | what runs over packets: thresholds |
//! | F commands | [`cmd`] | one file a verb |
//!
//! Imports go upward only: A ← B ← C ← D ← E ← F; `tests/tidy.rs` holds us to it.

pub mod capture;
pub mod cmd;
pub mod engine;
pub mod flow;
pub mod hash;
pub mod machine;
pub mod random;
pub mod state;
pub mod time;
