//! The tables of what several seeds say together, and of what a table without a filter needs.

use std::fmt::Write as _;

use super::elements::{count, scrolling, table, value};
use super::runs::{GroupedReport, rate_label};
use crate::report::compare::PairedDifference;
use crate::report::escape::Escaped;
use crate::report::format::{bytes, scientific};

/// Stores compared seed by seed.
pub fn pairs(report: &GroupedReport<'_>) -> String {
    let heads = [
        "store",
        "against",
        "p",
        "equal",
        "loop",
        "flows ever wrong",
        "null answers",
        "all errors",
        "not right at the end",
    ];
    let mut rows = String::new();
    for (index, pair) in report.document.pairs.iter().enumerate() {
        let at = |name: &str| format!("/pairs/{index}/{name}");
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
            Escaped(&pair.store),
            Escaped(&pair.against),
            value(&at("fp_rate"), pair.fp_rate, &rate_label(pair.fp_rate)),
            Escaped(&pair.equal),
            Escaped(&pair.feedback)
        );
        for (name, difference) in [
            ("flows_wrong", &pair.flows_wrong),
            ("null_rate", &pair.null_rate),
            ("total_rate", &pair.total_rate),
            ("held_not_right", &pair.held_not_right),
        ] {
            let _ = write!(rows, "<td>{}</td>", shown(&at(name), difference));
        }
        rows.push_str("</tr>");
    }
    format!(
        "<section id=\"pairs\"><h2>Seed by seed</h2><p>Stores share trace and seeds, so they are compared within each seed: the \
         median over seeds of the figure of the first store divided by that of the second, and in how many seeds the \
         first had the smaller one. Only stores that have the same quantity in common are compared.</p>{}</section>",
        scrolling("Stores compared seed by seed", &table(&heads, &rows))
    )
}

fn shown(at: &str, difference: &PairedDifference) -> String {
    let &PairedDifference { median_ratio, better, worse, seeds } = difference;
    if better + worse == 0 {
        return "equal".to_owned();
    }
    let ratio = match median_ratio {
        Some(ratio) => {
            let shown = if ratio == 0.0 { "0".to_owned() } else { scientific(ratio) };
            value(&format!("{at}/median_ratio"), ratio, &shown)
        }
        None => "infinite".to_owned(),
    };
    let [better, seeds] = [("better", better), ("seeds", seeds)]
        .map(|(name, n)| count(&format!("{at}/{name}"), n as u64));
    format!("{ratio} <small>smaller in {better} of {seeds}</small>")
}

/// How large a table would have to be that gives up the flow idle longest.
pub fn working_set(report: &GroupedReport<'_>) -> String {
    let mut rows = String::new();
    for (index, set) in report.document.load.working_set.iter().enumerate() {
        let at = |name: &str| format!("/load/working_set/{index}/{name}");
        let of = match set.of.as_str() {
            "lookups" => "lookups of extant flows not answered",
            _ => "flows ever wrong",
        };
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{of}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            value(&at("error"), set.error, &scientific(set.error)),
            count(&at("entries"), set.entries),
            value(&at("bits"), set.bits, &bytes(set.bits / 8)),
        );
    }
    format!(
        "<section id=\"working-set\"><h2>The working set</h2><p>How many entries a table of full keys needs that gives up the flow idle \
         longest, by the reuse distances of the trace. Where the flows are short this can be less than any filter \
         takes.</p>{}</section>",
        scrolling("The working set", &table(&["of", "at most", "entries", "memory"], &rows))
    )
}
