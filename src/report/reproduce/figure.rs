//! Panels as figures.

use crate::report::plot::{ALONE, Axis, Figure, Point, Scale, Series, style};
use crate::reproduce::{self, Panel, Row};
use crate::units::scientific;

/// The name of computed series beside measured ones: all are drawn alike.
pub(super) const COMPUTED: &str = "computed";

/// A figure in a separate file.
pub(super) fn alone(panel: &Panel, id: &str) -> Figure {
    Figure { size: ALONE, ..of_panel(panel, id) }
}

/// A figure of a panel.
pub(super) fn of_panel(panel: &Panel, id: &str) -> Figure {
    let series = series(panel);
    Figure {
        id: id.replace('/', "-"),
        title: panel.title.clone(),
        description: described(panel),
        x_axis: axis(&panel.x),
        y_axis: axis(&panel.y),
        series,
        ..Figure::default()
    }
}

fn axis(axis: &reproduce::Axis) -> Axis {
    Axis::new(axis.label.clone(), if axis.log { Scale::Log } else { Scale::Linear })
}

/// Measured series have styles of their own. Computed ones are plain lines beside them; alone, they have
/// styles as well.
fn series(panel: &Panel) -> Vec<Series> {
    let is_computed = |name: &str| panel.rows_of(name).all(|row| row.seeds == 0);
    let names = panel.series();
    let any_measured = names.iter().any(|name| !is_computed(name));
    let (mut found, mut styles) = (vec![], 0..);
    let mut lines: Vec<Point> = vec![];
    for name in names {
        let points = panel.rows_of(name).map(|row| point(row, panel.y.log));
        if any_measured && is_computed(name) {
            // A gap between two lines of one series.
            if !lines.is_empty() {
                lines.push(Point::at(f64::NAN, f64::NAN));
            }
            lines.extend(points);
        } else {
            found.push(Series::new(name, styles.next().unwrap_or(0), points.collect()));
        }
    }
    if !lines.is_empty() {
        found.push(Series::new(COMPUTED, style::REFERENCE, lines));
    }
    found
}

fn point(row: &Row, log: bool) -> Point {
    let none_seen = row.rate.is_some_and(|rate| rate.events == 0);
    let shown = format!("{}: {} at {}", row.series, scientific(row.y), scientific(row.x));
    let point = match row.interval {
        Some([_, high]) if none_seen && log => Point::at(row.x, high).at_most(),
        Some([low, high]) => Point::at(row.x, row.y).between(low, high),
        None => Point::at(row.x, row.y),
    };
    point.noted(shown)
}

/// For screen readers: the first and the last value of each series.
fn described(panel: &Panel) -> String {
    let mut text = format!("{} against {}.", panel.y.label, panel.x.label);
    for name in panel.series() {
        let shown = |row: &Row| format!("{} at {}", scientific(row.y), scientific(row.x));
        let mut rows = panel.rows_of(name);
        match (rows.next(), rows.last()) {
            (Some(first), Some(last)) => {
                text += &format!(" {name}: {}, {}.", shown(first), shown(last));
            }
            (Some(only), None) => text += &format!(" {name}: {}.", shown(only)),
            (None, _) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plot::Bound;
    use crate::report::reproduce::record::tests::example;

    #[test]
    fn none_seen_is_an_upper_bound_and_forms_are_lines() {
        let figure = of_panel(&example().panels[0], "paper/fig1");
        let [measured, computed] = &figure.series[..] else { panic!("two series") };
        assert_eq!((measured.style, computed.style), (0, style::REFERENCE));
        assert_eq!(measured.points[0].bound, Bound::None);
        assert_eq!(measured.points[1].bound, Bound::Y);
        assert!(measured.points[1].y > 0.0);
        assert_eq!(figure.id, "paper-fig1");
        assert!(roxmltree::Document::parse(&figure.document()).is_ok());
    }
}
