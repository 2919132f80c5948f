//! A part of the page with figures: a heading, how to read it, and groups of panels with their
//! numbers.

use std::fmt::Write as _;

use super::number::scientific;
use crate::report::markup::Escaped;
use crate::report::plot::{Axis, Bound, Figure, Point, Series, legend, look};

/// One question and its figures.
pub struct Section {
    /// Its anchor.
    pub id: &'static str,
    pub heading: &'static str,
    /// HTML: how to read the figures, or why there are none.
    pub lead: String,
    pub figures: Vec<Group>,
}

/// Panels that share a legend, and a table of what they show.
pub struct Group {
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

impl Group {
    fn html(&self) -> String {
        let mut names: Vec<(&str, usize)> = vec![];
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.contains(&(series.name.as_str(), series.look)) {
                names.push((&series.name, series.look));
            }
        }
        names.sort_by_key(|(_, look)| *look);
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

/// A table in a box of its own, which a keyboard can scroll, too.
pub fn scrolling(label: &str, table: &str) -> String {
    let label = Escaped(label);
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">{table}</div>"
    )
}

/// A table with these heads, of rows that are ready.
pub fn table(heads: &[&str], rows: &str) -> String {
    let mut html = String::from("<table><thead><tr>");
    for head in heads {
        let _ = write!(html, "<th scope=\"col\">{}</th>", Escaped(head));
    }
    let _ = write!(html, "</tr></thead><tbody>{rows}</tbody></table>");
    html
}

/// Gives all of `panels` the same vertical axis: beside each other they are compared.
pub fn share_y_range(panels: &mut [Figure]) {
    let Some(axis) = panels.first().map(|panel| panel.y_axis.clone()) else { return };
    let points = panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    // Intervals that reach almost to nothing are cut, not shown at the cost of all else.
    let values = points.flat_map(|point| {
        let [low, high] = point.interval.unwrap_or([point.y; 2]);
        [point.y, high, low.max(point.y / 3.0)]
    });
    let range = axis.range_of(values);
    for panel in panels {
        panel.y_axis.range = Some(range);
    }
}

/// What one sees in a figure, for those who do not: each line's first and last value.
pub fn described(what: &str, x: &Axis, series: &[Series]) -> String {
    let mut words = format!("{what} against {}.", x.label);
    let shown = |point: &Point| {
        let most = if point.bound == Bound::Y { "none seen, at most " } else { "" };
        format!("{most}{} at {}", scientific(point.y), scientific(point.x))
    };
    for series in series.iter().filter(|series| series.look != look::REFERENCE) {
        let mut points = series.points.iter().filter(|point| point.y.is_finite());
        let _ = match (points.next(), points.next_back()) {
            (Some(first), Some(last)) => {
                write!(words, " {}: {}, {}.", series.name, shown(first), shown(last))
            }
            (Some(only), None) => write!(words, " {}: {}.", series.name, shown(only)),
            (None, _) => write!(words, " {}: nothing to show.", series.name),
        };
    }
    words
}
