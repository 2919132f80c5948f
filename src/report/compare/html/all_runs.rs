//! The table of all runs.

use std::fmt::Write as _;

use super::kind::Kind;
use super::number::{count, rate_cell, tenths, value};
use super::section::{scrolling, table};
use super::view::{Placed, View, rate_label};
use crate::report::markup::Escaped;
use crate::report::text::bytes;

const HEADS: [&str; 24] = [
    "store",
    "p",
    "equal",
    "loop",
    "seed",
    "layout",
    "expire",
    "cells",
    "hashes",
    "bits a cell",
    "memory",
    "bits per flow",
    "All errors",
    "False positive",
    "Don’t know, absent",
    "False negative",
    "Don’t know",
    "False return",
    "flows with an error",
    "alerts missed",
    "alerts spurious",
    "missed an hour",
    "spurious an hour",
    "seconds",
];

pub fn section(view: &View<'_>) -> String {
    let mut placed: Vec<Placed<'_>> =
        view.groups.iter().flat_map(|group| group.runs.iter().copied()).collect();
    placed.sort_by_key(|placed| placed.index);
    let rows: String = placed.iter().map(|placed| row(view, placed)).collect();
    let lead = match placed.len() {
        0 => "<p>Nothing was run.</p>",
        _ => {
            "<p>Rates with their 95&#160;% intervals; what none was seen of is at most 3/n. <i>report.csv</i> \
             and <i>report.json</i> hold the same numbers with all their digits.</p>"
        }
    };
    let table = scrolling("All runs", &table(&HEADS, &rows));
    format!("<section id=\"runs\"><h2>All runs</h2>{lead}{table}</section>")
}

fn row(view: &View<'_>, placed: &Placed<'_>) -> String {
    let Placed { index, run, .. } = *placed;
    let at = |name: &str| format!("/runs/{index}/{name}");
    let error = |name: &str, n: u64| count(&at(&format!("errors/{name}")), n);
    let mut row = format!("<tr><th scope=\"row\">{}</th>", Escaped(view.name(placed.store)));
    let mut cell = |html: &str| {
        let _ = write!(row, "<td>{html}</td>");
    };
    cell(&value(&at("fp_rate"), run.fp_rate, &rate_label(run.fp_rate)));
    for words in [&run.equal, &run.feedback] {
        cell(&Escaped(words).to_string());
    }
    cell(&value(&at("seed"), run.seed, &run.seed.to_string()));
    for words in [&run.layout, &run.expire] {
        cell(&Escaped(words).to_string());
    }
    cell(&count(&at("cells"), run.cells));
    cell(&count(&at("hashes"), run.hashes as u64));
    cell(&count(&at("cell_bits"), run.cell_bits.into()));
    cell(&value(&at("bits"), run.bits, &bytes(run.bits.div_ceil(8))));
    cell(&tenths(&at("bits_per_flow"), run.bits_per_flow));
    for kind in Kind::ALL {
        row.push_str(&rate_cell(placed, kind));
    }
    let mut cell = |html: &str| {
        let _ = write!(row, "<td>{html}</td>");
    };
    let wrong = error("flows_wrong", run.errors.flows_wrong);
    cell(&format!("{wrong} of {}", error("flows_total", run.errors.flows_total)));
    cell(&error("alerts_missed", run.errors.alerts_missed));
    cell(&error("alerts_spurious", run.errors.alerts_spurious));
    cell(&tenths(&at("missed_alerts_per_hour"), run.missed_alerts_per_hour));
    cell(&tenths(&at("spurious_alerts_per_hour"), run.spurious_alerts_per_hour));
    cell(&value(&at("seconds"), run.seconds, &format!("{:.2}", run.seconds)));
    row.push_str("</tr>");
    row
}
