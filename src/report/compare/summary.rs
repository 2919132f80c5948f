//! What several seeds say together: ranges of rates, and stores compared seed by seed.
//!
//! Stores share trace and seeds, so the difference between two stores is taken *within* each seed: ranges of two
//! stores can coincide although one is better in every seed.

use super::json::{Pair, PairedDifference, Ranges, Run};
use crate::engine::compare::EffectiveLookups;

/// The runs of one store that differ only in the seed.
#[derive(Debug, Clone)]
pub struct Repetitions<'a> {
    /// The store and its variant.
    pub name: String,
    /// Its runs, in the order of the seeds.
    pub runs: Vec<&'a Run>,
}

impl Repetitions<'_> {
    /// The mean over seeds.
    pub fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(|run| of(run)).sum::<f64>() / self.runs.len().max(1) as f64
    }

    /// The smallest and the largest value over seeds.
    pub fn range(&self, of: impl Fn(&Run) -> f64) -> [f64; 2] {
        let values = self.runs.iter().map(|run| of(run));
        values.fold([f64::INFINITY, 0.0], |[low, high], x| [low.min(x), high.max(x)])
    }
}

/// The runs in groups that differ only in the seed, in order of appearance.
pub fn repetitions<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<Repetitions<'a>> {
    let mut groups: Vec<Repetitions<'_>> = Vec::new();
    for run in runs {
        let same = |group: &&mut Repetitions<'_>| {
            group.runs.first().is_some_and(|first| first.is_repetition_of(run))
        };
        match groups.iter_mut().rev().find(same) {
            Some(group) => group.runs.push(run),
            None => groups.push(Repetitions { name: run.store(), runs: vec![run] }),
        }
    }
    groups
}

/// Fills in the ranges of `runs`.
pub(super) fn fill_ranges(runs: &mut [Run], effective: &EffectiveLookups) {
    let groups = repetitions(runs.iter());
    let all: Vec<Ranges> = runs
        .iter()
        .map(|run| {
            let is_own =
                |group: &&Repetitions<'_>| group.runs.iter().any(|own| own.is_repetition_of(run));
            groups.iter().find(is_own).map(|group| ranges(group, effective)).unwrap_or_default()
        })
        .collect();
    for (run, ranges) in runs.iter_mut().zip(all) {
        run.interval = ranges;
    }
}

/// The range of each rate over seeds. None seen in s seeds: at most 3 / (s · n), with n the effective number of
/// lookups (a rule of thumb) or the number of flows.
fn ranges(group: &Repetitions<'_>, effective: &EffectiveLookups) -> Ranges {
    let seeds = group.runs.len() as f64;
    let range = |of: fn(&Run) -> f64, asked: f64| match group.range(of) {
        [_, high] if high > 0.0 => group.range(of),
        _ => [0.0, (3.0 / (seeds * asked)).min(1.0)],
    };
    let flows = group.runs.first().map_or(0, |run| run.errors.flows_total) as f64;
    Ranges {
        false_positive_rate: range(|run| run.errors.false_positive_rate, effective.absent),
        dont_know_absent_rate: range(|run| run.errors.dont_know_absent_rate, effective.absent),
        false_negative_rate: range(|run| run.errors.false_negative_rate, effective.extant),
        dont_know_rate: range(|run| run.errors.dont_know_rate, effective.extant),
        false_return_rate: range(|run| run.errors.false_return_rate, effective.extant),
        total_rate: range(|run| run.errors.total_rate, effective.all),
        flows_wrong_rate: range(Run::flows_wrong_rate, flows),
        null_rate: range(Run::null_rate, effective.extant),
    }
}

impl PairedDifference {
    /// For figures of which fewer are better.
    pub fn new(pairs: &[(f64, f64)]) -> PairedDifference {
        let ratio = |&(own, other): &(f64, f64)| match () {
            () if own == other => 1.0,
            () => own / other,
        };
        let mut ratios: Vec<f64> = pairs.iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |index: usize| ratios.get(index).copied().unwrap_or(1.0);
        let (below, above) = (ratios.len().saturating_sub(1) / 2, ratios.len() / 2);
        let median = 0.5 * (at(below) + at(above));
        PairedDifference {
            median_ratio: median.is_finite().then_some(median),
            better: pairs.iter().filter(|(own, other)| own < other).count(),
            worse: pairs.iter().filter(|(own, other)| own > other).count(),
            seeds: pairs.len(),
        }
    }

    fn of(own: &Repetitions<'_>, other: &Repetitions<'_>, of: fn(&Run) -> f64) -> PairedDifference {
        let same_seed = |run: &&Run| {
            let mut others = other.runs.iter();
            Some((of(run), of(others.find(|other| other.seed == run.seed)?)))
        };
        let pairs: Vec<(f64, f64)> = own.runs.iter().filter_map(same_seed).collect();
        PairedDifference::new(&pairs)
    }
}

/// All pairs of stores that are ranked in a table with each other.
pub(super) fn pairs(runs: &[Run]) -> Vec<Pair> {
    let groups = repetitions(runs.iter().filter(|run| run.ranked));
    let mut pairs = Vec::new();
    for (at, own) in groups.iter().enumerate() {
        for other in groups.iter().skip(at + 1) {
            let (Some(first), Some(second)) = (own.runs.first(), other.runs.first()) else {
                continue;
            };
            if first.is_in_table_of(second) {
                let difference = |of| PairedDifference::of(own, other, of);
                pairs.push(Pair {
                    equal: first.equal.clone(),
                    feedback: first.feedback.clone(),
                    fp_rate: first.fp_rate,
                    store: own.name.clone(),
                    against: other.name.clone(),
                    flows_wrong: difference(Run::flows_wrong_rate),
                    null_rate: difference(Run::null_rate),
                    total_rate: difference(|run| run.errors.total_rate),
                    held_not_right: difference(Run::held_not_right_rate),
                });
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_taken_within_each_seed() {
        let pairs = [(1.0, 2.0), (100.0, 110.0), (5.0, 10.0), (0.0, 0.0), (3.0, 1.0)];
        let difference = PairedDifference::new(&pairs);
        assert_eq!((difference.better, difference.worse, difference.seeds), (3, 1, 5));
        assert!((difference.median_ratio.unwrap() - 100.0 / 110.0).abs() < 1e-12);
        assert_eq!(PairedDifference::new(&[(1.0, 2.0), (1.0, 1.0)]).median_ratio, Some(0.75));
        assert_eq!(PairedDifference::new(&[(1.0, 0.0)]).median_ratio, None, "no finite ratio");
        assert_eq!(PairedDifference::new(&[]).seeds, 0);
    }
}
