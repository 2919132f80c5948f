//! `acsm inspect`: exact facts about a trace, without a state machine.
//!
//! [`Facts`] counts packets in groups, flow by flow; [`Totals`] are the sums over all flows. [`Summary`] is
//! the JSON document; [`mod@text`] writes the same for people. Flows are in `shares`, one per thread,
//! in the hash tables of `flows` and `table`.

mod facts;
mod flows;
mod json;
mod shares;
mod table;
pub mod text;

pub use facts::{BusyPair, Facts, Totals};
pub use json::Summary;
