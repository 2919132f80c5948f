//! The ground truth of a trace: exact counts, and labels of its attacks.

use std::collections::BTreeMap;

use serde::Serialize;

use super::address_plan::{
    BACKBONE_DESTINATIONS, BACKBONE_SOURCES, CLEAN_CLIENTS, CLEAN_SERVERS, DualNetwork,
    LONG_LIVED_CLIENTS, LONG_LIVED_SERVERS, Network, PARTIAL_CLIENTS, PARTIAL_SERVERS,
};
use super::attack::AttackRecord;
use super::conversation::EndingCounts;
use super::counts::FlowCounts;
use super::spec::{Profile, TraceSpec};
use crate::time::Timestamp;

/// The ground truth of a trace: the keys of `acsm inspect --json` with the same meanings, and labels.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)] // named as in the JSON contract
pub struct Truth {
    pub profile: &'static str,
    pub seed: u64,
    pub well_behaved: bool,
    pub snaplen: u32,
    pub packets: u64,
    pub tcp_packets: u64,
    #[serde(flatten)]
    pub counts: FlowCounts,
    pub ipv6_tcp_packets: u64,
    /// Absent where the snaplen cuts TCP flags off: then the reasons depend on the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<BTreeMap<String, u64>>,
    pub link_types: [String; 1],
    pub first_time: Option<String>,
    pub last_time: Option<String>,
    pub damaged: Option<String>,
    pub attacks: Vec<AttackTruth>,
    pub clean: Part,
    pub partly_seen: Part,
    /// Present if there are long-lived connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_lived: Option<Part>,
    /// Present if the share of silent ends was specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_ends: Option<SilentEnds>,
    /// Size of the pcap file.
    #[serde(skip)]
    pub file_bytes: u64,
}

/// How many ports of an attack are listed.
const LISTED_PORTS: usize = 16;

/// One attack: attackers, victims, times, and the rule that should detect it.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)] // named as in the ground truth
pub struct AttackTruth {
    pub name: &'static str,
    /// `null` if no rule detects it.
    pub rule: Option<&'static str>,
    /// The address, or the network of the addresses if `attacker_count` is more than 1.
    pub attackers: Vec<String>,
    pub attacker_count: u64,
    pub victims: Vec<String>,
    pub victim_count: u64,
    /// The lowest of the attacked ports, at most 16 of them.
    pub victim_ports: Vec<u16>,
    pub victim_port_count: u64,
    pub first_time: String,
    pub last_time: String,
    pub packets: u64,
    pub flows: u64,
}

/// A part of the ordinary traffic.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Part {
    /// A description.
    pub what: &'static str,
    /// The networks of its addresses, and of no others.
    pub networks: Vec<String>,
    /// How many directed pairs it has.
    pub flows: u64,
}

/// How many of the connections in `clean` ended silently.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SilentEnds {
    /// The probability in the specification.
    pub share: f64,
    /// Connections that were opened.
    pub connections: u64,
    /// Those that ended without FIN and RST.
    pub silent: u64,
}

/// The counts that are added up while a trace is written.
#[derive(Debug, Clone, Default)]
pub(super) struct TraceCounts {
    pub packets: u64,
    pub tcp_packets: u64,
    pub ipv6_tcp_packets: u64,
    pub counts: FlowCounts,
    pub clean_flows: u64,
    pub partly_seen_flows: u64,
    pub long_lived_flows: u64,
    /// Of the connections of clean flows.
    pub endings: EndingCounts,
    pub first_time: Option<Timestamp>,
    pub last_time: Option<Timestamp>,
    pub attacks: Vec<AttackRecord>,
}

impl TraceCounts {
    pub(super) fn into_truth(mut self, spec: &TraceSpec, file_bytes: u64) -> Truth {
        let shown = |time: Option<Timestamp>| time.map(|time| time.to_string());
        self.attacks.sort_by_key(|attack| attack.first_nanos);
        let attacks = self.attacks.iter().map(|attack| attack_truth(spec, attack)).collect();
        let EndingCounts { connections, silent } = self.endings;
        let (clean, partly_seen) = parts(spec.profile, self.clean_flows, self.partly_seen_flows);
        Truth {
            profile: spec.profile.name(),
            seed: spec.seed,
            well_behaved: spec.well_behaved,
            snaplen: spec.format.snaplen,
            packets: self.packets,
            tcp_packets: self.tcp_packets,
            counts: self.counts,
            ipv6_tcp_packets: self.ipv6_tcp_packets,
            skipped: (self.packets == self.tcp_packets).then(BTreeMap::new),
            link_types: [spec.format.link.link_type().to_string()],
            first_time: shown(self.first_time),
            last_time: shown(self.last_time),
            damaged: None,
            attacks,
            clean,
            partly_seen,
            long_lived: (spec.long_lived > 0).then(|| long_lived(self.long_lived_flows)),
            silent_ends: spec.silent_share.map(|share| SilentEnds { share, connections, silent }),
            file_bytes,
        }
    }
}

fn attack_truth(spec: &TraceSpec, attack: &AttackRecord) -> AttackTruth {
    let shown =
        |nanos: u64| spec.format.precision.round_down(TraceSpec::START.plus(nanos)).to_string();
    AttackTruth {
        name: attack.kind.name(),
        rule: attack.kind.rule(),
        attackers: vec![attack.attackers.clone()],
        attacker_count: attack.attacker_count,
        victims: vec![attack.victims.clone()],
        victim_count: attack.victim_count,
        victim_ports: attack.victim_ports.iter().copied().take(LISTED_PORTS).collect(),
        victim_port_count: attack.victim_ports.len() as u64,
        first_time: shown(attack.first_nanos),
        last_time: shown(attack.last_nanos),
        packets: attack.packets,
        flows: attack.counts.flows,
    }
}

fn shown(networks: &[Network]) -> Vec<String> {
    networks.iter().map(Network::to_string).collect()
}

fn both(clients: DualNetwork, servers: DualNetwork) -> Vec<String> {
    shown(&[clients.v4, clients.v6, servers.v4, servers.v6])
}

fn long_lived(flows: u64) -> Part {
    Part {
        what: "connections that live as long as the trace: an alert of severity 1 or 2 on them is false",
        networks: both(LONG_LIVED_CLIENTS, LONG_LIVED_SERVERS),
        flows,
    }
}

fn parts(profile: Profile, clean_flows: u64, partly_seen_flows: u64) -> (Part, Part) {
    let partial_networks = match profile {
        Profile::Realistic => both(PARTIAL_CLIENTS, PARTIAL_SERVERS),
        Profile::Paper => shown(&[BACKBONE_SOURCES, BACKBONE_DESTINATIONS]),
    };
    let clean_networks = match profile {
        Profile::Realistic => both(CLEAN_CLIENTS, CLEAN_SERVERS),
        Profile::Paper => Vec::new(),
    };
    let clean = Part {
        what: "ordinary connections, seen whole: an alert of severity 1 or 2 on them is false",
        networks: clean_networks,
        flows: clean_flows,
    };
    let partly_seen = Part {
        what: "ordinary connections of which the beginning or a direction is not in the trace",
        networks: partial_networks,
        flows: partly_seen_flows,
    };
    (clean, partly_seen)
}
