//! Presets: the defaults of options that belong together.

use clap::ValueEnum;

use crate::flow::FlowKeyKind;
use crate::machine::Preset;
use acsm_filters::Backend;

/// Presets by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetName {
    /// For network operators: connections, tcp-connection, fcf, FIN and RST only counted
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
}
