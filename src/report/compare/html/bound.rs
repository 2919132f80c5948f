//! Bits per flow against the fewest that the measured error allows.

use std::f64::consts::LOG2_E;
use std::fmt::Write as _;

use super::kind::Kind;
use super::number::{quotient, rate_cell, tenths, value};
use super::section::{Group as FigureGroup, Section, described, table};
use super::view::{Group, Placed, View, rate_label};
use crate::report::markup::Escaped;
use crate::report::plot::{Axis, Figure, Point, Scale, Series, look};
use acsm_model::bound::membership_bits;

/// Enough for a curve that looks smooth.
const CURVE_STEPS: i32 = 24;

pub fn section(view: &View<'_>) -> Section {
    let groups = view.groups.iter().enumerate();
    Section {
        id: "bound",
        heading: "Bits per flow against the bound",
        lead: "<p>What each store takes for the rate of false positives it really had, and what \
               information theory asks for: log<sub>2</sub>(1/ε) + log<sub>2</sub>(e) + H(states) bits. \
               A store on the dashed line wastes nothing. A hollow marker with an arrow: no false \
               positive was seen, so the rate is at most this.</p>"
            .to_owned(),
        figures: groups.map(|(at, group)| figure(view, group, at)).collect(),
    }
}

fn figure(view: &View<'_>, group: &Group<'_>, at: usize) -> FigureGroup {
    let runs = group.sorted_by(|run| -run.fp_rate);
    let x_axis = Axis::new("measured rate of false positives", Scale::Log).falling();
    let mut series = view.lines(&runs, |placed| point(view, placed));
    let xs = series.iter().flat_map(|series| &series.points).map(|point| point.x);
    let range = x_axis.range_of(xs);
    let description = described("Bits per flow", &x_axis, &series);
    series.push(curve(view, range));
    let panel = Figure {
        id: format!("bound-{at}"),
        title: "Memory for the error it gives".to_owned(),
        description,
        x_axis: x_axis.showing(range[0], range[1]),
        y_axis: Axis::new("bits per flow", Scale::Log),
        series,
        ..Figure::default()
    };
    FigureGroup { caption: group.caption(), panels: vec![panel], table: numbers(view, &runs) }
}

fn point(view: &View<'_>, placed: &Placed<'_>) -> Option<Point> {
    let (kind, run) = (Kind::FalsePositive, placed.run);
    let (rate, [_, high]) = (kind.rate(run), kind.interval(run));
    let note = format!("{}: {:.1} bits per flow", view.note(placed), run.bits_per_flow);
    match (kind.asked(run), rate) {
        (0, _) => None,
        (_, 0.0) => Some(Point::at(high, run.bits_per_flow).x_at_most().noted(note)),
        _ => Some(Point::at(rate, run.bits_per_flow).noted(note)),
    }
}

fn curve(view: &View<'_>, [low, high]: [f64; 2]) -> Series {
    let rest = LOG2_E + view.report.load.state_entropy_bits;
    let at = |step: i32| {
        let error = low * (high / low).powf(f64::from(step) / f64::from(CURVE_STEPS));
        Point::at(error, membership_bits(error) + rest)
    };
    Series::new("bound", look::REFERENCE, (0..=CURVE_STEPS).map(at).collect())
}

fn numbers(view: &View<'_>, runs: &[Placed<'_>]) -> String {
    let mut rows = String::new();
    for placed in runs {
        let Placed { index, run, .. } = placed;
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
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td>{}<td>{bound}</td><td>{times}</td></tr>",
            Escaped(view.name(placed.store)),
            value(&at("fp_rate"), run.fp_rate, &rate_label(run.fp_rate)),
            value(&at("seed"), run.seed, &run.seed.to_string()),
            tenths(&bits_at, run.bits_per_flow),
            rate_cell(placed, Kind::FalsePositive)
        );
    }
    let heads =
        ["store", "p", "seed", "bits per flow", "False positive", "bound", "times the bound"];
    table(&heads, &rows)
}
