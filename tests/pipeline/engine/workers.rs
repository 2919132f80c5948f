//! The number of threads changes nothing that a run finds: alerts, steps of a watched flow, counts,
//! errors.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use acsm::capture::parse::Parser;
use acsm::capture::{FileSource, TimeWindow};
use acsm::engine::{ActiveRules, Alert, Phase, RunPlan, Sink, Watch, WatchStep, run};
use acsm::flow::FlowKeyKind;
use acsm::machine::{Preset, Rules};
use acsm::time::NANOS_PER_SEC;
use acsm_filters::{Backend, Expire, StoreSpec};
use acsm_test_support::plans::replay_plan;
use acsm_test_support::repository;

/// Keeps alerts and steps as text, in the order in which they come.
#[derive(Default)]
pub struct Kept {
    pub alerts: usize,
    steps: usize,
    pub lines: Vec<String>,
}

impl Sink for Kept {
    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        self.alerts += 1;
        self.lines.push(format!("{alert:?}"));
        Ok(())
    }

    fn step(&mut self, step: &WatchStep) -> io::Result<()> {
        self.steps += 1;
        self.lines.push(format!("{step:?}"));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything that a run finds except times: alerts and steps, then counts.
pub fn outcome(plan: &RunPlan, capture: &Path) -> (Kept, String) {
    let mut source = FileSource::open(&[capture.to_owned()], TimeWindow::default()).unwrap();
    let (mut kept, stop) = (Kept::default(), AtomicBool::new(false));
    let result = run(plan, &mut source, &Parser::default(), &mut kept, &stop, &mut |_| {}).unwrap();
    assert!(result.failure.is_none());
    assert_eq!(result.errors.is_some(), plan.verify);
    let counts = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        result.frames,
        (result.shards.lookups, result.shards.entered, result.shards.only_counted),
        (result.shards.refused, result.shards.resets_ignored),
        result.shards.sweep_nanos.count(),
        result.errors,
        (result.store, result.pending),
        result.alerts,
        result.losses,
        result.one_way,
    );
    (kept, counts)
}

/// A store small enough to err and a timeout short enough for flows to age.
fn plan(store: StoreSpec, workers: usize) -> RunPlan {
    let mut plan = replay_plan(store.backend, workers);
    let rules = Rules::load("tcp-connection").unwrap();
    plan.store = StoreSpec { flows: 500, states: rules.machine.states().len(), ..store };
    plan.active = Arc::new(ActiveRules::new(rules, Preset::Operator));
    plan.keyer.kind = FlowKeyKind::Connection;
    plan.phase = Phase::Nanos(2 * NANOS_PER_SEC);
    plan.startup_nanos = NANOS_PER_SEC;
    plan
}

/// Pending tables, watched flows and `--touch all` among them: what replays of generated traces leave out.
fn cases() -> Vec<RunPlan> {
    let store = |backend, expire| StoreSpec { expire, ..StoreSpec::new(backend, 14) };
    let mut cases = vec![
        plan(store(Backend::Kbf, Expire::Stamps), 1),
        plan(store(Backend::Sbf, Expire::Recycle), 1),
        plan(store(Backend::Dbf, Expire::TwoPhase), 1),
        plan(store(Backend::Exact, Expire::Timer), 1),
        plan(StoreSpec { pending: Some(600), ..store(Backend::Kbf, Expire::Timer) }, 1),
        plan(StoreSpec { pending: Some(600), ..store(Backend::Fcf, Expire::Timer) }, 1),
        plan(store(Backend::Kbf, Expire::Timer), 1),
        plan(store(Backend::Bhbf, Expire::Timer), 1),
    ];
    for (n, plan) in cases.iter_mut().enumerate() {
        plan.verify = n % 3 != 2;
        plan.touch_absent = n % 2 == 1;
    }
    cases
}

#[test]
fn a_run_is_the_same_with_any_number_of_workers() {
    let capture = repository::trace("attacks.pcap.gz");
    let [mut erred, mut watched] = [false; 2];
    for (n, mut plan) in cases().into_iter().enumerate() {
        if n % 2 == 0 {
            // A SYN flood from one source, and its victim.
            plan.watch = Some(Watch([203, 0, 113, 11].into(), [192, 0, 2, 11].into()));
        }
        let (alone, counts) = outcome(&plan, &capture);
        assert!(alone.alerts > 20, "{:?}: {} alerts", plan.store, alone.alerts);
        watched |= alone.steps > 0;
        erred |= counts.contains("flows_wrong") && !counts.contains("flows_wrong: 0,");
        for workers in [2, 3, 16] {
            plan.workers = workers;
            let (divided, divided_counts) = outcome(&plan, &capture);
            assert_eq!(divided_counts, counts, "{workers} workers, {:?}", plan.store);
            assert!(divided.lines == alone.lines, "{workers} workers, {:?}", plan.store);
        }
    }
    assert!(erred && watched);
}
