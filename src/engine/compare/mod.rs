//! Many runs over one pass of a trace, each held against the exact truth.
//!
//! ```text
//! source → parse → front: the truth ─┬→ run: lookup → compare → step → write
//!                                    └→ run …
//! ```
//!
//! Parsing, the exact table and what follows from it are done once, whatever the number of runs;
//! batches with the truth in them go to all threads, and each thread drives its own runs. A run
//! in a closed loop counts the errors that [`run`](mod@super::run) counts with `verify`, to the last
//! one. Thresholds are left out: they look at packets, whatever the store says.
//!
//! | file | what |
//! |---|---|
//! | [`plan`] | what a comparison goes by |
//! | `drive` | the loop of one pass |
//! | `front`, `batch` | the reading end; packets with their truth |
//! | `crew`, `runner` | the threads; one store through the trace |
//! | `erring`, `timeline` | what a run counts: flow by flow, and over time |
//! | [`interval`] | how sure the rates are: flows resampled |

mod batch;
mod crew;
mod drive;
mod erring;
mod front;
pub mod interval;
pub mod plan;
mod runner;
mod timeline;

pub use drive::{CompareError, Comparison, RunOutcome, compare};
pub use front::Load;
pub use interval::RateIntervals;
pub use plan::{ComparePlan, Feedback, StoreRun};
pub use timeline::{StepCounts, Timeline};
