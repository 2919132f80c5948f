//! A run as `acsm replay` sets it up by default, and a sink that takes everything and does nothing.

use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use acsm::engine::{Alert, Phase, RunPlan, Sink, WatchStep};
use acsm::flow::{FlowKeyKind, Keyer};
use acsm::machine::{Preset, Rules, Suppressions};
use acsm_filters::digest::HashKey;
use acsm_filters::{Backend, LayoutKind, StoreSpec};

const IDLE_TIMEOUT_NANOS: u64 = 60_000_000_000;

/// `acsm replay --backend … --workers …`, everything else by default.
pub fn replay_plan(backend: Backend, workers: usize) -> RunPlan {
    let rules = Rules::load("tcp-flags").expect("rules that come with acsm");
    RunPlan {
        store: StoreSpec {
            layout: LayoutKind::best_for(backend),
            ..StoreSpec::new(backend, rules.machine.states().len())
        },
        shown: rules.list.on_in(Preset::Paper),
        suppressions: Suppressions::default(),
        keyer: Keyer {
            kind: FlowKeyKind::Pair,
            vlan_in_key: false,
            hash_key: HashKey::from_seed(1),
        },
        phase: Phase::Nanos(IDLE_TIMEOUT_NANOS),
        startup_nanos: IDLE_TIMEOUT_NANOS,
        watch: None,
        seed: 1,
        touch_absent: false,
        workers,
        top_talkers: false,
        verify: false,
        stopwatch: nanos,
        rules,
    }
}

fn nanos() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Takes everything and does nothing.
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
