//! The experiments of the papers, run again: `acsm reproduce`.
//!
//! An [`Experiment`] is one figure, table or numbered claim of a paper: its id, the claim in the paper's
//! words, and a plain function from a [`Context`] (scale, seed, progress) to an [`Outcome`]: panels of
//! rows, notes, and a [`Verdict`]. [`experiments`] is the table of all of them. Nothing here draws or
//! writes a file: that is [`report::reproduce`](crate::report::reproduce).
//!
//! | file | what |
//! |---|---|
//! | `experiment` | an experiment, the scale, what it is given |
//! | `outcome` | what it gives: rows in panels, notes, the verdict |
//! | `verdict` | reproduced, differs or undecided, by rules fixed before the run |
//! | `statistics` | 99 % intervals |
//! | `table` | the table of all experiments |
//! | `trace_note` | how to make the trace of an experiment again |
//! | `runner` | many experiments on a few threads |
//! | [`kbf`] | figures of the two kBF papers |
//! | [`bloom_g`] | figures and tables of the Bloom-g paper |
//! | [`recycling`] | figures of the paper on recycling Bloom filters |
//! | [`acsm`] | figures of ACSM 2006, and its setting |
//!
//! # Verdicts
//!
//! * A *number* is reproduced if the paper's value lies in the 99 % interval of ours, for the paper's sample
//!   size.
//! * A *shape* is reproduced if all checks hold that the experiment's function states; they do not depend
//!   on what is measured. The texts of the papers do not contain the values of their figures, so no
//!   shape is "reproduced to within" anything.
//! * A point with fewer than [`EVENTS_LEAST`] expected events is not measured: the closed form is shown,
//!   and a note names the number of trials that it takes.

pub mod acsm;
pub mod bloom_g;
mod experiment;
pub mod kbf;
mod outcome;
pub mod recycling;
mod runner;
mod statistics;
mod table;
mod trace_note;
mod verdict;

pub use experiment::{ClaimKind, Context, Experiment, Failure, Scale, Work};
pub use outcome::{Axis, Outcome, Panel, Row};
pub use runner::{Finished, Observer, RunPlan, run};
pub use statistics::{EVENTS_LEAST, Rate, mean_interval, trials_needed};
pub use table::{experiments, find};
pub use verdict::{Answer, Check, Verdict};
