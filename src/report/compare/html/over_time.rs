//! Error and fill over trace time: whether a store settles, or goes on getting worse.

use std::fmt::Write as _;

use super::section::{Group as FigureGroup, Section, described, share_y_range, table};
use super::view::{Group, Placed, View, rate_label};
use crate::report::compare::Moment;
use crate::report::markup::Escaped;
use crate::report::plot::{Axis, Figure, Point, Scale};

pub fn section(view: &View<'_>) -> Section {
    let mut figures: Vec<FigureGroup> = vec![];
    for group in chosen(view) {
        for rate in group.rates() {
            figures.extend(figure(view, group, rate, figures.len()));
        }
    }
    share_error_range(&mut figures);
    let lead = match figures.is_empty() {
        true => "<p>These runs were not followed over time.</p>".to_owned(),
        false => lead(view),
    };
    Section { id: "over-time", heading: "Error and fill over trace time", lead, figures }
}

fn lead(view: &View<'_>) -> String {
    let seed = match view.is_repeated() {
        true => " Of several seeds, the first is shown.",
        false => "",
    };
    format!(
        "<p>Errors of each step of the trace by themselves, and the part of each store in use at its \
         end. A line that goes on rising has not settled: a longer trace would show a larger error. \
         Dotted lines lead to steps in which no error was seen, drawn at 3/n.{seed}</p>"
    )
}

/// The closed loop of each way of being equal, for that is what a user gets; the open one where it
/// is all there is.
fn chosen<'v, 'a>(view: &'v View<'a>) -> impl Iterator<Item = &'v Group<'a>> {
    view.groups.iter().filter(|group| {
        let is_closed =
            |other: &&Group<'_>| other.equal == group.equal && other.feedback == "closed";
        group.feedback == "closed" || !view.groups.iter().any(|other| is_closed(&other))
    })
}

fn figure(view: &View<'_>, group: &Group<'_>, rate: f64, at: usize) -> Option<FigureGroup> {
    let mut runs: Vec<Placed<'_>> = vec![];
    for placed in group.runs.iter().filter(|placed| placed.run.fp_rate == rate) {
        let first_seed = runs.iter().all(|other| other.store != placed.store);
        if first_seed && !placed.run.timeline.is_empty() {
            runs.push(*placed);
        }
    }
    if runs.is_empty() {
        return None;
    }
    let panel = |name: &str, title: &str, unit: &str, scale: Scale, point: fn(&Moment) -> Point| {
        let x_axis = Axis::new("trace time", Scale::Time);
        let mut series = view.lines(&runs, |_| Some(Point::at(0.0, 0.0)));
        for series in &mut series {
            let own = runs.iter().find(|placed| placed.store == series.look);
            series.points = own.map_or(vec![], |p| p.run.timeline.iter().map(point).collect());
        }
        Figure {
            id: format!("time-{at}-{name}"),
            title: title.to_owned(),
            description: described(&format!("{title}, {unit},"), &x_axis, &series),
            x_axis,
            y_axis: Axis::new(unit, scale),
            series,
            ..Figure::default()
        }
    };
    let error =
        panel("error", "Error", "errors per lookup, each step by itself", Scale::Log, error_point);
    let mut fill = panel("fill", "Fill", "part of the store in use", Scale::Linear, |moment| {
        Point::at(moment.at_seconds, moment.fill_ratio)
    });
    fill.y_axis = fill.y_axis.showing(0.0, 1.0);
    Some(FigureGroup {
        caption: format!("p = {}. {}", rate_label(rate), group.caption()),
        panels: vec![error, fill],
        table: numbers(view, &runs),
    })
}

fn error_point(moment: &Moment) -> Point {
    let (at, lookups) = (moment.at_seconds, moment.lookups as f64);
    match (moment.lookups, moment.errors) {
        (0, _) => Point::at(at, f64::NAN),
        (_, 0) => Point::at(at, 3.0 / lookups).at_most(),
        (_, errors) => Point::at(at, errors as f64 / lookups),
    }
}

/// Errors at one rate are compared with those at another.
fn share_error_range(figures: &mut [FigureGroup]) {
    let mut errors: Vec<Figure> =
        figures.iter().filter_map(|figure| figure.panels.first().cloned()).collect();
    share_y_range(&mut errors);
    for (figure, error) in figures.iter_mut().zip(errors) {
        if let Some(first) = figure.panels.first_mut() {
            *first = error;
        }
    }
}

fn numbers(view: &View<'_>, runs: &[Placed<'_>]) -> String {
    let mut rows = String::new();
    for placed in runs {
        let (index, name) = (placed.index, Escaped(view.name(placed.store)));
        for (step, moment) in placed.run.timeline.iter().enumerate() {
            let Moment { at_seconds, lookups, errors, fill_ratio } = moment;
            let _ = write!(
                rows,
                "<tr data-at=\"/runs/{index}/timeline/{step}\"><th scope=\"row\">{name}</th>\
                 <td>{at_seconds}</td><td>{lookups}</td><td>{errors}</td><td>{fill_ratio}</td></tr>"
            );
        }
    }
    table(&["store", "until, seconds", "lookups", "errors", "fill"], &rows)
}
