//! The outcome of an experiment: rows in panels, notes and a verdict.

use serde::{Deserialize, Serialize};

use super::statistics::Rate;
use super::verdict::Verdict;

/// What an experiment gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The figure: one panel or several, each with titles of their own.
    pub panels: Vec<Panel>,
    /// Sentences: what is not printed in the paper, points that are not measured, what differs and why.
    pub notes: Vec<String>,
    /// Whether it agrees with the paper.
    pub verdict: Verdict,
}

/// A panel of a figure: two axes and rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Whether it is drawn, or a table only.
    pub drawn: bool,
    /// The points, each series in one piece. Documents have them in a CSV file.
    #[serde(skip)]
    pub rows: Vec<Row>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity with its unit.
    pub label: String,
    /// Whether it is logarithmic.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), log: false }
    }

    /// A logarithmic axis, which shows positive values only.
    pub fn log(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), log: true }
    }
}

/// A point of a series: a row of the CSV.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The series, as the legend names it.
    pub series: String,
    /// The horizontal coordinate.
    pub x: f64,
    /// The vertical coordinate.
    pub y: f64,
    /// The 99 % interval of y.
    pub interval: Option<[f64; 2]>,
    /// What y was counted from, if it is a rate.
    pub rate: Option<Rate>,
    /// Over how many seeds; 0 says that y is computed and not measured.
    pub seeds: u32,
}

impl Panel {
    /// An empty panel.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Panel {
        Panel { title: title.into(), x, y, drawn: true, rows: vec![] }
    }

    /// Makes it a table that is not drawn.
    pub fn as_table(mut self) -> Panel {
        self.drawn = false;
        self
    }

    /// Adds a rate with its interval, counted over `seeds` seeds.
    pub fn rate(&mut self, series: impl Into<String>, x: f64, rate: Rate, seeds: u32) {
        let interval = Some(rate.interval());
        self.push(series, x, rate.value(), interval, Some(rate), seeds);
    }

    /// Adds a measured number without an interval.
    pub fn measured(&mut self, series: impl Into<String>, x: f64, y: f64, seeds: u32) {
        self.push(series, x, y, None, None, seeds.max(1));
    }

    /// Adds a measured number with its interval.
    pub fn between(
        &mut self,
        series: impl Into<String>,
        x: f64,
        y: f64,
        ends: [f64; 2],
        seeds: u32,
    ) {
        self.push(series, x, y, Some(ends), None, seeds.max(1));
    }

    /// Adds a rate of which none was seen in any seed, of `trials` in all; it is at most `bound`.
    pub fn none_seen(
        &mut self,
        series: impl Into<String>,
        x: f64,
        bound: f64,
        trials: u64,
        seeds: u32,
    ) {
        let rate = Some(Rate { events: 0, trials });
        self.push(series, x, 0.0, Some([0.0, bound]), rate, seeds.max(1));
    }

    /// Adds a number that is computed: a closed form, or what the paper prints.
    pub fn computed(&mut self, series: impl Into<String>, x: f64, y: f64) {
        self.push(series, x, y, None, None, 0);
    }

    fn push(
        &mut self,
        series: impl Into<String>,
        x: f64,
        y: f64,
        interval: Option<[f64; 2]>,
        rate: Option<Rate>,
        seeds: u32,
    ) {
        self.rows.push(Row { series: series.into(), x, y, interval, rate, seeds });
    }

    /// The names of the series, in the order in which they first appear.
    pub fn series(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![];
        for row in &self.rows {
            if !names.contains(&row.series.as_str()) {
                names.push(&row.series);
            }
        }
        names
    }

    /// The rows of one series.
    pub fn rows_of<'a>(&'a self, series: &'a str) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |row| row.series == series)
    }

    /// The values of y of one series.
    pub fn ys(&self, series: &str) -> Vec<f64> {
        self.rows_of(series).map(|row| row.y).collect()
    }
}
