//! Presets: the defaults of options that belong together.

use clap::ValueEnum;

use crate::flow::FlowKeyKind;
use crate::machine::Preset;
use crate::time::NANOS_PER_SEC;
use acsm_filters::Backend;
use acsm_filters::pending::PendingTable;

/// Presets by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetName {
    /// For network operators: connections, tcp-connection, fcf behind a pending table, FIN and RST
    /// only counted
    Operator,
    /// As in the papers: address pairs, tcp-flags, kbf, FIN and RST alerts shown
    Paper,
}

impl PresetName {
    /// Which rules are shown.
    pub fn preset(self) -> Preset {
        match self {
            PresetName::Operator => Preset::Operator,
            PresetName::Paper => Preset::Paper,
        }
    }

    /// What makes packets one flow.
    pub fn flow_key(self) -> FlowKeyKind {
        match self {
            PresetName::Operator => FlowKeyKind::Connection,
            PresetName::Paper => FlowKeyKind::Pair,
        }
    }

    /// The rules that come with the program.
    pub fn rules(self) -> &'static str {
        match self {
            PresetName::Operator => "tcp-connection",
            PresetName::Paper => "tcp-flags",
        }
    }

    /// The structure that keeps flow state.
    pub fn backend(self) -> Backend {
        match self {
            PresetName::Operator => Backend::Fcf,
            PresetName::Paper => Backend::Kbf,
        }
    }

    /// The rate of false positives that a store is sized for.
    pub fn fp_rate(self, backend: Backend) -> f64 {
        match (self, backend) {
            // Where fingerprints match, a forged RST closes the flow of somebody else.
            (PresetName::Operator, Backend::Fcf) => 5e-5,
            _ => 0.01,
        }
    }

    /// How long a flow in the store may be idle.
    pub fn idle_timeout_nanos(self) -> u64 {
        match self {
            PresetName::Operator => 300 * NANOS_PER_SEC,
            PresetName::Paper => 60 * NANOS_PER_SEC,
        }
    }

    /// Slots of the pending table before a store for this many flows.
    pub fn pending_slots(self, flows: u64) -> Option<u64> {
        match self {
            PresetName::Operator => Some(PendingTable::default_slots(flows)),
            PresetName::Paper => None,
        }
    }
}
