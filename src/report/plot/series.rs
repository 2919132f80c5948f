//! The data of a figure: series, their points, and the line drawn through them.

/// A line with its markers.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Index of its colour, marker and dash: see [`style`](super::style).
    /// [`style::REFERENCE`](super::style::REFERENCE) is a plain line.
    pub style: usize,
    /// In drawing order.
    pub points: Vec<Point>,
}

impl Series {
    /// A line through `points`.
    pub fn new(name: impl Into<String>, style: usize, points: Vec<Point>) -> Self {
        Series { name: name.into(), style, points }
    }
}

/// One measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The horizontal coordinate.
    pub x: f64,
    /// The vertical coordinate; NaN makes a gap in the line.
    pub y: f64,
    /// The confidence interval of y.
    pub interval: Option<[f64; 2]>,
    /// Whether a coordinate is a measurement or an upper bound.
    pub bound: Bound,
    /// The tooltip.
    pub note: String,
}

/// Whether a point is a measurement or, where no event was observed, an upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// A measurement.
    None,
    /// y is an upper bound.
    Y,
    /// x is an upper bound.
    X,
}

impl Point {
    /// A measurement without an interval.
    pub const fn at(x: f64, y: f64) -> Self {
        Point { x, y, interval: None, bound: Bound::None, note: String::new() }
    }

    /// Adds the confidence interval of y.
    pub const fn between(mut self, low: f64, high: f64) -> Self {
        self.interval = Some([low, high]);
        self
    }

    /// Makes y an upper bound.
    pub const fn at_most(mut self) -> Self {
        self.bound = Bound::Y;
        self
    }

    /// Makes x an upper bound.
    pub const fn x_at_most(mut self) -> Self {
        self.bound = Bound::X;
        self
    }

    /// Adds a tooltip.
    pub fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// A vertex of the line: the mean of the points with the same x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vertex {
    pub x: f64,
    pub y: f64,
    /// No repetition observed an event; y is the lowest of their upper bounds.
    pub none_seen: bool,
}

/// One vertex for each run of points with the same x; `None`, a gap, where none can be shown.
pub(super) fn vertices(points: &[Point], can_show: impl Fn(&Point) -> bool) -> Vec<Option<Vertex>> {
    let repeated = points.chunk_by(|a, b| a.x == b.x);
    repeated.map(|points| mean(points.iter().filter(|point| can_show(point)))).collect()
}

fn mean<'a>(points: impl Iterator<Item = &'a Point>) -> Option<Vertex> {
    let (mut count, mut sum, mut least, mut x) = (0_u32, 0.0, f64::INFINITY, 0.0);
    let (mut none_seen, mut has_y) = (true, false);
    for point in points {
        x = point.x;
        count += 1;
        none_seen &= point.bound != Bound::None;
        if point.bound == Bound::Y {
            least = least.min(point.y);
        } else {
            has_y = true;
            sum += point.y;
        }
    }
    let y = if has_y { sum / f64::from(count) } else { least };
    (count > 0).then_some(Vertex { x, y, none_seen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_averaged_and_none_counts_as_zero() {
        let points = [
            Point::at(1.0, 4.0),
            Point::at(1.0, 9.0).at_most(),
            Point::at(2.0, f64::NAN),
            Point::at(3.0, 0.5).at_most(),
            Point::at(3.0, 0.3).at_most(),
        ];
        let vertices = vertices(&points, |point| point.y.is_finite());
        assert_eq!(vertices[0], Some(Vertex { x: 1.0, y: 2.0, none_seen: false }));
        assert_eq!(vertices[1], None);
        assert_eq!(vertices[2], Some(Vertex { x: 3.0, y: 0.3, none_seen: true }));
        assert_eq!(vertices.len(), 3);
    }
}
