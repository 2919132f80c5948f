//! The conclusions of a comparison as sentences: the winner first, then whether the kBF papers' claim holds
//! here, what a plain table needs, and the effect on alerts.
//!
//! Stores are ranked by flows ever wrong: a rate per lookup depends on the traffic, and one long flow can dominate
//! it. Two stores are compared seed by seed.

use super::json::PairedDifference;
use super::json::{CompareReport, Run, WorkingSet};
use super::summary::{Repetitions, repetitions};
use crate::report::format::{bytes, grouped, scientific};
use acsm_filters::Backend;

/// Errors that fall with at least this power of p "fall steeply".
const STEEP: f64 = 0.5;
/// Errors that fall with less than this power of p "hardly move".
const FLAT: f64 = 0.15;
/// With fewer expected events than this a rate is not measured.
const EVENTS_NEEDED: f64 = 10.0;

/// A few sentences about `report`.
pub(super) fn conclusions(report: &CompareReport) -> Vec<String> {
    let Some(first) = report.runs.first() else { return Vec::new() };
    // Equal memory and the closed loop are what matters in operation; else what there is.
    let pick = |of: fn(&Run) -> &str, wanted: &str, or: &str| {
        let there = report.runs.iter().any(|run| of(run) == wanted);
        if there { wanted.to_owned() } else { or.to_owned() }
    };
    let equal = pick(|run| &run.equal, "memory", &first.equal);
    let feedback = pick(|run| &run.feedback, "closed", &first.feedback);
    let stores = table(report, &equal, &feedback);
    let mut rates = distinct(stores.iter().filter_map(|store| Some(store.runs.first()?.fp_rate)));
    rates.sort_by(f64::total_cmp);
    // The middle one of the rates: neither too many errors nor none.
    let Some(&p) = rates.get(rates.len() / 2) else { return Vec::new() };
    let at_p: Vec<Repetitions<'_>> = stores.into_iter().filter(|store| rate(store) == p).collect();
    [
        winner(report, &at_p, p),
        outside(&at_p),
        at_the_end(&at_p),
        papers_claim(report, &first.equal, &feedback),
        working_set(report),
        effect_on_alerts(report, &at_p, p),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What limits the conclusions.
pub(super) fn warnings(report: &CompareReport) -> Vec<String> {
    let few_flows = distinct(report.runs.iter().map(|run| run.fp_rate)).into_iter().filter(|p| {
        (report.load.flows_total as f64) * p < EVENTS_NEEDED && report.load.flows_total > 0
    });
    let few: Vec<String> = few_flows.map(|p| p.to_string()).collect();
    let one_seed = report.parameters.seeds.len() == 1;
    [
        wrong_size(report),
        (!few.is_empty()).then(|| {
            format!(
                "the trace has too few flows, {}, for p = {}: fewer than {EVENTS_NEEDED} false positives are \
                 expected, so that errors at this p are chance",
                grouped(report.load.flows_total),
                few.join(", ")
            )
        }),
        one_seed.then(|| "one seed is an anecdote: --repeat 5 shows the range".to_owned()),
        (report.parameters.warm_up && report.load.flows_total == 0)
            .then(|| "--warm-up leaves nothing: the trace ends before it is over".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The runs of a table, by store and rate.
fn table<'a>(report: &'a CompareReport, equal: &str, feedback: &str) -> Vec<Repetitions<'a>> {
    let is_in = |run: &&Run| run.equal == equal && run.feedback == feedback;
    repetitions(report.runs.iter().filter(is_in))
}

fn rate(store: &Repetitions<'_>) -> f64 {
    store.runs.first().map_or(0.0, |run| run.fp_rate)
}

fn is_ranked(store: &Repetitions<'_>) -> bool {
    store.runs.first().is_some_and(|run| run.ranked)
}

/// Mean number of flows with a wrong answer.
fn wrong(store: &Repetitions<'_>) -> f64 {
    store.mean(|run| run.errors.flows_wrong as f64)
}

/// The same as text, with its range over seeds.
fn wrong_text(store: &Repetitions<'_>) -> String {
    let mean = count(wrong(store));
    match store.range(|run| run.errors.flows_wrong as f64) {
        [low, high] if low < high => {
            format!("{mean} ({} to {} over seeds)", grouped(low as u64), grouped(high as u64))
        }
        _ => mean,
    }
}

/// Whether the stores have the wrong size for the traffic, which changes all errors.
fn wrong_size(report: &CompareReport) -> Option<String> {
    let (peak, flows) = (report.load.flows_peak, report.parameters.flows);
    let sized = format!("stores for {} flows, but", grouped(flows));
    let had = format!("{} alive at once", grouped(peak));
    match () {
        () if peak > flows => {
            Some(format!("{sized} {had}: they are overfull; --flows auto fits them"))
        }
        () if peak.saturating_mul(2) < flows => Some(format!(
            "{sized} only {had}: at their right size they would err more; --flows auto fits them"
        )),
        () => None,
    }
}

/// The store that is wrong about the fewest flows, and the others against it.
fn winner(report: &CompareReport, at_p: &[Repetitions<'_>], p: f64) -> Option<String> {
    let mut order: Vec<&Repetitions<'_>> = at_p.iter().filter(|store| is_ranked(store)).collect();
    order.sort_by(|a, b| wrong(a).total_cmp(&wrong(b)));
    let (best, others) = order.split_first()?;
    let level: Vec<&str> = others
        .iter()
        .filter(|other| wrong(other) == wrong(best))
        .map(|other| other.name.as_str())
        .collect();
    let leads = match (others.len(), level.len()) {
        (0, _) => format!("{} is alone", best.name),
        (_, 0) => format!("{} is wrong about the fewest flows", best.name),
        _ => format!("{}, {} are level", best.name, level.join(", ")),
    };
    let first = best.runs.first()?;
    let (all, bits) = (grouped(report.load.flows_total), first.bits_per_flow);
    let mut text = format!(
        "At equal {}, p = {p} ({bits:.0} bits per flow), {leads}: ever wrong about {} of {all}",
        first.equal,
        wrong_text(best)
    );
    for other in others.iter().filter(|other| wrong(other) > wrong(best)) {
        let PairedDifference { worse, seeds, median_ratio, .. } = paired(other, best);
        let ratio =
            median_ratio.map_or(String::new(), |ratio| format!(", median ratio {ratio:.2}"));
        let more = if seeds > 1 {
            format!(" (more in {worse} of {seeds} seeds{ratio})")
        } else {
            String::new()
        };
        text.push_str(&format!("; {} about {}{more}", other.name, wrong_text(other)));
    }
    Some(format!("{text}."))
}

fn paired(own: &Repetitions<'_>, other: &Repetitions<'_>) -> PairedDifference {
    let pairs = own.runs.iter().filter_map(|run| {
        let other = other.runs.iter().find(|other| other.seed == run.seed)?;
        Some((run.errors.flows_wrong as f64, other.errors.flows_wrong as f64))
    });
    PairedDifference::new(&pairs.collect::<Vec<_>>())
}

/// The stores that have no cells, at equal cells.
fn outside(at_p: &[Repetitions<'_>]) -> Option<String> {
    let part = |store: &Repetitions<'_>| {
        let bits = store.mean(|run| run.bits_per_flow);
        let size = match store.runs.first().map(|run| run.backend.as_str()) {
            Some("exact") => format!("in the memory of the first store, {bits:.0} bits per flow"),
            _ => format!("sized for the same p, {bits:.0} bits per flow"),
        };
        format!("{} ({size}) was ever wrong about {}", store.name, wrong_text(store))
    };
    let parts: Vec<String> = at_p.iter().filter(|store| !is_ranked(store)).map(part).collect();
    (!parts.is_empty()).then(|| format!("Without cells, so not ranked: {}.", parts.join("; ")))
}

/// The census: of the flows held, those that are not answered with their state.
fn at_the_end(at_p: &[Repetitions<'_>]) -> Option<String> {
    let held = at_p.first()?.runs.first()?.census.held;
    let part = |store: &Repetitions<'_>| {
        let not_right = store.mean(|run| (run.census.held - run.census.held_right) as f64);
        let found = store.mean(Run::unseen_found_rate);
        let found = if found > 0.0 { scientific(found) } else { "none".to_owned() };
        format!(
            "{} is not right about {}, and finds {found} of the flows that never came",
            store.name,
            count(not_right)
        )
    };
    let parts: Vec<String> = at_p.iter().map(part).collect();
    (held > 0).then(|| {
        format!(
            "Asked once at the end about each of the {} flows that are there: {}.",
            grouped(held),
            parts.join("; ")
        )
    })
}

/// How null answers go with p: what the kBF papers claim is about these.
fn papers_claim(report: &CompareReport, equal: &str, feedback: &str) -> Option<String> {
    let stores = table(report, equal, feedback);
    let names = distinct(stores.iter().map(|store| store.name.clone()));
    let is = |name: &str, backend: Backend| name.split(':').next() == Some(backend.name());
    let of = |backend: Backend| -> Vec<Fall> {
        let names = names.iter().filter(|name| is(name, backend));
        names.filter_map(|name| Fall::of(&stores, name)).collect()
    };
    let (kbf, sbf) = (of(Backend::Kbf), of(Backend::Sbf));
    if kbf.is_empty() || sbf.is_empty() {
        return None;
    }
    let holds = |kbf: &Fall, sbf: &Fall| kbf.slope >= STEEP && sbf.slope < FLAT;
    let falls: Vec<String> = kbf.iter().chain(&sbf).map(Fall::text).collect();
    let mut verdicts = Vec::new();
    if let Some(kbf) = kbf.first() {
        for sbf in &sbf {
            let verdict = if holds(kbf, sbf) { "holds" } else { "does not hold" };
            verdicts.push(format!("{verdict} of {} and {}", kbf.name, sbf.name));
        }
    }
    Some(format!(
        "The kBF papers claim that kBF's false negatives (null answers per lookup of a flow that is there) fall \
         steeply with p, and that sBF's hardly move. Here {}. So the claim {}.",
        falls.join("; "),
        verdicts.join(", ")
    ))
}

/// How the null answers of a store fall with p.
struct Fall {
    name: String,
    /// The mean rate at the largest p, and at the smallest p with any.
    ends: [(f64, f64); 2],
    /// Whether there are none at a smaller p.
    then_none: bool,
    /// The power of p; infinite if the errors end at once.
    slope: f64,
}

impl Fall {
    fn of(stores: &[Repetitions<'_>], name: &str) -> Option<Fall> {
        let mut rates: Vec<(f64, f64)> = stores
            .iter()
            .filter(|store| store.name == name)
            .map(|store| (rate(store), store.mean(Run::null_rate)))
            .collect();
        rates.sort_by(|a, b| b.0.total_cmp(&a.0));
        let with_errors = || rates.iter().filter(|(_, nulls)| *nulls > 0.0);
        let (&large, &small) = (with_errors().next()?, with_errors().next_back()?);
        let then_none = rates.last().is_some_and(|(p, _)| *p < small.0);
        if large.0 == small.0 && !then_none {
            return None;
        }
        let slope = match large.0 > small.0 {
            true => (large.1 / small.1).ln() / (large.0 / small.0).ln(),
            false => f64::INFINITY,
        };
        Some(Fall { name: name.to_owned(), ends: [large, small], then_none, slope })
    }

    fn text(&self) -> String {
        let word = match self.slope {
            steep if steep >= STEEP => "fall steeply",
            flat if flat < FLAT => "hardly move",
            _ => "fall slowly",
        };
        let [(first, many), (last, few)] = self.ends;
        let from = format!("{} at p = {first}", scientific(many));
        let to =
            if first > last { format!(" to {} at {last}", scientific(few)) } else { String::new() };
        let then = if self.then_none { ", then none" } else { "" };
        format!("{}'s {word} ({from}{to}{then})", self.name)
    }
}

/// What a table needs that gives up the flow idle longest, and the error of no store at all.
fn working_set(report: &CompareReport) -> Option<String> {
    let set = |of: &str| -> Option<String> {
        let sets = report.load.working_set.iter().filter(|set| set.of == of);
        let text = |set: &WorkingSet| {
            let memory = bytes(set.bits / 8);
            format!("{} entries ({memory}) for {}", grouped(set.entries), scientific(set.error))
        };
        let texts: Vec<String> = sets.map(text).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    };
    let (flows, lookups) = (set("flows")?, set("lookups")?);
    let commonest = scientific(report.load.commonest_state_error);
    (report.load.flows_total > 0).then(|| {
        format!(
            "A plain table that gives up the flow idle longest needs {flows} of the flows wrong, or {lookups} of the \
             lookups; to say always the commonest state is wrong in {commonest} of the lookups."
        )
    })
}

fn effect_on_alerts(report: &CompareReport, at_p: &[Repetitions<'_>], p: f64) -> Option<String> {
    let alerts = grouped(report.load.alerts);
    let missed = |store: &Repetitions<'_>| store.mean(|run| run.errors.alerts_missed as f64);
    let spurious = |store: &Repetitions<'_>| store.mean(|run| run.errors.alerts_spurious as f64);
    if at_p.iter().all(|store| missed(store) + spurious(store) == 0.0) {
        return Some(format!("At p = {p} none of {alerts} alerts is missed, and none made up."));
    }
    let each = |store: &Repetitions<'_>| {
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
    use crate::engine::compare::Census;
    use crate::engine::{AlertDifference, Errors};
    use crate::report::compare::{
        Capacity, CensusReport, EffectiveReport, Load, Parameters, Ranges,
    };
    use crate::report::replay::ErrorReport;
    use crate::report::trace::TraceReport;
    use crate::seed::Seed;

    fn run(store: &str, fp_rate: f64, seed: u64, flows_wrong: u64, nulls: u64) -> Run {
        let errors = Errors {
            flows_wrong,
            flows_total: 10_000,
            lookups_extant: 1_000_000,
            dont_know: nulls,
            ..Errors::default()
        };
        let census = Census {
            held: 1000,
            held_right: 1000 - nulls / 1000,
            unseen: 1000,
            ..Census::default()
        };
        let (backend, variant) = store.split_once(':').map_or((store, None), |(b, v)| (b, Some(v)));
        Run {
            backend: backend.to_owned(),
            variant: variant.map(str::to_owned),
            fp_rate,
            equal: "cells".to_owned(),
            ranked: backend != "exact",
            feedback: "closed".to_owned(),
            seed: Seed::Number(seed),
            flows: 1000,
            layout: String::new(),
            expire: String::new(),
            cells: 1,
            hashes: 1,
            cell_bits: 8,
            bits: 8,
            table_bits: 0,
            cache_bits: 0,
            bits_per_flow: 80.0,
            capacity: Capacity { asked: 1, found: 0, false_positive_rate: 0.0 },
            bound_bits_per_flow: None,
            errors: ErrorReport::new(&errors, AlertDifference { missed: seed, spurious: 0 }),
            interval: Ranges::default(),
            census: CensusReport::from(&census),
            spurious_alerts_per_hour: 0.0,
            missed_alerts_per_hour: 0.0,
            timeline: Vec::new(),
            seconds: 0.0,
        }
    }

    fn report(flows: u64, seeds: u64, runs: Vec<Run>) -> CompareReport {
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
                warm_up: false,
                seeds: (0..seeds).map(Seed::Number).collect(),
            },
            load: Load {
                flows_total: 10_000,
                flows_peak: 1_000,
                seconds: 1.0,
                state_shares: Vec::new(),
                state_entropy_bits: 0.0,
                commonest_state_error: 0.027,
                effective_lookups: EffectiveReport { extant: 1.0, absent: 1.0, all: 1.0 },
                working_set: ["flows", "lookups"]
                    .map(|of| WorkingSet {
                        of: of.to_owned(),
                        error: 0.01,
                        entries: 70,
                        bits: 8192,
                    })
                    .to_vec(),
                alerts: 50,
            },
            answer: Vec::new(),
            warnings: Vec::new(),
            runs,
            pairs: Vec::new(),
            other_sizes: Vec::new(),
        }
    }

    /// The claim is about null answers, whatever the number of flows ever wrong.
    #[test]
    fn the_papers_claim_is_tested_on_null_answers() {
        let mut runs = Vec::new();
        for (p, wrong, [kbf, sbf, bare]) in [
            (0.1, 1000, [50_000, 40_000, 145_600]),
            (0.01, 100, [500, 400, 144_600]),
            (0.001, 10, [0, 5, 144_600]),
        ] {
            runs.push(run("kbf", p, 0, wrong, kbf));
            runs.push(run("sbf", p, 0, 2 * wrong, sbf));
            runs.push(run("sbf:no-counters", p, 0, 3 * wrong, bare));
            runs.push(run("exact", p, 0, 7, 0));
        }
        assert_eq!(
            conclusions(&report(1_000, 1, runs)),
            [
                "At equal cells, p = 0.01 (80 bits per flow), kbf is wrong about the fewest flows: ever wrong \
                 about 100 of 10,000; sbf about 200; sbf:no-counters about 300.",
                "Without cells, so not ranked: exact (in the memory of the first store, 80 bits per flow) was \
                 ever wrong about 7.",
                "Asked once at the end about each of the 1,000 flows that are there: kbf is not right about \
                 none, and finds none of the flows that never came; sbf is not right about none, and finds \
                 none of the flows that never came; sbf:no-counters is not right about 144, and finds none of \
                 the flows that never came; exact is not right about none, and finds none of the flows that \
                 never came.",
                "The kBF papers claim that kBF's false negatives (null answers per lookup of a flow that is \
                 there) fall steeply with p, and that sBF's hardly move. Here kbf's fall steeply (5e-2 at p = \
                 0.1 to 5e-4 at 0.01, then none); sbf's fall steeply (4e-2 at p = 0.1 to 5e-6 at 0.001); \
                 sbf:no-counters's hardly move (1.46e-1 at p = 0.1 to 1.45e-1 at 0.001). So the claim does not \
                 hold of kbf and sbf, holds of kbf and sbf:no-counters.",
                "A plain table that gives up the flow idle longest needs 70 entries (1.0 KiB) for 1e-2 of the \
                 flows wrong, or 70 entries (1.0 KiB) for 1e-2 of the lookups; to say always the commonest \
                 state is wrong in 2.7e-2 of the lookups.",
                "At p = 0.01 none of 50 alerts is missed, and none made up.",
            ]
        );
    }

    #[test]
    fn the_winner_is_paired_by_seed_and_limits_are_said() {
        let of = |store: &str, seed, wrong| run(store, 0.01, seed, wrong, 0);
        let runs = vec![of("dbf", 1, 40), of("dbf", 2, 4), of("kbf", 1, 44), of("kbf", 2, 8)];
        let report = report(500, 2, runs);
        assert_eq!(
            conclusions(&report)[0],
            "At equal cells, p = 0.01 (80 bits per flow), dbf is wrong about the fewest flows: ever wrong about \
             22 (4 to 40 over seeds) of 10,000; kbf about 26 (8 to 44 over seeds) (more in 2 of 2 seeds, median \
             ratio 1.55)."
        );
        let limits = warnings(&report);
        assert_eq!(
            limits,
            [
                "stores for 500 flows, but 1,000 alive at once: they are overfull; --flows auto fits them"
            ]
        );
        let few = self::report(100_000, 1, vec![of("dbf", 1, 0), run("dbf", 1e-5, 1, 0, 0)]);
        let limits = warnings(&few);
        assert_eq!(limits.len(), 3, "{limits:?}");
        assert!(limits[0].contains("would err more"), "{limits:?}");
        assert!(limits[1].contains("too few flows, 10,000, for p = 0.00001"), "{limits:?}");
        assert!(limits[2].contains("one seed"), "{limits:?}");
        assert!(conclusions(&self::report(1, 1, Vec::new())).is_empty());
    }
}
