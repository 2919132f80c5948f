//! From the lists of options to the runs that they ask for.

use anyhow::{Context as _, bail};

use super::args::{CompareArgs, Equal};
use super::stores::StoreChoice;
use crate::cmd::spec_message::message;
use crate::engine::compare::StoreRun;
use crate::report::compare::RunLabel;
use acsm_filters::{Backend, Budget, Sizing, SpecError, StoreSpec};

/// What to run, and what it is called in the report. What comes to the same is run once.
#[derive(Debug, Default)]
pub struct Runs {
    /// The runs.
    pub plans: Vec<StoreRun>,
    /// The entries of the report.
    pub labels: Vec<RunLabel>,
}

/// Refuses lists that name a thing twice or leave nothing to compare.
pub fn check(args: &CompareArgs) -> anyhow::Result<()> {
    no_doubles("--backends", args.backends.iter().map(|store| store.name()))?;
    no_doubles("--fp-rates", args.fp_rates.iter().map(f64::to_string))?;
    no_doubles("--equal", args.equal.iter().map(|equal| equal.name()))?;
    no_doubles("--loop", args.feedback.iter().map(|name| format!("{name:?}").to_lowercase()))?;
    if args.backends.iter().all(|store| store.backend == Backend::Exact) {
        bail!("--backends exact: it is given the memory of another store, so name one");
    }
    if args.shape.spec(Backend::Kbf, 1).expire.recycles() {
        bail!(
            "--expire recycle and two-phase: each store forgets at its own time, and all are held \
             against one exact table; measure them one by one with replay --verify"
        );
    }
    if args.rules.min_severity < 4 {
        bail!("--min-severity chooses which alerts are shown, and compare shows none");
    }
    Ok(())
}

fn no_doubles(
    option: &str,
    values: impl Iterator<Item = impl PartialEq + std::fmt::Display>,
) -> anyhow::Result<()> {
    let mut seen = Vec::new();
    for value in values {
        if seen.contains(&value) {
            bail!("{option} has {value} twice");
        }
        seen.push(value);
    }
    Ok(())
}

/// All combinations of what `args` list, for stores of so many flows.
pub fn runs(args: &CompareArgs, states: usize, flows: u64) -> anyhow::Result<Runs> {
    let mut runs = Runs::default();
    for &equal in &args.equal {
        for &feedback in &args.feedback {
            for &fp_rate in &args.fp_rates {
                let sized = |store| sized(args, store, (states, flows), (equal, fp_rate));
                for store in &args.backends {
                    let name =
                        || format!("{} at p = {fp_rate}, equal {}", store.name(), equal.name());
                    let (spec, sizing) = sized(store)
                        .map_err(|error| anyhow::anyhow!(message(&error)))
                        .with_context(name)?;
                    for (place, seed) in args.seeds().into_iter().enumerate() {
                        let plan = StoreRun {
                            store: spec.clone(),
                            seed: place,
                            feedback: feedback.into(),
                        };
                        let run = runs.place_of(plan, &sizing);
                        runs.labels.push(RunLabel {
                            variant: store.variant(),
                            fp_rate,
                            equal: equal.name(),
                            feedback: feedback.into(),
                            seed,
                            spec: spec.clone(),
                            sizing,
                            run,
                        });
                    }
                }
            }
        }
    }
    Ok(runs)
}

impl Runs {
    /// Where a run stands, or one that cannot but give the same.
    fn place_of(&mut self, plan: StoreRun, sizing: &Sizing) -> usize {
        let same = |known: &StoreRun| {
            let budget = plan.store.budget;
            let alike =
                StoreRun { store: StoreSpec { budget, ..known.store.clone() }, ..known.clone() };
            alike == plan && known.store.sizing() == Ok(*sizing)
        };
        if let Some(place) = self.plans.iter().position(same) {
            return place;
        }
        self.plans.push(plan);
        self.plans.len() - 1
    }
}

/// A store as it is to be compared: by its rate, or with the memory of the first store that has
/// one.
fn sized(
    args: &CompareArgs,
    store: &StoreChoice,
    (states, flows): (usize, u64),
    (equal, fp_rate): (Equal, f64),
) -> Result<(StoreSpec, Sizing), SpecError> {
    let by_rate = |store: &StoreChoice| {
        let mut spec = args.shape.spec(store.backend, states);
        (spec.flows, spec.budget) = (flows, Budget::FpRate(fp_rate));
        store.apply(&mut spec);
        spec
    };
    let mut spec = by_rate(store);
    let yardstick = args.backends.iter().find(|store| store.backend != Backend::Exact);
    let is_yardstick = yardstick.is_some_and(|first| first.name() == store.name());
    let by_memory = equal == Equal::Memory || store.backend == Backend::Exact;
    if let Some(first) = yardstick.filter(|_| by_memory && !is_yardstick) {
        spec.budget = Budget::MemoryBytes(by_rate(first).sizing()?.bits / 8);
    }
    let sizing = spec.sizing()?;
    Ok((spec, sizing))
}
