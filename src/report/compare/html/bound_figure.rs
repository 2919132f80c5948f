//! Figure of the bits per flow against those of a full table of fingerprints with the same rate of false
//! positives, at capacity.

use std::f64::consts::LOG2_E;
use std::fmt::Write as _;

use super::elements::{FigureGroup, Section, described, quotient, table, tenths, value};
use super::runs::{GroupedReport, IndexedRun, RunGroup, rate_label};
use crate::report::escape::Escaped;
use crate::report::format::scientific;
use crate::report::plot::{Axis, Figure, Point, Scale, Series, style};
use acsm_filters::Backend;
use acsm_model::bound::membership_bits;

/// Segments of the curve: enough to look smooth.
const CURVE_STEPS: i32 = 24;

pub fn section(report: &GroupedReport<'_>) -> Section {
    let groups = report.groups.iter().enumerate();
    Section {
        id: "bound",
        heading: "Bits per flow against a table of fingerprints",
        lead: "<p>What each store takes for the rate ε of false positives that it has when it holds as many flows as it is \
               sized for, and what a full table of fingerprints takes for the same: log<sub>2</sub>(1/ε) + \
               log<sub>2</sub>(e) + H(states) bits. No store whose flows come and go takes less; a static one can, by \
               1.44 bits. ε is measured on random flows, not on the trace, over which it is an average of the \
               filling. A hollow marker with an arrow: no false positive was seen, so ε is at most this (3/n).</p>"
            .to_owned(),
        figures: groups.map(|(at, group)| figure(report, group, at)).collect(),
    }
}

fn figure(report: &GroupedReport<'_>, group: &RunGroup<'_>, at: usize) -> FigureGroup {
    let runs = group.sorted_by(|run| -run.fp_rate);
    let x_axis = Axis::new("false positives at capacity", Scale::Log).falling();
    let mut series = report.series(&runs, |entry| point(report, entry));
    let xs = series.iter().flat_map(|series| &series.points).map(|point| point.x);
    let range = x_axis.range_of(xs);
    let description = described("Bits per flow", &x_axis, &series);
    series.push(curve(report, range));
    let panel = Figure {
        id: format!("bound-{at}"),
        title: "Memory for the error it gives".to_owned(),
        description,
        x_axis: x_axis.showing(range[0], range[1]),
        y_axis: Axis::new("bits per flow", Scale::Log),
        series,
        ..Figure::default()
    };
    FigureGroup { caption: group.caption(), panels: vec![panel], table: numbers(report, &runs) }
}

fn point(report: &GroupedReport<'_>, entry: &IndexedRun<'_>) -> Option<Point> {
    let (run, full) = (entry.run, &entry.run.capacity);
    let note = format!("{}: {:.1} bits per flow", report.note(entry), run.bits_per_flow);
    match full.found {
        // A table of full keys has none, and nothing to compare.
        0 if run.backend == Backend::Exact.name() => None,
        0 => Some(Point::at(3.0 / full.asked as f64, run.bits_per_flow).x_at_most().noted(note)),
        _ => Some(Point::at(full.false_positive_rate, run.bits_per_flow).noted(note)),
    }
}

fn curve(report: &GroupedReport<'_>, [low, high]: [f64; 2]) -> Series {
    let rest = LOG2_E + report.document.load.state_entropy_bits;
    let at = |step: i32| {
        let error = low * (high / low).powf(f64::from(step) / f64::from(CURVE_STEPS));
        Point::at(error, membership_bits(error) + rest)
    };
    Series::new("table of fingerprints", style::REFERENCE, (0..=CURVE_STEPS).map(at).collect())
}

fn numbers(report: &GroupedReport<'_>, runs: &[IndexedRun<'_>]) -> String {
    let mut rows = String::new();
    for entry in runs {
        let IndexedRun { index, run, .. } = entry;
        let at = |name: &str| format!("/runs/{index}/{name}");
        let (bits_at, bound_at) = (at("bits_per_flow"), at("bound_bits_per_flow"));
        let (bound, times) = match run.bound_bits_per_flow {
            Some(bound) if bound > 0.0 => {
                let times = run.bits_per_flow / bound;
                let shown = format!("{times:.2}");
                (
                    tenths(&bound_at, bound),
                    quotient(std::slice::from_ref(&bits_at), &bound_at, times, &shown),
                )
            }
            _ => ("–".to_owned(), "–".to_owned()),
        };
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{bound}</td><td>{times}</td></tr>",
            Escaped(report.name(entry.store)),
            value(&at("fp_rate"), run.fp_rate, &rate_label(run.fp_rate)),
            value(&at("seed"), run.seed, &run.seed.to_string()),
            tenths(&bits_at, run.bits_per_flow),
            value(
                &at("capacity/false_positive_rate"),
                run.capacity.false_positive_rate,
                &scientific(run.capacity.false_positive_rate)
            )
        );
    }
    let heads =
        ["store", "p", "seed", "bits per flow", "ε at capacity", "fingerprints", "times that"];
    table(&heads, &rows)
}
