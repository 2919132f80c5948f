//! Figures of error rate and fill ratio over trace time: does a store reach a steady state?

use std::fmt::Write as _;

use super::elements::{FigureGroup, Section, described, share_y_range, table};
use super::runs::{GroupedReport, IndexedRun, RunGroup, rate_label};
use crate::report::compare::Moment;
use crate::report::escape::Escaped;
use crate::report::plot::{Axis, Figure, Point, Scale};

/// Fewest errors for a rate that is not mostly chance.
const ERRORS_PER_POINT: u64 = 10;

pub fn section(report: &GroupedReport<'_>) -> Section {
    let mut figures: Vec<FigureGroup> = vec![];
    for group in chosen(report) {
        for rate in group.rates() {
            figures.extend(figure(report, group, rate, figures.len()));
        }
    }
    share_error_range(&mut figures);
    let lead = match figures.is_empty() {
        true => "<p>These runs were not followed over time.</p>".to_owned(),
        false => lead(report),
    };
    Section { id: "over-time", heading: "Error and fill over trace time", lead, figures }
}

fn lead(report: &GroupedReport<'_>) -> String {
    let seed = match report.is_repeated() {
        true => " Of several seeds, the first is shown.",
        false => "",
    };
    format!(
        "<p>Errors of one stretch of the trace after the other, each as long as it takes for \
         {ERRORS_PER_POINT} errors, and the part of each store in use. A line that goes on rising has \
         not settled: a longer trace would show a larger error.{seed}</p>"
    )
}

/// For each equal quantity the closed loop, which is that of operation; the open one if it is the
/// only one.
fn chosen<'r, 'a>(report: &'r GroupedReport<'a>) -> impl Iterator<Item = &'r RunGroup<'a>> {
    report.groups.iter().filter(|group| {
        let is_closed =
            |other: &&RunGroup<'_>| other.equal == group.equal && other.feedback == "closed";
        group.feedback == "closed" || !report.groups.iter().any(|other| is_closed(&other))
    })
}

fn figure(
    report: &GroupedReport<'_>,
    group: &RunGroup<'_>,
    rate: f64,
    at: usize,
) -> Option<FigureGroup> {
    let mut runs: Vec<IndexedRun<'_>> = vec![];
    for entry in group.runs.iter().filter(|entry| entry.run.fp_rate == rate) {
        let first_seed = runs.iter().all(|other| other.store != entry.store);
        if first_seed && !entry.run.timeline.is_empty() {
            runs.push(*entry);
        }
    }
    if runs.is_empty() {
        return None;
    }
    type Points = fn(&[Moment]) -> Vec<Point>;
    let panel = |name: &str, title: &str, unit: &str, scale: Scale, points: Points| {
        let x_axis = Axis::new("trace time", Scale::Time);
        let mut series = report.series(&runs, |_| Some(Point::at(0.0, 0.0)));
        for series in &mut series {
            let own = runs.iter().find(|entry| entry.store == series.style);
            series.points = own.map_or(vec![], |entry| points(&entry.run.timeline));
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
        table: numbers(report, &runs),
    })
}

/// One point per interval of steps with enough errors for a rate, at its end; the remainder at the end of
/// the trace is an interval too.
fn error_points(timeline: &[Moment]) -> Vec<Point> {
    let (mut points, mut lookups, mut errors) = (vec![], 0_u64, 0_u64);
    for (at, moment) in timeline.iter().enumerate() {
        lookups = lookups.saturating_add(moment.lookups);
        errors = errors.saturating_add(moment.errors);
        let last = at + 1 == timeline.len();
        if lookups == 0 || (errors < ERRORS_PER_POINT && !last) {
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

/// Gives the error figures of all rates the same vertical range.
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

fn numbers(report: &GroupedReport<'_>, runs: &[IndexedRun<'_>]) -> String {
    let mut rows = String::new();
    for entry in runs {
        let (index, name) = (entry.index, Escaped(report.name(entry.store)));
        for (step, moment) in entry.run.timeline.iter().enumerate() {
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
    fn points_are_rates_of_enough_errors() {
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
