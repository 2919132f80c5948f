//! Figures of the error rates by kind, against the preset rate p and against memory.

use std::fmt::Write as _;

use super::elements::{
    FigureGroup, Section, described, rate_cell, share_y_range, table, tenths, value,
};
use super::runs::{ErrorMetric, GroupedReport, IndexedRun, RunGroup, rate_label};
use crate::report::compare::Run;
use crate::report::escape::Escaped;
use crate::report::format::{grouped, scientific};
use crate::report::plot::{Axis, Figure, Point, Scale};

/// The horizontal axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    Rate,
    Memory,
}

pub fn against_rate(report: &GroupedReport<'_>) -> Section {
    Section {
        id: "error-by-rate",
        heading: "Error by kind against p",
        lead: format!(
            "<p>p is the rate of false positives that a Bloom filter is sized for: a smaller p means \
             more memory, so memory grows to the right. {HOW_TO_READ} {}</p>",
            effective(report)
        ),
        figures: groups(report, Against::Rate),
    }
}

pub fn against_memory(report: &GroupedReport<'_>) -> Section {
    Section {
        id: "error-by-memory",
        heading: "Error by kind against memory",
        lead:
            "<p>The same runs by the memory they took, everything a store allocates counted. Lower \
               and further to the left is better.</p>"
                .to_owned(),
        figures: groups(report, Against::Memory),
    }
}

/// The explanation of the markers.
const HOW_TO_READ: &str = "Each marker is one seed; the line goes through their mean. A hollow marker with an arrow: none was \
    seen, and the rate is at most 3/n, a rule of thumb with n the effective number of lookups: lookups of one \
    flow depend on each other.";

/// What the lookups of the trace are worth, and the error of no store at all.
fn effective(report: &GroupedReport<'_>) -> String {
    let load = &report.document.load;
    let effective = &load.effective_lookups;
    let whole = |name: &str, x: f64| {
        value(&format!("/load/effective_lookups/{name}"), x, &grouped(x.round() as u64))
    };
    format!(
        "Here n is {} for lookups of extant flows and {} for those of absent ones. To answer always the commonest \
         state is wrong in {} of the lookups of extant flows.",
        whole("extant", effective.extant),
        whole("absent", effective.absent),
        value(
            "/load/commonest_state_error",
            load.commonest_state_error,
            &scientific(load.commonest_state_error)
        )
    )
}

fn groups(report: &GroupedReport<'_>, against: Against) -> Vec<FigureGroup> {
    report.groups.iter().enumerate().map(|(at, group)| figure(report, group, against, at)).collect()
}

fn figure(
    report: &GroupedReport<'_>,
    group: &RunGroup<'_>,
    against: Against,
    at: usize,
) -> FigureGroup {
    let axis = match against {
        Against::Rate => Axis::new("p, smaller to the right", Scale::Log).falling(),
        Against::Memory => Axis::new("bits per flow", Scale::Log),
    };
    let runs = group.sorted_by(|run| match against {
        Against::Rate => -run.fp_rate,
        Against::Memory => run.bits_per_flow,
    });
    let panel = |kind: ErrorMetric| {
        let series =
            report.series(&runs, |entry| point(report, entry, kind, x(entry.run, against)));
        let name = if against == Against::Rate { "rate" } else { "memory" };
        Figure {
            id: format!("by-{name}-{at}-{}", kind.rate_name().replace('_', "-")),
            title: kind.title().to_owned(),
            description: described(&format!("{} {}", kind.title(), kind.unit()), &axis, &series),
            x_axis: axis.clone(),
            y_axis: Axis::new(kind.unit(), Scale::Log),
            series,
            side_by_side: against == Against::Rate,
            ..Figure::default()
        }
    };
    let mut panels = ErrorMetric::ALL.map(panel);
    share_y_range(&mut panels);
    let table = numbers(report, &runs, against);
    FigureGroup { caption: group.caption(), panels: panels.into(), table }
}

fn x(run: &Run, against: Against) -> f64 {
    match against {
        Against::Rate => run.fp_rate,
        Against::Memory => run.bits_per_flow,
    }
}

/// The point of a run; `None` if no lookup could have this error.
fn point(
    report: &GroupedReport<'_>,
    entry: &IndexedRun<'_>,
    kind: ErrorMetric,
    x: f64,
) -> Option<Point> {
    let (rate, note) = (kind.rate(entry.run), report.note(entry));
    match (kind.lookups(entry.run), rate) {
        (0, _) => None,
        (_, 0.0) => {
            let most = kind.none_seen(entry.run, &report.document.load);
            let note = format!("{note}: none seen, at most {}", scientific(most));
            Some(Point::at(x, most).at_most().noted(note))
        }
        _ => Some(Point::at(x, rate).noted(format!("{note}: {}", scientific(rate)))),
    }
}

fn numbers(report: &GroupedReport<'_>, runs: &[IndexedRun<'_>], against: Against) -> String {
    let mut heads = match against {
        Against::Rate => vec!["store", "p", "seed", "bits per flow"],
        Against::Memory => vec!["store", "bits per flow", "p", "seed"],
    };
    heads.extend(ErrorMetric::ALL.map(ErrorMetric::title));
    let mut rows = String::new();
    for entry in runs {
        let IndexedRun { index, run, .. } = entry;
        let p = value(&format!("/runs/{index}/fp_rate"), run.fp_rate, &rate_label(run.fp_rate));
        let seed = value(&format!("/runs/{index}/seed"), run.seed, &run.seed.to_string());
        let bits = tenths(&format!("/runs/{index}/bits_per_flow"), run.bits_per_flow);
        let first = match against {
            Against::Rate => [p, seed, bits],
            Against::Memory => [bits, p, seed],
        };
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", Escaped(report.name(entry.store)));
        for cell in first {
            let _ = write!(rows, "<td>{cell}</td>");
        }
        for kind in ErrorMetric::ALL {
            rows.push_str(&rate_cell(entry, kind));
        }
        rows.push_str("</tr>");
    }
    table(&heads, &rows)
}
