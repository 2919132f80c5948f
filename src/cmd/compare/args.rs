//! The options of `acsm compare`, and the stores that `--backends` names.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args, ValueEnum};

use crate::capture::FileSource;
use crate::cmd::input_args::InputArgs;
use crate::cmd::rule_args::RuleArgs;
use crate::cmd::run_args::{OUTPUT, RUN};
use crate::cmd::seed_args::SeedArgs;
use crate::cmd::store_args::ShapeArgs;
use crate::engine::compare::Feedback;
use crate::seed::Seed;
use crate::units::{parse_bytes, parse_count, parse_share};
use acsm_filters::{Backend, KbfDecode, LayoutKind, SbfRules, StoreSpec};

const EXAMPLES: &str = "\
Examples:
  acsm compare traffic.pcap                             kbf, sbf and a capped exact table at the five rates of the papers
  acsm compare --preset paper --expire none traffic.pcap  the papers' flows and states, too
  acsm compare --out report traffic.pcap                report.json, report.csv, report.html
  acsm compare --backends sbf,sbf:no-counters,kbf,kbf:literal traffic.pcap
  acsm compare --equal memory --backends kbf,dbf,exact traffic.pcap
  acsm compare --loop closed,open --repeat 5 --json traffic.pcap | jq '.runs[].errors'

All runs share one pass over the captures, after a first one that counts the flows alive at
once, for which the stores are then sized: a larger store has fewer errors. --flows N saves
the first pass. The same input, options and --seed give the same output, except `seconds`.
Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// Seeds by default…
const FEW_SEEDS: u64 = 5;
/// …and where that many take no more lookups than the bound below.
const MANY_SEEDS: u64 = 20;
const LOOKUPS_FOR_MANY_SEEDS: u64 = 100_000_000;

/// A heading in the help text.
const COMPARISON: &str = "Comparison";

/// Compare stores on captures: memory, and errors against an exact table
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct CompareArgs {
    #[command(flatten)]
    pub input: InputArgs,

    /// Stores, and variants of them: kbf, kbf:literal, kbf:three-way, kbf:joint, kbf:salt, sbf, sbf:paper-kbf,
    /// sbf:no-counters, dbf, dbf:no-counters, bhbf, fcf, exact (with the memory of the first that is not exact)
    #[arg(long, help_heading = COMPARISON, value_name = "LIST", value_delimiter = ',', default_value = "kbf,sbf,exact", value_parser = StoreChoice::parse)]
    pub backends: Vec<&'static StoreChoice>,

    /// Size the stores for each of these false-positive rates
    #[arg(long, help_heading = COMPARISON, value_name = "LIST", value_delimiter = ',', default_value = "0.1,0.01,0.001,0.0001,0.00001", value_parser = parse_rate)]
    pub fp_rates: Vec<f64>,

    /// The quantity that is equal for the stores of one rate
    #[arg(long, help_heading = COMPARISON, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "cells")]
    pub equal: Vec<Equal>,

    /// The state from which a store makes its next transition
    #[arg(long = "loop", help_heading = COMPARISON, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "closed")]
    pub feedback: Vec<Loop>,

    /// Repeat all runs with N seeds, starting with --seed [default: 5, or 20 on a small capture]
    #[arg(long, help_heading = COMPARISON, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub repeat: Option<u8>,

    /// Leave the first two idle timeouts of the capture out of all counts: stores fill up in them
    #[arg(long, help_heading = COMPARISON)]
    pub warm_up: bool,

    /// Peak number of flows alive at once (1M, 908_522), or auto to count them first
    #[arg(long, help_heading = COMPARISON, value_name = "N", default_value = "auto", value_parser = parse_flows)]
    pub flows: Flows,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub shape: ShapeArgs,

    /// Write report.json, report.csv and report.html into this directory
    #[arg(long, help_heading = OUTPUT, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print the report as one JSON document
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,

    /// No progress bar, no warnings
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,

    /// Threads for the runs, 1 to 16 [default: number of cores]
    #[arg(long, help_heading = RUN, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub workers: Option<u8>,

    /// Refuse to start if more memory than this is needed [default: what is available]
    #[arg(long, help_heading = RUN, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory_limit: Option<u64>,

    #[command(flatten)]
    pub seed: SeedArgs,

    /// Options from a TOML file, as `idle-timeout = "30s"`; the command line has precedence
    #[arg(long, help_heading = RUN, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The quantity that is equal for the stores of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Equal {
    /// Each has the cells and hashes that its rate takes, as in the papers
    Cells,
    /// Each has the memory that the first takes for its rate, with the best parameters for it
    Memory,
}

/// The state from which a store makes its next transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Loop {
    /// The store's own, so that errors can cause others: as in operation
    Closed,
    /// The true state: as theory assumes
    Open,
}

/// The number of flows to size the stores for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flows {
    /// The peak number of flows alive at once in the captures.
    Auto,
    /// This number.
    Count(u64),
}

impl Equal {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Equal::Cells => "cells",
            Equal::Memory => "memory",
        }
    }
}

impl From<Loop> for Feedback {
    fn from(name: Loop) -> Feedback {
        match name {
            Loop::Closed => Feedback::Closed,
            Loop::Open => Feedback::Open,
        }
    }
}

fn parse_flows(text: &str) -> Result<Flows, String> {
    match parse_count(text) {
        _ if text == "auto" => Ok(Flows::Auto),
        Ok(0) => Err("a store needs room for at least one flow".to_owned()),
        Ok(count) => Ok(Flows::Count(count)),
        Err(error) => Err(format!("{error}, or auto")),
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match parse_share(text) {
        Ok(rate) if rate > 0.0 && rate < 1.0 => Ok(rate),
        Ok(_) => Err(format!("`{text}` is not a rate; write one between 0 and 1, like 0.01")),
        Err(error) => Err(error.to_string()),
    }
}

impl CompareArgs {
    /// The seeds, one for each repetition. Nothing of the input has been read yet. `packets`: how many there
    /// are, if they were counted.
    pub fn seeds(&self, source: &mut FileSource, packets: Option<u64>) -> Vec<Seed> {
        let first = self.seed.choose(source);
        let lookups_of_a_seed = |packets: u64| {
            let runs = self.backends.len() * self.fp_rates.len();
            packets.saturating_mul(runs as u64)
        };
        let many = packets
            .map(lookups_of_a_seed)
            .is_some_and(|lookups| lookups.saturating_mul(MANY_SEEDS) <= LOOKUPS_FOR_MANY_SEEDS);
        let default = if many { MANY_SEEDS } else { FEW_SEEDS };
        (0..self.repeat.map_or(default, u64::from)).map(|n| first.plus(n)).collect()
    }

    /// The first store, for what all stores have in common.
    pub fn any_store(&self) -> StoreSpec {
        let backend = self.backends.first().map_or(Backend::Kbf, |store| store.backend);
        self.shape.spec(backend, 1)
    }
}

/// A store or a variant of one, as `--backends` names it: `kbf`, `kbf:literal`.
#[derive(Debug)]
pub struct StoreChoice {
    /// The structure.
    pub backend: Backend,
    /// The part of the name after the colon, if there is one.
    pub variant: Option<&'static str>,
    set: fn(&mut StoreSpec),
}

/// A variant of a store.
type Variant = (Backend, &'static str, fn(&mut StoreSpec));

/// Variants of stores: the part of the name after the colon, and what it changes.
const VARIANTS: [Variant; 7] = [
    (Backend::Kbf, "literal", |spec| spec.decode = Some(KbfDecode::Literal)),
    (Backend::Kbf, "three-way", |spec| spec.decode = Some(KbfDecode::ThreeWay)),
    (Backend::Kbf, "joint", |spec| spec.decode = Some(KbfDecode::Joint)),
    (Backend::Kbf, "salt", |spec| spec.decode = Some(KbfDecode::Salt)),
    (Backend::Sbf, "paper-kbf", |spec| spec.sbf = SbfRules::PaperKbf),
    (Backend::Sbf, "no-counters", |spec| spec.sbf = SbfRules::NoCounters),
    (Backend::Dbf, "no-counters", |spec| spec.dbf_counters = false),
];

/// The stores that can be compared: those with variants first, the exact one last.
static STORES: LazyLock<Vec<StoreChoice>> = LazyLock::new(|| {
    let variant = |backend| move |(of, ..): &&Variant| *of == backend;
    let mut backends = Backend::ALL;
    backends.sort_by_key(|&backend| {
        let first = VARIANTS.iter().position(|variant| variant.0 == backend);
        (!backend.is_approximate(), first.unwrap_or(VARIANTS.len()))
    });
    let choices = backends.into_iter().flat_map(|backend| {
        let variants = VARIANTS.iter().filter(variant(backend));
        let variants = variants.map(|&(_, name, set)| (Some(name), set));
        let plain: fn(&mut StoreSpec) = |_| {};
        let all = std::iter::once((None, plain)).chain(variants);
        all.map(move |(variant, set)| StoreChoice { backend, variant, set })
    });
    choices.collect()
});

impl StoreChoice {
    /// The store of this name.
    pub fn parse(text: &str) -> Result<&'static StoreChoice, String> {
        STORES.iter().find(|store| store.name() == text).ok_or_else(|| {
            let names: Vec<String> = STORES.iter().map(StoreChoice::name).collect();
            format!("`{text}` is not a store to compare; there are {}", names.join(", "))
        })
    }

    /// Its name on the command line.
    pub fn name(&self) -> String {
        match self.variant {
            Some(variant) => format!("{}:{variant}", self.backend.name()),
            None => self.backend.name().to_owned(),
        }
    }

    /// Changes `spec`, which is of this backend, to this variant. Options for all stores that do not
    /// apply to this one are reset.
    pub fn apply(&self, spec: &mut StoreSpec) {
        (self.set)(spec);
        if !self.backend.has_cells() {
            (spec.hashes, spec.layout) = (None, LayoutKind::Spread);
        }
        if !self.backend.info().cell_bits_can_be_chosen {
            spec.cell_bits = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_start_with_the_backend_and_are_found() {
        for store in STORES.iter() {
            let name = store.name();
            assert_eq!(StoreChoice::parse(&name).unwrap().name(), name);
            assert_eq!(name.split(':').next(), Some(store.backend.name()));
            let mut spec = StoreSpec::new(store.backend, 6);
            store.apply(&mut spec);
            let plain = StoreSpec::new(store.backend, 6);
            assert_eq!(spec == plain, store.variant.is_none(), "{name}");
        }
        assert!(StoreChoice::parse("bloom").unwrap_err().contains("kbf:literal"));
    }
}
