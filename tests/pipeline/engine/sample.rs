//! The sampled exact shadow: what it measures is what `--verify` counts, in every minute.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use acsm::capture::parse::Parser;
use acsm::capture::{FileSource, TimeWindow};
use acsm::engine::sample::DEFAULT_FLOWS;
use acsm::engine::{ActiveRules, MeasuredError, Observer, Phase, Request, RunPlan, RunResult, run};
use acsm::flow::FlowKeyKind;
use acsm::generate::{AttackKind, AttackSpec, Profile, TraceSpec};
use acsm::machine::{Preset, Rules};
use acsm::time::NANOS_PER_SEC;
use acsm_filters::{Backend, Budget, Expire, HashKey, KbfDecode, StoreSpec};
use acsm_test_support::plans::{NullSink, replay_plan};

use crate::engine::generated::generated;

/// Every flow of a trace is in a sample of this size.
const EVERY_FLOW: u64 = 1 << 24;

fn plan(backend: Backend, flows: u64, sample: Option<u64>) -> RunPlan {
    let mut plan = replay_plan(backend, 1);
    let rules = Rules::load("tcp-connection").unwrap();
    let states = rules.machine.states().len();
    let pending = Some(4 << 10);
    // Errors are wanted: those of the papers' decoding.
    let decode = Some(KbfDecode::ThreeWay);
    plan.store = StoreSpec { flows, states, pending, decode, ..plan.store };
    plan.active = Arc::new(ActiveRules::new(rules, Preset::Operator));
    plan.keyer.kind = FlowKeyKind::Connection;
    plan.phase = Phase::Nanos(60 * NANOS_PER_SEC);
    plan.sample = sample;
    plan
}

/// The same for flows that are the directions of connections, or of address pairs.
fn directed_plan(kind: FlowKeyKind, backend: Backend, flows: u64, sample: Option<u64>) -> RunPlan {
    let mut plan = plan(backend, flows, sample);
    let rules = Rules::load("tcp-flags").unwrap();
    plan.store.states = rules.machine.states().len();
    plan.active = Arc::new(ActiveRules::new(rules, Preset::Paper));
    plan.keyer.kind = kind;
    plan
}

/// The minutes of a run.
#[derive(Debug, Default)]
struct Minutes(Vec<(u64, MeasuredError)>);

impl Observer for Minutes {
    fn batch(&mut self, _frames: u64) -> Request {
        Request::Continue
    }

    fn minute(&mut self, minute: u64, error: &MeasuredError) {
        self.0.push((minute, *error));
    }
}

fn replay(plan: &RunPlan, capture: &Path) -> (Minutes, RunResult) {
    let mut source = FileSource::open(&[capture.to_owned()], TimeWindow::default()).unwrap();
    let (mut minutes, stop) = (Minutes::default(), AtomicBool::new(false));
    let parser = Parser::default();
    let result = run(plan, &mut source, &parser, &mut NullSink, &stop, &mut minutes).unwrap();
    (minutes, result)
}

/// Some minutes of ordinary connections, many of them long-lived, with a flood in between or none.
fn trace(flood: Option<AttackKind>) -> tempfile::NamedTempFile {
    let attack = |kind: AttackKind| AttackSpec {
        probes: Some(60_000),
        per_second: Some(5_000),
        ..kind.into()
    };
    let spec = TraceSpec {
        packets: 700_000,
        flows: 12_000,
        duration_nanos: 600 * NANOS_PER_SEC,
        long_lived: 1_500,
        attacks: flood.into_iter().map(attack).collect(),
        ..TraceSpec::new(Profile::Realistic)
    };
    generated(spec)
}

#[test]
fn a_sample_of_all_flows_counts_what_verify_counts() {
    let file = trace(Some(AttackKind::AckFlood));
    use FlowKeyKind::{Connection, FiveTuple, Pair};
    for (kind, backend, expire, pending) in [
        (Connection, Backend::Kbf, Expire::Timer, true),
        (Connection, Backend::Fcf, Expire::Timer, false),
        (Connection, Backend::Kbf, Expire::Stamps, true),
        (Connection, Backend::Sbf, Expire::Recycle, false),
        (Connection, Backend::Dbf, Expire::Recycle, true),
        (Connection, Backend::Kbf, Expire::TwoPhase, false),
        (Connection, Backend::Kbf, Expire::TwoPhase, true),
        (Connection, Backend::Exact, Expire::Timer, true),
        (FiveTuple, Backend::Kbf, Expire::Timer, true),
        (FiveTuple, Backend::Fcf, Expire::Timer, false),
        (FiveTuple, Backend::Sbf, Expire::Recycle, true),
        (FiveTuple, Backend::Kbf, Expire::TwoPhase, true),
        (FiveTuple, Backend::Exact, Expire::Timer, true),
        (Pair, Backend::Sbf, Expire::Stamps, true),
        (Pair, Backend::Kbf, Expire::None, true),
    ] {
        let mut plan = match kind {
            Connection => plan(backend, 3_000, Some(EVERY_FLOW)),
            _ => directed_plan(kind, backend, 3_000, Some(EVERY_FLOW)),
        };
        plan.store.expire = expire;
        plan.store.pending = plan.store.pending.filter(|_| pending);
        plan.phase = if expire.is_timed() { plan.phase } else { Phase::Never };
        plan.verify = true;
        let (minutes, result) = replay(&plan, file.path());
        let last = result.measured.unwrap().last;
        let sum = |of: fn(&MeasuredError) -> u64| {
            minutes.0.iter().map(|(_, error)| of(error)).sum::<u64>()
        };
        let errors = result.errors.unwrap();
        // The minute at the end of the trace is not over; the last minute before it may reach further back.
        let asked = errors.lookups() - sum(|error| error.asked);
        let wrong = errors.total() - sum(|error| error.wrong);
        let run = (kind, backend, expire);
        assert!(asked <= last.asked && wrong <= last.wrong, "{run:?}: {last:?} {errors:?}");
        assert!(asked > 0 && last.asked < errors.lookups() / 4);
        assert!(errors.total() > 0, "a full pending table errs too: {run:?}");
        assert!(minutes.0.iter().all(|(_, error)| error.flows_per_sampled == 1));
    }
}

#[test]
fn the_measured_error_is_that_of_verify() {
    let [mut minutes_wrong, mut near, mut minutes_few, mut held] = [0_u32; 4];
    let [mut wrong, mut wrong_of_all] = [0_u64; 2];
    for flood in [None, Some(AttackKind::AckFlood), Some(AttackKind::BotnetFlood)] {
        let file = trace(flood);
        for (seed, backend, flows) in [
            (1, Backend::Kbf, 1_500),
            (2, Backend::Kbf, 1_000),
            (3, Backend::Sbf, 4_000),
            (4, Backend::Fcf, 8_000),
        ] {
            let plan_of = |sample| {
                let mut plan = plan(backend, flows, Some(sample));
                plan.keyer.hash_key = HashKey::from_seed(seed);
                if backend == Backend::Fcf {
                    plan.store.budget = Budget::FpRate(0.05);
                }
                plan
            };
            let (truth, _) = replay(&plan_of(EVERY_FLOW), file.path());
            let (measured, _) = replay(&plan_of(DEFAULT_FLOWS / 4), file.path());
            assert_eq!(truth.0.len(), measured.0.len());
            for ((_, all), (_, error)) in truth.0.iter().zip(&measured.0) {
                let (true_rate, rate) = (all.rate(), error.rate());
                wrong += error.flows_wrong * error.flows_per_sampled;
                wrong_of_all += all.flows_wrong;
                if error.flows_wrong >= 10 {
                    minutes_wrong += 1;
                    near += u32::from(rate < 3.0 * true_rate && true_rate < 3.0 * rate);
                } else {
                    minutes_few += 1;
                    held += u32::from((error.low..=error.high).contains(&true_rate));
                }
            }
        }
    }
    assert!(minutes_wrong > 20 && minutes_few > 20, "{minutes_wrong} {minutes_few}");
    // Not always: the wrong flows may have unequal numbers of lookups.
    assert!(f64::from(near) >= 0.97 * f64::from(minutes_wrong), "{near} of {minutes_wrong}");
    assert!(f64::from(held) >= 0.95 * f64::from(minutes_few), "{held} of {minutes_few}");
    let bias = wrong as f64 / wrong_of_all as f64;
    assert!((0.7..1.4).contains(&bias), "{wrong} of {wrong_of_all} wrong flows by the sample");
}

#[test]
fn a_sample_is_the_same_with_any_number_of_workers() {
    let file = trace(Some(AttackKind::SynFlood));
    let outcome = |workers| {
        let mut plan = plan(Backend::Kbf, 1_500, Some(300));
        plan.workers = workers;
        let (minutes, result) = replay(&plan, file.path());
        (minutes.0, result.measured)
    };
    let alone = outcome(1);
    assert!(alone.1.is_some_and(|measured| measured.worst > 0.0));
    for workers in [2, 3, 16] {
        assert_eq!(outcome(workers), alone, "{workers} workers");
    }
}
