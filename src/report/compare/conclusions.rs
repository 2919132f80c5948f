//! The conclusions of a comparison as sentences: the store with the fewest errors, how errors fall with
//! p, and the effect on alerts.
//!
//! They count flows with at least one wrong answer: a rate per lookup depends on the traffic, and one
//! long flow can dominate it. Runs that differ only in the seed are averaged.

use super::PAPER_STORES;
use super::json::{CompareReport, Run};
use crate::report::format::grouped;

/// Errors that fall with at least this power of p "fall steeply".
const STEEP: f64 = 0.5;
/// Errors that fall with less than this power of p "hardly move".
const FLAT: f64 = 0.15;

/// Runs that differ only in the seed.
#[derive(Debug)]
struct Repetitions<'a> {
    name: String,
    fp_rate: f64,
    runs: Vec<&'a Run>,
}

impl Repetitions<'_> {
    fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(|run| of(run)).sum::<f64>() / self.runs.len().max(1) as f64
    }

    /// Mean number of flows with a wrong answer.
    fn wrong(&self) -> f64 {
        self.mean(|run| run.errors.flows_wrong as f64)
    }

    /// The same as text, with its range over seeds.
    fn wrong_text(&self) -> String {
        let wrong = || self.runs.iter().map(|run| run.errors.flows_wrong);
        let mean = count(self.wrong());
        match (wrong().min(), wrong().max()) {
            (Some(low), Some(high)) if low < high => {
                format!("{mean} ({} to {} over seeds)", grouped(low), grouped(high))
            }
            _ => mean,
        }
    }
}

/// Two to four sentences about `report`.
pub(super) fn conclusions(report: &CompareReport) -> Vec<String> {
    let Some(first) = report.runs.first() else { return Vec::new() };
    // Equal memory and the closed loop are what matters in operation; else what there is.
    let pick = |of: fn(&Run) -> &str, wanted: &str, or: &str| {
        let there = report.runs.iter().any(|run| of(run) == wanted);
        if there { wanted.to_owned() } else { or.to_owned() }
    };
    let equal = pick(|run| &run.equal, "memory", &first.equal);
    let feedback = pick(|run| &run.feedback, "closed", &first.feedback);
    let stores = repetitions(report, &equal, &feedback);
    let rates = distinct(stores.iter().map(|store| store.fp_rate));
    // The middle one of the rates: neither too many errors nor none.
    let Some(&p) = rates.get(rates.len() / 2) else { return Vec::new() };
    let at_p: Vec<&Repetitions<'_>> = stores.iter().filter(|store| store.fp_rate == p).collect();
    [
        wrong_size(report),
        fewest_errors(report, &at_p, &equal),
        decrease_with_p(&repetitions(report, &first.equal, &feedback)),
        effect_on_alerts(report, &at_p),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn repetitions<'a>(report: &'a CompareReport, equal: &str, feedback: &str) -> Vec<Repetitions<'a>> {
    let mut stores: Vec<Repetitions<'_>> = Vec::new();
    let runs = report.runs.iter();
    for run in runs.filter(|run| run.equal == equal && run.feedback == feedback) {
        let name = run.store();
        match stores.iter_mut().find(|store| store.name == name && store.fp_rate == run.fp_rate) {
            Some(store) => store.runs.push(run),
            None => stores.push(Repetitions { name, fp_rate: run.fp_rate, runs: vec![run] }),
        }
    }
    stores
}

/// Whether the stores have the wrong size for the traffic, which changes all errors.
fn wrong_size(report: &CompareReport) -> Option<String> {
    let (peak, flows) = (report.load.flows_peak, report.parameters.flows);
    let sized = format!("The stores were sized for {} flows", grouped(flows));
    let had = format!("{} were alive at once", grouped(peak));
    match () {
        () if peak > flows => Some(format!("{sized}, but {had}: they are overfull.")),
        () if peak.saturating_mul(2) < flows => {
            Some(format!("{sized}, but only {had}: at their right size they would err more."))
        }
        () => None,
    }
}

/// The number of wrong flows of each store at one p, the smallest first.
fn fewest_errors(report: &CompareReport, at_p: &[&Repetitions<'_>], equal: &str) -> Option<String> {
    let mut order = at_p.to_vec();
    order.sort_by(|a, b| a.wrong().total_cmp(&b.wrong()));
    let (best, others) = order.split_first()?;
    let mut parts = vec![format!("{} was ever wrong about {}", best.name, best.wrong_text())];
    parts.extend(others.iter().map(|store| {
        let times = match best.wrong() {
            least if least > 0.0 => format!(", {:.1} times as many", store.wrong() / least),
            _ => String::new(),
        };
        format!("{} about {}{times}", store.name, store.wrong_text())
    }));
    let (p, bits) = (best.fp_rate, best.mean(|run| run.bits_per_flow));
    let (all, parts) = (grouped(report.load.flows_total), parts.join("; "));
    Some(format!("At equal {equal}, p = {p} ({bits:.0} bits per flow), of {all} flows {parts}."))
}

/// How the wrong flows of each store fall from the largest p to the smallest with errors.
fn decrease_with_p(stores: &[Repetitions<'_>]) -> Option<String> {
    let names = distinct(stores.iter().map(|store| store.name.clone()));
    let parts: Vec<String> = names.iter().filter_map(|name| decrease_of(stores, name)).collect();
    let is_shown = |name: &str| parts.iter().any(|part| part.starts_with(name));
    let papers = match PAPER_STORES.iter().all(|store| is_shown(store.name())) {
        true => " The kBF papers report that kBF's fall steeply and sBF's hardly move.",
        false => "",
    };
    (!parts.is_empty()).then(|| format!("As p falls, {}.{papers}", parts.join("; ")))
}

fn decrease_of(stores: &[Repetitions<'_>], name: &str) -> Option<String> {
    let mut of_store: Vec<&Repetitions<'_>> =
        stores.iter().filter(|store| store.name == name).collect();
    of_store.sort_by(|a, b| b.fp_rate.total_cmp(&a.fp_rate));
    let with_errors = || of_store.iter().filter(|store| store.wrong() > 0.0);
    let (large, small) = (with_errors().next()?, with_errors().next_back()?);
    let smaller = large.fp_rate / small.fp_rate;
    if smaller <= 1.0 {
        return None;
    }
    let fewer = large.wrong() / small.wrong();
    let word = match fewer.ln() / smaller.ln() {
        steep if steep >= STEEP => "fall steeply",
        flat if flat < FLAT => "hardly move",
        _ => "fall slowly",
    };
    let ends = [large, small].map(|store| (count(store.wrong()), store.fp_rate));
    let [(many, first), (few, last)] = ends;
    let then = match of_store.last() {
        Some(least) if least.fp_rate < last => ", then none",
        _ => "",
    };
    let fall = format!("from {many} wrong flows at {first} to {few} at {last}{then}");
    Some(format!("{name}'s errors {word} ({fall})"))
}

fn effect_on_alerts(report: &CompareReport, at_p: &[&Repetitions<'_>]) -> Option<String> {
    let alerts = grouped(report.load.alerts);
    let p = at_p.first()?.fp_rate;
    let missed = |store: &Repetitions<'_>| store.mean(|run| run.errors.alerts_missed as f64);
    let spurious = |store: &Repetitions<'_>| store.mean(|run| run.errors.alerts_spurious as f64);
    if at_p.iter().all(|store| missed(store) + spurious(store) == 0.0) {
        return Some(format!("At p = {p} none of {alerts} alerts is missed, and none made up."));
    }
    let each = |store: &&Repetitions<'_>| {
        let (missed, spurious) = (count(missed(store)), count(spurious(store)));
        format!("{} misses {missed} and makes up {spurious}", store.name)
    };
    let each: Vec<String> = at_p.iter().map(each).collect();
    Some(format!("Of the {alerts} alerts of an exact table, at p = {p}, {}.", each.join("; ")))
}

/// A mean of counts: with one decimal only if it is small and not whole.
fn count(mean: f64) -> String {
    match mean {
        0.0 => "none".to_owned(),
        few if few < 10.0 && few.fract() != 0.0 => format!("{few:.1}"),
        many => grouped(many.round() as u64),
    }
}

/// Each value once, in order of appearance.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::FrameCounts;
    use crate::engine::{AlertDifference, Errors};
    use crate::report::compare::{Intervals, Load, Parameters};
    use crate::report::replay::ErrorReport;
    use crate::report::trace::TraceReport;
    use crate::seed::Seed;

    fn run(backend: &str, fp_rate: f64, seed: u64, flows_wrong: u64) -> Run {
        let errors = Errors { flows_wrong, flows_total: 10_000, ..Errors::default() };
        let none = [0.0, 0.0];
        Run {
            backend: backend.to_owned(),
            variant: None,
            fp_rate,
            equal: "cells".to_owned(),
            feedback: "closed".to_owned(),
            seed: Seed::Number(seed),
            layout: String::new(),
            expire: String::new(),
            cells: 1,
            hashes: 1,
            cell_bits: 8,
            bits: 8,
            bits_per_flow: 80.0,
            bound_bits_per_flow: None,
            errors: ErrorReport::new(&errors, AlertDifference { missed: seed, spurious: 0 }),
            interval: Intervals {
                false_positive_rate: none,
                dont_know_absent_rate: none,
                false_negative_rate: none,
                dont_know_rate: none,
                false_return_rate: none,
                total_rate: none,
                flows_wrong_rate: none,
            },
            spurious_alerts_per_hour: 0.0,
            missed_alerts_per_hour: 0.0,
            timeline: Vec::new(),
            seconds: 0.0,
        }
    }

    fn report(flows: u64, runs: Vec<Run>) -> CompareReport {
        CompareReport {
            trace: TraceReport::new(&FrameCounts::default(), &[], &[]),
            parameters: Parameters {
                version: String::new(),
                command: String::new(),
                preset: String::new(),
                rules: String::new(),
                flow_key: String::new(),
                states: Vec::new(),
                flows,
                expire: String::new(),
                idle_timeout_seconds: None,
                layout: String::new(),
                seeds: vec![Seed::Number(0)],
            },
            load: Load {
                flows_total: 10_000,
                flows_peak: 1_000,
                seconds: 1.0,
                state_shares: Vec::new(),
                state_entropy_bits: 0.0,
                alerts: 50,
            },
            answer: Vec::new(),
            runs,
        }
    }

    #[test]
    fn results_of_the_papers_are_recognised() {
        let runs = vec![
            run("kbf", 0.1, 0, 1000),
            run("sbf", 0.1, 0, 1000),
            run("kbf", 0.001, 0, 10),
            run("sbf", 0.001, 0, 900),
            run("kbf", 0.0001, 0, 0),
            run("sbf", 0.0001, 0, 800),
        ];
        assert_eq!(
            conclusions(&report(1_000, runs)),
            [
                "At equal cells, p = 0.001 (80 bits per flow), of 10,000 flows kbf was ever wrong \
                 about 10; sbf about 900, 90.0 times as many.",
                "As p falls, kbf's errors fall steeply (from 1,000 wrong flows at 0.1 to 10 at \
                 0.001, then none); sbf's errors hardly move (from 1,000 wrong flows at 0.1 to \
                 800 at 0.0001). The kBF papers report that kBF's fall steeply and sBF's hardly \
                 move.",
                "At p = 0.001 none of 50 alerts is missed, and none made up.",
            ]
        );
    }

    #[test]
    fn seeds_are_averaged_and_a_wrong_size_comes_first() {
        let runs = vec![run("dbf", 0.01, 1, 4), run("dbf", 0.01, 2, 7)];
        let sentences = conclusions(&report(500, runs.clone()));
        assert_eq!(
            sentences,
            [
                "The stores were sized for 500 flows, but 1,000 were alive at once: they are \
                 overfull.",
                "At equal cells, p = 0.01 (80 bits per flow), of 10,000 flows dbf was ever wrong \
                 about 5.5 (4 to 7 over seeds).",
                "Of the 50 alerts of an exact table, at p = 0.01, dbf misses 1.5 and makes up none.",
            ]
        );
        let oversized = conclusions(&report(100_000, runs));
        assert!(oversized[0].contains("would err more"), "{}", oversized[0]);
        assert!(conclusions(&report(1, Vec::new())).is_empty());
    }
}
