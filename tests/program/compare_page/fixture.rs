//! Reports to draw: plausible numbers from simple formulas, and the edges of what can come.

use acsm::report::compare::{
    Capacity, CensusReport, CompareReport, EffectiveReport, Load, Moment, Pair, PairedDifference,
    Parameters, Ranges, Run, WorkingSet,
};
use acsm::report::replay::ErrorReport;
use acsm::report::trace::TraceReport;
use acsm::seed::Seed;
use acsm_filters::rng::Random;

/// What was compared.
pub struct Plan<'a> {
    pub stores: &'a [(&'a str, Option<&'a str>)],
    pub rates: &'a [f64],
    pub equal: &'a [&'a str],
    pub loops: &'a [&'a str],
    pub seeds: &'a [Seed],
}

pub const ALL_STORES: &[(&str, Option<&str>)] = &[
    ("kbf", None),
    ("sbf", None),
    ("bhbf", None),
    ("fcf", None),
    ("kbf", Some("literal")),
    ("sbf", Some("paper-kbf")),
    ("dbf", None),
    ("exact", None),
];
pub const RATES: &[f64] = &[0.1, 0.01, 0.001, 0.0001, 0.00001];

const FLOWS: u64 = 200_000;
const EXTANT: u64 = 2_140_377;
const ABSENT: u64 = 237_015;
const SHARES: [f64; 6] = [0.031, 0.012, 0.801, 0.117, 0.029, 0.01];

/// Two stores, the papers' rates, one loop: what `acsm compare FILE` gives.
pub fn default_report() -> CompareReport {
    let stores = &[("kbf", None), ("sbf", None)];
    let (equal, loops, seeds) = (&["cells"], &["closed"], &[Seed::default()]);
    report(&Plan { stores, rates: RATES, equal, loops, seeds })
}

/// All stores, in both loops.
pub fn large_report() -> CompareReport {
    let (equal, loops) = (&["cells"], &["closed", "open"]);
    report(&Plan { stores: ALL_STORES, rates: RATES, equal, loops, seeds: &[Seed::Number(1)] })
}

/// Three seeds, with equal cells and with equal memory.
pub fn repeated_report() -> CompareReport {
    let stores = &[("kbf", None), ("sbf", None), ("bhbf", None), ("fcf", None)];
    let (equal, loops, seeds) = (&["cells", "memory"], &["closed"], &[1, 2, 3].map(Seed::Number));
    report(&Plan { stores, rates: &RATES[..4], equal, loops, seeds })
}

/// One run.
pub fn single_report() -> CompareReport {
    let (equal, loops, seeds) = (&["memory"], &["open"], &[Seed::Number(7)]);
    report(&Plan { stores: &[("fcf", None)], rates: &[0.01], equal, loops, seeds })
}

/// A few runs, and not one error in them.
pub fn faultless_report() -> CompareReport {
    let mut report = default_report();
    for run in &mut report.runs {
        run.errors = errors([0; 5], run.errors.flows_total);
        run.interval = ranges(&run.errors);
        run.bound_bits_per_flow = None;
        run.capacity = Capacity { asked: 10_000, found: 0, false_positive_rate: 0.0 };
        run.census = census(0, 0);
        run.timeline.iter_mut().for_each(|moment| moment.errors = 0);
    }
    report
}

/// No lookups and no alerts.
pub fn empty_report() -> CompareReport {
    let mut report = default_report();
    for run in &mut report.runs {
        run.errors = ErrorReport { lookups_absent: 0, lookups_extant: 0, ..errors([0; 5], 0) };
        run.interval = ranges(&run.errors);
        run.bound_bits_per_flow = None;
        run.census = CensusReport { held: 0, held_right: 0, unseen: 0, ..census(0, 0) };
        run.timeline.clear();
    }
    report.other_sizes.clear();
    report.pairs.clear();
    report.load.working_set.clear();
    report.answer.clear();
    report
}

/// Text that looks like markup, wherever text can be.
pub fn hostile_report() -> CompareReport {
    let evil = "<script>alert('1')</script> & \"x\" ]]> \u{202e}\0\u{1b}[31m é漢";
    let mut report = single_report();
    report.answer = vec![evil.to_owned()];
    report.warnings = vec![evil.to_owned()];
    report.load.working_set[0].of = evil.to_owned();
    report.pairs = vec![pair(evil)];
    let parameters = &mut report.parameters;
    parameters.command =
        format!("acsm compare '{evil}' {}", String::from_utf8_lossy(b"\xff\xfe.pcap"));
    for field in [
        &mut parameters.version,
        &mut parameters.preset,
        &mut parameters.rules,
        &mut parameters.flow_key,
        &mut parameters.expire,
        &mut parameters.layout,
    ] {
        *field = evil.to_owned();
    }
    parameters.states[0] = evil.to_owned();
    report.trace.skipped.insert(evil.to_owned(), 3.into());
    report.trace.damaged = Some(evil.to_owned());
    report.trace.link_types = vec![evil.to_owned()];
    for run in report.runs.iter_mut().chain(&mut report.other_sizes) {
        run.variant = Some(evil.to_owned());
        run.equal = evil.to_owned();
        run.feedback = evil.to_owned();
        run.layout = evil.to_owned();
        run.expire = evil.to_owned();
    }
    report
}

pub fn report(plan: &Plan<'_>) -> CompareReport {
    let mut runs = vec![];
    for equal in plan.equal {
        for feedback in plan.loops {
            for rate in plan.rates {
                for store in plan.stores {
                    runs.extend(
                        plan.seeds.iter().map(|seed| run(*store, *rate, equal, feedback, *seed)),
                    );
                }
            }
        }
    }
    let entropy = SHARES.iter().map(|share| -share * share.log2()).sum();
    let other_sizes = plan.stores.iter().flat_map(|store| {
        [0.5, 2.0].map(|times| {
            let run = run(*store, plan.rates[0], plan.equal[0], plan.loops[0], plan.seeds[0]);
            Run { flows: (run.flows as f64 * times) as u64, ..run }
        })
    });
    CompareReport {
        warnings: vec!["the trace has too few flows for p = 0.00001".to_owned()],
        pairs: vec![pair("kbf")],
        other_sizes: other_sizes.collect(),
        trace: TraceReport {
            packets: 2_500_000,
            tcp_packets: EXTANT + ABSENT,
            skipped: [("udp".to_owned(), 120_000.into()), ("icmp".to_owned(), 2_608.into())].into_iter().collect(),
            link_types: vec!["ETHERNET".to_owned()],
            first_time: Some("2024-05-01T12:00:00.000000000Z".to_owned()),
            last_time: Some("2024-05-01T13:00:00.000000000Z".to_owned()),
            damaged: None,
        },
        parameters: parameters(plan),
        load: Load {
            flows_total: 237_015,
            flows_peak: 198_411,
            seconds: 3600.0,
            state_shares: SHARES.to_vec(),
            state_entropy_bits: entropy,
            commonest_state_error: 0.199,
            effective_lookups: EffectiveReport { extant: 5_520.4, absent: 237_015.0, all: 6_100.7 },
            working_set: ["lookups", "flows"]
                .map(|of| WorkingSet { of: of.to_owned(), error: 0.01, entries: 1_234, bits: 9_872 * 8 })
                .to_vec(),
            alerts: 2_558,
        },
        answer: vec![
            "At p = 0.01 the kbf is wrong in 1 of 98 lookups and takes 115.0 bits per flow; the fcf is wrong \
             in 1 of 910 and takes 19.1."
                .to_owned(),
            "For an error below one in a thousand the fcf needs the least memory here; an exact table of the \
             same memory forgets 31 % of the flows."
                .to_owned(),
        ],
        runs,
    }
}

fn parameters(plan: &Plan<'_>) -> Parameters {
    Parameters {
        version: "0.1.0".to_owned(),
        command: "acsm compare paper.pcap --backends kbf,sbf,bhbf,fcf --flows 200k --expire none --out report".to_owned(),
        preset: "paper".to_owned(),
        rules: "tcp-flags".to_owned(),
        flow_key: "pair".to_owned(),
        states: ["syn", "synack", "open", "fin", "rst", "finrst"].map(str::to_owned).to_vec(),
        flows: FLOWS,
        expire: "none".to_owned(),
        idle_timeout_seconds: Some(60.0),
        layout: "spread".to_owned(),
        warm_up: false,
        seeds: plan.seeds.to_vec(),
    }
}

/// Odds of false positive, don't know of an absent flow, false negative, don't know, false return.
fn odds(backend: &str, variant: Option<&str>, p: f64) -> [f64; 5] {
    match (backend, variant) {
        ("kbf", None) => [0.9 * p, 0.08 * p, 0.004 * p, 0.85 * p, 0.02 * p],
        ("kbf", _) => [0.9 * p, 0.2 * p, 0.004 * p, 3.1 * p.powf(0.95), 0.02 * p],
        ("sbf", None) => [0.5 * p, 0.4 * p, 0.3 * p, 0.1 * p, 0.11 * p],
        ("sbf", _) => [0.1 * p, 0.9 * p, 0.02 * p, 0.45 * p.powf(0.12), 0.004 * p],
        ("bhbf", _) => [7e-3 * p, 1e-4 * p, 0.0, 6e-3 * p, 1e-5 * p],
        ("fcf", _) => [0.8 * p, 0.02 * p, 0.0, 0.004 * p, 0.05 * p],
        ("dbf", _) => [3.1 * p, 0.3 * p, 0.0, 2.6 * p, 0.0],
        _ => [0.0; 5],
    }
}

/// Cells, hashes, bits per cell.
fn size(backend: &str, p: f64, equal: &str) -> (u64, usize, u32) {
    let cells = FLOWS as f64 * -p.ln() / std::f64::consts::LN_2.powi(2);
    let hashes = (-p.log2()).round().max(1.0) as usize;
    let bits = match backend {
        "kbf" => 10,
        "sbf" => 8,
        "bhbf" => 18,
        "dbf" => 4,
        "fcf" => 6 + (8.0 * 0.95 / p).log2().ceil() as u32,
        _ => 152,
    };
    let cells = match (backend, equal) {
        ("fcf" | "exact", "cells") => FLOWS as f64 / 0.95,
        (_, "memory") => cells * 10.0 / f64::from(bits),
        _ => cells,
    };
    (cells.round() as u64, hashes, bits)
}

fn run(
    (backend, variant): (&str, Option<&str>),
    p: f64,
    equal: &str,
    feedback: &str,
    seed: Seed,
) -> Run {
    let name = format!("{backend}{variant:?}{p}{equal}{feedback}");
    let number = match seed {
        Seed::Number(number) => number,
        Seed::Bits(bits) => bits as u64,
    };
    let mut random = Random::for_purpose(
        number,
        name.bytes().fold(7_u64, |h, b| h.wrapping_mul(31) + u64::from(b)),
    );
    let feeds_on = if feedback == "closed" { 1.25 } else { 1.0 };
    let asked = [ABSENT, ABSENT, EXTANT, EXTANT, EXTANT];
    let mut counts = [0; 5];
    for (count, (odds, asked)) in
        counts.iter_mut().zip(odds(backend, variant, p).into_iter().zip(asked))
    {
        *count = near((odds * feeds_on).min(0.9) * asked as f64, &mut random);
    }
    let (cells, hashes, cell_bits) = size(backend, p, equal);
    let bits = cells * u64::from(cell_bits);
    let errors = errors(counts, 237_015);
    let entropy: f64 = SHARES.iter().map(|share| -share * share.log2()).sum();
    let bound = -errors.false_positive_rate.log2() + std::f64::consts::LOG2_E + entropy;
    Run {
        backend: backend.to_owned(),
        variant: variant.map(str::to_owned),
        fp_rate: p,
        equal: equal.to_owned(),
        ranked: equal == "memory" || !["fcf", "exact"].contains(&backend),
        feedback: feedback.to_owned(),
        seed,
        flows: FLOWS,
        layout: "spread".to_owned(),
        expire: "none".to_owned(),
        cells,
        hashes,
        cell_bits,
        bits,
        table_bits: 1024,
        cache_bits: 57_344,
        bits_per_flow: bits as f64 / FLOWS as f64,
        capacity: Capacity {
            asked: 1_000_000,
            found: (p * 1e6) as u64,
            false_positive_rate: (p * 1e6).floor() / 1e6,
        },
        census: census((errors.flows_wrong / 2).min(FLOWS), (p * FLOWS as f64) as u64),
        bound_bits_per_flow: bound.is_finite().then_some(bound),
        interval: ranges(&errors),
        spurious_alerts_per_hour: errors.alerts_spurious as f64,
        missed_alerts_per_hour: errors.alerts_missed as f64,
        timeline: timeline(&errors, &mut random),
        errors,
        seconds: 1.7 + hashes as f64 / 10.0,
    }
}

/// A count with the spread of a Poisson variable.
fn near(mean: f64, random: &mut Random) -> u64 {
    let normal: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    (mean + normal * mean.sqrt()).round().max(0.0) as u64
}

fn errors(counts: [u64; 5], flows_total: u64) -> ErrorReport {
    let [false_positive, dont_know_absent, false_negative, dont_know, false_return] = counts;
    let total: u64 = counts.iter().sum();
    ErrorReport {
        lookups_extant: EXTANT,
        lookups_absent: ABSENT,
        false_positive,
        dont_know_absent,
        false_negative,
        dont_know,
        false_return,
        false_positive_rate: false_positive as f64 / ABSENT as f64,
        dont_know_absent_rate: dont_know_absent as f64 / ABSENT as f64,
        false_negative_rate: false_negative as f64 / EXTANT as f64,
        dont_know_rate: dont_know as f64 / EXTANT as f64,
        false_return_rate: false_return as f64 / EXTANT as f64,
        total_rate: total as f64 / (EXTANT + ABSENT) as f64,
        flows_wrong: (total / 3).min(flows_total),
        flows_total,
        alerts_missed: total / 900,
        alerts_spurious: total / 1100,
    }
}

/// As if other seeds had half and twice as many errors.
fn ranges(errors: &ErrorReport) -> Ranges {
    let around = |rate: f64, asked: u64| match rate {
        0.0 => [0.0, (3.0 / asked as f64).min(1.0)],
        _ => [rate / 2.0, (2.0 * rate).min(1.0)],
    };
    let (absent, extant) = (errors.lookups_absent, errors.lookups_extant);
    Ranges {
        false_positive_rate: around(errors.false_positive_rate, absent),
        dont_know_absent_rate: around(errors.dont_know_absent_rate, absent),
        false_negative_rate: around(errors.false_negative_rate, extant),
        dont_know_rate: around(errors.dont_know_rate, extant),
        false_return_rate: around(errors.false_return_rate, extant),
        total_rate: around(errors.total_rate, absent + extant),
        flows_wrong_rate: around(
            errors.flows_wrong as f64 / errors.flows_total.max(1) as f64,
            errors.flows_total,
        ),
        null_rate: around(errors.false_negative_rate + errors.dont_know_rate, extant),
    }
}

fn census(not_right: u64, found: u64) -> CensusReport {
    CensusReport {
        held: FLOWS,
        held_right: FLOWS - not_right,
        held_wrong: 0,
        held_undecided: not_right,
        held_absent: 0,
        gone: 37_015,
        gone_found: found / 6,
        unseen: FLOWS,
        unseen_found: found,
        never_inserted: not_right / 3,
        fin: 100_000,
        fin_right: 99_990,
        rst: 1_000,
        rst_right: 999,
    }
}

fn pair(store: &str) -> Pair {
    let difference =
        |median_ratio| PairedDifference { median_ratio, better: 2, worse: 1, seeds: 3 };
    Pair {
        equal: "cells".to_owned(),
        feedback: "closed".to_owned(),
        fp_rate: 0.1,
        store: store.to_owned(),
        against: "sbf".to_owned(),
        flows_wrong: difference(Some(0.52)),
        null_rate: difference(None),
        total_rate: difference(Some(0.0)),
        held_not_right: PairedDifference { better: 0, worse: 0, ..difference(Some(1.0)) },
    }
}

/// An hour in minutes, filling up.
fn timeline(errors: &ErrorReport, random: &mut Random) -> Vec<Moment> {
    const STEPS: u32 = 60;
    let spread = random.unit();
    let moment = |step: u32| {
        let filled = 1.0 - (-f64::from(step + 1) / 14.0).exp();
        let lookups = near((EXTANT + ABSENT) as f64 / f64::from(STEPS), random);
        let wrong = near(errors.total_rate * filled.powi(3) * lookups as f64, random);
        let fill_ratio = filled * (0.5 - (spread - 0.5) / 4.0);
        Moment { at_seconds: 60.0 * f64::from(step + 1), lookups, errors: wrong, fill_ratio }
    };
    (0..STEPS).map(moment).collect()
}
