//! Numbers of the report, written so that people can read them and programs can check them.

use std::fmt::Display;

use super::kind::Kind;
use super::view::Placed;
use crate::report::text::grouped;

/// Three digits: `1.23e-4`; what is zero or whole and small stays plain.
pub fn scientific(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { tidy(&format!("{value:.2e}")) }
}

/// `1.00e-4` is `1e-4`, `2.50e0` is `2.5`.
fn tidy(text: &str) -> String {
    let Some((part, power)) = text.split_once('e') else { return text.to_owned() };
    let part =
        if part.contains('.') { part.trim_end_matches('0').trim_end_matches('.') } else { part };
    if power == "0" { part.to_owned() } else { format!("{part}e{power}") }
}

/// The value at `at` in `report.json`, shown as `shown`.
pub fn value(at: &str, value: impl Display, shown: &str) -> String {
    format!("<data value=\"{value}\" data-at=\"{at}\">{shown}</data>")
}

/// A count.
pub fn count(at: &str, n: u64) -> String {
    value(at, n, &grouped(n))
}

/// A number with one digit after the point.
pub fn tenths(at: &str, x: f64) -> String {
    value(at, x, &format!("{x:.1}"))
}

/// The sum of `parts` divided by `over`, all of them places in `report.json`.
pub fn quotient(parts: &[String], over: &str, value: f64, shown: &str) -> String {
    let parts = parts.join(" ");
    format!("<data value=\"{value}\" data-parts=\"{parts}\" data-over=\"{over}\">{shown}</data>")
}

/// A rate with its interval, or what it is at most, as a table's cell.
pub fn rate_cell(placed: &Placed<'_>, kind: Kind) -> String {
    let Placed { index, run, .. } = *placed;
    let (rate, [low, high]) = (kind.rate(run), kind.interval(run));
    let at = format!("/runs/{index}/errors/{}", kind.rate_name());
    let end = |end: usize, x: f64| {
        let at = format!("/runs/{index}/interval/{}/{end}", kind.rate_name());
        value(&at, x, &scientific(x))
    };
    let words = match (kind.asked(run), rate) {
        (0, _) => value(&at, rate, "not asked"),
        (_, 0.0) => format!("{}, ≤ {}", value(&at, rate, "none"), end(1, high)),
        _ => {
            let shown = value(&at, rate, &scientific(rate));
            format!("{shown} <small>{} – {}</small>", end(0, low), end(1, high))
        }
    };
    format!("<td>{words}</td>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_well() {
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
}
