//! Stores over one pass of a generated trace, each held against the exact table.

use std::sync::Arc;

use acsm_filters::{Backend, Budget, Expire, SbfRules, StoreSpec};

use super::trace::{PaperTrace, keyer};
use crate::capture::parse::Parser;
use crate::engine::compare::{
    ComparePlan, Comparison, Feedback, Load, RunOutcome, StoreRun, compare,
};
use crate::engine::{ActiveRules, Phase};
use crate::machine::{Preset, Rules};
use crate::reproduce::{Context, Failure};

/// The states of the rules for directed pairs of addresses, `tcp-flags`.
const STATES: usize = 6;

/// What stores have in common.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The rules.
    pub rules: &'a str,
    /// How many seeds each store runs with.
    pub seeds: usize,
    /// The idle timeout in nanoseconds, if flows age.
    pub aging: Option<u64>,
}

/// A store for `flows` flows at the rate `p`, of which none ages.
pub fn never_aging(flows: u64, backend: Backend, sbf: SbfRules, p: f64) -> StoreSpec {
    StoreSpec {
        flows,
        budget: Budget::FpRate(p),
        expire: Expire::None,
        sbf,
        ..StoreSpec::new(backend, STATES)
    }
}

/// What came of each store, one entry per seed; errors propagate (a closed loop). Without stores, the load alone.
pub fn run_stores(
    context: &Context<'_>,
    trace: &PaperTrace,
    setting: Setting<'_>,
    stores: &[StoreSpec],
) -> Result<(Vec<Vec<RunOutcome>>, Load), Failure> {
    let Setting { rules, seeds, aging } = setting;
    let rules = Rules::load(rules).map_err(|error| Failure::Other(error.to_string()))?;
    let states = rules.machine.states().len();
    let of_seeds = |store: &StoreSpec| {
        let store = StoreSpec { states, ..store.clone() };
        (0..seeds).map(move |seed| StoreRun {
            store: store.clone(),
            seed,
            feedback: Feedback::Closed,
        })
    };
    let plan = ComparePlan {
        runs: stores.iter().flat_map(of_seeds).collect(),
        seeds: (0..seeds as u64).map(|n| context.seed.plus(n)).collect(),
        active: Arc::new(ActiveRules::new(rules, Preset::Paper)),
        keyer: keyer(context),
        phase: aging.map_or(Phase::Never, Phase::Nanos),
        timed: aging.is_some(),
        startup_nanos: 0,
        touch_absent: false,
        warm_up_epochs: 0,
        threads: 1,
        flows_expected: trace.flows as usize,
        stopwatch: context.stopwatch,
    };
    let mut source = trace.open()?;
    let Comparison { runs, load, .. } =
        compare(&plan, &mut source, &Parser::default(), context.stop, &mut |_| ())
            .map_err(|error| Failure::Other(error.to_string()))?;
    context.check()?;
    let mut runs = runs.into_iter();
    let outcomes = stores.iter().map(|_| runs.by_ref().take(seeds).collect()).collect();
    Ok((outcomes, load))
}
