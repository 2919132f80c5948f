//! `report.html`: the comparison as one page, without scripts and without the network.
//!
//! | where | what |
//! |---|---|
//! | `kind`, `view` | kinds of error; runs that are drawn together |
//! | `by_size` | error by kind against p, and against memory |
//! | `papers` | the kBF papers' last two figures |
//! | `over_time` | error and fill over trace time |
//! | `bound` | bits per flow against what information theory asks for |
//! | `section`, `number` | how a figure stands in the page; how numbers are written |
//! | `all_runs`, `words` | the table; question, answer, parameters, definitions |
//!
//! Every number is one of the report: it is in a `<data>` element, with all its digits as the
//! `value` and its place in `report.json` (a JSON pointer) as `data-at`. What is computed from
//! several names them: the sum of `data-parts` divided by `data-over`. The page is well-formed XML,
//! too.

mod all_runs;
mod bound;
mod by_size;
mod kind;
mod number;
mod over_time;
mod papers;
mod section;
mod view;
mod words;

use std::io;

use super::CompareReport;
use crate::report::plot;
use view::View;

/// Writes the page.
pub fn write(report: &CompareReport, out: &mut dyn io::Write) -> io::Result<()> {
    let view = View::new(report);
    writeln!(out, "{}", head())?;
    writeln!(out, "{}", words::opening(&view))?;
    let sections = [
        by_size::against_rate(&view),
        by_size::against_memory(&view),
        papers::section(&view),
        over_time::section(&view),
        bound::section(&view),
    ];
    writeln!(out, "{}", words::contents(&sections))?;
    for (index, section) in sections.iter().enumerate() {
        writeln!(out, "{}", section.html(index + 1))?;
    }
    writeln!(out, "{}", all_runs::section(&view))?;
    writeln!(out, "{}", words::closing(&view))?;
    writeln!(out, "</main></body></html>")
}

fn head() -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/>\
         <title>What does the approximation cost? · acsm compare</title>\n\
         <style>\n{}{}</style></head>\n<body><main>",
        plot::css(),
        include_str!("page.css")
    )
}
