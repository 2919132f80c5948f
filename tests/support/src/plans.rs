//! Runs as `acsm replay` and `acsm compare` set them up by default, and a sink that discards everything.

use std::fs;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use acsm::engine::compare::{ComparePlan, Feedback, StoreRun};
use acsm::engine::sample::DEFAULT_FLOWS;
use acsm::engine::{ActiveRules, Alert, Phase, RunPlan, Sink, WatchStep};
use acsm::flow::{FlowKeyKind, Keyer};
use acsm::machine::{Preset, Rules};
use acsm::seed::Seed;
use acsm_filters::digest::HashKey;
use acsm_filters::{Backend, Budget, LayoutKind, StoreSpec};

const IDLE_TIMEOUT_NANOS: u64 = 60_000_000_000;

/// The rules of connections, but with those about packets without a session raised at once, not decided by
/// what follows: so they can be muted.
pub fn undecided_connection_rules() -> Rules {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["connection", "flags"] {
        let shipped = match name {
            "connection" => crate::repository::read("rules/tcp-connection.toml"),
            _ => crate::repository::read("rules/suspicious-flags.toml"),
        };
        let (decided, kept): (Vec<&str>, Vec<&str>) =
            shipped.lines().partition(|line| line.starts_with("decided = "));
        assert!(!decided.is_empty(), "{name} has rules that are decided later");
        let kept = kept.join("\n").replace("\"suspicious-flags\"", "\"./flags.toml\"");
        fs::write(folder.path().join(format!("{name}.toml")), kept).expect("room for rules");
    }
    let path = folder.path().join("connection.toml");
    Rules::load(&path.to_string_lossy()).expect("rules that come with acsm")
}

/// `acsm replay --backend … --workers …`, everything else by default.
pub fn replay_plan(backend: Backend, workers: usize) -> RunPlan {
    let rules = Rules::load("tcp-flags").expect("rules that come with acsm");
    RunPlan {
        store: StoreSpec {
            layout: LayoutKind::best_for(backend),
            ..StoreSpec::new(backend, rules.machine.states().len())
        },
        active: Arc::new(ActiveRules::new(rules, Preset::Paper)),
        keyer: Keyer {
            kind: FlowKeyKind::Pair,
            vlan_in_key: false,
            hash_key: HashKey::from_seed(1),
            pairs_directions: false,
        },
        phase: Phase::Nanos(IDLE_TIMEOUT_NANOS),
        startup_nanos: IDLE_TIMEOUT_NANOS,
        watch: None,
        seed: Seed::Number(1),
        touch_absent: false,
        workers,
        top_talkers: false,
        verify: false,
        sample: Some(DEFAULT_FLOWS),
        stopwatch: nanos,
    }
}

/// `acsm compare --backends … --fp-rates …`, everything else as a replay has it.
pub fn compare_plan(plan: RunPlan, backends: &[Backend], fp_rates: &[f64]) -> ComparePlan {
    let run = |backend, p| StoreRun {
        store: StoreSpec {
            backend,
            budget: Budget::FpRate(p),
            layout: LayoutKind::Spread,
            ..plan.store.clone()
        },
        seed: 0,
        feedback: Feedback::Closed,
    };
    let of_store = |&backend| fp_rates.iter().map(move |&p| run(backend, p));
    ComparePlan {
        runs: backends.iter().flat_map(of_store).collect(),
        seeds: vec![plan.seed],
        timed: plan.store.expire.is_timed(),
        threads: plan.workers,
        flows_expected: 1 << 16,
        active: plan.active,
        keyer: plan.keyer,
        phase: plan.phase,
        startup_nanos: plan.startup_nanos,
        touch_absent: plan.touch_absent,
        warm_up_epochs: 0,
        stopwatch: plan.stopwatch,
    }
}

fn nanos() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Discards everything.
pub struct NullSink;

impl Sink for NullSink {
    fn alert(&mut self, _: &Alert) -> io::Result<()> {
        Ok(())
    }

    fn step(&mut self, _: &WatchStep) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
