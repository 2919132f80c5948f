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
//! | `run_errors`, `timeline` | what a run counts: errors, flows with any, and both over time |
//! | [`census`] | what a run answers about each flow at the end |
//! | [`working_set`] | how many entries a table without a filter needs |
//! | [`capacity`] | false positives of a store that is full as planned, without a trace |

mod batch;
pub mod capacity;
pub mod census;
mod pass;
pub mod plan;
mod run_errors;
mod store_run;
mod timeline;
mod truth;
pub mod working_set;

pub use census::Census;
pub use pass::{CompareError, Comparison, RunOutcome, compare};
pub use plan::{ComparePlan, Feedback, StoreRun};
pub use timeline::{StepCounts, Timeline};
pub use truth::{EffectiveLookups, Load};
pub use working_set::{Per, ReuseDistances};
