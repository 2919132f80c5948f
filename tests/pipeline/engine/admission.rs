//! Admission: a flow is pending until both of its ends have spoken. Alerts stay the same, and what a
//! flood of forged packets brings does not reach the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use acsm::capture::parse::Parser;
use acsm::capture::{FileSource, TimeWindow};
use acsm::engine::{ActiveRules, Phase, RunPlan, RunResult, run};
use acsm::flow::FlowKeyKind;
use acsm::generate::{AttackKind, AttackSpec, Profile, TraceSpec};
use acsm::machine::{Preset, Rules};
use acsm::time::NANOS_PER_SEC;
use acsm_filters::{Backend, Budget, StoreSpec};
use acsm_test_support::corpus::Corpus;
use acsm_test_support::plans::replay_plan;
use acsm_test_support::repository;

use crate::engine::generated::generated;
use crate::engine::workers::Kept;

/// What an operator runs, with an idle timeout as long as an epoch of the pending table.
pub fn plan(backend: Backend, flows: u64, pending: Option<u64>) -> RunPlan {
    let mut plan = replay_plan(backend, 2);
    let rules = Rules::load("tcp-connection").unwrap();
    let states = rules.machine.states().len();
    plan.store = StoreSpec { flows, states, pending, ..plan.store };
    plan.active = Arc::new(ActiveRules::new(rules, Preset::Operator));
    plan.keyer.kind = FlowKeyKind::Connection;
    plan.phase = Phase::Nanos(30 * NANOS_PER_SEC);
    plan.startup_nanos = 30 * NANOS_PER_SEC;
    plan
}

pub fn replay(plan: &RunPlan, capture: &Path) -> Option<(Kept, RunResult)> {
    let mut source = FileSource::open(&[capture.to_owned()], TimeWindow::default()).ok()?;
    let (mut kept, stop) = (Kept::default(), AtomicBool::new(false));
    let result = run(plan, &mut source, &Parser::default(), &mut kept, &stop, &mut |_| {}).unwrap();
    Some((kept, result))
}

/// How the lines of a rule's alerts begin.
pub fn alert_of(rule: &str) -> String {
    let rules = Rules::load("tcp-connection").unwrap();
    format!("Alert {{ rule: {:?},", rules.list.find(rule).unwrap().id)
}

/// The captures that come with the repository, and the corpus if it is there.
pub fn captures() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(repository::root().join("traces")).unwrap();
    let mut captures: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    captures.retain(|path| path.to_string_lossy().contains(".pcap"));
    assert!(captures.len() > 5);
    if let Some(corpus) = Corpus::find() {
        captures.extend(corpus.manifest().iter().map(|row| corpus.capture(&row["file"])));
    }
    captures
}

#[test]
fn exact_with_a_pending_table_raises_the_alerts_of_exact() {
    let (mut alerts, mut admitted) = (0, 0);
    for capture in captures() {
        let outcome = |pending| replay(&plan(Backend::Exact, 100_000, pending), &capture);
        let (Some((without, _)), Some((with, result))) = (outcome(None), outcome(Some(64 << 10)))
        else {
            continue; // damaged captures are in the corpus too
        };
        let mut lines = with.lines.clone();
        lines.retain(|line| !line.contains(&alert_of("blind_reset")));
        assert!(lines == without.lines, "{}", capture.display());
        alerts += with.alerts;
        admitted += result.pending.unwrap().admitted;
    }
    // Those of the captures that come with the repository alone are 223 and 786.
    assert!(alerts > 200 && admitted > 300, "{alerts} alerts, {admitted} admitted");
}

pub const LONG_LIVED: u64 = 150;
const CONVERSATIONS: u64 = 400;
pub const PROBES: u64 = 20_000;

/// Ordinary connections, some of them long-lived, and one flood.
pub fn flood(kind: AttackKind) -> tempfile::NamedTempFile {
    let attack = AttackSpec { probes: Some(PROBES), per_second: Some(10_000), ..kind.into() };
    let spec = TraceSpec {
        packets: 160_000,
        flows: 2 * CONVERSATIONS,
        duration_nanos: 120 * NANOS_PER_SEC,
        long_lived: LONG_LIVED,
        attacks: vec![attack],
        ..TraceSpec::new(Profile::Realistic)
    };
    generated(spec)
}

/// How many flows entered a store behind a pending table.
fn inserted(kind: AttackKind, backend: Backend) -> u64 {
    let file = flood(kind);
    let (_, result) = replay(&plan(backend, 40_000, Some(64 << 10)), file.path()).unwrap();
    let pending = result.pending.unwrap();
    let accounted = pending.used + pending.admitted + pending.retired + pending.lost;
    assert_eq!(pending.inserted, accounted, "every flow is somewhere");
    result.store.inserted
}

/// The connections between two hosts are several one after the other, so `CONVERSATIONS` is no
/// bound of its own: what a trace with a flood that sends nothing but RSTs, which nobody admits,
/// brings into the store is. A guess of the sum succeeds 5 times in 4096; four guesses per probe.
#[test]
fn floods_of_forged_packets_do_not_reach_the_store() {
    for backend in [Backend::Fcf, Backend::Kbf] {
        let ordinary = inserted(AttackKind::RstFlood, backend);
        assert!(ordinary >= LONG_LIVED, "{ordinary}");
        assert!(ordinary < PROBES / 4, "{ordinary}");
        for kind in AttackKind::FLOODS {
            let inserted = inserted(kind, backend);
            match kind {
                // Complete handshakes of real hosts.
                AttackKind::BotnetFlood => assert!(inserted > PROBES / 2, "{inserted}"),
                _ => {
                    let guessed = 4 * PROBES * 5 / 4096;
                    assert!(inserted < 2 * ordinary + guessed, "{kind:?}: {inserted}, {ordinary}");
                }
            }
        }
    }
}

/// Complete handshakes, ten times as many as the store was made for.
#[test]
fn a_store_behind_a_pending_table_never_takes_more_than_its_plan() {
    const FLOWS: u64 = 2_000;
    let file = flood(AttackKind::BotnetFlood);
    let budgets = [
        (Backend::Fcf, Budget::FpRate(0.001)),
        (Backend::Kbf, Budget::FpRate(0.001)),
        (Backend::Sbf, Budget::FpRate(0.001)),
        (Backend::Dbf, Budget::FpRate(0.001)),
        (Backend::Exact, Budget::MemoryBytes(72 * FLOWS)),
    ];
    for (backend, budget) in budgets {
        let mut plan = plan(backend, FLOWS, Some(64 << 10));
        plan.store.budget = budget;
        plan.verify = true;
        let (_, result) = replay(&plan, file.path()).unwrap();
        let refused = result.shards.refused;
        assert!(refused > PROBES / 4, "{backend:?}: {refused} refused");
        assert_eq!((result.store.full, result.store.evicted), (0, 0), "{backend:?}");
        // They are right in the pending table, which is large enough.
        let errors = result.errors.unwrap();
        let wrong = errors.total() as f64 / errors.lookups() as f64;
        assert!(wrong < 0.02, "{backend:?}: {wrong} wrong");

        plan.store.budget = Budget::FpRate(0.001);
        plan.store.flows = 60_000;
        let (_, result) = replay(&plan, file.path()).unwrap();
        assert_eq!(result.shards.refused, 0, "{backend:?}");
    }
}
