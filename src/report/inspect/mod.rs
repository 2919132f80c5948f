//! `acsm inspect`: exact facts about a trace, without a state machine.
//!
//! [`Facts`] counts frame by frame; [`Summary`] is the JSON document; [`mod@text`] writes the same for
//! people.

mod facts;
mod json;
pub mod text;

pub use facts::{Facts, FlowFacts};
pub use json::Summary;
