//! Alerts as they are raised: one line each.
//!
//! | file | what |
//! |---|---|
//! | `output` | the engine's sink: writes each alert in the chosen format, in whole lines |
//! | `eve` | the format for programs: Suricata's EVE JSON |
//! | `anomaly` | overloads of the store in that format |
//! | `incident` | incidents in that format |
//! | `text` | the format for people, and the steps of a watched flow |
//!
//! To add a format: a file beside `eve`, a variant of [`AlertTarget`], and its choice by the options
//! in `cmd/alert_destination.rs`.

mod anomaly;
mod eve;
mod incident;
mod output;
mod text;

pub use incident::{IncidentFacts, append as append_incident, network_text, technique};
pub use output::{AlertOutput, AlertTarget, LineOutput, TextAlerts};
pub use text::severity_style;

use std::sync::Arc;

use crate::engine::RunPlan;
use crate::machine::Rules;
use acsm_filters::Lookup;

/// Resolves the numbers in alerts to names.
#[derive(Debug, Clone)]
pub struct Names {
    /// Rules and states.
    pub rules: Arc<Rules>,
    /// The store's name.
    pub backend: &'static str,
}

impl Names {
    /// The names of a run.
    pub fn new(plan: &RunPlan) -> Names {
        Names { rules: Arc::clone(&plan.active.rules), backend: plan.store.backend.name() }
    }

    /// The result of a lookup, for people.
    pub fn lookup(&self, lookup: Lookup) -> &str {
        match lookup {
            Lookup::Known(state) => self.rules.machine.state_name(state),
            Lookup::Absent => "absent",
            Lookup::DontKnow => "don't know",
        }
    }
}
