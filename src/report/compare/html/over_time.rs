//! Error and fill over trace time: whether a store settles, or goes on getting worse.

use std::fmt::Write as _;

use super::section::{Group as FigureGroup, Section, described, share_y_range, table};
use super::view::{Group, Placed, View, rate_label};
use crate::report::compare::Moment;
use crate::report::markup::Escaped;
use crate::report::plot::{Axis, Figure, Point, Scale};

/// A rate of fewer is mostly chance.
const ERRORS_A_STRETCH: u64 = 10;

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
        "<p>Errors of one stretch of the trace after the other, each as long as it takes for \
         {ERRORS_A_STRETCH} errors, and the part of each store in use. A line that goes on rising has \
         not settled: a longer trace would show a larger error.{seed}</p>"
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
    type Points = fn(&[Moment]) -> Vec<Point>;
    let panel = |name: &str, title: &str, unit: &str, scale: Scale, points: Points| {
        let x_axis = Axis::new("trace time", Scale::Time);
        let mut series = view.lines(&runs, |_| Some(Point::at(0.0, 0.0)));
        for series in &mut series {
            let own = runs.iter().find(|placed| placed.store == series.look);
            series.points = own.map_or(vec![], |placed| points(&placed.run.timeline));
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
    let error = panel("error", "Error", "errors per lookup", Scale::Log, error_points);
    let mut fill = panel("fill", "Fill", "part of the store in use", Scale::Linear, fill_points);
    fill.y_axis = fill.y_axis.showing(0.0, 1.0);
    Some(FigureGroup {
        caption: format!("p = {}. {}", rate_label(rate), group.caption()),
        panels: vec![error, fill],
        table: numbers(view, &runs),
    })
}

/// One point for each stretch of steps that holds enough errors for a rate, at its end; what is left
/// over at the end of the trace is a stretch, too.
fn error_points(timeline: &[Moment]) -> Vec<Point> {
    let (mut points, mut lookups, mut errors) = (vec![], 0_u64, 0_u64);
    for (at, moment) in timeline.iter().enumerate() {
        lookups = lookups.saturating_add(moment.lookups);
        errors = errors.saturating_add(moment.errors);
        let last = at + 1 == timeline.len();
        if lookups == 0 || (errors < ERRORS_A_STRETCH && !last) {
            continue;
        }
        points.push(match errors {
            0 => Point::at(moment.at_seconds, 3.0 / lookups as f64).at_most(),
            _ => Point::at(moment.at_seconds, errors as f64 / lookups as f64),
        });
        (lookups, errors) = (0, 0);
    }
    points
}

fn fill_points(timeline: &[Moment]) -> Vec<Point> {
    timeline.iter().map(|moment| Point::at(moment.at_seconds, moment.fill_ratio)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plot::Bound;

    #[test]
    fn stretches_hold_enough_errors() {
        let step = |at: u32, errors: u64| Moment {
            at_seconds: f64::from(at),
            lookups: 100,
            errors,
            fill_ratio: 0.5,
        };
        let timeline = [step(1, 4), step(2, 6), step(3, 25), step(4, 0), step(5, 0)];
        let points = error_points(&timeline);
        let places: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(places, [(2.0, 0.05), (3.0, 0.25), (5.0, 0.015)]);
        assert_eq!(points[2].bound, Bound::Y, "none seen in 200");
        assert!(error_points(&[]).is_empty());
        assert!(error_points(&[Moment { lookups: 0, ..step(1, 0) }]).is_empty());
    }
}
