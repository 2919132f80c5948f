//! kBF against sBF as in the last two figures of the kBF papers (2014: 14 and 15; journal: 24 and 25):
//! the ratio of false negatives and that of all errors, against p.
//!
//! The papers' false negative is any null answer for an extant flow: the sum of our false negatives and
//! "don't know".

use std::fmt::Write as _;

use super::elements::{
    FigureGroup, Section, described, quotient, rate_cell, share_y_range, table, value,
};
use super::runs::{ErrorMetric, GroupedReport, IndexedRun, RunGroup, none_seen, rate_label};
use crate::report::compare::{PAPER_STORES, Run};
use crate::report::escape::Escaped;
use crate::report::format::scientific;
use crate::report::plot::{Axis, Figure, Point, Scale};

const LEAD: &str = "<p>As the last two figures of the kBF papers (14 and 15 in 2014, 24 and 25 in the \
    journal). Their <i>false negative</i> is any null answer for a flow that is there: our false \
    negative and don’t know together. They report that the kBF’s errors fall steeply with p, that \
    the sBF’s hardly move, and that the kBF is far better. The store in which the sBF’s do hardly move is \
    <code>sbf:no-counters</code>, one reading of their text.</p>";

pub fn section(report: &GroupedReport<'_>) -> Section {
    let groups = report.groups.iter().enumerate();
    let figures: Vec<FigureGroup> =
        groups.filter_map(|(at, group)| figure(report, group, at)).collect();
    let lead = match figures.is_empty() {
        true => format!(
            "{LEAD}<p>Neither <code>kbf</code> nor <code>sbf</code> is in this comparison.</p>"
        ),
        false => LEAD.to_owned(),
    };
    Section { id: "papers", heading: "kBF and sBF as in the papers", lead, figures }
}

/// Null answers for extant flows: their number, and their share of the lookups of extant flows.
fn null_answers(run: &Run) -> (u64, f64) {
    let errors = &run.errors;
    let nulls = errors.false_negative.saturating_add(errors.dont_know);
    (nulls, nulls as f64 / errors.lookups_extant as f64)
}

/// The bound of a seed that saw none.
fn none_seen_of(report: &GroupedReport<'_>, run: &Run) -> f64 {
    match run.errors.lookups_extant {
        0 => f64::NAN,
        _ => none_seen(run.interval.null_rate, report.document.load.effective_lookups.extant),
    }
}

fn figure(report: &GroupedReport<'_>, group: &RunGroup<'_>, at: usize) -> Option<FigureGroup> {
    let mut runs = group.sorted_by(|run| -run.fp_rate);
    runs.retain(|entry| PAPER_STORES.iter().any(|store| store.name() == entry.run.backend));
    if runs.is_empty() {
        return None;
    }
    let axis = Axis::new("p, smaller to the right", Scale::Log).falling();
    let panel =
        |name: &str, title: &str, unit: &str, point: &dyn Fn(&IndexedRun<'_>) -> Option<Point>| {
            let series = report.series(&runs, point);
            Figure {
                id: format!("papers-{at}-{name}"),
                title: title.to_owned(),
                description: described(&format!("{title} {unit}"), &axis, &series),
                x_axis: axis.clone(),
                y_axis: Axis::new(unit, Scale::Log),
                series,
                side_by_side: true,
                ..Figure::default()
            }
        };
    let mut panels = [
        panel(
            "null",
            "False negative error ratio",
            "null answers per lookup of an extant flow",
            &|entry| {
                let run = entry.run;
                let (nulls, ratio) = null_answers(run);
                let most = none_seen_of(report, run);
                point(report, entry, nulls, ratio, most)
            },
        ),
        panel("total", "Total error ratio", "errors of any kind per lookup", &|entry| {
            let rate = ErrorMetric::Total.rate(entry.run);
            let most = match ErrorMetric::Total.lookups(entry.run) {
                0 => f64::NAN,
                _ => ErrorMetric::Total.none_seen(entry.run, &report.document.load),
            };
            point(report, entry, u64::from(rate > 0.0), rate, most)
        }),
    ];
    share_y_range(&mut panels);
    let table = numbers(report, &runs);
    Some(FigureGroup { caption: group.caption(), panels: panels.into(), table })
}

fn point(
    report: &GroupedReport<'_>,
    entry: &IndexedRun<'_>,
    seen: u64,
    ratio: f64,
    most: f64,
) -> Option<Point> {
    let (x, note) = (entry.run.fp_rate, report.note(entry));
    if !most.is_finite() {
        return None; // there were no such lookups
    }
    Some(match seen {
        0 => Point::at(x, most)
            .at_most()
            .noted(format!("{note}: none seen, at most {}", scientific(most))),
        _ => Point::at(x, ratio).noted(format!("{note}: {}", scientific(ratio))),
    })
}

fn numbers(report: &GroupedReport<'_>, runs: &[IndexedRun<'_>]) -> String {
    let mut rows = String::new();
    for entry in runs {
        let IndexedRun { index, run, .. } = entry;
        let at = |name: &str| format!("/runs/{index}/errors/{name}");
        let p = value(&format!("/runs/{index}/fp_rate"), run.fp_rate, &rate_label(run.fp_rate));
        let seed = value(&format!("/runs/{index}/seed"), run.seed, &run.seed.to_string());
        let ratio = match null_answers(run) {
            (_, ratio) if !ratio.is_finite() => "not asked".to_owned(),
            (nulls, ratio) => {
                let shown = if nulls == 0 { "none".to_owned() } else { scientific(ratio) };
                quotient(
                    &[at("false_negative"), at("dont_know")],
                    &at("lookups_extant"),
                    ratio,
                    &shown,
                )
            }
        };
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{p}</td><td>{seed}</td><td>{ratio}</td>{}</tr>",
            Escaped(report.name(entry.store)),
            rate_cell(entry, ErrorMetric::Total)
        );
    }
    table(&["store", "p", "seed", "False negative ratio", "Total error ratio"], &rows)
}
