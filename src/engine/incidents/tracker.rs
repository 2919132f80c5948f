//! Which incident an alert or a packet belongs to; when one begins, has grown, and ends.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::background::{Background, TARGETS_MIN};
use super::grouping::wider_group;
use super::index::{Group, Index};
use super::open::Open;
use super::per_second::PerSecond;
use super::recent::{Handshake, RecentHandshakes};
use super::{Incident, IncidentEvent, IncidentId, IncidentStatus, Incidents};
use crate::engine::active_rules::ActiveRules;
use crate::engine::alert::{Alert, Subject};
use crate::engine::thresholds::{HitStage, ThresholdHit};
use crate::flow::Packet;
use crate::machine::{Category, HomeNets, Rule, RuleKind};
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::HashKey;

/// An incident is over this long after its last packet or alert.
const GAP_NANOS: u64 = 600 * NANOS_PER_SEC;
/// It is told of at least this often.
const UPDATE_NANOS: u64 = 600 * NANOS_PER_SEC;
/// Incidents open at once.
const OPEN_MAX: usize = 4096;
/// Incidents that are listed at the end.
const LISTED_MAX: usize = 4096;
/// How far back the SYNs of a flood, and those of a scan, can lie when its alert comes.
pub(super) const FLOOD_NANOS: u64 = 15 * NANOS_PER_SEC;
const SCAN_NANOS: u64 = 2100 * NANOS_PER_SEC;
/// Incidents that look back, in one second.
pub(super) const LOOKS_PER_SECOND: u32 = 16;

/// Follows incidents over the packets and alerts of a run, in capture order.
#[derive(Debug)]
pub struct IncidentTracker {
    pub(super) key: HashKey,
    rules: Vec<Arc<Rule>>,
    home: HomeNets,
    pub(super) open: BTreeMap<u64, Open>,
    pub(super) index: Index,
    /// Which incident a case of the thresholds belongs to.
    cases: BTreeMap<u64, u64>,
    pub(super) recent: RecentHandshakes,
    began: u64,
    pub(super) now: Timestamp,
    /// When it is next to be asked whether incidents are over.
    next_due: Timestamp,
    /// Incidents that looked back.
    pub(super) looks: PerSecond,
    /// Alerts for which earlier SYNs were looked up.
    pub(super) past_lookups: PerSecond,
    background: Background,
    done: Incidents,
    events: Vec<IncidentEvent>,
}

impl IncidentTracker {
    /// Nothing has happened yet.
    pub fn new(active: &ActiveRules, key: HashKey) -> IncidentTracker {
        let secret = key.digest([0x1c1d_e275]) as u64;
        let mut tracker = IncidentTracker {
            key,
            rules: Vec::new(),
            home: HomeNets::default(),
            open: BTreeMap::new(),
            index: Index::new(secret),
            cases: BTreeMap::new(),
            recent: RecentHandshakes::new(),
            began: 0,
            now: Timestamp::default(),
            next_due: Timestamp::default(),
            looks: PerSecond::default(),
            past_lookups: PerSecond::default(),
            background: Background::new(),
            done: Incidents::default(),
            events: Vec::new(),
        };
        tracker.set_rules(active);
        tracker
    }

    /// Uses these rules from now on. Open incidents keep theirs.
    pub fn set_rules(&mut self, active: &ActiveRules) {
        self.rules = active.rules.list.iter().map(|rule| Arc::new(rule.clone())).collect();
        self.home = active.home.clone();
    }

    /// Takes packets, in capture order.
    #[inline]
    pub fn observe(&mut self, packets: &[Packet]) {
        for packet in packets {
            if packet.time >= self.next_due {
                self.pass_to(packet.time);
            }
            if let Some(handshake) = Handshake::of(packet) {
                self.now = self.now.max(packet.time);
                self.take(handshake);
            }
        }
    }

    /// Lets time pass.
    #[cold]
    pub fn pass_to(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        self.next_due = self.now.plus(NANOS_PER_SEC);
        if let Some(incident) = self.background.pass_to(self.now) {
            self.list_background(incident);
        }
        let mut over = Vec::new();
        for (number, open) in &mut self.open {
            let (told_at, told_count) = open.told;
            if open.last_seen().plus(GAP_NANOS) <= self.now {
                over.push(*number);
            } else if open.is_announced
                && told_at.plus(UPDATE_NANOS) <= self.now
                && open.count() > told_count
            {
                self.events.push(told(open, IncidentStatus::Update, self.now));
            }
        }
        for number in over {
            self.close(number, true);
        }
    }

    /// Takes an alert, in the order of packets. Returns the incident that it belongs to.
    pub fn alert(&mut self, alert: &Alert, hit: Option<&ThresholdHit>) -> Option<IncidentId> {
        self.now = self.now.max(alert.time);
        let rule = self.rules.get(usize::from(alert.rule.0))?;
        if rule.kind == RuleKind::Mark {
            return None;
        }
        let opens = alert.severity <= 2 || rule.kind == RuleKind::Threshold;
        let rule = Arc::clone(rule);
        let number = match self.find(alert, hit, &rule, opens) {
            Some(number) => {
                let open = self.open.get_mut(&number)?;
                let is_graver = opens && alert.severity < open.severity;
                if is_graver {
                    open.severity = alert.severity;
                }
                if opens {
                    open.add_rule(&rule);
                }
                open.add_alert(alert, hit, self.key);
                self.tell_growth(number, is_graver);
                number
            }
            None if opens => self.begin(alert, hit, rule),
            None => return None,
        };
        if let Some(case) = hit.map(|hit| hit.evidence.case).filter(|case| *case > 0) {
            self.cases.insert(case, number);
        }
        self.open.get(&number).filter(|open| open.is_announced).map(|open| open.id)
    }

    /// Takes what a threshold has to say of a case that raised an alert before.
    pub fn news(&mut self, hit: &ThresholdHit) {
        self.now = self.now.max(hit.time);
        let Some(&number) = self.cases.get(&hit.evidence.case) else { return };
        if hit.stage == HitStage::End {
            self.cases.remove(&hit.evidence.case);
        }
        if let Some(open) = self.open.get_mut(&number) {
            open.add_case(hit);
            self.tell_growth(number, false);
        }
    }

    /// What is to be told since the last call.
    pub fn take_events(&mut self) -> Vec<IncidentEvent> {
        std::mem::take(&mut self.events)
    }

    /// Whether there is anything to be told.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Ends all incidents; returns the list of all.
    pub fn finish(&mut self) -> Incidents {
        let numbers: Vec<u64> = self.open.keys().copied().collect();
        for number in numbers {
            self.close(number, false);
        }
        if let Some(incident) = self.background.finish() {
            self.list_background(incident);
        }
        let mut done = std::mem::take(&mut self.done);
        done.list.sort_by_key(|incident| (incident.alerted, incident.id));
        done
    }

    /// Open incidents and the latest of those that are over, `most` of them, the latest first.
    pub fn so_far(&self, most: usize) -> Vec<Incident> {
        let mut list: Vec<Incident> = self
            .open
            .values()
            .filter(|open| open.is_announced)
            .map(|o| o.describe(false))
            .collect();
        list.sort_by_key(|incident| (incident.severity, Reverse(incident.alerted)));
        let mut over: Vec<&Incident> = self.done.list.iter().collect();
        over.sort_by_key(|incident| Reverse(incident.last_seen));
        list.extend(over.into_iter().take(most).cloned());
        list.truncate(most);
        list
    }

    /// Open incidents that were told of, and all that were.
    pub fn counts(&self) -> (u64, u64) {
        let open = self.open.values().filter(|open| open.is_announced).count() as u64;
        (open, open + self.done.list.len() as u64 + self.done.unlisted)
    }

    #[inline]
    fn take(&mut self, handshake: Handshake) {
        if self.open.is_empty() || !self.take_open(&handshake) {
            self.recent.add(handshake);
        }
    }

    /// Gives a SYN or SYN+ACK to the open incidents whose own it is. Returns whether it is of a flood.
    fn take_open(&mut self, handshake: &Handshake) -> bool {
        let mut is_of_flood = false;
        if handshake.is_answer {
            if let Some(number) = self.index.get(Group::Attacker(handshake.dst))
                && let Some(open) = self.open.get_mut(&number)
            {
                open.take_answer(handshake);
            }
            return false;
        }
        let by_victim = Group::of_victim(handshake.dst);
        for group in by_victim.into_iter().chain([Group::Attacker(handshake.src)]) {
            let Some(number) = self.index.get(group) else { continue };
            let Some(open) = self.open.get_mut(&number) else { continue };
            if open.take(handshake, self.key) {
                is_of_flood |= open.is_by_victim();
                self.tell_growth(number, false);
            }
        }
        is_of_flood
    }

    fn begin(&mut self, alert: &Alert, hit: Option<&ThresholdHit>, rule: Arc<Rule>) -> u64 {
        if self.open.len() >= OPEN_MAX {
            self.evict();
        }
        let Packet { src, dst, .. } = alert.packet;
        let group = match (alert.subject, hit) {
            (Subject::Destination, Some(hit)) => Group::of_prefix(dst, hit),
            (Subject::Destination, None) => Group::Victim(dst),
            (Subject::Flow | Subject::Source | Subject::Pair, _) => Group::Attacker(src),
        };
        let number = self.began;
        self.began += 1;
        let id = IncidentId(self.key.digest([alert.time.as_nanos(), number]) as u32);
        let is_scan = rule.category == Category::NetworkScan;
        let mut open = Open::new(id, rule, group, alert);
        open.add_alert(alert, hit, self.key);
        if alert.count.is_some() && self.looks.take(self.now, LOOKS_PER_SECOND) {
            self.look_back(&mut open, alert);
        }
        open.is_announced =
            !(is_scan && self.home.is_inbound(src, dst) && open.tried() < TARGETS_MIN);
        if open.is_announced {
            self.events.push(told(&mut open, IncidentStatus::Start, self.now));
        }
        self.index.insert(group, number);
        self.open.insert(number, open);
        match wider_group(&self.open, number) {
            Some((group, members)) => self.merge(group, &members).unwrap_or(number),
            None => number,
        }
    }

    /// Takes the handshakes that came before the alert.
    fn look_back(&self, open: &mut Open, alert: &Alert) {
        let Packet { src, dst_port, .. } = alert.packet;
        let back = if open.is_by_victim() { FLOOD_NANOS } else { SCAN_NANOS };
        let from = Timestamp::from_nanos(alert.time.as_nanos().saturating_sub(back));
        if open.is_by_victim() {
            let group = open.group;
            let to_victim = |seen: &&Handshake| !seen.is_answer && group.has_victim(seen.dst);
            let (mut all, mut aimed) = (0u64, 0u64);
            for seen in self.recent.since(from).filter(to_victim) {
                all += 1;
                aimed += u64::from(seen.dst_port == dst_port);
            }
            if 2 * aimed < all {
                open.aim_at_all_ports();
            }
            for seen in self.recent.since(from).filter(to_victim) {
                open.take(seen, self.key);
            }
            return;
        }
        for seen in self.recent.since(from) {
            match seen.is_answer {
                true if seen.dst == src => open.take_answer(seen),
                false if seen.src == src => drop(open.take(seen, self.key)),
                _ => {}
            }
        }
    }

    /// Makes these incidents one, the first of them. Returns its number.
    fn merge(&mut self, group: Group, members: &[u64]) -> Option<u64> {
        let (first, others) = members.split_first()?;
        if self.index.get(group).is_some_and(|number| !members.contains(&number)) {
            // Those in the group are of another kind.
            return None;
        }
        let into = self.open.get(first)?.id;
        for number in others {
            let Some(open) = self.open.remove(number) else { continue };
            self.index.remove(open.group);
            let kept = self.open.get_mut(first)?;
            if open.is_announced {
                let incident = open.describe(true);
                let status = IncidentStatus::End;
                let event =
                    IncidentEvent { status, time: self.now, incident, merged_into: Some(into) };
                if kept.is_announced {
                    self.events.push(event);
                }
            }
            kept.absorb(open, self.key);
        }
        let kept = self.open.get_mut(first)?;
        let known: Vec<IpAddr> = kept.hosts().to_vec();
        self.index.remove(kept.group);
        kept.group = group;
        self.index.insert(group, *first);
        self.look_back_at_neighbours(*first, &known);
        let kept = self.open.get_mut(first)?;
        let status = match kept.is_announced {
            true => IncidentStatus::Update,
            false => IncidentStatus::Start,
        };
        kept.is_announced = true;
        self.events.push(told(kept, status, self.now));
        Some(*first)
    }

    /// Tells of an incident that has doubled, or become graver; or that is too large now to be background.
    #[inline]
    fn tell_growth(&mut self, number: u64, is_graver: bool) {
        let Some(open) = self.open.get_mut(&number) else { return };
        let has_doubled = open.count() >= 2 * open.told.1;
        if open.is_announced && (has_doubled || is_graver) {
            self.events.push(told(open, IncidentStatus::Update, self.now));
        } else if !open.is_announced && open.tried() >= TARGETS_MIN {
            open.is_announced = true;
            self.events.push(told(open, IncidentStatus::Start, self.now));
        }
    }

    /// Closes the least important incident.
    fn evict(&mut self) {
        let importance = |open: &Open| {
            (open.is_announced, Reverse(open.severity), open.count(), open.last_seen())
        };
        let least = self.open.iter().min_by_key(|(_, open)| importance(open));
        if let Some(number) = least.map(|(number, _)| *number) {
            self.close(number, false);
            self.done.evicted += 1;
        }
    }

    fn close(&mut self, number: u64, is_over: bool) {
        let Some(mut open) = self.open.remove(&number) else { return };
        self.index.remove(open.group);
        if !open.is_announced {
            self.background.add(&open.describe(is_over), self.now, self.key);
            return;
        }
        let mut event = told(&mut open, IncidentStatus::End, self.now);
        event.incident.is_over = is_over;
        self.list(event.incident.clone());
        self.events.push(event);
    }

    fn list_background(&mut self, incident: Incident) {
        let (status, time) = (IncidentStatus::End, self.now);
        self.events.push(IncidentEvent {
            status,
            time,
            incident: incident.clone(),
            merged_into: None,
        });
        self.list(incident);
    }

    /// Lists an incident that is over, in place of the least important one if there are too many.
    fn list(&mut self, incident: Incident) {
        self.done.list.push(incident);
        if self.done.list.len() > LISTED_MAX {
            let importance = |incident: &Incident| (Reverse(incident.severity), incident.count);
            let least = self.done.list.iter().enumerate().min_by_key(|(_, all)| importance(all));
            if let Some(at) = least.map(|(at, _)| at) {
                self.done.list.remove(at);
                self.done.unlisted += 1;
            }
        }
    }
}

/// What is told of an incident now.
fn told(open: &mut Open, status: IncidentStatus, time: Timestamp) -> IncidentEvent {
    open.told = (time, open.count());
    IncidentEvent { status, time, incident: open.describe(false), merged_into: None }
}
