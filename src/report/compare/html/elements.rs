//! HTML elements of the page: sections, groups of figures, tables, and numbers that programs can check.

use std::fmt::{Display, Write as _};

use super::runs::{ErrorMetric, IndexedRun};
use crate::report::escape::Escaped;
use crate::report::format::{duration, grouped, scientific};
use crate::report::plot::{Axis, Bound, Figure, Point, Series, legend, style};
use crate::time::NANOS_PER_SEC;

/// A section with figures: a heading, an explanation, and groups of figures.
pub struct Section {
    /// Its anchor.
    pub id: &'static str,
    pub heading: &'static str,
    /// HTML: how to read the figures, or why there are none.
    pub lead: String,
    pub figures: Vec<FigureGroup>,
}

/// Figures that share a legend, and a table of their numbers.
pub struct FigureGroup {
    pub caption: String,
    pub panels: Vec<Figure>,
    /// HTML: the `<table>`.
    pub table: String,
}

impl Section {
    pub fn html(&self, number: usize) -> String {
        let mut html = format!(
            "<section id=\"{}\"><h2><span class=\"number\">{number}</span> {}</h2>{}",
            self.id, self.heading, self.lead
        );
        for group in &self.figures {
            html.push_str(&group.html());
        }
        html.push_str("</section>");
        html
    }
}

impl FigureGroup {
    /// The figures with their legend above them and the table, folded up, below.
    pub fn html(&self) -> String {
        let mut names: Vec<(&str, usize)> = vec![];
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.contains(&(series.name.as_str(), series.style)) {
                names.push((&series.name, series.style));
            }
        }
        names.sort_by_key(|(_, style)| *style);
        let many = match self.panels.len() {
            1 => "one",
            2 => "two",
            _ => "many",
        };
        let caption = Escaped(&self.caption);
        let mut html = format!(
            "<figure><figcaption>{caption}</figcaption>{}<div class=\"panels {many}\">",
            legend(names)
        );
        for panel in &self.panels {
            html.push_str(&panel.inline());
        }
        let _ = write!(
            html,
            "</div><details><summary>The numbers: {caption}</summary>{}</details></figure>",
            scrolling(&self.caption, &self.table)
        );
        html
    }
}

/// A table in a box that can be scrolled, also with the keyboard.
pub fn scrolling(label: &str, table: &str) -> String {
    let label = Escaped(label);
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">{table}</div>"
    )
}

/// A table with these column headings; `rows` is HTML.
pub fn table(heads: &[&str], rows: &str) -> String {
    let mut html = String::from("<table><thead><tr>");
    for head in heads {
        let _ = write!(html, "<th scope=\"col\">{}</th>", Escaped(head));
    }
    let _ = write!(html, "</tr></thead><tbody>{rows}</tbody></table>");
    html
}

/// Gives all of `panels` the same vertical range, so that they can be compared.
pub fn share_y_range(panels: &mut [Figure]) {
    let Some(axis) = panels.first().map(|panel| panel.y_axis.clone()) else { return };
    let points = panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    // Intervals that reach almost to zero are cut, so that they do not compress everything else.
    let values = points.flat_map(|point| {
        let [low, high] = point.interval.unwrap_or([point.y; 2]);
        [point.y, high, low.max(point.y / 3.0)]
    });
    let range = axis.range_of(values);
    for panel in panels {
        panel.y_axis.range = Some(range);
    }
}

/// The description of a figure for screen readers: the first and last value of each series.
pub fn described(what: &str, x: &Axis, series: &[Series]) -> String {
    let mut text = format!("{what} against {}.", x.label);
    let shown = |point: &Point| {
        let most = if point.bound == Bound::Y { "none seen, at most " } else { "" };
        format!("{most}{} at {}", scientific(point.y), scientific(point.x))
    };
    for series in series.iter().filter(|series| series.style != style::REFERENCE) {
        let mut points = series.points.iter().filter(|point| point.y.is_finite());
        let _ = match (points.next(), points.next_back()) {
            (Some(first), Some(last)) => {
                write!(text, " {}: {}, {}.", series.name, shown(first), shown(last))
            }
            (Some(only), None) => write!(text, " {}: {}.", series.name, shown(only)),
            (None, _) => write!(text, " {}: nothing to show.", series.name),
        };
    }
    text
}

/// The value at the JSON pointer `at` of `report.json`, shown as `shown`.
pub fn value(at: &str, value: impl Display, shown: &str) -> String {
    format!("<data value=\"{value}\" data-at=\"{at}\">{shown}</data>")
}

/// A count.
pub fn count(at: &str, n: u64) -> String {
    value(at, n, &grouped(n))
}

/// A number with one decimal.
pub fn tenths(at: &str, x: f64) -> String {
    value(at, x, &format!("{x:.1}"))
}

/// The sum of `parts` divided by `over`, all JSON pointers into `report.json`.
pub fn quotient(parts: &[String], over: &str, value: f64, shown: &str) -> String {
    let parts = parts.join(" ");
    format!("<data value=\"{value}\" data-parts=\"{parts}\" data-over=\"{over}\">{shown}</data>")
}

/// A table cell: a rate with its range over seeds, or the upper bound of all seeds together.
pub fn rate_cell(entry: &IndexedRun<'_>, kind: ErrorMetric) -> String {
    let IndexedRun { index, run, .. } = *entry;
    let (rate, [low, high]) = (kind.rate(run), kind.interval(run));
    let at = format!("/runs/{index}/errors/{}", kind.rate_name());
    let end = |end: usize, x: f64| {
        let at = format!("/runs/{index}/interval/{}/{end}", kind.rate_name());
        value(&at, x, &scientific(x))
    };
    let content = match (kind.lookups(run), rate) {
        (0, _) => value(&at, rate, "not asked"),
        (_, 0.0) if low == 0.0 => format!("{}, ≤ {}", value(&at, rate, "none"), end(1, high)),
        (_, 0.0) => value(&at, rate, "none"),
        _ => {
            let shown = value(&at, rate, &scientific(rate));
            format!("{shown} <small>{} – {}</small>", end(0, low), end(1, high))
        }
    };
    format!("<td>{content}</td>")
}

/// Seconds as text.
pub fn duration_of(seconds: f64) -> String {
    duration((seconds * NANOS_PER_SEC as f64) as u64) // saturates
}
