//! Formatting for people: numbers, sizes, durations, bars and headings.
//!
//! Headings carry ANSI codes; the commands print through `anstream`, which drops them where
//! standard output is no terminal or `NO_COLOR` is set.

use std::fmt;

use anstyle::Style;

pub use crate::units::scientific;

/// Style of headings.
pub const HEADING: Style = Style::new().bold();
/// Style of secondary text.
pub const FAINT: Style = Style::new().dimmed();

/// An integer in groups of three digits: `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes: `512 B`, `1.5 KiB`, `3.0 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = n as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{n} B") } else { format!("{value:.1} {unit}") }
}

/// A share in percent: `97.2 %`; distinguishes zero (`0 %`) from almost zero (`<0.1 %`).
pub fn percent(part: u64, whole: u64) -> String {
    match (part, whole) {
        (0, _) | (_, 0) => "0 %".to_owned(),
        _ => match 100.0 * part as f64 / whole as f64 {
            share if share < 0.05 => "<0.1 %".to_owned(),
            share => format!("{share:.1} %"),
        },
    }
}

/// A length of time: `850 ns`, `115.2 µs`, `1.250 ms`, `59.9 s`, `2 h 05 min`, `3 d 04 h`.
pub fn duration(nanos: u64) -> String {
    const SEC: u64 = crate::time::NANOS_PER_SEC;
    match nanos {
        0 => "0 s".to_owned(),
        n if n < 1_000 => format!("{n} ns"),
        n if n < 1_000_000 => format!("{:.1} µs", n as f64 / 1e3),
        n if n < SEC => format!("{:.3} ms", n as f64 / 1e6),
        n if n < 60 * SEC => format!("{:.1} s", n as f64 / 1e9),
        n if n < 3600 * SEC => format!("{} min {:02} s", n / SEC / 60, n / SEC % 60),
        n if n < 86_400 * SEC => format!("{} h {:02} min", n / SEC / 3600, n / SEC / 60 % 60),
        n => format!("{} d {:02} h", n / SEC / 86_400, n / SEC / 3600 % 24),
    }
}

/// A horizontal bar of at most `width` columns, in eighths of a column.
pub fn bar(value: f64, max: f64, width: usize) -> Bar {
    let share = if max > 0.0 { (value / max).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * width as f64 * 8.0).round() as usize;
    // A value above zero is always visible.
    Bar { eighths: if value > 0.0 { eighths.max(1) } else { 0 } }
}

/// See [`bar`].
#[derive(Debug, Clone, Copy)]
pub struct Bar {
    eighths: usize,
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        for _ in 0..self.eighths / 8 {
            f.write_str("█")?;
        }
        f.write_str(PARTS[self.eighths % 8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_scaled() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(1, 1_000_000), "<0.1 %");
        assert_eq!(percent(0, 0), "0 %");
    }

    #[test]
    fn scientific_notation_is_short() {
        for (value, shown) in [
            (0.0, "0"),
            (0.012_345, "1.23e-2"),
            (1e-5, "1e-5"),
            (0.25, "2.5e-1"),
            (1.0, "1"),
            (10.0, "1e1"),
        ] {
            assert_eq!(scientific(value), shown);
        }
    }

    #[test]
    fn durations_change_units() {
        assert_eq!(duration(850), "850 ns");
        assert_eq!(duration(115_200), "115.2 µs");
        assert_eq!(duration(1_250_000), "1.250 ms");
        assert_eq!(duration(59_900_000_000), "59.9 s");
        assert_eq!(duration(7_500_000_000_000), "2 h 05 min");
        assert_eq!(duration(u64::MAX), "213503 d 23 h");
    }

    #[test]
    fn bars_show_the_smallest_value_above_zero() {
        assert_eq!(bar(1.0, 2.0, 4).to_string(), "██");
        assert_eq!(bar(1.0, 1e9, 4).to_string(), "▏");
        assert_eq!(bar(0.0, 1.0, 4).to_string(), "");
    }
}
