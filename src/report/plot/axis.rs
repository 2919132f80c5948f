//! Linear, logarithmic and time axes: their ranges, and the projection of values onto positions.

use super::ticks::{self, Tick};

/// How an axis maps values to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Linear; starts at 0 where that wastes little space.
    #[default]
    Linear,
    /// Logarithmic; shows positive values only.
    Log,
    /// Linear, in seconds: ticks at whole minutes, hours and days.
    Time,
}

/// One axis of a figure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// The quantity with its unit.
    pub label: String,
    /// How values map to positions.
    pub scale: Scale,
    /// The range to show; by default that of the values. Figures in a row should share one.
    pub range: Option<[f64; 2]>,
    /// Whether it starts with the largest value.
    pub falling: bool,
}

impl Axis {
    /// An axis with the range of the values.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Axis { label: label.into(), scale, range: None, falling: false }
    }

    /// Starts with the largest value.
    pub fn falling(mut self) -> Self {
        self.falling = true;
        self
    }

    /// Shows `low` to `high`, whatever the values.
    pub fn showing(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }

    /// Whether `value` can be shown on this scale.
    pub fn can_show(&self, value: f64) -> bool {
        value.is_finite() && (self.scale != Scale::Log || value > 0.0)
    }

    /// The range that includes all of `values` and ends at round numbers.
    pub fn range_of(&self, values: impl Iterator<Item = f64>) -> [f64; 2] {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| self.can_show(*value)) {
            (low, high) = (low.min(value), high.max(value));
        }
        match self.scale {
            _ if low > high => [if self.scale == Scale::Log { 0.1 } else { 0.0 }, 1.0],
            Scale::Log => log_range(low, high),
            // Not rounded: a trace ends at its last packet.
            Scale::Time => [low.min(0.0), if high > low.min(0.0) { high } else { low + 1.0 }],
            Scale::Linear => linear_range(low, high),
        }
    }
}

/// Ends at 1, 2 or 5 of a power of ten, at least half a power apart.
fn log_range(low: f64, high: f64) -> [f64; 2] {
    let (below, above) = (ticks::round_down(low), ticks::round_up(high));
    let (below, above) =
        if above > below * 3.0 { (below, above) } else { (below / 2.0, above * 2.0) };
    [below.max(f64::MIN_POSITIVE), above.min(f64::MAX)]
}

fn linear_range(low: f64, high: f64) -> [f64; 2] {
    let low = if low > 0.0 && low < high * 0.6 { 0.0 } else { low };
    let high = if high > low { high } else { low + low.abs().max(1.0) };
    let step = ticks::linear_step(low, high);
    [(low / step).floor() * step, (high / step).ceil() * step]
}

/// An axis projected onto an interval of the picture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Projection {
    scale: Scale,
    range: [f64; 2],
    /// Positions of the low and the high end of the range.
    ends: [f64; 2],
}

impl Projection {
    /// Projects `axis` onto `first` to `last`.
    pub fn new(axis: &Axis, range: [f64; 2], first: f64, last: f64) -> Self {
        let ends = if axis.falling { [last, first] } else { [first, last] };
        Projection { scale: axis.scale, range, ends }
    }

    /// The position of a value; values beyond the range are clamped to its end.
    pub fn position(&self, value: f64) -> f64 {
        let on = |value: f64| match self.scale {
            Scale::Log => value.max(f64::MIN_POSITIVE).log10(),
            Scale::Linear | Scale::Time => value,
        };
        let (low, high) = (on(self.range[0]), on(self.range[1]));
        let share = (on(value) - low) / (high - low);
        let share = if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) };
        self.ends[0] + share * (self.ends[1] - self.ends[0])
    }

    /// Ticks at round values, about `wanted` of them.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => ticks::linear(self.range),
            Scale::Log => ticks::log(self.range, wanted),
            Scale::Time => ticks::time(self.range, wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(scale: Scale, values: &[f64]) -> [f64; 2] {
        Axis::new("", scale).range_of(values.iter().copied())
    }

    #[test]
    fn ranges_include_all_values_and_end_round() {
        assert_eq!(range(Scale::Log, &[3e-4, 0.07]), [2e-4, 0.1]);
        assert_eq!(range(Scale::Log, &[1e-5, 0.1, 0.0, f64::NAN, -1.0]), [1e-5, 0.1]);
        assert_eq!(range(Scale::Log, &[0.01]), [0.005, 0.02]);
        assert_eq!(range(Scale::Linear, &[0.1, 0.48]), [0.0, 0.5]);
        assert_eq!(range(Scale::Linear, &[98.0, 101.0]), [98.0, 101.0]);
        assert_eq!(range(Scale::Time, &[60.0, 3540.0]), [0.0, 3540.0]);
    }

    #[test]
    fn any_values_give_a_range_with_two_ends() {
        let odd =
            [0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN, 5e-324, 1e308, f64::INFINITY, f64::NAN];
        for scale in [Scale::Linear, Scale::Log, Scale::Time] {
            let axis = Axis::new("", scale);
            for a in odd {
                for b in odd {
                    let range = axis.range_of([a, b].into_iter());
                    let projection = Projection::new(&axis, range, 0.0, 100.0);
                    for tick in projection.ticks(6) {
                        assert!(
                            (0.0..=100.0).contains(&projection.position(tick.value)),
                            "{a} {b} {tick:?}"
                        );
                    }
                    assert!(projection.ticks(6).len() <= 16, "{scale:?} {a} {b}");
                    assert!(
                        (0.0..=100.0).contains(&projection.position(a)),
                        "{scale:?} {a} {b} {range:?}"
                    );
                }
            }
        }
        assert_eq!(range(Scale::Log, &[]), [0.1, 1.0]);
    }

    #[test]
    fn positions_follow_the_scale() {
        let axis = Axis::new("p", Scale::Log).falling();
        let projection = Projection::new(&axis, [1e-5, 0.1], 0.0, 400.0);
        assert!((projection.position(0.1) - 0.0).abs() < 1e-9);
        assert!((projection.position(1e-3) - 200.0).abs() < 1e-9);
        assert!((projection.position(1e-5) - 400.0).abs() < 1e-9);
        assert_eq!(projection.position(0.0), 400.0, "beyond the range: its end");
        let projection = Projection::new(&Axis::default(), [0.0, 2.0], 100.0, 0.0);
        assert_eq!(projection.position(0.5), 75.0);
    }
}
