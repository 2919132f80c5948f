//! Presets: the defaults of options that belong together.

use clap::ValueEnum;

use crate::flow::FlowKeyKind;
use crate::machine::Preset;
use crate::time::NANOS_PER_SEC;
use acsm_filters::pending::PendingTable;
use acsm_filters::{Backend, LayoutKind};

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

    /// The rate of false positives that a store is sized for, with or without a pending table.
    pub fn fp_rate(self, backend: Backend, has_pending: bool) -> f64 {
        match (self, backend) {
            // Where fingerprints match, a forged RST closes the flow of somebody else.
            (PresetName::Operator, Backend::Fcf) => 5e-5,
            (PresetName::Paper, Backend::Fcf) if has_pending => 5e-5,
            // A connection that is taken for another one takes counts from the cells of others when it
            // ends. In a dbf the rate is that of one test, and a lookup makes one per state.
            (PresetName::Operator, Backend::Kbf) => 0.005,
            (PresetName::Operator, Backend::Sbf) => 0.003,
            (PresetName::Operator, Backend::Dbf) => 1e-5,
            _ => 0.01,
        }
    }

    /// Where the cells of a flow lie.
    pub fn layout(self, backend: Backend) -> LayoutKind {
        match (self, backend) {
            // All states of a flow share its lines: where these are crowded, all tests err at once.
            (PresetName::Operator, Backend::Dbf) => LayoutKind::Spread,
            _ => LayoutKind::best_for(backend),
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
