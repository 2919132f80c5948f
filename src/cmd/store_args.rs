//! The options that choose and size a store.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::presets::PresetName;
use super::spec_message::message;
use super::store_memory::{flows_in, least_with_pending, pending_bytes};
use crate::engine::Phase;
use crate::time::NANOS_PER_SEC;
use crate::units::{parse_bytes, parse_count, parse_duration_nanos, parse_share};
use acsm_filters::pending::PendingTable;
use acsm_filters::{
    Backend, Budget, Expire, KbfDecode, LayoutKind, RecycleAt, SbfRules, Setting, SpecError,
    StateSet, StoreSpec, UnknownLayout,
};

/// Flows that a store is made for, if neither flows nor memory are given.
const FLOWS: u64 = 1_000_000;
/// Heading of the options for comparison with the papers.
const VARIANTS: &str = "Store, variants of the papers";

/// "No session" rules are muted no longer than this at the start, however long flows may be idle.
const STARTUP_NANOS_MAX: u64 = 60 * NANOS_PER_SEC;

/// Where the state of flows is kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// The structure that keeps flow state [default: by preset]
    #[arg(long, value_enum)]
    pub backend: Option<BackendName>,

    /// Peak number of flows alive at once (1M, 908_522) [default: 1M; with --memory as many as fit]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub flows: Option<u64>,

    /// Size for this rate of false positives: absent flows that seem known (0.01, 1e-4, 0.1%)
    /// [default: fcf 5e-5, kbf 0.005, sbf 0.003, bhbf 0.07, dbf 1e-5 per state; in preset paper without
    /// a pending table 0.01]
    #[arg(long, value_name = "P", value_parser = parse_share)]
    pub fp_rate: Option<f64>,

    /// Size by memory instead, for all shards and the pending table together (64MiB)
    #[arg(long, value_name = "SIZE", conflicts_with = "fp_rate", value_parser = parse_bytes)]
    pub memory: Option<u64>,

    /// Hold a flow in a table of this many slots until both of its ends have sent a segment whose
    /// numbers belong together, so that floods of forged packets do not reach the store
    /// [default: a quarter of --flows and at least 128Ki, in at most a quarter of --memory; in preset
    /// paper none]
    #[arg(long, value_name = "SLOTS|none", value_parser = parse_pending)]
    pub pending: Option<PendingChoice>,

    #[command(flatten)]
    pub shape: ShapeArgs,

    /// How kbf decodes the cells of a flow [default: salt with --expire timer, else all-pairs]
    #[arg(long, help_heading = VARIANTS, value_enum)]
    pub decode: Option<DecodeName>,

    /// What sbf does with flows that share a cell [default: stateful]
    #[arg(long, help_heading = VARIANTS, value_enum)]
    pub sbf_rules: Option<SbfRulesName>,

    /// dbf with single bits in place of counters: only the timer empties them
    #[arg(long, help_heading = VARIANTS)]
    pub no_counters: bool,
}

/// Options of any store, whatever decides its size.
#[derive(Debug, Args)]
#[command(next_help_heading = "Store")]
pub struct ShapeArgs {
    /// Cells per flow, if not the best number
    #[arg(long, value_name = "K")]
    pub hashes: Option<usize>,

    /// Bits per cell of sbf and kbf, if not the narrowest (8, 16 or 32; the kBF papers take 32)
    #[arg(long, value_name = "BITS")]
    pub cell_bits: Option<u32>,

    /// Where the cells of a flow lie: anywhere, or in G = 1, 2 or 3 cache lines, which is faster and
    /// errs somewhat more [default: blocked:2; in compare spread, as in the papers]
    #[arg(long, value_name = "spread|blocked:G", value_parser = parse_layout)]
    pub layout: Option<LayoutKind>,

    /// How idle flows leave the store
    #[arg(long, value_enum, default_value = "timer")]
    pub expire: ExpireName,

    /// A flow idle for this long is forgotten (at the latest after twice as long)
    /// [default: 5m; in preset paper 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_idle_timeout)]
    pub idle_timeout: Option<u64>,

    /// With --expire recycle or two-phase: full at this part of the cells, or after this number of
    /// flows
    /// [default: as full as --flows make it]
    #[arg(long, value_name = "fill:S|flows:N", value_parser = parse_recycle_at)]
    pub recycle_at: Option<RecycleAt>,

    /// With --expire recycle: forget the flow that made the store full, too
    #[arg(long, help_heading = VARIANTS)]
    pub no_retain: bool,

    /// Age by packet time, or by a number of packets as in ACSM 2006
    #[arg(long, help_heading = VARIANTS, value_name = "time|ops:N", default_value = "time", value_parser = parse_phase)]
    pub phase: PhaseChoice,

    /// Whether lookups of absent flows keep the cells they touch alive (ACSM 2006's wording)
    #[arg(long, help_heading = VARIANTS, value_enum, default_value = "found")]
    pub touch: Touch,
}

/// A structure by its name in the table of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendName(Backend);

impl ValueEnum for BackendName {
    fn value_variants<'a>() -> &'a [BackendName] {
        const NAMES: [BackendName; Backend::ALL.len()] = {
            let mut names = [BackendName(Backend::Exact); Backend::ALL.len()];
            let mut index = 0;
            while index < names.len() {
                names[index] = BackendName(Backend::ALL[index]);
                index += 1;
            }
            names
        };
        &NAMES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let info = self.0.info();
        Some(PossibleValue::new(info.name).help(info.description))
    }
}

/// Ways to expire by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExpireName {
    /// Flows idle for --idle-timeout: filters of cells have two halves that change with it, so that
    /// nothing of old flows stays on cells which others use
    Timer,
    /// Cells that no flow touches for --idle-timeout, each with a stamp of its own, as in ACSM 2006:
    /// for comparisons (exact and fcf: the same as timer)
    Stamps,
    /// All flows at once, when the store is full
    Recycle,
    /// By halves: flows not seen since the half before last was full
    TwoPhase,
    /// Never
    None,
}

/// Which lookups keep cells alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Touch {
    /// Flows that are found
    Found,
    /// Every lookup
    All,
}

/// Ways to decode a kBF by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DecodeName {
    /// All cells with two flows, then those with three
    AllPairs,
    /// Algorithms 6 and 7 of the papers as printed
    Literal,
    /// The 2014 text: all cells with two or three flows at once
    ThreeWay,
    /// Joint decoding: all cells of the flow must agree on its state
    Joint,
    /// Joint decoding, of codes that differ from cell to cell
    Salt,
}

impl DecodeName {
    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Rules of an sBF by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SbfRulesName {
    /// Flows in the same state share a cell without loss (ACSM 2006)
    Stateful,
    /// A cell with two or more flows answers nothing (as the kBF papers describe it)
    PaperKbf,
    /// A cell holds a state and no count: one that sees another state answers nothing
    NoCounters,
}

/// Slots of the pending table, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingChoice(Option<u64>);

/// What an epoch is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseChoice {
    /// Packet time.
    Time,
    /// This number of packets.
    Operations(u64),
}

pub(super) fn parse_idle_timeout(text: &str) -> Result<u64, String> {
    match parse_duration_nanos(text) {
        Ok(0) => {
            Err(format!("`{text}` would forget every flow at once; write 60s, or --expire none"))
        }
        result => result.map_err(|error| error.to_string()),
    }
}

fn parse_layout(text: &str) -> Result<LayoutKind, String> {
    text.parse().map_err(|UnknownLayout| message(&SpecError::Layout))
}

/// The most slots of a pending table: 2 GiB.
const PENDING_SLOTS_MAX: u64 = 12 << 25;

fn parse_pending(text: &str) -> Result<PendingChoice, String> {
    match text {
        "none" => Ok(PendingChoice(None)),
        text => match parse_count(text) {
            Ok(slots @ 1..=PENDING_SLOTS_MAX) => Ok(PendingChoice(Some(slots))),
            Ok(_) => Err(format!("a pending table has 1 to {PENDING_SLOTS_MAX} slots")),
            Err(error) => Err(format!("{error}; write a number of slots (64k), or none")),
        },
    }
}

fn parse_recycle_at(text: &str) -> Result<RecycleAt, String> {
    let at = match text.split_once(':') {
        Some(("fill", share)) => parse_share(share).ok().map(RecycleAt::Fill),
        Some(("flows", count)) => parse_count(count).ok().map(RecycleAt::Flows),
        _ => None,
    };
    let valid = at.ok_or(SpecError::RecycleAt).and_then(|at| at.check().map(|()| at));
    valid.map_err(|error| message(&error))
}

fn parse_phase(text: &str) -> Result<PhaseChoice, String> {
    match text.strip_prefix("ops:").map(parse_count) {
        None if text == "time" => Ok(PhaseChoice::Time),
        Some(Ok(count)) if count > 0 => Ok(PhaseChoice::Operations(count)),
        _ => Err(format!("`{text}` is no phase; write time, or ops:N with N packets")),
    }
}

impl ShapeArgs {
    /// A store of this shape, in its default variant, for a machine of this many states.
    pub fn spec(&self, backend: Backend, states: usize) -> StoreSpec {
        StoreSpec {
            hashes: self.hashes,
            cell_bits: self.cell_bits,
            layout: self.layout.unwrap_or(LayoutKind::Spread),
            expire: self.expire.into(),
            recycle_at: self.recycle_at,
            retain: !self.no_retain,
            ..StoreSpec::new(backend, states)
        }
    }

    /// Whether lookups of absent flows touch the cells they find.
    pub fn touches_absent(&self) -> bool {
        self.touch == Touch::All
    }

    /// How long a flow may be idle.
    pub fn idle_timeout_nanos(&self, preset: PresetName) -> u64 {
        self.idle_timeout.unwrap_or(preset.idle_timeout_nanos())
    }

    /// How long "no session" rules stay muted at the start.
    pub fn startup_nanos(&self, preset: PresetName) -> u64 {
        self.idle_timeout_nanos(preset).min(STARTUP_NANOS_MAX)
    }

    /// The phase of the aging clock.
    pub fn phase(&self, preset: PresetName) -> Phase {
        match (self.expire, self.phase) {
            (ExpireName::Recycle | ExpireName::TwoPhase | ExpireName::None, _) => Phase::Never,
            (_, PhaseChoice::Time) => Phase::Nanos(self.idle_timeout_nanos(preset)),
            (_, PhaseChoice::Operations(count)) => Phase::Operations(count),
        }
    }
}

impl From<ExpireName> for Expire {
    fn from(name: ExpireName) -> Expire {
        match name {
            ExpireName::Timer => Expire::Timer,
            ExpireName::Stamps => Expire::Stamps,
            ExpireName::Recycle => Expire::Recycle,
            ExpireName::TwoPhase => Expire::TwoPhase,
            ExpireName::None => Expire::None,
        }
    }
}

impl From<DecodeName> for KbfDecode {
    fn from(name: DecodeName) -> KbfDecode {
        match name {
            DecodeName::AllPairs => KbfDecode::AllPairs,
            DecodeName::Literal => KbfDecode::Literal,
            DecodeName::ThreeWay => KbfDecode::ThreeWay,
            DecodeName::Joint => KbfDecode::Joint,
            DecodeName::Salt => KbfDecode::Salt,
        }
    }
}

impl StoreArgs {
    /// The store that the options specify, for a machine of this many states, of which a pending table
    /// holds some.
    pub fn spec(&self, preset: PresetName, states: usize, held: StateSet) -> StoreSpec {
        let flows = match (self.flows, self.memory) {
            (Some(flows), _) => flows,
            (None, None) => FLOWS,
            (None, Some(bytes)) => flows_in(bytes, |flows| {
                let spec = self.spec_for(flows, preset, states, held);
                let rate = preset.fp_rate(spec.backend, spec.pending.is_some());
                StoreSpec { budget: Budget::FpRate(rate), ..spec }
            }),
        };
        self.spec_for(flows, preset, states, held)
    }

    /// The same for this many flows.
    fn spec_for(&self, flows: u64, preset: PresetName, states: usize, held: StateSet) -> StoreSpec {
        let backend = self.backend.map_or(preset.backend(), Backend::from);
        let pending = self.pending_slots(preset, flows);
        StoreSpec {
            layout: self.shape.layout.unwrap_or(preset.layout(backend, pending.is_some())),
            flows,
            budget: match self.memory {
                Some(bytes) => Budget::MemoryBytes(bytes.saturating_sub(pending_bytes(pending))),
                None => {
                    let default = || preset.fp_rate(backend, pending.is_some());
                    Budget::FpRate(self.fp_rate.unwrap_or_else(default))
                }
            },
            sbf: match self.sbf_rules {
                None | Some(SbfRulesName::Stateful) => SbfRules::Stateful,
                Some(SbfRulesName::PaperKbf) => SbfRules::PaperKbf,
                Some(SbfRulesName::NoCounters) => SbfRules::NoCounters,
            },
            decode: self.decode.map(KbfDecode::from),
            dbf_counters: !self.no_counters,
            pending,
            held: pending.map_or(StateSet::EMPTY, |_| held),
            ..self.shape.spec(backend, states)
        }
    }

    /// Slots of the pending table. By default it is left out where the smallest would take more than a
    /// quarter of the memory.
    fn pending_slots(&self, preset: PresetName, flows: u64) -> Option<u64> {
        if let Some(PendingChoice(slots)) = self.pending {
            return slots;
        }
        let slots = preset.pending_slots(flows)?;
        let most = self.memory.map_or(slots, |bytes| PendingTable::slots_in(bytes / 4));
        (most > 0).then_some(slots.min(most))
    }

    /// An error of the store's size in terms of `--memory`, of which a pending table is a part.
    pub fn with_pending(&self, error: SpecError, preset: PresetName) -> SpecError {
        let (Some(bytes), SpecError::TooSmall { least, .. }) = (self.memory, error) else {
            return error;
        };
        let chosen = self.pending.map(|PendingChoice(slots)| slots);
        let default = preset.pending_slots(self.flows.unwrap_or(1));
        SpecError::TooSmall { bytes, least: least_with_pending(least, chosen, default) }
    }

    /// Refuses variants of other stores than `backend`.
    pub fn check_variants(&self, backend: Backend) -> Result<(), SpecError> {
        if self.shape.no_retain && self.shape.expire != ExpireName::Recycle {
            return Err(SpecError::NotRecycling { setting: Setting::Retain });
        }
        let settings = [
            (Setting::Decode, self.decode.is_some(), backend == Backend::Kbf),
            (Setting::SbfRules, self.sbf_rules.is_some(), backend == Backend::Sbf),
            (Setting::Counters, self.no_counters, backend == Backend::Dbf),
            (Setting::Layout, self.shape.layout.is_some(), backend.has_cells()),
        ];
        match settings.into_iter().find(|&(_, given, supported)| given && !supported) {
            Some((setting, ..)) => Err(SpecError::NotSupported { setting, backend }),
            None => Ok(()),
        }
    }
}

impl From<BackendName> for Backend {
    fn from(name: BackendName) -> Backend {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        store: StoreArgs,
    }

    /// The options on a command line, and the store of the operator's preset.
    fn operator(line: &str) -> (StoreArgs, StoreSpec) {
        let Line { store } = Line::parse_from(["acsm"].into_iter().chain(line.split(' ')));
        let spec = store.spec(PresetName::Operator, 14, StateSet::EMPTY);
        (store, spec)
    }

    #[test]
    fn memory_is_for_the_store_and_the_pending_table() {
        for bytes in [4096, 10_000, 1 << 20, 64 << 20] {
            let (_, spec) = operator(&format!("--flows 100k --memory {bytes}B"));
            let pending = pending_bytes(spec.pending);
            assert!(pending > 0 && pending <= bytes / 4, "{pending} of {bytes}");
            assert_eq!(spec.budget, Budget::MemoryBytes(bytes - pending));
            let (_, alone) = operator(&format!("--flows 100k --memory {bytes}B --pending none"));
            assert_eq!((alone.pending, alone.budget), (None, Budget::MemoryBytes(bytes)));
        }
        assert_eq!(operator("--memory 4095B").1.pending, None, "no room for the smallest table");
        assert_eq!(
            operator("--flows 1M --memory 64MiB").1.pending,
            operator("--flows 1M").1.pending
        );
    }

    /// Room for no more than one part in a hundred more: three digits are kept.
    #[test]
    fn memory_alone_says_how_many_flows() {
        for (line, bytes) in [("--backend kbf", 1u64 << 20), ("--backend fcf", 64 << 20)] {
            let spec = operator(&format!("{line} --memory {bytes}B")).1;
            let (flows, slots) = (spec.flows, spec.pending.unwrap());
            let taken = |flows| {
                let spec = operator(&format!("{line} --flows {flows} --pending {slots}")).1;
                spec.sizing().unwrap().bits / 8 + pending_bytes(spec.pending)
            };
            assert!(taken(flows) <= bytes && taken(flows + flows / 8) > bytes, "{line}: {flows}");
        }
    }

    #[test]
    fn the_memory_that_an_error_names_works() {
        for line in ["--backend kbf", "--flows 100k", "--pending 5k", "--pending none"] {
            let (args, spec) = operator(&format!("{line} --memory 900B"));
            let error = spec.sizing().unwrap_err();
            let error = args.with_pending(error, PresetName::Operator);
            let SpecError::TooSmall { bytes: 900, least } = error else { panic!("{error}") };
            let (_, spec) = operator(&format!("{line} --memory {least}B"));
            assert!(spec.sizing().is_ok(), "{line} --memory {least}B");
        }
    }

    #[test]
    fn recycling_thresholds_take_shares_and_counts() {
        for (text, at) in [
            ("fill:0.5", RecycleAt::Fill(0.5)),
            ("fill:40%", RecycleAt::Fill(0.4)),
            ("flows:1.5M", RecycleAt::Flows(1_500_000)),
        ] {
            assert_eq!(parse_recycle_at(text), Ok(at), "{text}");
        }
        for text in ["", "0.5", "fill:", "fill:0", "fill:1", "fill:1.5", "flows:0", "cells:3"] {
            assert!(parse_recycle_at(text).is_err(), "{text}");
        }
    }
}
