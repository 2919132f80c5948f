//! Tick marks: their values and labels.

/// A tick mark.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub value: f64,
    pub label: String,
}

/// Upper limit, whatever the range.
const TICKS_MAX: usize = 16;

/// The largest of 1, 2, 5 times a power of ten that is not above `value`, which is positive.
pub(super) fn round_down(value: f64) -> f64 {
    let power = power_of_ten(decade(value));
    let part = value / power * (1.0 + 1e-9);
    let round = [5.0, 2.0, 1.0].into_iter().find(|round| *round <= part).unwrap_or(1.0);
    (round * power).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// The smallest of these that is not below `value`.
pub(super) fn round_up(value: f64) -> f64 {
    let power = power_of_ten(decade(value));
    let part = value / power * (1.0 - 1e-9);
    let round = [1.0, 2.0, 5.0].into_iter().find(|round| *round >= part).unwrap_or(10.0);
    (round * power).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// By parsing: `powi` is not exact for negative powers, and would miss 0.001.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(0.0)
}

/// n such that 10^n ≤ value < 10^(n+1), with 0.000999… rounded to 0.001.
fn decade(value: f64) -> i32 {
    (value.clamp(f64::MIN_POSITIVE, f64::MAX).log10() + 1e-9).floor() as i32
}

/// A round step that gives about five ticks between `low` and `high`.
pub(super) fn linear_step(low: f64, high: f64) -> f64 {
    let rough = (high / 5.0 - low / 5.0).max(f64::MIN_POSITIVE);
    let power = power_of_ten(decade(rough));
    let part = rough / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|round| part <= *round * 1.2).unwrap_or(10.0);
    (round * power).clamp(f64::MIN_POSITIVE, f64::MAX / 2.0)
}

pub(super) fn linear([low, high]: [f64; 2]) -> Vec<Tick> {
    let step = linear_step(low, high);
    let digits = usize::try_from(-decade(step)).unwrap_or(0).min(12);
    multiples(step, low, high, |value| plain(value, digits))
}

/// Multiples of `step` within the range.
fn multiples(step: f64, low: f64, high: f64, label: impl Fn(f64) -> String) -> Vec<Tick> {
    let first = (low / step - 1e-6).ceil();
    let values = (0..TICKS_MAX).map(|n| (first + n as f64) * step);
    let within = values.take_while(|value| *value <= high + step * 1e-6);
    within.map(|value| Tick { value, label: label(value) }).collect()
}

fn plain(value: f64, digits: usize) -> String {
    let value = if value == 0.0 { 0.0 } else { value }; // no "-0"
    if value.abs() >= 1e7 { power_label(value) } else { format!("{value:.digits$}") }
}

/// Powers of ten; in a range of less than two and a half decades also 2 and 5 times these.
pub(super) fn log([low, high]: [f64; 2], wanted: usize) -> Vec<Tick> {
    let (first, last) = (decade(low), decade(high));
    let wide = high / low > 300.0;
    let stride = if wide { ((last - first) as usize).div_ceil(wanted.max(1)).max(1) } else { 1 };
    let rounds: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
    // Multiples of the stride, so that figures in a row agree.
    let decades = (first..=last).filter(|n| n.rem_euclid(stride as i32) == 0);
    let values = decades.flat_map(|n| rounds.iter().map(move |round| (round * power_of_ten(n), n)));
    let values = values.filter(|(v, _)| *v >= low * (1.0 - 1e-9) && *v <= high * (1.0 + 1e-9));
    let powers = wide && (first < -3 || last > 4);
    let label = |value: f64, n: i32| match n {
        0 if powers => "1".to_owned(),
        _ if powers => format!("10{}", superscript(n)),
        _ => power_label(value),
    };
    values.map(|(value, n)| Tick { value, label: label(value, n) }).take(TICKS_MAX).collect()
}

/// `0.002`, `50`, `2·10⁻⁵`.
fn power_label(value: f64) -> String {
    if (1e-3 * 0.999..1e5).contains(&value.abs()) {
        let digits = usize::try_from(-decade(value.abs())).unwrap_or(0);
        return format!("{value:.digits$}");
    }
    let n = decade(value.abs());
    match (value / power_of_ten(n)).round() as i64 {
        1 => format!("10{}", superscript(n)),
        part => format!("{part}·10{}", superscript(n)),
    }
}

fn superscript(n: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' => '⁰',
        c => c.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(c),
    };
    n.to_string().chars().map(digit).collect()
}

/// Seconds, in steps of round minutes, hours and days.
pub(super) fn time([low, high]: [f64; 2], wanted: usize) -> Vec<Tick> {
    const STEPS: [f64; 23] = [
        1.0,
        2.0,
        5.0,
        10.0,
        15.0,
        30.0, // seconds
        60.0,
        120.0,
        300.0,
        600.0,
        900.0,
        1800.0, // minutes
        3600.0,
        7200.0,
        10_800.0,
        21_600.0,
        43_200.0, // hours
        86_400.0,
        172_800.0,
        432_000.0,
        864_000.0,
        1_728_000.0,
        4_320_000.0, // days
    ];
    let rough = (high - low) / wanted.max(1) as f64;
    let finest = rough < STEPS[0] / 2.0;
    match STEPS.into_iter().find(|step| rough <= *step) {
        Some(step) if !finest => multiples(step, low, high, |value| clock(value, step)),
        _ => linear([low, high]).into_iter().map(with_seconds).collect(),
    }
}

fn with_seconds(tick: Tick) -> Tick {
    Tick { label: format!("{} s", tick.label), ..tick }
}

/// `90` in steps of 30 is `90 s`, in steps of 60 `1.5 min`: the unit is that of the step.
fn clock(value: f64, step: f64) -> String {
    let (unit, seconds) = match step {
        step if step < 60.0 => ("s", 1.0),
        step if step < 3600.0 => ("min", 60.0),
        step if step < 86_400.0 => ("h", 3600.0),
        _ => ("d", 86_400.0),
    };
    match (value / seconds).round() {
        0.0 => "0".to_owned(),
        count => format!("{count} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn round_numbers_enclose() {
        for (value, below, above) in
            [(1.0, 1.0, 1.0), (3.0, 2.0, 5.0), (0.0007, 0.0005, 0.001), (99.0, 50.0, 100.0)]
        {
            assert_eq!((round_down(value), round_up(value)), (below, above), "{value}");
        }
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(linear([0.0, 1.0])), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(linear([0.0, 250.0])), ["0", "50", "100", "150", "200", "250"]);
        assert_eq!(labels(linear([-1.0, 1.0])).len(), 5);
    }

    #[test]
    fn log_ticks_thin_out() {
        let decades = ["10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹"];
        assert_eq!(labels(log([1e-5, 0.1], 6)), decades);
        assert_eq!(labels(log([0.005, 0.2], 6)), ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2"]);
        assert_eq!(labels(log([10.0, 500.0], 6)), ["10", "20", "50", "100", "200", "500"]);
        assert_eq!(labels(log([1.0, 50.0], 6)), ["1", "2", "5", "10", "20", "50"]);
        assert_eq!(labels(log([2e-5, 1e-4], 6)), ["2·10⁻⁵", "5·10⁻⁵", "10⁻⁴"]);
        assert_eq!(
            labels(log([1e-12, 1.0], 6)),
            ["10⁻¹²", "10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"]
        );
        assert_eq!(labels(log([1e-3, 1e2], 6)), ["0.001", "0.01", "0.1", "1", "10", "100"]);
    }

    #[test]
    fn time_ticks_are_whole_units() {
        assert_eq!(labels(time([0.0, 3600.0], 4)), ["0", "15 min", "30 min", "45 min", "60 min"]);
        assert_eq!(labels(time([0.0, 50.0], 5)), ["0", "10 s", "20 s", "30 s", "40 s", "50 s"]);
        assert_eq!(labels(time([0.0, 0.5], 5)).last().unwrap(), "0.5 s");
        assert_eq!(labels(time([0.0, 86_400.0], 4)), ["0", "6 h", "12 h", "18 h", "24 h"]);
    }
}
