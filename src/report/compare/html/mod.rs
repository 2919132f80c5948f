//! `report.html`: the comparison as one page, without scripts and without network access.
//!
//! | file | what |
//! |---|---|
//! | `runs` | groups of comparable runs; rates of each kind of error |
//! | `per_flow_figures` | flows ever wrong, and the census |
//! | `error_figures` | error by kind against p, and against memory |
//! | `papers_figures` | the last two figures of the kBF papers |
//! | `time_figures` | error and fill over trace time |
//! | `size_figure` | stores for half and for twice as many flows |
//! | `bound_figure` | bits per flow against those of a table of fingerprints |
//! | `seed_tables` | stores compared seed by seed; the working set |
//! | `appendix` | the table of all runs, parameters, definitions |
//! | `elements` | sections, tables and numbers as HTML |
//!
//! Every number is one of the report: it is in a `<data>` element, with all its digits as the
//! `value` and its JSON pointer into `report.json` as `data-at`. A number computed from several has
//! their pointers: the sum of `data-parts` divided by `data-over`. The page is also well-formed XML.

mod appendix;
mod bound_figure;
pub(in crate::report) mod elements;
mod error_figures;
mod papers_figures;
mod per_flow_figures;
mod runs;
mod seed_tables;
mod size_figure;
mod time_figures;

use std::fmt::Write as _;
use std::io;

use super::CompareReport;
use crate::report::escape::Escaped;
use crate::report::plot;
use elements::{Section, count, duration_of, value};
use runs::GroupedReport;

/// Writes the page.
pub fn write(report: &CompareReport, out: &mut dyn io::Write) -> io::Result<()> {
    let report = GroupedReport::new(report);
    writeln!(out, "{}", head())?;
    writeln!(out, "{}", opening(&report))?;
    let sections = [
        per_flow_figures::section(&report),
        error_figures::against_rate(&report),
        error_figures::against_memory(&report),
        papers_figures::section(&report),
        time_figures::section(&report),
        size_figure::section(&report),
        bound_figure::section(&report),
    ];
    writeln!(out, "{}", contents(&sections))?;
    for (index, section) in sections.iter().enumerate() {
        writeln!(out, "{}", section.html(index + 1))?;
    }
    writeln!(out, "{}{}", seed_tables::pairs(&report), seed_tables::working_set(&report))?;
    writeln!(out, "{}", appendix::all_runs(&report))?;
    writeln!(out, "{}{}", appendix::parameters(&report), appendix::definitions(&report))?;
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

/// The question, the conclusions, and the size of the trace.
fn opening(report: &GroupedReport<'_>) -> String {
    let (trace, load) = (&report.document.trace, &report.document.load);
    let mut html = String::from(
        "<header><p class=\"eyebrow\">acsm compare</p><h1>What does the approximation cost?</h1>\
         <p class=\"question\">Which structure, how much memory, how wrong: on this trace, against an \
         exact table on the same packets.</p></header>",
    );
    html.push_str("<section class=\"answer\" id=\"answer\"><h2>The answer</h2>");
    for sentence in &report.document.answer {
        let _ = write!(html, "<p>{}</p>", Escaped(sentence));
    }
    for warning in &report.document.warnings {
        let _ = write!(html, "<p class=\"warning\">Note: {}.</p>", Escaped(warning));
    }
    html.push_str("</section><dl class=\"facts\">");
    let seconds = duration_of(load.seconds);
    for (name, figure) in [
        ("TCP packets", count("/trace/tcp_packets", trace.tcp_packets)),
        ("length", value("/load/seconds", load.seconds, &seconds)),
        ("flows", count("/load/flows_total", load.flows_total)),
        ("most at once", count("/load/flows_peak", load.flows_peak)),
        ("alerts of an exact table", count("/load/alerts", load.alerts)),
        ("runs", format!("<data value=\"{0}\">{0}</data>", report.document.runs.len())),
    ] {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{figure}</dd></div>");
    }
    html.push_str("</dl>");
    html
}

/// Links to the sections.
fn contents(sections: &[Section]) -> String {
    let mut html = String::from("<nav aria-label=\"Contents\"><ol>");
    for section in sections {
        let _ = write!(html, "<li><a href=\"#{}\">{}</a></li>", section.id, section.heading);
    }
    html.push_str("</ol><ul>");
    for (id, heading) in appendix::SECTIONS {
        let _ = write!(html, "<li><a href=\"#{id}\">{heading}</a></li>");
    }
    html.push_str("</ul></nav>");
    html
}
