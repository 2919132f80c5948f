//! kBF against sBF as the last two figures of the kBF papers show them (2014: 14 and 15; journal: 24
//! and 25): the ratio of false negatives and that of all errors, against p.
//!
//! Their false negative is a null answer for a flow that is there, whatever the reason: ours and
//! "don't know" together.

use std::fmt::Write as _;

use super::kind::Kind;
use super::number::{quotient, rate_cell, scientific, value};
use super::section::{Group as FigureGroup, Section, described, share_y_range, table};
use super::view::{Group, Placed, View, rate_label};
use crate::report::compare::Run;
use crate::report::markup::Escaped;
use crate::report::plot::{Axis, Figure, Point, Scale};

const LEAD: &str = "<p>As the last two figures of the kBF papers (14 and 15 in 2014, 24 and 25 in the \
    journal). Their <i>false negative</i> is any null answer for a flow that is there: our false \
    negative and don’t know together. They report that the kBF’s errors fall steeply with p, that \
    the sBF’s hardly move, and that the kBF is far better.</p>";

pub fn section(view: &View<'_>) -> Section {
    let groups = view.groups.iter().enumerate();
    let figures: Vec<FigureGroup> =
        groups.filter_map(|(at, group)| figure(view, group, at)).collect();
    let lead = match figures.is_empty() {
        true => format!(
            "{LEAD}<p>Neither <code>kbf</code> nor <code>sbf</code> is in this comparison.</p>"
        ),
        false => LEAD.to_owned(),
    };
    Section { id: "papers", heading: "kBF and sBF as in the papers", lead, figures }
}

/// Null answers for flows that are there, and their part of what was asked.
fn null_answers(run: &Run) -> (u64, f64) {
    let errors = &run.errors;
    let nulls = errors.false_negative.saturating_add(errors.dont_know);
    (nulls, nulls as f64 / errors.lookups_extant as f64)
}

fn figure(view: &View<'_>, group: &Group<'_>, at: usize) -> Option<FigureGroup> {
    let mut runs = group.sorted_by(|run| -run.fp_rate);
    runs.retain(|placed| ["kbf", "sbf"].contains(&placed.run.backend.as_str()));
    if runs.is_empty() {
        return None;
    }
    let axis = Axis::new("p, smaller to the right", Scale::Log).falling();
    let panel =
        |name: &str, title: &str, unit: &str, point: &dyn Fn(&Placed<'_>) -> Option<Point>| {
            let series = view.lines(&runs, point);
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
            &|placed| {
                let run = placed.run;
                let (nulls, ratio) = null_answers(run);
                let most = 3.0 / run.errors.lookups_extant as f64;
                point(view, placed, nulls, ratio, most)
            },
        ),
        panel("total", "Total error ratio", "errors of any kind per lookup", &|placed| {
            let (rate, [_, high]) =
                (Kind::Total.rate(placed.run), Kind::Total.interval(placed.run));
            point(view, placed, u64::from(rate > 0.0), rate, high)
        }),
    ];
    share_y_range(&mut panels);
    let table = numbers(view, &runs);
    Some(FigureGroup { caption: group.caption(), panels: panels.into(), table })
}

fn point(view: &View<'_>, placed: &Placed<'_>, seen: u64, ratio: f64, most: f64) -> Option<Point> {
    let (x, note) = (placed.run.fp_rate, view.note(placed));
    if !most.is_finite() {
        return None; // never asked
    }
    Some(match seen {
        0 => Point::at(x, most)
            .at_most()
            .noted(format!("{note}: none seen, at most {}", scientific(most))),
        _ => Point::at(x, ratio).noted(format!("{note}: {}", scientific(ratio))),
    })
}

fn numbers(view: &View<'_>, runs: &[Placed<'_>]) -> String {
    let mut rows = String::new();
    for placed in runs {
        let Placed { index, run, .. } = placed;
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
            Escaped(view.name(placed.store)),
            rate_cell(placed, Kind::Total)
        );
    }
    table(&["store", "p", "seed", "False negative ratio", "Total error ratio"], &rows)
}
