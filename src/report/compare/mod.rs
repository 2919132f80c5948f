//! `acsm compare`: the cost of the approximation, as one document in several formats.
//!
//! [`CompareReport`] is the document: `report.json` is its serialisation, and every other format shows
//! only its numbers. `conclusions` computes its sentences.
//!
//! A new file format: a file here with a `write`, and a line in [`FILES`].

mod conclusions;
pub mod csv;
mod document;
pub mod html;
mod json;
mod summary;
pub mod text;

pub use json::{
    Capacity, CensusReport, CompareReport, EffectiveReport, Load, Moment, Pair, PairedDifference,
    Parameters, Ranges, Run, RunLabel, WorkingSet,
};

use std::io::{self, Write};

use super::trace::TraceReport;
use crate::engine::compare::Comparison;
use crate::engine::compare::capacity::AtCapacity;
use acsm_filters::Backend;

/// The two stores whose errors the kBF papers compare.
const PAPER_STORES: [Backend; 2] = [Backend::Kbf, Backend::Sbf];

/// Writes a report in one format.
pub type Writer = fn(&CompareReport, &mut dyn Write) -> io::Result<()>;

/// The files that `acsm compare --out` writes.
pub const FILES: &[(&str, Writer)] =
    &[("report.json", json::write), ("report.csv", csv::write), ("report.html", html::write)];

impl CompareReport {
    /// Reports `outcome`, with one entry per label, and draws the conclusions.
    pub fn new(
        outcome: &Comparison,
        labels: &[(RunLabel, AtCapacity)],
        trace: TraceReport,
        parameters: Parameters,
    ) -> CompareReport {
        let mut report = document::document(outcome, labels, trace, parameters);
        report.answer = conclusions::conclusions(&report);
        report.warnings = conclusions::warnings(&report);
        report
    }
}
