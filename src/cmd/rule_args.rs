//! Options for the flow key, the rules and the alerts, shared by all commands that follow flows.

use std::path::PathBuf;

use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::Usage;
use super::presets::PresetName;
use crate::engine::ActiveRules;
use crate::flow::{FlowKeyKind, Keyer};
use crate::machine::{Rules, Setting, Suppressions};
use crate::seed::Seed;

/// What a flow is, and which alerts it can raise.
#[derive(Debug, Args)]
#[command(next_help_heading = "Flows and rules")]
pub struct RuleArgs {
    /// A set of defaults: flow key, rules, backend with its size and timeout, pending table, and
    /// whether FIN and RST alerts are shown
    #[arg(long, value_enum, default_value = "operator")]
    pub preset: PresetName,

    /// State machine and alert rules: tcp-flags, tcp-connection, or a file [default: by preset]
    #[arg(long, value_name = "FILE")]
    pub rules: Option<String>,

    /// Another value for a key of a rule (count, window, share, sources, severity, cooldown), as in
    /// port_scan.count=20 or syn_flood.severity=2; may be repeated
    #[arg(long, value_name = "RULE.KEY=VALUE")]
    pub set: Vec<Setting>,

    /// What makes packets one flow [default: by preset]
    #[arg(long, value_enum)]
    pub flow_key: Option<FlowKeyName>,

    /// Equal addresses in different VLANs are different flows
    #[arg(long)]
    pub vlan_in_key: bool,

    /// Alerts that are not wanted, by rule and networks: a TOML file, as docs/replay.md shows
    #[arg(long, value_name = "FILE")]
    pub suppress: Option<PathBuf>,

    /// Show alerts of this severity and higher; 1 is the highest
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub min_severity: u8,
}

/// Flow keys by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FlowKeyName {
    /// Directed (source, destination): the papers' flow
    Pair,
    /// Directed 5-tuple
    #[value(name = "5-tuple")]
    FiveTuple,
    /// Both directions of a 5-tuple
    Connection,
}

impl From<FlowKeyName> for FlowKeyKind {
    fn from(name: FlowKeyName) -> FlowKeyKind {
        match name {
            FlowKeyName::Pair => FlowKeyKind::Pair,
            FlowKeyName::FiveTuple => FlowKeyKind::FiveTuple,
            FlowKeyName::Connection => FlowKeyKind::Connection,
        }
    }
}

impl RuleArgs {
    /// Maps packets to flows, with digests keyed by `seed`.
    pub fn keyer(&self, seed: Seed) -> Keyer {
        let kind = self.flow_key.map_or(self.preset.flow_key(), FlowKeyKind::from);
        let (vlan_in_key, hash_key) = (self.vlan_in_key, seed.hash_key());
        Keyer { kind, vlan_in_key, hash_key, pairs_directions: false }
    }

    /// Reads the rules and checks that they fit the flow key.
    pub fn load(&self, kind: FlowKeyKind) -> anyhow::Result<Rules> {
        let name = self.rules.as_deref().unwrap_or(self.preset.rules());
        let rules = Rules::load_with(name, &self.set).context("the rules cannot be used")?;
        rules.require_flow_key(kind).map_err(|error| {
            let todo = "choose --flow-key, or a --preset that fits the rules";
            Usage::new(anyhow::anyhow!("{error}; {todo}"))
        })?;
        Ok(rules)
    }

    /// Reads the rules and the suppression list.
    pub fn active(&self, kind: FlowKeyKind) -> anyhow::Result<ActiveRules> {
        let rules = self.load(kind)?;
        let suppressions = self.suppressions(&rules)?.map(Arc::new);
        Ok(ActiveRules { suppressions, ..ActiveRules::new(rules, self.preset.preset()) })
    }

    /// Reads the suppression list, if there is one.
    fn suppressions(&self, rules: &Rules) -> anyhow::Result<Option<Suppressions>> {
        let load = |path| Suppressions::load(path, &rules.list);
        Ok(self.suppress.as_deref().map(load).transpose()?)
    }
}
