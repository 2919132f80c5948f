//! An alert, and the name of the incident that it belongs to.

use std::fmt;

use crate::flow::{FlowId, Packet};
use crate::machine::RuleId;
use crate::time::Timestamp;
use acsm_filters::{Lookup, State};

/// One alert, in packet order, after all limits.
#[derive(Debug, Clone, Copy)]
pub struct Alert {
    /// The rule.
    pub rule: RuleId,
    /// 1 (gravest) to 4: that of the rule, unless the direction of a scan says otherwise.
    pub severity: u8,
    /// What it counts, if it counts anything.
    pub subject: Subject,
    /// Whether the sender of `packet` is to be named: not in floods, whose addresses may be forged.
    pub names_source: bool,
    /// The incident that it belongs to.
    pub incident: Option<IncidentId>,
    /// The packet's time, or the time at which a reply was overdue.
    pub time: Timestamp,
    /// The packet that raised it.
    pub packet: Packet,
    /// The packet's flow.
    pub flow: FlowId,
    /// What the store answered for the flow before the packet; thresholds ask no store.
    pub answer: Option<Lookup>,
    /// The state of the flow now, if known.
    pub state: Option<State>,
    /// How sure the answer is, from 0 to 1: the chance that it is not that of another flow.
    pub confidence: f64,
    /// Whether something else than the store says the same; `None` where nothing has to.
    pub confirmed: Option<bool>,
    /// For thresholds: how many were counted within the window.
    pub count: Option<u64>,
    /// Alerts of the same rule and source suppressed since the last one.
    pub suppressed: u64,
}

/// Whom an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// One flow: it counts nothing.
    Flow,
    /// A source, whatever its destinations.
    Source,
    /// A destination, whatever its sources.
    Destination,
    /// A source and a destination.
    Pair,
}

/// The name of an incident: the same for the same input, options and seed. Displays as eight digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IncidentId(pub u32);

impl fmt::Display for IncidentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}
