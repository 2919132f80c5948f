//! A comparison as `acsm compare` sets it up.

use acsm::engine::RunPlan;
use acsm::engine::compare::{ComparePlan, Feedback, StoreRun};
use acsm_filters::{Backend, Budget, Expire, LayoutKind, StoreSpec};

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
        timed: plan.store.expire == Expire::Timer,
        threads: plan.workers,
        flows_expected: 1 << 16,
        rules: plan.rules,
        shown: plan.shown,
        suppressions: plan.suppressions,
        keyer: plan.keyer,
        phase: plan.phase,
        startup_nanos: plan.startup_nanos,
        touch_absent: plan.touch_absent,
        stopwatch: plan.stopwatch,
    }
}
