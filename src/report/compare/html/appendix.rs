//! The end of the page: the table of all runs, the parameters and the definitions.

use std::fmt::Write as _;

use super::elements::{count, duration_of, rate_cell, scrolling, table, tenths, value};
use super::runs::{ErrorMetric, GroupedReport, IndexedRun, rate_label};
use crate::report::escape::Escaped;
use crate::report::format::bytes;
use crate::seed::Seed;

/// Sections without figures: anchor and heading.
pub const SECTIONS: [(&str, &str); 5] = [
    ("pairs", "Seed by seed"),
    ("working-set", "The working set"),
    ("runs", "All runs"),
    ("parameters", "Parameters"),
    ("definitions", "Definitions"),
];

/// Column headings of the table of all runs.
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
    "bits per cell",
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
    "missed per hour",
    "spurious per hour",
    "seconds",
];

/// All runs, one row each.
pub fn all_runs(report: &GroupedReport<'_>) -> String {
    let mut entry: Vec<IndexedRun<'_>> =
        report.groups.iter().flat_map(|group| group.runs.iter().copied()).collect();
    entry.sort_by_key(|entry| entry.index);
    let rows: String = entry.iter().map(|entry| row(report, entry)).collect();
    let lead = match entry.len() {
        0 => "<p>Nothing was run.</p>",
        _ => {
            "<p>Rates with their range over seeds; what no seed saw is at most 3/n, a rule of thumb. <i>report.csv</i> \
             and <i>report.json</i> hold the same numbers with all their digits.</p>"
        }
    };
    let table = scrolling("All runs", &table(&HEADS, &rows));
    format!("<section id=\"runs\"><h2>All runs</h2>{lead}{table}</section>")
}

fn row(report: &GroupedReport<'_>, entry: &IndexedRun<'_>) -> String {
    let IndexedRun { index, run, .. } = *entry;
    let at = |name: &str| format!("/runs/{index}/{name}");
    let error = |name: &str, n: u64| count(&at(&format!("errors/{name}")), n);
    let mut row = format!("<tr><th scope=\"row\">{}</th>", Escaped(report.name(entry.store)));
    let mut cell = |html: &str| {
        let _ = write!(row, "<td>{html}</td>");
    };
    cell(&value(&at("fp_rate"), run.fp_rate, &rate_label(run.fp_rate)));
    for text in [&run.equal, &run.feedback] {
        cell(&Escaped(text).to_string());
    }
    cell(&value(&at("seed"), run.seed, &run.seed.to_string()));
    for text in [&run.layout, &run.expire] {
        cell(&Escaped(text).to_string());
    }
    cell(&count(&at("cells"), run.cells));
    cell(&count(&at("hashes"), run.hashes as u64));
    cell(&count(&at("cell_bits"), run.cell_bits.into()));
    cell(&value(&at("bits"), run.bits, &bytes(run.bits.div_ceil(8))));
    cell(&tenths(&at("bits_per_flow"), run.bits_per_flow));
    for kind in ErrorMetric::ALL {
        row.push_str(&rate_cell(entry, kind));
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

/// Parameters: how to repeat this report, and the load of the trace.
pub fn parameters(report: &GroupedReport<'_>) -> String {
    let (asked, trace, load) =
        (&report.document.parameters, &report.document.trace, &report.document.load);
    let mut html = format!(
        "<section id=\"parameters\"><h2>Parameters</h2><p>This report again:</p>\
         <pre class=\"command\"><code><bdi>{}</bdi></code></pre><dl class=\"pairs\">",
        Escaped(&asked.command)
    );
    let mut pair = |name: &str, html_value: &str| {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{html_value}</dd></div>");
    };
    let text = |text: &str| Escaped(text).to_string();
    pair("acsm", &text(&asked.version));
    pair("preset", &text(&asked.preset));
    pair("rules", &text(&asked.rules));
    pair("flow key", &text(&asked.flow_key));
    pair("sized for", &format!("{} flows", count("/parameters/flows", asked.flows)));
    if asked.warm_up {
        pair("warm-up", "the first two idle timeouts are not counted");
    }
    pair("layout", &text(&asked.layout));
    pair("expire", &text(&asked.expire));
    if let Some(seconds) = asked.idle_timeout_seconds {
        let shown = duration_of(seconds);
        pair("idle timeout", &value("/parameters/idle_timeout_seconds", seconds, &shown));
    }
    let seeds: Vec<String> = asked.seeds.iter().map(Seed::to_string).collect();
    pair("seeds", &seeds.join(", "));
    pair("states", &states(report));
    let entropy = load.state_entropy_bits;
    let shown = format!("{entropy:.3} bits per flow");
    pair("entropy of states", &value("/load/state_entropy_bits", entropy, &shown));
    pair("packets", &count("/trace/packets", trace.packets));
    if !trace.skipped.is_empty() {
        let skipped: Vec<String> =
            trace.skipped.iter().map(|(why, n)| format!("{} {}", Escaped(why), n)).collect();
        pair("skipped", &skipped.join(", "));
    }
    pair("link types", &text(&trace.link_types.join(", ")));
    for (name, time) in [("first packet", &trace.first_time), ("last packet", &trace.last_time)] {
        if let Some(time) = time {
            pair(name, &text(time));
        }
    }
    if let Some(damage) = &trace.damaged {
        pair("damaged", &text(damage));
    }
    html.push_str("</dl></section>");
    html
}

/// Each state with its share of the lookups.
fn states(report: &GroupedReport<'_>) -> String {
    let shares = &report.document.load.state_shares;
    let state = |(at, name): (usize, &String)| match shares.get(at) {
        Some(share) => {
            let shown = format!("{:.1} %", share * 100.0);
            format!(
                "{} {}",
                Escaped(name),
                value(&format!("/load/state_shares/{at}"), share, &shown)
            )
        }
        None => Escaped(name).to_string(),
    };
    let states: Vec<String> =
        report.document.parameters.states.iter().enumerate().map(state).collect();
    states.join(", ")
}

/// Terms and their definitions; HTML.
const DEFINITIONS: [(&str, &str); 12] = [
    (
        "false positive",
        "The flow is absent, the store names a state. Per lookup of an absent flow.",
    ),
    (
        "don’t know, absent",
        "The flow is absent, the store cannot tell. Per lookup of an absent flow.",
    ),
    ("false negative", "The flow is there, the store says absent. Per lookup of an extant flow."),
    (
        "don’t know",
        "The flow is there, the store cannot tell its state. Per lookup of an extant flow.",
    ),
    (
        "false return",
        "The flow is there, the store names another state. Per lookup of an extant flow.",
    ),
    ("all errors", "Any of these, per lookup: a mix that depends on the traffic."),
    (
        "closed loop",
        "Store and exact table each go on from their own answer, so errors feed on: what a user gets.",
    ),
    ("open loop", "The store is fed the exact table’s states: what theory predicts."),
    (
        "equal cells, equal memory",
        "What the stores of one p have in common: the papers’ way, and the user’s question.",
    ),
    (
        "range",
        "The smallest and the largest rate over seeds. None seen in s seeds is stated as at most 3/(s·n): n is (Σw)²/Σw², what lookups are worth as equal flows, a rule of thumb; or the number of flows.",
    ),
    (
        "bits per flow",
        "All that is allocated for the store, divided by the flows it is sized for. Equal memory counts decode tables and the lookup cache, too.",
    ),
    (
        "the papers’ words",
        "The kBF papers’ false negative is our false negative and don’t know together; their incorrect output is our false return.",
    ),
];

/// The terms used in this report.
pub fn definitions(report: &GroupedReport<'_>) -> String {
    let mut html = String::from(
        "<section id=\"definitions\"><h2>Definitions</h2><p>Each answer is held against that of an \
         exact table on the same packets, before the packet changes either; aging is the same in \
         both, and never an error.</p><dl class=\"pairs\">",
    );
    for (name, meaning) in DEFINITIONS {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{meaning}</dd></div>");
    }
    let _ = write!(
        html,
        "</dl><p class=\"more\">More: <i>docs/compare.md</i> and <i>docs/json.md</i> of acsm {}.</p></section>",
        Escaped(&report.document.parameters.version)
    );
    html
}
