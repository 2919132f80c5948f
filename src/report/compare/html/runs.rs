//! The runs of a report as figures and tables need them: groups of comparable runs, one series per
//! store, and the rates of each kind of error.

use crate::report::compare::{CompareReport, Load, Run};
use crate::report::format::scientific;
use crate::report::plot::{Point, Series};

/// The report with its runs in groups.
pub struct GroupedReport<'a> {
    pub document: &'a CompareReport,
    /// Names of the stores, in order of appearance; the index is also the style of the series.
    pub stores: Vec<String>,
    /// Groups of comparable runs.
    pub groups: Vec<RunGroup<'a>>,
}

/// Runs with the same loop and the same equal quantity.
pub struct RunGroup<'a> {
    /// `cells` or `memory`.
    pub equal: &'a str,
    /// `closed` or `open`.
    pub feedback: &'a str,
    pub runs: Vec<IndexedRun<'a>>,
}

/// A run with its index in the report and that of its store.
#[derive(Clone, Copy)]
pub struct IndexedRun<'a> {
    pub index: usize,
    pub store: usize,
    pub run: &'a Run,
}

impl<'a> GroupedReport<'a> {
    pub fn new(document: &'a CompareReport) -> Self {
        let mut grouped = GroupedReport { document, stores: vec![], groups: vec![] };
        for (index, run) in document.runs.iter().enumerate() {
            let name = store_name(run, &document.runs);
            let known = grouped.stores.iter().position(|store| *store == name);
            let store = known.unwrap_or(grouped.stores.len());
            if known.is_none() {
                grouped.stores.push(name);
            }
            grouped.group(run).runs.push(IndexedRun { index, store, run });
        }
        grouped
    }

    fn group(&mut self, run: &'a Run) -> &mut RunGroup<'a> {
        let (equal, feedback) = (run.equal.as_str(), run.feedback.as_str());
        let same = |group: &RunGroup<'_>| group.equal == equal && group.feedback == feedback;
        let at = self.groups.iter().position(same).unwrap_or(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(RunGroup { equal, feedback, runs: vec![] });
        }
        &mut self.groups[at]
    }

    /// The name of the store of any run of the report.
    pub fn name_of(&self, run: &Run) -> String {
        store_name(run, &self.document.runs)
    }

    pub fn name(&self, store: usize) -> &str {
        self.stores.get(store).map_or("", String::as_str)
    }

    /// Whether there are runs with different seeds.
    pub fn is_repeated(&self) -> bool {
        self.document.runs.windows(2).any(|pair| pair[0].seed != pair[1].seed)
    }

    /// One series per store of `runs`, with the `point` of each run, in the order of `runs`.
    pub fn series<P>(&self, runs: &[IndexedRun<'a>], point: P) -> Vec<Series>
    where
        P: Fn(&IndexedRun<'a>) -> Option<Point>,
    {
        let series = |(store, name): (usize, &String)| {
            let own = runs.iter().filter(|entry| entry.store == store);
            let points: Vec<_> = own.filter_map(&point).collect();
            (!points.is_empty()).then(|| Series::new(name.as_str(), store, points))
        };
        self.stores.iter().enumerate().filter_map(series).collect()
    }

    /// The start of the tooltip of a value.
    pub fn note(&self, entry: &IndexedRun<'_>) -> String {
        let seed = match self.is_repeated() {
            true => format!(", seed {}", entry.run.seed),
            false => String::new(),
        };
        format!("{}, p = {}{seed}", self.name(entry.store), rate_label(entry.run.fp_rate))
    }
}

impl<'a> RunGroup<'a> {
    /// Equal quantity and loop, as a caption.
    pub fn caption(&self) -> String {
        let equal = match self.equal {
            "cells" => "Equal number of cells",
            "memory" => "Equal memory",
            other => other,
        };
        format!("{equal}, {} loop", self.feedback)
    }

    /// The preset rates of its runs, the largest first.
    pub fn rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> = self.runs.iter().map(|entry| entry.run.fp_rate).collect();
        rates.sort_by(|a, b| b.total_cmp(a));
        rates.dedup();
        rates
    }

    /// Its runs sorted by `key`; the sort is stable.
    pub fn sorted_by(&self, key: impl Fn(&Run) -> f64) -> Vec<IndexedRun<'a>> {
        let mut runs = self.runs.clone();
        runs.sort_by(|a, b| key(a.run).total_cmp(&key(b.run)));
        runs
    }
}

/// `kbf`, `kbf literal`; with the layout or the expiry if runs differ in it.
fn store_name(run: &Run, runs: &[Run]) -> String {
    let mut name = run.backend.clone();
    if let Some(variant) = &run.variant {
        name = format!("{name} {variant}");
    }
    let mut same =
        runs.iter().filter(|other| other.backend == run.backend && other.variant == run.variant);
    if same.clone().any(|other| other.layout != run.layout) {
        name = format!("{name} {}", run.layout);
    }
    if same.any(|other| other.expire != run.expire) {
        name = format!("{name} {}", run.expire);
    }
    name
}

/// A preset rate, as on the command line.
pub fn rate_label(rate: f64) -> String {
    if (1e-4..1.0).contains(&rate) { rate.to_string() } else { scientific(rate) }
}

/// The bound of a rate of which a seed saw none, in these ranges over seeds, where each asked about this many.
pub fn none_seen([low, high]: [f64; 2], asked: f64) -> f64 {
    let of_one_seed = (3.0 / asked).min(1.0);
    if low == 0.0 && high <= of_one_seed { high } else { of_one_seed }
}

/// A kind of error, or their total, with its rate in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorMetric {
    Total,
    FalsePositive,
    DontKnowAbsent,
    FalseNegative,
    DontKnow,
    FalseReturn,
}

impl ErrorMetric {
    pub const ALL: [ErrorMetric; 6] = [
        ErrorMetric::Total,
        ErrorMetric::FalsePositive,
        ErrorMetric::DontKnowAbsent,
        ErrorMetric::FalseNegative,
        ErrorMetric::DontKnow,
        ErrorMetric::FalseReturn,
    ];

    pub fn title(self) -> &'static str {
        match self {
            ErrorMetric::Total => "All errors",
            ErrorMetric::FalsePositive => "False positive",
            ErrorMetric::DontKnowAbsent => "Don’t know, absent",
            ErrorMetric::FalseNegative => "False negative",
            ErrorMetric::DontKnow => "Don’t know",
            ErrorMetric::FalseReturn => "False return",
        }
    }

    /// The unit of its rate.
    pub fn unit(self) -> &'static str {
        match self {
            ErrorMetric::Total => "per lookup",
            ErrorMetric::FalsePositive | ErrorMetric::DontKnowAbsent => {
                "per lookup of an absent flow"
            }
            ErrorMetric::FalseNegative | ErrorMetric::DontKnow | ErrorMetric::FalseReturn => {
                "per lookup of an extant flow"
            }
        }
    }

    /// The key of its rate and of its interval in the JSON document.
    pub fn rate_name(self) -> &'static str {
        match self {
            ErrorMetric::Total => "total_rate",
            ErrorMetric::FalsePositive => "false_positive_rate",
            ErrorMetric::DontKnowAbsent => "dont_know_absent_rate",
            ErrorMetric::FalseNegative => "false_negative_rate",
            ErrorMetric::DontKnow => "dont_know_rate",
            ErrorMetric::FalseReturn => "false_return_rate",
        }
    }

    pub fn rate(self, run: &Run) -> f64 {
        match self {
            ErrorMetric::Total => run.errors.total_rate,
            ErrorMetric::FalsePositive => run.errors.false_positive_rate,
            ErrorMetric::DontKnowAbsent => run.errors.dont_know_absent_rate,
            ErrorMetric::FalseNegative => run.errors.false_negative_rate,
            ErrorMetric::DontKnow => run.errors.dont_know_rate,
            ErrorMetric::FalseReturn => run.errors.false_return_rate,
        }
    }

    /// At most this many were missed in the lookups of one seed that saw none: 3 / n, with n the effective
    /// number of lookups. Where no seed saw any, all of them together say more.
    pub fn none_seen(self, run: &Run, load: &Load) -> f64 {
        let effective = match self {
            ErrorMetric::Total => load.effective_lookups.all,
            ErrorMetric::FalsePositive | ErrorMetric::DontKnowAbsent => {
                load.effective_lookups.absent
            }
            ErrorMetric::FalseNegative | ErrorMetric::DontKnow | ErrorMetric::FalseReturn => {
                load.effective_lookups.extant
            }
        };
        none_seen(self.interval(run), effective)
    }

    pub fn interval(self, run: &Run) -> [f64; 2] {
        match self {
            ErrorMetric::Total => run.interval.total_rate,
            ErrorMetric::FalsePositive => run.interval.false_positive_rate,
            ErrorMetric::DontKnowAbsent => run.interval.dont_know_absent_rate,
            ErrorMetric::FalseNegative => run.interval.false_negative_rate,
            ErrorMetric::DontKnow => run.interval.dont_know_rate,
            ErrorMetric::FalseReturn => run.interval.false_return_rate,
        }
    }

    /// Number of lookups in which this error was possible.
    pub fn lookups(self, run: &Run) -> u64 {
        let errors = &run.errors;
        match self {
            ErrorMetric::Total => errors.lookups_absent.saturating_add(errors.lookups_extant),
            ErrorMetric::FalsePositive | ErrorMetric::DontKnowAbsent => errors.lookups_absent,
            ErrorMetric::FalseNegative | ErrorMetric::DontKnow | ErrorMetric::FalseReturn => {
                errors.lookups_extant
            }
        }
    }
}
