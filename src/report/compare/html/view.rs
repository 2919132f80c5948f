//! Runs as they are drawn: which belong together, and which line each is on.

use super::number::scientific;
use crate::report::compare::{CompareReport, Run};
use crate::report::plot::Series;

/// The report, with its lines and groups found.
pub struct View<'a> {
    pub report: &'a CompareReport,
    /// Names of the stores, in order of appearance; the place is the look.
    pub stores: Vec<String>,
    /// Runs that can be compared with each other.
    pub groups: Vec<Group<'a>>,
}

/// Runs of one loop that have the same in common.
pub struct Group<'a> {
    /// `cells` or `memory`.
    pub equal: &'a str,
    /// `closed` or `open`.
    pub feedback: &'a str,
    pub runs: Vec<Placed<'a>>,
}

/// A run, its place in the report, and the line it is on.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    pub index: usize,
    pub store: usize,
    pub run: &'a Run,
}

impl<'a> View<'a> {
    pub fn new(report: &'a CompareReport) -> Self {
        let mut view = View { report, stores: vec![], groups: vec![] };
        for (index, run) in report.runs.iter().enumerate() {
            let name = store_name(run, &report.runs);
            let known = view.stores.iter().position(|store| *store == name);
            let store = known.unwrap_or(view.stores.len());
            if known.is_none() {
                view.stores.push(name);
            }
            view.group(run).runs.push(Placed { index, store, run });
        }
        view
    }

    fn group(&mut self, run: &'a Run) -> &mut Group<'a> {
        let (equal, feedback) = (run.equal.as_str(), run.feedback.as_str());
        let same = |group: &Group<'_>| group.equal == equal && group.feedback == feedback;
        let at = self.groups.iter().position(same).unwrap_or(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(Group { equal, feedback, runs: vec![] });
        }
        &mut self.groups[at]
    }

    pub fn name(&self, store: usize) -> &str {
        self.stores.get(store).map_or("", String::as_str)
    }

    /// Whether runs were repeated with other seeds.
    pub fn is_repeated(&self) -> bool {
        self.report.runs.windows(2).any(|pair| pair[0].seed != pair[1].seed)
    }

    /// Lines of `runs`, each with what `point` says of its runs, in the order of `runs`.
    pub fn lines<P>(&self, runs: &[Placed<'a>], point: P) -> Vec<Series>
    where
        P: Fn(&Placed<'a>) -> Option<crate::report::plot::Point>,
    {
        let line = |(store, name): (usize, &String)| {
            let own = runs.iter().filter(|placed| placed.store == store);
            let points: Vec<_> = own.filter_map(&point).collect();
            (!points.is_empty()).then(|| Series::new(name.as_str(), store, points))
        };
        self.stores.iter().enumerate().filter_map(line).collect()
    }

    /// The words before a value that a pointer rests on.
    pub fn note(&self, placed: &Placed<'_>) -> String {
        let seed = match self.is_repeated() {
            true => format!(", seed {}", placed.run.seed),
            false => String::new(),
        };
        format!("{}, p = {}{seed}", self.name(placed.store), rate_label(placed.run.fp_rate))
    }
}

impl<'a> Group<'a> {
    /// What its runs have in common, as a caption.
    pub fn caption(&self) -> String {
        let equal = match self.equal {
            "cells" => "Equal number of cells",
            "memory" => "Equal memory",
            other => other,
        };
        format!("{equal}, {} loop", self.feedback)
    }

    /// Its rates, the largest first.
    pub fn rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> = self.runs.iter().map(|placed| placed.run.fp_rate).collect();
        rates.sort_by(|a, b| b.total_cmp(a));
        rates.dedup();
        rates
    }

    /// Its runs in the order of `key`, those of the same key as they were.
    pub fn sorted_by(&self, key: impl Fn(&Run) -> f64) -> Vec<Placed<'a>> {
        let mut runs = self.runs.clone();
        runs.sort_by(|a, b| key(a.run).total_cmp(&key(b.run)));
        runs
    }
}

/// `kbf`, `kbf literal`; with the layout or the expiry if that alone tells it from another.
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

/// A preset rate as it was written on the command line.
pub fn rate_label(rate: f64) -> String {
    if (1e-4..1.0).contains(&rate) { rate.to_string() } else { scientific(rate) }
}
