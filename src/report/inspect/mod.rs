//! Exact facts about a trace, without any state machine: what `acsm inspect` says.
//!
//! [`Facts`] counts while frames go by; [`Summary`] is the JSON contract; [`page`] is the same for
//! people.

mod digested;
mod facts;
pub mod page;
mod summary;

pub use facts::{Facts, FlowFacts};
pub use summary::Summary;
