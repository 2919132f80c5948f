//! The summary at the end of `acsm replay` and `acsm live`.
//!
//! [`Summary`] is the JSON document; [`mod@text`] writes the same for people, [`incidents`] what was found, `internals` how it
//! went inside; `prediction` is the error
//! that theory expects of the store, and the warning if it holds too many flows.

pub mod incidents;
mod internals;
mod json;
mod prediction;
pub mod text;

pub use json::{
    Context, CurrentError, ErrorReport, MeasuredReport, OverloadReport, PendingReport, Summary,
};
pub use prediction::{Overload, Prediction};
