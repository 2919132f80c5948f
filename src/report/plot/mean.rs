//! The line through repeated measurements.

use super::{Bound, Point};

/// Where a line passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knot {
    pub x: f64,
    pub y: f64,
    /// Nothing was seen in any repetition: y is the least of what it is at most.
    pub none_seen: bool,
}

/// One knot for each run of points with the same x; what cannot be shown is `None`: a gap.
pub(super) fn knots(points: &[Point], can_show: impl Fn(&Point) -> bool) -> Vec<Option<Knot>> {
    let repeated = points.chunk_by(|a, b| a.x == b.x);
    repeated.map(|points| mean(points.iter().filter(|point| can_show(point)))).collect()
}

fn mean<'a>(points: impl Iterator<Item = &'a Point>) -> Option<Knot> {
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
    (count > 0).then_some(Knot { x, y, none_seen })
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
        let knots = knots(&points, |point| point.y.is_finite());
        assert_eq!(knots[0], Some(Knot { x: 1.0, y: 2.0, none_seen: false }));
        assert_eq!(knots[1], None);
        assert_eq!(knots[2], Some(Knot { x: 3.0, y: 0.3, none_seen: true }));
        assert_eq!(knots.len(), 3);
    }
}
