//! `report.csv`: one row per run, in the format of RFC 4180.
//!
//! Columns are the keys of a run in the JSON document, in its order: those of `errors` without
//! a prefix, those of `census` and `capacity` with it, those of `interval` as `interval_…_low` and
//! `interval_…_high`. The timeline, a list, is left out. Numbers are written as in JSON.

use std::io::{self, Write};

use serde_json::Value;

use super::json::{CompareReport, Run};
use crate::report::csv::write_record;

/// Writes the table.
pub fn write(report: &CompareReport, out: &mut dyn Write) -> io::Result<()> {
    let mut head_written = false;
    for run in &report.runs {
        let columns = columns(run)?;
        if !head_written {
            write_record(out, columns.iter().map(|(name, _)| name.as_str()))?;
            head_written = true;
        }
        write_record(out, columns.iter().map(|(_, value)| value.as_str()))?;
    }
    Ok(())
}

/// Names and values of the columns of a row.
fn columns(run: &Run) -> io::Result<Vec<(String, String)>> {
    let mut columns = Vec::new();
    let Value::Object(run) = serde_json::to_value(run)? else { return Ok(columns) };
    for (key, value) in run {
        match (key.as_str(), value) {
            ("timeline", _) => {}
            ("interval", Value::Object(intervals)) => {
                for (rate, ends) in intervals {
                    for (end, at) in [("low", 0), ("high", 1)] {
                        let value = ends.get(at).unwrap_or(&Value::Null);
                        columns.push((format!("interval_{rate}_{end}"), text(value)));
                    }
                }
            }
            ("errors", Value::Object(inner)) => {
                columns.extend(inner.iter().map(|(key, value)| (key.clone(), text(value))));
            }
            (_, Value::Object(inner)) => {
                let named =
                    |(name, value): (&String, &Value)| (format!("{key}_{name}"), text(value));
                columns.extend(inner.iter().map(named));
            }
            (_, value) => columns.push((key, text(&value))),
        }
    }
    Ok(columns)
}

/// A value without JSON's quotes; empty for null.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
