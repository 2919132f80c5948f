//! Incidents: what one attacker does, or what happens to one victim, as one thing with a beginning, a size and an end.
//!
//! # How they come about
//! The tracker sits in the merger, so it sees packets and alerts in capture order, whatever the number of
//! workers. An alert of severity 1 or 2, or of a threshold, joins the open incident of its group or
//! opens one; any other alert joins one of its attacker or victim, or none. Alerts that limits leave out count, those that a user does not
//! want (suppressed, foreign, muted) do not.
//!
//! Groups: the attacker; the victim, of thresholds that count per destination and of more than 5 attackers; the victims' /24 or /48 and
//! then /16 or /32, where more than 5 victims in it have incidents of the same rule at once, ten seconds apart at most (more than 64, if
//! each has an attacker of its own). A flood of which one source sends most joins the scan of that source on that victim.
//! An incident ends 10 minutes after its last packet, and is told of when it begins, doubles, has lasted
//! another 10 minutes, and ends.
//!
//! # How they are measured
//! An alert comes late and says little: so the latest 65,536 SYNs and SYN+ACKs are kept (`recent`), an incident that opens looks back
//! at those that are its own, and from then on takes the others as they come. A flood takes those to its victim and port, as long as
//! their rate is an eighth of its peak (`rate`); a scan those of its attacker to the hosts or ports that the alerts
//! name. Packets without SYN cost a comparison; SYNs a store to memory, and up to four bits of a bitmap where incidents are open.
//!
//! # Bounds
//! 4,096 open incidents of at most 21 KiB, 4,096 closed ones. When all are open the least important one (lowest severity, then fewest
//! packets) is closed, and counted. 16 incidents per second look back; others begin with their alert.
//!
//! # What an attacker can do
//! - *Hide one by many.* Forged sources on one victim become one incident at the sixth, on one site at the 65th. Eviction never takes a graver incident, nor a
//!   larger one of the same severity; what it takes was told of, and stays in the list.
//! - *Hide a scan in a flood.* SYNs of an open flood do not enter the ring, so a scan finds its own. Before the flood is found it can
//!   flush the ring: then the scan begins with its alert, and its count is a lower bound.
//! - *Blame a bystander.* Sources are named only if counted by a lower bound (`sources`); where they look forged none is, and the incident
//!   has the victim alone. One forged scan in the name of somebody who never scanned is not told from a real one: no passive
//!   monitor can, and the incident says how many packets it rests on.
//! - *Stay below the gap.* Probes rarer than every 10 minutes are incidents of their own. *Send for ever*: an incident that
//!   never ends is told of every 10 minutes.
//! - *Wear the tracker out.* Work per SYN is bounded by the number of groups (4); work per opening by one pass over
//!   open incidents, and 16 times per second one over the ring.
//!
//! | file | what |
//! |---|---|
//! | `tracker` | which incident an alert or packet belongs to; when one begins and ends |
//! | `joining` | which open incident an alert belongs to |
//! | `open` | an open incident: what it takes, how it is described |
//! | `grouping` | when several become one |
//! | `background` | scans from outside too small for incidents of their own, by the hour |
//! | `cases` | what the thresholds know of an incident |
//! | `index` | groups of addresses |
//! | `per_second` | a limit on what is costly |
//! | `recent` | the latest SYNs and SYN+ACKs |
//! | `rate`, `sources`, `targets`, `distinct` | packets over time; who sends; who receives; distinct counts |

mod background;
mod cases;
mod distinct;
mod grouping;
mod index;
mod joining;
mod open;
mod per_second;
mod rate;
mod recent;
mod sources;
mod targets;
mod tracker;

pub use crate::engine::alert::IncidentId;
pub use recent::PastSyns;
pub use tracker::IncidentTracker;

use std::net::IpAddr;
use std::sync::Arc;

use crate::machine::{Network, Rule};
use crate::time::Timestamp;

/// An incident at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// Its name.
    pub id: IncidentId,
    /// The rule that it is called by.
    pub rule: Arc<Rule>,
    /// All rules whose alerts made it an incident.
    pub rules: Vec<Arc<Rule>>,
    /// The gravest of its alerts.
    pub severity: u8,
    /// When its first alert came.
    pub alerted: Timestamp,
    /// When its first and its last packet came.
    pub first_seen: Timestamp,
    /// See `first_seen`.
    pub last_seen: Timestamp,
    /// Whether it is over.
    pub is_over: bool,
    /// Its packets: SYNs of scans and floods, or what its alerts counted.
    pub count: u64,
    /// Whether these are SYNs.
    pub are_syns: bool,
    /// Alerts that belong to it, shown or not.
    pub alerts: u64,
    /// Packets in the busiest second.
    pub peak_rate: u64,
    /// Packets over time, in steps of equal length.
    pub timeline: Vec<u32>,
    /// Distinct sources, about.
    pub sources_estimated: u64,
    /// The busiest sources; none if they are forged.
    pub top_sources: Vec<IpAddr>,
    /// Whether sources look forged.
    pub spoofed: bool,
    /// The victims: one prefix, or hosts.
    pub victims: Vec<Network>,
    /// How many hosts, about.
    pub victims_estimated: u64,
    /// Ports that were tried, the lowest first.
    pub ports: Vec<u16>,
    /// How many ports.
    pub ports_total: u64,
    /// Ports that answered.
    pub ports_open: Vec<u16>,
    /// SYNs that were answered.
    pub answered: u64,
    /// What tells of the tool.
    pub hints: Vec<&'static str>,
}

impl Incident {
    /// The attacker, if there is one.
    pub fn attacker(&self) -> Option<IpAddr> {
        self.top_sources.first().copied().filter(|_| self.sources_estimated == 1)
    }

    /// The victim, if there is one.
    pub fn victim(&self) -> Option<IpAddr> {
        match self.victims[..] {
            [victim] => victim.single(),
            _ => None,
        }
    }
}

/// What became of an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentStatus {
    /// It begins.
    Start,
    /// It has grown.
    Update,
    /// It is over.
    End,
}

impl IncidentStatus {
    /// Its name in EVE lines.
    pub const fn name(self) -> &'static str {
        match self {
            IncidentStatus::Start => "start",
            IncidentStatus::Update => "update",
            IncidentStatus::End => "end",
        }
    }
}

/// Something to be told of an incident.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentEvent {
    /// What.
    pub status: IncidentStatus,
    /// When.
    pub time: Timestamp,
    /// The incident now.
    pub incident: Incident,
    /// The incident that it has become a part of, if that is why it ends.
    pub merged_into: Option<IncidentId>,
}

/// The incidents of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Incidents {
    /// In the order in which they began.
    pub list: Vec<Incident>,
    /// Incidents that were closed early, because too many were open.
    pub evicted: u64,
    /// Incidents that are not in the list, because there were too many.
    pub unlisted: u64,
}
