//! Rows as CSV: one schema for all experiments.
//!
//! Series of an experiment with several panels begin with the title of their panel and `: `. `low` and
//! `high` are the 99 % interval of y; `events` and `trials` what a rate was counted from; `seeds` is 0 for
//! a value that is computed. Fields that do not apply are empty.

use std::io::{self, Write};

use crate::report::csv::{fields, write_record};
use crate::reproduce::{Panel, Rate, Row};

const HEAD: [&str; 11] =
    ["paper", "item", "series", "x", "y", "low", "high", "events", "trials", "seeds", "commit"];

/// Writes the line with the names of the columns.
pub(super) fn write_head(out: &mut dyn Write) -> io::Result<()> {
    write_record(out, HEAD.into_iter())
}

/// Writes the rows of an experiment.
pub(super) fn write(
    out: &mut dyn Write,
    (paper, item): (&str, &str),
    panels: &[Panel],
    commit: &str,
) -> io::Result<()> {
    for panel in panels {
        for row in &panel.rows {
            let number = |value: Option<f64>| value.map(|x| x.to_string()).unwrap_or_default();
            let count = |value: Option<u64>| value.map(|n| n.to_string()).unwrap_or_default();
            let fields = [
                prefix(panels, panel) + &row.series,
                row.x.to_string(),
                row.y.to_string(),
                number(row.interval.map(|ends| ends[0])),
                number(row.interval.map(|ends| ends[1])),
                count(row.rate.map(|rate| rate.events)),
                count(row.rate.map(|rate| rate.trials)),
                row.seeds.to_string(),
            ];
            let fields = fields.iter().map(String::as_str);
            write_record(out, [paper, item].into_iter().chain(fields).chain([commit]))?;
        }
    }
    Ok(())
}

/// What series of this panel begin with.
fn prefix(panels: &[Panel], panel: &Panel) -> String {
    if panels.len() > 1 { format!("{}: ", panel.title) } else { String::new() }
}

/// Reads rows into the panels that they belong to.
pub(super) fn read(text: &str, panels: &mut [Panel]) -> Result<(), String> {
    let mut lines = text.lines();
    if lines.next().map(fields).is_none_or(|head| head != HEAD) {
        return Err(format!("the first line is not {}", HEAD.join(",")));
    }
    let prefixes: Vec<String> = panels.iter().map(|panel| prefix(panels, panel)).collect();
    for (number, line) in (2..).zip(lines) {
        let row = row(&fields(line)).ok_or_else(|| format!("line {number} is not a row"))?;
        let place = prefixes.iter().position(|prefix| row.series.starts_with(prefix));
        let (panel, prefix) =
            place
                .and_then(|at| Some((panels.get_mut(at)?, prefixes.get(at)?)))
                .ok_or_else(|| format!("line {number}: `{}` is in no panel", row.series))?;
        let series = row.series.get(prefix.len()..).unwrap_or_default().to_owned();
        panel.rows.push(Row { series, ..row });
    }
    Ok(())
}

fn row(fields: &[String]) -> Option<Row> {
    let [_, _, series, x, y, low, high, events, trials, seeds, _] = fields else { return None };
    let both =
        |a: &str, b: &str| (!a.is_empty() && !b.is_empty()).then(|| (a.to_owned(), b.to_owned()));
    let interval = match both(low, high) {
        Some((low, high)) => Some([low.parse().ok()?, high.parse().ok()?]),
        None => None,
    };
    let rate = match both(events, trials) {
        Some((events, trials)) => {
            Some(Rate { events: events.parse().ok()?, trials: trials.parse().ok()? })
        }
        None => None,
    };
    let (x, y, seeds) = (x.parse().ok()?, y.parse().ok()?, seeds.parse().ok()?);
    Some(Row { series: series.clone(), x, y, interval, rate, seeds })
}
