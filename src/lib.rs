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
//! | | [`spec`] | `StoreSpec`: which store, and what it takes |
//! | | [`hash`], [`random`] | keyed digests; seeded randomness |
//! | | `prefetch` | telling the processor what will be needed soon |
//! | | [`units`] | numbers as people write them |
//! | B pure core | [`machine`] | what a packet means for its flow; rules |
//! | | [`store`] | `Store`: exact, dbf, sbf, kbf; aging |
//! | | [`model`] | closed forms, by the names of the stores |
//! | C pipeline | [`capture`] | `Source`, `Frame`; file readers; parsing to TCP |
//! | | [`engine`] | one run: workers that drive flows, the exact shadow, thresholds, alerts in order |
//! | D outputs | [`report`] | what people and programs get to see |
//! | E tools | [`trace`] | a seeded generator of labelled traces |
//! | F commands | [`cmd`] | one file a verb |
//!
//! Imports go upward only: A ← B ← C ← D ← E ← F; `tests/tidy.rs` holds us to it.

pub mod capture;
pub mod cmd;
pub mod engine;
pub mod flow;
pub mod hash;
pub mod machine;
pub mod model;
mod prefetch;
pub mod random;
pub mod report;
pub mod spec;
pub mod state;
pub mod store;
pub mod time;
pub mod trace;
pub mod units;
