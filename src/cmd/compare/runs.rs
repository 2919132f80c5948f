//! The runs that the options ask for, and the memory they need.

use std::fs;

use anyhow::{Context as _, bail};

use super::args::{CompareArgs, Equal, Loop, StoreChoice};
use crate::cmd::spec_message::message;
use crate::engine::compare::StoreRun;
use crate::engine::lookup_cache_bits;
use crate::flow::FlowKey;
use crate::report::compare::RunLabel;
use crate::report::format::bytes;
use crate::seed::Seed;
use acsm_filters::{Backend, Budget, GroundTruth, Sizing, StoreSpec};

/// Memory of the reuse distances for each flow of the trace.
const REUSE_FLOW_BYTES: u64 = 48;
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
    if args.warm_up && !args.any_store().expire.is_timed() {
        bail!("--warm-up leaves out two idle timeouts, and with --expire none nothing is timed");
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

/// The sizes of the panel beside, by what the number of flows is multiplied with: a store is rarely made for
/// the right number.
const OTHER_SIZES: [f64; 2] = [0.5, 2.0];

/// What the stores of a table have in common.
#[derive(Clone, Copy)]
struct Table {
    equal: Equal,
    feedback: Loop,
    fp_rate: f64,
    /// What the number of flows is multiplied with: 1 for the right number.
    times: f64,
}

/// All combinations of the lists of `args` and of `seeds`, with stores for `flows` flows; and one p again
/// with stores for half and twice as many.
pub fn runs(args: &CompareArgs, seeds: &[Seed], states: usize, flows: u64) -> anyhow::Result<Runs> {
    let mut tables = Vec::new();
    for &equal in &args.equal {
        for &feedback in &args.feedback {
            tables.extend(args.fp_rates.iter().map(|&fp_rate| Table {
                equal,
                feedback,
                fp_rate,
                times: 1.0,
            }));
        }
    }
    if let Some(&table) = tables.get(middle_rate(&args.fp_rates)) {
        tables.extend(OTHER_SIZES.map(|times| Table { times, ..table }));
    }
    let mut runs = Runs::default();
    for table in tables {
        let flows = ((flows as f64 * table.times).round() as u64).max(1);
        for store in &args.backends {
            runs.add(args, store, &table, (states, flows), seeds)?;
        }
    }
    Ok(runs)
}

/// The place of the rate in the middle: neither too many errors nor none.
fn middle_rate(rates: &[f64]) -> usize {
    let mut places: Vec<usize> = (0..rates.len()).collect();
    places.sort_by(|&a, &b| rates[b].total_cmp(&rates[a]));
    places.get(rates.len() / 2).copied().unwrap_or(0)
}

impl Runs {
    /// Adds a store in a table, for each seed.
    fn add(
        &mut self,
        args: &CompareArgs,
        store: &StoreChoice,
        table: &Table,
        (states, flows): (usize, u64),
        seeds: &[Seed],
    ) -> anyhow::Result<()> {
        let &Table { equal, feedback, fp_rate, times } = table;
        let size = sized(args, store, (states, flows), (equal, fp_rate));
        let (spec, memory) = size.with_context(|| {
            format!("{} at p = {fp_rate}, equal {}", store.name(), equal.name())
        })?;
        for (seed_index, &seed) in seeds.iter().enumerate() {
            let feedback = feedback.into();
            let plan = StoreRun { store: spec.clone(), seed: seed_index, feedback };
            let run = self.index_of(plan, &memory.sizing);
            self.labels.push(RunLabel {
                variant: store.variant,
                fp_rate,
                equal: equal.name(),
                ranked: equal == Equal::Memory || store.backend.has_cells(),
                feedback,
                seed,
                times,
                spec: spec.clone(),
                sizing: memory.sizing,
                cache_bits: memory.cache_bits,
                run,
            });
        }
        Ok(())
    }
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

/// What a store takes.
#[derive(Debug, Clone, Copy)]
struct StoreMemory {
    sizing: Sizing,
    cache_bits: u64,
}

impl StoreMemory {
    fn of(spec: &StoreSpec) -> anyhow::Result<StoreMemory> {
        let sizing = spec.sizing().map_err(|error| anyhow::anyhow!(message(&error)))?;
        Ok(StoreMemory { sizing, cache_bits: lookup_cache_bits(spec)? })
    }

    /// All of it: the store, its tables, the lookup cache before it.
    fn total_bits(&self) -> u64 {
        self.sizing.bits + self.beside_bits()
    }

    /// What does not grow with the store.
    fn beside_bits(&self) -> u64 {
        self.sizing.table_bits + self.cache_bits
    }
}

/// The specification and size of a store: by its rate, or with the memory of the reference, the first
/// store that is not exact. Memory is everything: cells, decode tables, lookup cache.
fn sized(
    args: &CompareArgs,
    store: &StoreChoice,
    (states, flows): (usize, u64),
    (equal, fp_rate): (Equal, f64),
) -> anyhow::Result<(StoreSpec, StoreMemory)> {
    let by_rate = |store: &StoreChoice| {
        let mut spec = args.shape.spec(store.backend, states);
        (spec.flows, spec.budget) = (flows, Budget::FpRate(fp_rate));
        store.apply(&mut spec);
        spec
    };
    let mut spec = by_rate(store);
    let memory = StoreMemory::of(&spec)?;
    let reference = args.backends.iter().find(|store| store.backend != Backend::Exact);
    let is_reference = reference.is_some_and(|first| first.name() == store.name());
    let by_memory = equal == Equal::Memory || store.backend == Backend::Exact;
    let Some(first) = reference.filter(|_| by_memory && !is_reference) else {
        return Ok((spec, memory));
    };
    let (given, taken) = (StoreMemory::of(&by_rate(first))?.total_bits(), memory.beside_bits());
    if given <= taken {
        bail!(
            "its tables and lookup cache alone take {}, and {} takes {} in all: leave {} out, or \
             compare at --equal cells",
            bytes(taken / 8),
            first.name(),
            bytes(given / 8),
            store.name()
        );
    }
    spec.budget = Budget::MemoryBytes((given - taken) / 8);
    Ok((spec.clone(), StoreMemory::of(&spec)?))
}

/// The memory that a comparison needs.
#[derive(Debug, Clone, Copy)]
pub struct MemoryNeed {
    /// All stores with their tables.
    pub stores_bytes: u64,
    /// The exact table, reuse distances and what runs note of flows: an estimate.
    pub truth_bytes: u64,
}

impl MemoryNeed {
    /// For `runs`, in a trace with about `flows_total` flows.
    pub fn new(runs: &Runs, flows_total: u64) -> MemoryNeed {
        let (mut stores_bytes, mut truth_bytes) =
            (0_u64, flows_total * (GroundTruth::<FlowKey>::FLOW_BYTES + REUSE_FLOW_BYTES));
        for (n, _) in runs.plans.iter().enumerate() {
            let Some(label) = runs.labels.iter().find(|label| label.run == n) else { continue };
            let store_bytes = (label.sizing.bits + label.sizing.table_bits) / 8;
            stores_bytes = stores_bytes.saturating_add(store_bytes);
            // Two bits for each flow: whether it was wrong, whether it was inserted.
            truth_bytes += RUN_BYTES + flows_total / 4;
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
