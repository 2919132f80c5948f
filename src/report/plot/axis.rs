//! From values to places: linear, logarithmic and time axes.

use super::ticks::{self, Tick};

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Evenly, from 0 where that wastes little.
    #[default]
    Linear,
    /// By powers of ten; only what is positive can be shown.
    Log,
    /// Evenly, in seconds: ticks at whole minutes, hours and days.
    Time,
}

/// One side of a figure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// How.
    pub scale: Scale,
    /// What it shows; by default as much as there are values for. Figures beside each other want
    /// the same.
    pub range: Option<[f64; 2]>,
    /// Large values first.
    pub falling: bool,
}

impl Axis {
    /// An axis for whatever values there are.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Axis { label: label.into(), scale, range: None, falling: false }
    }

    /// With large values first.
    pub fn falling(mut self) -> Self {
        self.falling = true;
        self
    }

    /// From `low` to `high`, whatever the values.
    pub fn showing(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }

    /// Whether the axis has a place for `value`.
    pub fn can_show(&self, value: f64) -> bool {
        value.is_finite() && (self.scale != Scale::Log || value > 0.0)
    }

    /// The range that holds all of `values` and ends at round numbers.
    pub fn range_of(&self, values: impl Iterator<Item = f64>) -> [f64; 2] {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| self.can_show(*value)) {
            (low, high) = (low.min(value), high.max(value));
        }
        match self.scale {
            _ if low > high => [if self.scale == Scale::Log { 0.1 } else { 0.0 }, 1.0],
            Scale::Log => log_range(low, high),
            // A trace ends when it ends.
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

/// An axis laid over a stretch of the picture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    scale: Scale,
    range: [f64; 2],
    /// Where the low and the high end of the range are.
    ends: [f64; 2],
}

impl Span {
    /// Lays `axis` from `first` to `last`.
    pub fn new(axis: &Axis, range: [f64; 2], first: f64, last: f64) -> Self {
        let ends = if axis.falling { [last, first] } else { [first, last] };
        Span { scale: axis.scale, range, ends }
    }

    /// The place of a value; of one beyond the range, its end.
    pub fn place(&self, value: f64) -> f64 {
        let on = |value: f64| match self.scale {
            Scale::Log => value.max(f64::MIN_POSITIVE).log10(),
            Scale::Linear | Scale::Time => value,
        };
        let (low, high) = (on(self.range[0]), on(self.range[1]));
        let share = (on(value) - low) / (high - low);
        let share = if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) };
        self.ends[0] + share * (self.ends[1] - self.ends[0])
    }

    /// Marks at round values, at most `wanted` of them or a few more.
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
    fn ranges_hold_all_and_end_round() {
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
                    let span = Span::new(&axis, range, 0.0, 100.0);
                    for tick in span.ticks(6) {
                        assert!(
                            (0.0..=100.0).contains(&span.place(tick.value)),
                            "{a} {b} {tick:?}"
                        );
                    }
                    assert!(span.ticks(6).len() <= 16, "{scale:?} {a} {b}");
                    assert!((0.0..=100.0).contains(&span.place(a)), "{scale:?} {a} {b} {range:?}");
                }
            }
        }
        assert_eq!(range(Scale::Log, &[]), [0.1, 1.0]);
    }

    #[test]
    fn places_follow_the_scale() {
        let axis = Axis::new("p", Scale::Log).falling();
        let span = Span::new(&axis, [1e-5, 0.1], 0.0, 400.0);
        assert!((span.place(0.1) - 0.0).abs() < 1e-9);
        assert!((span.place(1e-3) - 200.0).abs() < 1e-9);
        assert!((span.place(1e-5) - 400.0).abs() < 1e-9);
        assert_eq!(span.place(0.0), 400.0, "beyond the range: its end");
        let span = Span::new(&Axis::default(), [0.0, 2.0], 100.0, 0.0);
        assert_eq!(span.place(0.5), 75.0);
    }
}
