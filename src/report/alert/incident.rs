//! Incidents as EVE lines: an `alert` with `acsm.incident`, when one begins, has grown, and ends.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::{Value, json};

use super::eve::eve_time;
use crate::engine::{Incident, IncidentEvent};
use crate::machine::{Category, GENERATOR_ID, Network, Rule};
use crate::time::Timestamp;

/// The rule whose sender is the victim.
const BACKSCATTER: &str = "backscatter";
/// Ports that a line lists.
const PORTS_MAX: usize = 1024;

#[derive(Serialize)]
struct IncidentLine<'a> {
    timestamp: String,
    event_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    src_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest_port: Option<u16>,
    proto: &'static str,
    alert: AlertFields<'a>,
    acsm: OwnFields,
}

#[derive(Serialize)]
struct AlertFields<'a> {
    action: &'static str,
    gid: u32,
    signature_id: u32,
    rev: u32,
    signature: String,
    category: &'a str,
    severity: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

#[derive(Serialize)]
struct End {
    ip: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
}

#[derive(Serialize)]
struct OwnFields {
    incident: IncidentFields,
}

#[derive(Serialize)]
struct IncidentFields {
    id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_into: Option<String>,
    #[serde(flatten)]
    facts: IncidentFacts,
}

/// What EVE lines and `replay --json` have in common; `docs/json.md` describes the keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IncidentFacts {
    kind: String,
    severity: u8,
    first_seen: String,
    last_seen: String,
    count: u64,
    peak_rate: u64,
    sources_estimated: u64,
    top_sources: Vec<IpAddr>,
    spoofed: bool,
    victims: Vec<String>,
    victims_estimated: u64,
    ports: Vec<u16>,
    ports_total: u64,
    ports_open: Vec<u16>,
    answered: u64,
    alerts: u64,
    hints: Vec<&'static str>,
}

impl IncidentFacts {
    /// The facts of an incident; `time` writes moments.
    pub fn new(incident: &Incident, time: fn(Timestamp) -> String) -> Self {
        IncidentFacts {
            kind: incident.rule.name.clone(),
            severity: incident.severity,
            first_seen: time(incident.first_seen),
            last_seen: time(incident.last_seen),
            count: incident.count,
            peak_rate: incident.peak_rate,
            sources_estimated: incident.sources_estimated,
            top_sources: incident.top_sources.clone(),
            spoofed: incident.spoofed,
            victims: incident.victims.iter().map(network_text).collect(),
            victims_estimated: incident.victims_estimated,
            ports: incident.ports.iter().copied().take(PORTS_MAX).collect(),
            ports_total: incident.ports_total,
            ports_open: incident.ports_open.clone(),
            answered: incident.answered,
            alerts: incident.alerts,
            hints: incident.hints.clone(),
        }
    }
}

/// An address, or a prefix with its length.
pub fn network_text(network: &Network) -> String {
    network.single().map_or_else(|| network.to_string(), |address| address.to_string())
}

/// Techniques of MITRE ATT&CK by the name of a rule.
pub fn technique(rule: &Rule) -> Option<&'static str> {
    match rule.name.as_str() {
        "synack_flood" | BACKSCATTER => Some("T1498.002"),
        "login_guessing" => Some("T1110"),
        _ => match rule.category {
            Category::NetworkScan | Category::AttemptedRecon => Some("T1046"),
            Category::AttemptedDos => Some("T1499.001"),
            _ => None,
        },
    }
}

/// Appends the event to `out`, as one line.
pub fn append(event: &IncidentEvent, out: &mut Vec<u8>) {
    let incident = &event.incident;
    let rule = &incident.rule;
    // Sources that may be forged, or that are many, are nobody's address.
    let (source, target) = (incident.attacker(), incident.victim());
    // The sender of backscatter is the victim: it answers packets whose source addresses were forged.
    let is_answer = rule.name == BACKSCATTER;
    let (sender, victim) = if is_answer { (None, source) } else { (source, target) };
    let port = match incident.ports[..] {
        [port] => Some(port),
        _ => None,
    };
    let line = IncidentLine {
        timestamp: eve_time(event.incident.last_seen),
        event_type: "alert",
        src_ip: source,
        dest_ip: target,
        dest_port: port.filter(|_| target.is_some()),
        proto: "TCP",
        alert: AlertFields {
            action: "allowed",
            gid: GENERATOR_ID,
            signature_id: rule.signature_id,
            rev: 1,
            signature: format!("{}: incident {}", rule.name, event.status.name()),
            category: rule.category.description(),
            severity: incident.severity,
            source: sender.map(|ip| End { ip: ip.to_string(), port: None }),
            target: victim.map(|ip| End { ip: ip.to_string(), port: port.filter(|_| !is_answer) }),
            metadata: technique(rule).map(|id| json!({ "mitre_technique_id": [id] })),
        },
        acsm: OwnFields {
            incident: IncidentFields {
                id: incident.id.to_string(),
                status: event.status.name(),
                merged_into: event.merged_into.map(|id| id.to_string()),
                facts: IncidentFacts::new(incident, eve_time),
            },
        },
    };
    // Writing plain data to memory cannot fail.
    if serde_json::to_writer(&mut *out, &line).is_ok() {
        out.push(b'\n');
    }
}
