//! Results of `acsm reproduce`: a record per experiment, and its files.
//!
//! | file | what |
//! |---|---|
//! | `record` | [`Record`]: what is kept of an experiment, as `ITEM.json` beside its rows |
//! | `rows` | the rows as CSV, written and read |
//! | `figure` | its panels as figures |
//! | [`html`] | all records as one page |
//! | [`text`] | verdicts for a terminal; the list of experiments |
//!
//! Running and drawing are separate: [`Record::read`] has all that figures and the page show.

mod figure;
pub mod html;
mod record;
mod rows;
pub mod text;

pub use record::{ListEntry, Machine, Origin, Record, RecordError, Result, write_all};
