//! The summary at the end of `acsm replay` and `acsm live`.
//!
//! [`Summary`] is the JSON document; [`mod@text`] writes the same for people; `prediction` is the error
//! that theory expects of the store, and the warning if it holds too many flows.

mod json;
mod prediction;
pub mod text;

pub use json::{Context, ErrorReport, MeasuredReport, OverloadReport, Summary};
pub use prediction::{Overload, Prediction};
