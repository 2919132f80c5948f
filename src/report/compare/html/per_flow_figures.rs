//! The figures that count flows: flows ever wrong, and the census at the end of the trace.

use std::fmt::Write as _;

use super::elements::{FigureGroup, Section, count, described, quotient, table, value};
use super::runs::{GroupedReport, IndexedRun, RunGroup, none_seen, rate_label};
use crate::report::compare::Run;
use crate::report::escape::Escaped;
use crate::report::format::scientific;
use crate::report::plot::{Axis, Figure, Point, Scale, Series, style};

const LEAD: &str = "<p>Each flow has one vote. <i>Ever wrong</i>: the store gave at least one wrong answer about it. At the end of \
    the trace every flow that the exact table holds is asked once, then as many that never came: the first shows \
    what a user would find in the store then, the second the rate of false positives beside the p that the store is \
    sized for (dashed). Each marker is one seed; the line goes through their mean. A hollow marker with an arrow: \
    none, so at most 3/F with F the number of flows.</p>";

/// A figure that counts flows.
struct Metric {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    /// Flows counted, and out of how many.
    of: fn(&Run) -> (u64, u64),
}

const METRICS: [Metric; 3] = [
    Metric {
        name: "wrong",
        title: "Flows ever wrong",
        unit: "per flow",
        of: |run| (run.errors.flows_wrong, run.errors.flows_total),
    },
    Metric {
        name: "held",
        title: "Not right at the end",
        unit: "per flow held at the end",
        of: |run| (run.census.held.saturating_sub(run.census.held_right), run.census.held),
    },
    Metric {
        name: "unseen",
        title: "False positives at the end",
        unit: "per flow that never came",
        of: |run| (run.census.unseen_found, run.census.unseen),
    },
];

pub fn section(report: &GroupedReport<'_>) -> Section {
    let groups = report.groups.iter().enumerate();
    Section {
        id: "per-flow",
        heading: "Per flow: ever wrong, and at the end",
        lead: LEAD.to_owned(),
        figures: groups.map(|(at, group)| figure(report, group, at)).collect(),
    }
}

fn figure(report: &GroupedReport<'_>, group: &RunGroup<'_>, at: usize) -> FigureGroup {
    let axis = Axis::new("p, smaller to the right", Scale::Log).falling();
    let runs = group.sorted_by(|run| -run.fp_rate);
    let panel = |metric: &Metric| {
        let mut series = report.series(&runs, |entry| point(report, entry, metric));
        let description = described(&format!("{} {}", metric.title, metric.unit), &axis, &series);
        if metric.name == "unseen" {
            let as_planned = group.rates().into_iter().map(|p| Point::at(p, p)).collect();
            series.push(Series::new("p", style::REFERENCE, as_planned));
        }
        Figure {
            id: format!("per-flow-{at}-{}", metric.name),
            title: metric.title.to_owned(),
            description,
            x_axis: axis.clone(),
            y_axis: Axis::new(metric.unit, Scale::Log),
            series,
            side_by_side: true,
            ..Figure::default()
        }
    };
    let panels = METRICS.iter().map(panel).collect();
    FigureGroup { caption: group.caption(), panels, table: numbers(report, &runs) }
}

fn point(report: &GroupedReport<'_>, entry: &IndexedRun<'_>, metric: &Metric) -> Option<Point> {
    let (run, note) = (entry.run, report.note(entry));
    let (x, (flows, of)) = (run.fp_rate, (metric.of)(run));
    if of == 0 {
        return None;
    }
    Some(match flows {
        0 => {
            let range =
                if metric.name == "wrong" { run.interval.flows_wrong_rate } else { [0.0, 1.0] };
            let most = none_seen(range, of as f64);
            Point::at(x, most)
                .at_most()
                .noted(format!("{note}: none, at most {}", scientific(most)))
        }
        _ => {
            let rate = flows as f64 / of as f64;
            Point::at(x, rate).noted(format!("{note}: {}", scientific(rate)))
        }
    })
}

fn numbers(report: &GroupedReport<'_>, runs: &[IndexedRun<'_>]) -> String {
    let heads = [
        "store",
        "p",
        "seed",
        "flows ever wrong",
        "held at the end",
        "right",
        "wrong",
        "undecided",
        "absent",
        "never inserted",
        "gone, still found",
        "never came, found",
    ];
    let mut rows = String::new();
    for entry in runs {
        let IndexedRun { index, run, .. } = entry;
        let at = |name: &str| format!("/runs/{index}/{name}");
        let census = |name: &str, n: u64| count(&at(&format!("census/{name}")), n);
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", Escaped(report.name(entry.store)));
        let cells = [
            value(&at("fp_rate"), run.fp_rate, &rate_label(run.fp_rate)),
            value(&at("seed"), run.seed, &run.seed.to_string()),
            count(&at("errors/flows_wrong"), run.errors.flows_wrong),
            census("held", run.census.held),
            census("held_right", run.census.held_right),
            census("held_wrong", run.census.held_wrong),
            census("held_undecided", run.census.held_undecided),
            census("held_absent", run.census.held_absent),
            census("never_inserted", run.census.never_inserted),
            census("gone_found", run.census.gone_found),
            match run.census.unseen {
                0 => census("unseen_found", run.census.unseen_found),
                _ => {
                    let rate = run.unseen_found_rate();
                    let found = [at("census/unseen_found")];
                    quotient(&found, &at("census/unseen"), rate, &scientific(rate))
                }
            },
        ];
        for cell in cells {
            let _ = write!(rows, "<td>{cell}</td>");
        }
        rows.push_str("</tr>");
    }
    table(&heads, &rows)
}
