//! Scanners from outside that try little: what every public address sees all day. They are no incidents of
//! their own; one line per hour tells of them.

use std::net::IpAddr;
use std::sync::Arc;

use super::{Incident, IncidentId};
use crate::machine::{Category, Counterparts, Network, Preset, Rule, RuleId, RuleKind, RuleSet};
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::HashKey;

use super::distinct::Distinct;
use super::index::{NARROW, masked};

const HOUR_NANOS: u64 = 3600 * NANOS_PER_SEC;
/// A scan from outside is an incident of its own from this many hosts or ports on.
pub const TARGETS_MIN: u64 = 25;
/// Signature id of the incidents.
const SIGNATURE_ID: u32 = 1_710_090;
/// Things that are listed.
const LISTED: usize = 16;

/// The small scans of an hour.
#[derive(Debug)]
pub struct Background {
    rule: Arc<Rule>,
    hour: u64,
    scanners: Distinct,
    top_sources: Vec<IpAddr>,
    victims: Vec<IpAddr>,
    ports: Vec<u16>,
    incident: Option<Incident>,
}

impl Background {
    pub fn new() -> Background {
        Background {
            rule: Arc::new(rule()),
            hour: 0,
            scanners: Distinct::default(),
            top_sources: Vec::new(),
            victims: Vec::new(),
            ports: Vec::new(),
            incident: None,
        }
    }

    /// The hour that was over before `now`, if anything happened in it.
    pub fn pass_to(&mut self, now: Timestamp) -> Option<Incident> {
        let hour = now.as_nanos() / HOUR_NANOS;
        let ended = self.incident.take_if(|_| hour > self.hour)?;
        self.scanners = Distinct::default();
        self.top_sources.clear();
        self.victims.clear();
        self.ports.clear();
        Some(ended)
    }

    /// Adds a scan that is over, at `now`.
    pub fn add(&mut self, scan: &Incident, now: Timestamp, key: HashKey) {
        let Some(scanner) = scan.attacker() else { return };
        self.scanners.add(scanner, key);
        list(&mut self.top_sources, [scanner]);
        list(&mut self.ports, scan.ports.iter().copied());
        let site = |network: &Network| masked(network.address(), NARROW);
        list(&mut self.victims, scan.victims.iter().map(site));
        let hour = now.as_nanos() / HOUR_NANOS;
        let rule = &self.rule;
        let all = self.incident.get_or_insert_with(|| Incident {
            id: IncidentId(key.digest([hour, u64::from(SIGNATURE_ID)]) as u32),
            rule: Arc::clone(rule),
            rules: Vec::new(),
            severity: 4,
            is_over: true,
            count: 0,
            alerts: 0,
            hints: Vec::new(),
            timeline: Vec::new(),
            ..scan.clone()
        });
        self.hour = hour;
        for rule in &scan.rules {
            if !all.rules.iter().any(|known| known.name == rule.name) {
                all.rules.push(Arc::clone(rule));
            }
        }
        all.count += scan.count;
        all.alerts += scan.alerts;
        all.first_seen = all.first_seen.min(scan.first_seen);
        all.last_seen = all.last_seen.max(scan.last_seen);
        all.peak_rate = all.peak_rate.max(scan.peak_rate);
        all.sources_estimated = self.scanners.estimate().max(1);
        all.top_sources.clone_from(&self.top_sources);
        all.victims = self.victims.iter().map(|&site| site_network(site)).collect();
        all.victims_estimated = all.victims_estimated.max(scan.victims_estimated);
        all.ports.clone_from(&self.ports);
        all.ports_total = self.ports.len() as u64;
    }

    /// What happened in this hour so far.
    pub fn finish(&mut self) -> Option<Incident> {
        self.incident.take()
    }
}

fn site_network(site: IpAddr) -> Network {
    Network::of_address(site, if site.is_ipv4() { NARROW.0 } else { NARROW.1 })
}

fn list<T: Ord + Copy>(listed: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for item in more {
        if let Err(at) = listed.binary_search(&item)
            && listed.len() < LISTED
        {
            listed.insert(at, item);
        }
    }
}

/// What the incidents are called; no alert has this rule.
fn rule() -> Rule {
    Rule {
        id: RuleId(RuleSet::LIMIT as u8),
        name: "background_scan".to_owned(),
        signature_id: SIGNATURE_ID,
        severity: 4,
        category: Category::NetworkScan,
        message: "scanners from outside that tried little, in an hour".to_owned(),
        kind: RuleKind::Threshold,
        on: Preset::ALL.to_vec(),
        cooldown_nanos: 0,
        confirm: None,
        counterparts: Counterparts::default(),
    }
}
