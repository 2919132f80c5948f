//! Overload: announced when new flows are too many for the pending table, once, and over in time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use acsm::capture::parse::Parser;
use acsm::capture::{FileSource, TimeWindow};
use acsm::engine::{
    ActiveRules, Observer, OverloadEvent, OverloadStatus, OverloadTotals, Phase, Request, RunPlan,
    RunResult, Snapshot, run,
};
use acsm::flow::FlowKeyKind;
use acsm::generate::{AttackKind, AttackSpec, Profile, TraceSpec};
use acsm::machine::{Preset, Rules};
use acsm::time::NANOS_PER_SEC;
use acsm_filters::{Backend, StoreSpec};
use acsm_test_support::plans::{NullSink, replay_plan, undecided_connection_rules};

use crate::engine::generated::generated;

/// The beginnings and ends of overloads in a run.
#[derive(Debug, Default)]
struct Overloads(Vec<OverloadEvent>);

impl Observer for Overloads {
    fn batch(&mut self, _frames: u64) -> Request {
        Request::Continue
    }

    fn overload(&mut self, event: &OverloadEvent) {
        self.0.push(*event);
    }
}

/// Whether rules about packets without a session were said to be muted, batch by batch.
#[derive(Debug, Default)]
struct MutedStatus(Vec<bool>);

impl Observer for MutedStatus {
    fn batch(&mut self, _frames: u64) -> Request {
        Request::Snapshot
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        self.0.push(snapshot.no_session_muted);
    }
}

/// Five minutes of ordinary connections, and a flood of four seconds.
fn trace(kind: AttackKind) -> tempfile::NamedTempFile {
    let flood = AttackSpec { probes: Some(20_000), per_second: Some(5_000), ..kind.into() };
    let spec = TraceSpec {
        packets: 60_000,
        flows: 1_000,
        duration_nanos: 300 * NANOS_PER_SEC,
        attacks: vec![flood],
        ..TraceSpec::new(Profile::Realistic)
    };
    generated(spec)
}

fn plan(slots: u64, workers: usize) -> RunPlan {
    let mut plan = replay_plan(Backend::Fcf, workers);
    let rules = Rules::load("tcp-connection").unwrap();
    let states = rules.machine.states().len();
    plan.store = StoreSpec { flows: 40_000, states, pending: Some(slots), ..plan.store };
    plan.active = Arc::new(ActiveRules::new(rules, Preset::Operator));
    plan.keyer.kind = FlowKeyKind::Connection;
    plan.phase = Phase::Nanos(20 * NANOS_PER_SEC);
    plan
}

fn observe(
    file: &tempfile::NamedTempFile,
    plan: &RunPlan,
    observer: &mut impl Observer,
) -> RunResult {
    let mut source = FileSource::open(&[file.path().to_owned()], TimeWindow::default()).unwrap();
    let (parser, stop) = (Parser::default(), AtomicBool::new(false));
    run(plan, &mut source, &parser, &mut NullSink, &stop, observer).unwrap()
}

fn replay(
    file: &tempfile::NamedTempFile,
    slots: u64,
    workers: usize,
) -> (Vec<OverloadEvent>, RunResult) {
    let mut events = Overloads::default();
    let result = observe(file, &plan(slots, workers), &mut events);
    (events.0, result)
}

fn overloads(
    file: &tempfile::NamedTempFile,
    slots: u64,
    workers: usize,
) -> (Vec<OverloadEvent>, OverloadTotals) {
    let (events, result) = replay(file, slots, workers);
    (events, result.overloads)
}

#[test]
fn a_flood_is_an_overload_of_a_small_pending_table_only() {
    let file = trace(AttackKind::SynFlood);
    let (events, totals) = overloads(&file, 6_000, 1);
    let [start, end] = events[..] else { panic!("{events:?}") };
    assert_eq!((start.status, end.status), (OverloadStatus::Start, OverloadStatus::End));
    assert_eq!(end.since, start.time);
    assert!(start.pending_lifetime_seconds.is_some_and(|seconds| seconds < 3.0), "{start:?}");
    assert!(end.lost > 1_000, "{end:?}");
    let lasted = end.time.since(start.time) / NANOS_PER_SEC;
    assert!((20..30).contains(&lasted), "the flood and an idle timeout: {lasted} s");
    assert_eq!((totals.entered, totals.over, totals.since), (1, 1, None));
    for workers in [2, 3, 16] {
        assert_eq!(overloads(&file, 6_000, workers), (events.clone(), totals), "{workers} workers");
    }
    let (none, totals) = overloads(&file, 64 << 10, 1);
    assert!(none.is_empty() && totals == OverloadTotals::default(), "{none:?}");
}

/// Each packet of an ACK flood fires a rule about packets of no flow. That says nothing while flows are
/// forgotten within a second.
#[test]
fn rules_about_packets_of_no_flow_are_muted_while_the_pending_table_forgets_at_once() {
    let file = trace(AttackKind::AckFlood);
    let active = Arc::new(ActiveRules::new(undecided_connection_rules(), Preset::Operator));
    let muted = |slots, workers| {
        let plan = RunPlan { active: active.clone(), ..plan(slots, workers) };
        observe(&file, &plan, &mut Overloads::default()).alerts.suppressed.muted
    };
    let (small, large) = (muted(1_000, 1), muted(64 << 10, 1));
    assert!(small > large + 10_000, "{small} muted with 1,000 slots, {large} with 65,536");
    for workers in [2, 3, 16] {
        assert_eq!(muted(1_000, workers), small, "{workers} workers");
    }
}

#[test]
fn the_status_says_that_rules_are_muted_in_a_flood() {
    let file = trace(AttackKind::AckFlood);
    let is_ever_muted = |slots| {
        let mut status = MutedStatus::default();
        observe(&file, &RunPlan { startup_nanos: 0, ..plan(slots, 1) }, &mut status);
        assert!(status.0.len() > 10 && status.0.contains(&false));
        status.0.contains(&true)
    };
    assert!(is_ever_muted(1_000) && !is_ever_muted(64 << 10));
}
