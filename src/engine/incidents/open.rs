//! An open incident: which packets are its own, and how it is described.

use std::net::IpAddr;
use std::sync::Arc;

use super::cases::Cases;
use super::index::Group;
use super::rate::Rate;
use super::recent::Handshake;
use super::sources::Sources;
use super::targets::Targets;
use super::{Incident, IncidentId};
use crate::engine::alert::{Alert, Subject};
use crate::engine::thresholds::ThresholdHit;
use crate::machine::{Network, Rule};
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::HashKey;

/// Hosts or ports that alerts name, at most; with more, any is taken.
const AIMS_MAX: usize = 16;
/// Ports that are listed.
const PORTS_LISTED: usize = 1024;
/// Hosts that are listed.
const HOSTS_LISTED: usize = 16;
/// A flood of a prefix that pauses for longer has nothing to do with what else happens in the prefix.
const LIVE_NANOS: u64 = 10 * NANOS_PER_SEC;
/// Packets of a tool that are enough to know it by.
const HINT_PACKETS: u64 = 20;

/// An incident that goes on.
#[derive(Debug, Clone)]
pub struct Open {
    pub id: IncidentId,
    pub rule: Arc<Rule>,
    /// All rules whose alerts would have opened it.
    rules: Vec<Arc<Rule>>,
    pub group: Group,
    pub severity: u8,
    pub alerted: Timestamp,
    /// Whether its beginning was told; scans from outside begin unannounced.
    pub is_announced: bool,
    /// When it was told of last, and what it counted then.
    pub told: (Timestamp, u64),
    alerts: u64,
    /// Alerts of single flows.
    flow_alerts: u64,
    /// Whether the rule that opened it knows that its sources are not forged.
    has_real_sources: bool,
    /// What thresholds counted.
    cases: Cases,
    /// Of alerts alone.
    span: (Timestamp, Timestamp),
    handshakes: Rate,
    sources: Sources,
    targets: Targets,
    answered: u64,
    aim: Aim,
    tool: Tool,
}

/// Which targets the alerts of an incident name.
#[derive(Debug, Clone, Default)]
struct Aim {
    hosts: Vec<IpAddr>,
    ports: Vec<u16>,
    /// A flood of more ports than can be listed.
    is_any_port: bool,
}

/// What SYNs tell of the program that sends them.
#[derive(Debug, Clone, Copy, Default)]
struct Tool {
    syns: u64,
    /// Sequence numbers of the first and of another one.
    sequences: [Option<u32>; 2],
    same_sequence: u64,
    sequence_is_destination: u64,
}

impl Open {
    pub fn new(id: IncidentId, rule: Arc<Rule>, group: Group, alert: &Alert) -> Open {
        Open {
            id,
            rules: vec![Arc::clone(&rule)],
            rule,
            group,
            severity: alert.severity,
            alerted: alert.time,
            is_announced: true,
            told: (alert.time, 0),
            alerts: 0,
            flow_alerts: 0,
            has_real_sources: false,
            cases: Cases::default(),
            span: (alert.packet.time.min(alert.time), alert.time),
            handshakes: Rate::new(),
            sources: Sources::new(),
            targets: Targets::default(),
            answered: 0,
            aim: Aim::default(),
            tool: Tool::default(),
        }
    }

    /// The incident counts destinations, not attackers.
    pub fn is_by_victim(&self) -> bool {
        !matches!(self.group, Group::Attacker(_))
    }

    /// Notes a rule whose alert would have opened it.
    pub fn add_rule(&mut self, rule: &Arc<Rule>) {
        if !self.rules.iter().any(|known| known.name == rule.name) {
            self.rules.push(Arc::clone(rule));
        }
    }

    /// Takes an alert that belongs to it.
    pub fn add_alert(&mut self, alert: &Alert, hit: Option<&ThresholdHit>, key: HashKey) {
        let packet = &alert.packet;
        self.alerts += 1;
        self.span.0 = self.span.0.min(packet.time);
        self.span.1 = self.span.1.max(alert.time);
        match hit {
            None => self.flow_alerts += 1,
            Some(hit) => self.add_case(hit),
        }
        let is_forward = match self.group {
            Group::Attacker(attacker) => packet.src == attacker,
            victims => victims.has_victim(packet.dst),
        };
        if !is_forward {
            return;
        }
        self.targets.add(packet.dst, packet.dst_port, key);
        if self.handshakes.total == 0 {
            self.sources.add(packet.src, key);
        }
        match alert.subject {
            // One port on many hosts, or one port of the victim.
            Subject::Source | Subject::Destination => self.aim.add_port(packet.dst_port),
            Subject::Pair => self.aim.add_host(packet.dst),
            Subject::Flow => {}
        }
    }

    /// Takes what a threshold says of a case that belongs to it.
    pub fn add_case(&mut self, hit: &ThresholdHit) {
        self.cases.add(hit);
        self.has_real_sources |= hit.rule == self.rule.id && hit.evidence.has_real_sources;
        if hit.evidence.ports as usize > AIMS_MAX && self.is_by_victim() {
            self.aim.is_any_port = true;
        }
    }

    /// Takes a SYN, if it belongs to it. Returns whether the incident is under way.
    #[inline]
    pub fn take(&mut self, syn: &Handshake, key: HashKey) -> bool {
        let may_fade = self.is_by_victim();
        let is_aimed = match may_fade {
            true => self.aim.is_any_port || self.aim.has_port(syn.dst_port),
            false => self.aim.has_host(syn.dst) || self.aim.has_port(syn.dst_port),
        };
        let is_over = self.group.is_prefix() && !self.is_live(syn.time);
        if !is_aimed || is_over || !self.handshakes.add(syn.time, may_fade) {
            return false;
        }
        self.sources.add(syn.src, key);
        self.targets.add(syn.dst, syn.dst_port, key);
        self.tool.add(syn);
        true
    }

    /// Takes a SYN of the past to a host that has become one of its victims.
    pub fn take_past(&mut self, syn: &Handshake, key: HashKey) {
        if self.aim.is_any_port || self.aim.has_port(syn.dst_port) {
            self.handshakes.add_past(syn.time);
            self.sources.add(syn.src, key);
            self.targets.add(syn.dst, syn.dst_port, key);
            self.tool.add(syn);
        }
    }

    /// Takes a SYN+ACK from a victim to the attacker.
    pub fn take_answer(&mut self, answer: &Handshake) {
        if self.aim.has_host(answer.src) || self.aim.has_port(answer.src_port) {
            self.answered += 1;
            self.targets.answered(answer.src_port);
        }
    }

    /// Ports that most SYNs of a flood do not go to: then it is one of all ports.
    pub fn aim_at_all_ports(&mut self) {
        self.aim.is_any_port = true;
    }

    /// How many packets it has.
    pub fn count(&self) -> u64 {
        // SYNs to a victim are also those of its clients.
        let syns = match self.cases.failed_permille {
            permille if permille > 0 && self.is_by_victim() => {
                (u128::from(self.handshakes.total) * u128::from(permille) / 1000) as u64
            }
            _ => self.handshakes.total,
        };
        syns.max(self.cases.events()).max(self.flow_alerts)
    }

    /// Hosts or ports tried, whichever are more.
    pub fn tried(&self) -> u64 {
        let own = self.targets.host_count().max(self.targets.port_count());
        own.max(self.cases.hosts).max(self.cases.ports)
    }

    pub fn last_seen(&self) -> Timestamp {
        let ends = [self.handshakes.span, self.cases.span].map(|span| span.map(|(_, last)| last));
        ends.into_iter().flatten().fold(self.span.1, Timestamp::max)
    }

    /// Whether it went on until shortly before this time.
    pub fn is_live(&self, at: Timestamp) -> bool {
        self.last_seen().plus(LIVE_NANOS) >= at
    }

    /// When its first and its last packet came: an alert comes later than what it is about.
    pub fn seen(&self) -> (Timestamp, Timestamp) {
        self.handshakes.span.or(self.cases.span).unwrap_or(self.span)
    }

    /// Whether all of its victims belong to this group.
    pub fn is_within(&self, group: Group) -> bool {
        match self.group {
            Group::Attacker(_) => {
                let hosts = self.targets.hosts();
                let first = hosts.first().zip(hosts.last());
                // In order: if the ends are within, all are.
                first.is_some_and(|(a, b)| group.has_victim(*a) && group.has_victim(*b))
            }
            Group::Victim(victim) => group.has_victim(victim),
            Group::Site(site) => {
                self.group == group || !matches!(group, Group::Victim(_)) && group.has_victim(site)
            }
            Group::Network(_) => self.group == group,
        }
    }

    /// The source that sends most of it.
    pub fn dominant_source(&self) -> Option<IpAddr> {
        match self.group {
            Group::Attacker(attacker) => Some(attacker),
            _ if self.has_own_sources() => self.sources.dominant(),
            _ => self.cases.top.first().filter(|_| self.cases.sources == 1).map(|(top, _)| *top),
        }
    }

    /// About how many distinct sources.
    fn source_count(&self) -> u64 {
        let own = match (self.has_own_sources(), self.handshakes.total) {
            (false, _) => self.cases.sources,
            // Those before the alert had sources too, if nearly each has one of its own.
            (true, seen) if seen > 0 && self.count() > seen && self.sources.are_spoofed() => {
                let all = u128::from(self.sources.estimate()) * u128::from(self.count());
                (all / u128::from(seen)) as u64
            }
            (true, _) => self.sources.estimate(),
        };
        own.min(self.count()).max(1)
    }

    /// Whether sources were counted packet by packet; else the cases know them, if there are any.
    fn has_own_sources(&self) -> bool {
        self.handshakes.total > 0 || self.cases.sources == 0
    }

    /// Whether sources look forged, and if not, the busiest ones.
    fn busiest(&self) -> (bool, Vec<IpAddr>) {
        if self.has_own_sources() {
            let is_spoofed = !self.has_real_sources && self.sources.are_spoofed();
            return (is_spoofed, self.sources.top());
        }
        let top = self.cases.top.iter().map(|(source, _)| *source);
        (self.cases.is_spoofed, top.filter(|_| !self.cases.is_spoofed).collect())
    }

    /// A victim that is known by address.
    pub fn first_victim(&self) -> Option<IpAddr> {
        self.targets.hosts().first().copied()
    }

    /// Its victims that are known by address.
    pub fn hosts(&self) -> &[IpAddr] {
        self.targets.hosts()
    }

    pub fn has_host(&self, host: IpAddr) -> bool {
        self.targets.has_host(host)
    }

    /// Makes it one with `other`, which began later, as one of this group.
    pub fn absorb(&mut self, other: Open, key: HashKey) {
        let has_handshakes = (self.handshakes.total > 0, other.handshakes.total > 0);
        self.severity = self.severity.min(other.severity);
        other.rules.iter().for_each(|rule| self.add_rule(rule));
        self.alerts += other.alerts;
        self.flow_alerts += other.flow_alerts;
        self.has_real_sources |= other.has_real_sources;
        self.cases.merge(other.cases);
        self.span = (self.span.0.min(other.span.0), self.span.1.max(other.span.1));
        self.handshakes.merge(&other.handshakes);
        match has_handshakes {
            (false, true) => self.sources = other.sources,
            (true, false) => {}
            _ => self.sources.merge(&other.sources),
        }
        self.targets.merge(&other.targets, key);
        self.answered += other.answered;
        other.aim.hosts.into_iter().for_each(|host| self.aim.add_host(host));
        self.aim.is_any_port |= other.aim.is_any_port;
        other.aim.ports.into_iter().for_each(|port| self.aim.add_port(port));
    }

    /// As it is now.
    pub fn describe(&self, is_over: bool) -> Incident {
        let (first_seen, last_seen) = self.seen();
        let (spoofed, top_sources) = match self.group {
            Group::Attacker(attacker) => (false, vec![attacker]),
            _ => self.busiest(),
        };
        let prefix = |(address, bits)| Network::of_address(address, bits);
        Incident {
            id: self.id,
            rule: Arc::clone(&self.rule),
            rules: self.rules.clone(),
            severity: self.severity,
            alerted: self.alerted,
            first_seen,
            last_seen,
            is_over,
            count: self.count(),
            are_syns: self.handshakes.total > 0,
            alerts: self.alerts,
            peak_rate: self.handshakes.peak.max(self.cases.peak),
            timeline: self.handshakes.timeline(),
            sources_estimated: if self.is_by_victim() { self.source_count() } else { 1 },
            top_sources,
            spoofed,
            victims: match self.group {
                Group::Attacker(_) => {
                    let hosts = self.targets.hosts().iter().take(HOSTS_LISTED);
                    hosts.map(|host| Network::from(*host)).collect()
                }
                group => vec![prefix(group.network())],
            },
            victims_estimated: match self.group {
                Group::Victim(_) => 1,
                _ => self.targets.host_count().max(self.cases.hosts).max(1),
            },
            ports: self.targets.ports().take(PORTS_LISTED).collect(),
            ports_total: self.targets.port_count().max(self.cases.ports),
            ports_open: self.targets.open().to_vec(),
            answered: self.answered,
            hints: self.tool.hints(),
        }
    }
}

impl Aim {
    fn add_host(&mut self, host: IpAddr) {
        if !self.hosts.contains(&host) && self.hosts.len() < AIMS_MAX {
            self.hosts.push(host);
        }
    }

    fn add_port(&mut self, port: u16) {
        if !self.ports.contains(&port) && self.ports.len() < AIMS_MAX {
            self.ports.push(port);
        }
    }

    fn has_host(&self, host: IpAddr) -> bool {
        self.hosts.len() == AIMS_MAX || self.hosts.contains(&host)
    }

    fn has_port(&self, port: u16) -> bool {
        self.ports.len() == AIMS_MAX || self.ports.contains(&port)
    }
}

impl Tool {
    fn add(&mut self, syn: &Handshake) {
        self.syns += 1;
        let [first, second] = &mut self.sequences;
        let first = *first.get_or_insert(syn.sequence);
        if syn.sequence == first {
            self.same_sequence += 1;
        } else if syn.sequence == *second.get_or_insert(syn.sequence) {
            // Probes that are repeated have another one.
            self.same_sequence += 1;
        }
        if let IpAddr::V4(destination) = syn.dst {
            self.sequence_is_destination += u64::from(destination.to_bits() == syn.sequence);
        }
    }

    fn hints(&self) -> Vec<&'static str> {
        let is_most = |part: u64| self.syns >= HINT_PACKETS && 10 * part >= 9 * self.syns;
        let mut hints = Vec::new();
        if is_most(self.sequence_is_destination) {
            hints.push("mirai-like");
        } else if is_most(self.same_sequence) {
            hints.push("nmap-like");
        }
        hints
    }
}
