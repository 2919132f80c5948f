//! Many stores over one pass of a trace, each compared with the exact truth.
//!
//! ```text
//! source → dispatcher, exact table: the truth → batch → [ pool: store, store, … ]
//! ```
//!
//! Parsing, the exact table and what follows from it are done once, whatever the number of stores;
//! batches with the truth in them pass through all stores, which are driven by the same loop as any
//! run ([`shard`](super::shard)). A store in a closed loop makes the errors that
//! [`run`](mod@super::run) counts with `verify`, to the last one. Thresholds are left out: they count
//! packets, whatever the store answers.
//!
//! | file | what |
//! |---|---|
//! | [`plan`] | what a comparison goes by |
//! | `pass` | reading, and the results of all runs |
//! | `batch` | packets with the truth about them |
//! | `truth` | the exact table that all stores are compared with |
//! | `store_run` | one store through the trace |
//! | `flow_errors`, `timeline` | what a run counts: flow by flow, and over time |
//! | [`intervals`] | how sure the rates are: flows resampled |

mod batch;
mod flow_errors;
pub mod intervals;
mod pass;
pub mod plan;
mod store_run;
mod timeline;
mod truth;

pub use intervals::RateIntervals;
pub use pass::{CompareError, Comparison, RunOutcome, compare};
pub use plan::{ComparePlan, Feedback, StoreRun};
pub use timeline::{StepCounts, Timeline};
pub use truth::Load;
