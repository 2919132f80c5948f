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
        match backend {
            _ if self == PresetName::Paper && !has_pending => 0.01,
            // Where fingerprints match, a forged RST closes the flow of somebody else.
            Backend::Fcf => 5e-5,
            // A connection that is taken for another one takes counts from the cells of others when it
            // ends. In a dbf the rate is that of one test, and a lookup makes one per state.
            Backend::Kbf => 0.005,
            Backend::Sbf => 0.003,
            Backend::Dbf => 1e-5,
            // All cells of a flow must agree on its state, so that far fewer absent flows are found than
            // have all their cells in use.
            Backend::Bhbf => 0.07,
            _ => 0.01,
        }
    }

    /// Where the cells of a flow lie, with or without a pending table.
    pub fn layout(self, backend: Backend, has_pending: bool) -> LayoutKind {
        match backend {
            // All states of a flow share its lines: where these are crowded, all tests err at once.
            Backend::Dbf if self == PresetName::Operator || has_pending => LayoutKind::Spread,
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
