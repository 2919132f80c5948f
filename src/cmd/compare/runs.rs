//! The runs that the options ask for, and the memory they need.

use std::fs;

use anyhow::{Context as _, bail};

use super::args::{CompareArgs, Equal, StoreChoice};
use crate::cmd::spec_message::message;
use crate::engine::compare::StoreRun;
use crate::flow::FlowKey;
use crate::report::compare::RunLabel;
use crate::report::format::bytes;
use crate::seed::Seed;
use acsm_filters::{Backend, Budget, GroundTruth, Sizing, SpecError, StoreSpec};

/// Memory per run for each flow with a wrong answer.
const WRONG_FLOW_BYTES: u64 = 64;
/// Buffers and alert limits of one run.
const RUN_BYTES: u64 = 1 << 20;

/// The runs of the engine and the entries of the report. Entries with the same result share a run.
#[derive(Debug, Default)]
pub struct Runs {
    /// The runs.
    pub plans: Vec<StoreRun>,
    /// The entries of the report.
    pub labels: Vec<RunLabel>,
}

/// Rejects lists with duplicates or with nothing to compare.
pub fn check(args: &CompareArgs) -> anyhow::Result<()> {
    no_duplicates("--backends", args.backends.iter().map(|store| store.name()))?;
    no_duplicates("--fp-rates", args.fp_rates.iter().map(f64::to_string))?;
    no_duplicates("--equal", args.equal.iter().map(|equal| equal.name()))?;
    no_duplicates("--loop", args.feedback.iter().map(|name| format!("{name:?}").to_lowercase()))?;
    if args.backends.iter().all(|store| store.backend == Backend::Exact) {
        bail!("--backends exact: it is given the memory of another store, so name one");
    }
    if args.any_store().expire.recycles() {
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

fn no_duplicates(
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

/// All combinations of the lists of `args` and of `seeds`, with stores for `flows` flows.
pub fn runs(args: &CompareArgs, seeds: &[Seed], states: usize, flows: u64) -> anyhow::Result<Runs> {
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
                    for (seed_index, &seed) in seeds.iter().enumerate() {
                        let plan = StoreRun {
                            store: spec.clone(),
                            seed: seed_index,
                            feedback: feedback.into(),
                        };
                        let run = runs.index_of(plan, &sizing);
                        runs.labels.push(RunLabel {
                            variant: store.variant,
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
    /// The index of this run, or of one with the same result.
    fn index_of(&mut self, plan: StoreRun, sizing: &Sizing) -> usize {
        let same = |known: &StoreRun| {
            let budget = plan.store.budget;
            let same_budget =
                StoreRun { store: StoreSpec { budget, ..known.store.clone() }, ..known.clone() };
            same_budget == plan && known.store.sizing() == Ok(*sizing)
        };
        if let Some(index) = self.plans.iter().position(same) {
            return index;
        }
        self.plans.push(plan);
        self.plans.len() - 1
    }
}

/// The specification and size of a store: by its rate, or with the memory of the reference, the first
/// store that is not exact.
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
    let reference = args.backends.iter().find(|store| store.backend != Backend::Exact);
    let is_reference = reference.is_some_and(|first| first.name() == store.name());
    let by_memory = equal == Equal::Memory || store.backend == Backend::Exact;
    if let Some(first) = reference.filter(|_| by_memory && !is_reference) {
        spec.budget = Budget::MemoryBytes(by_rate(first).sizing()?.bits / 8);
    }
    let sizing = spec.sizing()?;
    Ok((spec, sizing))
}

/// The memory that a comparison needs.
#[derive(Debug, Clone, Copy)]
pub struct MemoryNeed {
    /// All stores with their tables.
    pub stores_bytes: u64,
    /// The exact table and the records of flows with wrong answers: an estimate.
    pub truth_bytes: u64,
}

impl MemoryNeed {
    /// For `runs`, in a trace with about `flows_total` flows.
    pub fn new(runs: &Runs, flows_total: u64) -> MemoryNeed {
        let (mut stores_bytes, mut truth_bytes) =
            (0_u64, flows_total * GroundTruth::<FlowKey>::FLOW_BYTES);
        for (n, _) in runs.plans.iter().enumerate() {
            let Some(label) = runs.labels.iter().find(|label| label.run == n) else { continue };
            let store_bytes = (label.sizing.bits + label.sizing.table_bits) / 8;
            stores_bytes = stores_bytes.saturating_add(store_bytes);
            // A flow has about three lookups that can be wrong.
            let wrong = flows_total as f64 * (3.0 * label.fp_rate).min(1.0);
            truth_bytes += RUN_BYTES + wrong as u64 * WRONG_FLOW_BYTES;
        }
        MemoryNeed { stores_bytes, truth_bytes }
    }

    fn total(self) -> u64 {
        self.stores_bytes.saturating_add(self.truth_bytes)
    }

    /// The need in words.
    pub fn describe(self, runs: usize) -> String {
        let (stores, truth) = (bytes(self.stores_bytes), bytes(self.truth_bytes));
        let plural = if runs == 1 { "run" } else { "runs" };
        format!("{runs} {plural}: {stores} for stores, about {truth} for the exact truth")
    }

    /// Rejects a need above `limit`, by default the available memory.
    pub fn check(self, limit: Option<u64>) -> anyhow::Result<()> {
        let (limit, what) = match limit {
            Some(limit) => (limit, "--memory-limit is"),
            None => (available_bytes().unwrap_or(u64::MAX), "there are"),
        };
        if self.total() > limit {
            bail!(
                "the comparison would take about {}, {what} {}: ask for fewer --backends, \
                 --fp-rates or seeds at a time, or lower --flows",
                bytes(self.total()),
                bytes(limit)
            );
        }
        Ok(())
    }
}

/// Memory that is available without swapping, within the limit of the control group.
fn available_bytes() -> Option<u64> {
    let system = mem_available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let group = |name: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let left = group("max").zip(group("current")).map(|(max, now)| max.saturating_sub(now));
    Some(left.map_or(system, |left| left.min(system)))
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_parsed() {
        let text = "MemTotal:       24640000 kB\nMemFree: 1 kB\nMemAvailable:   23100000 kB\n";
        assert_eq!(mem_available(text), Some(23_100_000 * 1024));
        assert_eq!(mem_available("MemTotal: 5 kB"), None);
    }

    #[test]
    fn a_need_above_the_limit_is_rejected() {
        let need = MemoryNeed { stores_bytes: 3 << 30, truth_bytes: 1 << 30 };
        need.check(Some(4 << 30)).unwrap();
        let refusal = need.check(Some((4 << 30) - 1)).unwrap_err().to_string();
        assert!(refusal.contains("4.0 GiB") && refusal.contains("--fp-rates"), "{refusal}");
    }
}
