//! Puts the findings of all workers back in packet order, thins them out and hands them on.

use std::collections::HashMap;
use std::io;

use super::alert::{Alert, Sink};
use super::finding::{Finding, Findings, in_order};
use super::hygiene::{AlertFilter, LeftOut};
use super::observer::NewRules;
use super::thresholds::Firing;
use crate::flow::{FlowKey, Keyer, Packet};
use crate::machine::{RuleId, RuleSet};

/// Where findings come together. One for a run, in the thread that reads.
pub struct Gather<'a, K: Sink> {
    sink: &'a mut K,
    keyer: Keyer,
    filter: AlertFilter<'a>,
    shadow: Option<Shadow<'a>>,
    /// The order of a round's findings, used again.
    order: Vec<u64>,
}

/// What would have been shown had the store been exact.
struct Shadow<'a> {
    filter: AlertFilter<'a>,
    /// Alerts shown less alerts that an exact store would have shown.
    surplus: HashMap<(RuleId, FlowKey), i64>,
}

/// What became of all alerts.
#[derive(Debug, Clone)]
pub struct AlertCounts {
    /// Shown, by rule.
    pub shown: [u64; RuleSet::LIMIT],
    /// Not shown, by reason.
    pub left_out: LeftOut,
    /// Against the exact shadow, if there was one.
    pub difference: Option<AlertDifference>,
}

/// The multiset difference, over (rule, flow), to what an exact store would have shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlertDifference {
    /// Alerts that only an exact store would have shown.
    pub missed: u64,
    /// Alerts that an exact store would not have shown.
    pub spurious: u64,
}

/// From the surplus of each (rule, flow): alerts shown less those of an exact store.
impl FromIterator<i64> for AlertDifference {
    fn from_iter<I: IntoIterator<Item = i64>>(surpluses: I) -> AlertDifference {
        let mut difference = AlertDifference::default();
        for surplus in surpluses {
            match surplus < 0 {
                true => difference.missed += surplus.unsigned_abs(),
                false => difference.spurious += surplus.unsigned_abs(),
            }
        }
        difference
    }
}

impl<'a, K: Sink> Gather<'a, K> {
    /// Hands on to `sink` what `filter` admits. `shadow_filter`, in the same state, compares.
    pub fn new(
        sink: &'a mut K,
        keyer: Keyer,
        filter: AlertFilter<'a>,
        shadow_filter: Option<AlertFilter<'a>>,
    ) -> Self {
        let shadow = shadow_filter.map(|filter| Shadow { filter, surplus: HashMap::new() });
        Gather { sink, keyer, filter, shadow, order: Vec::new() }
    }

    /// Takes the findings of one round, in any order, and leaves `findings` empty.
    pub fn round(&mut self, findings: &mut Findings) -> io::Result<()> {
        findings.steps.sort_unstable_by_key(|(index, _)| *index);
        let mut steps = findings.steps.iter().peekable();
        let mut shown = !findings.steps.is_empty();
        let mut order = std::mem::take(&mut self.order);
        let (packets, firings) = (findings.packets.as_slice(), &findings.firings);
        let merge = Merge { packets, firings, keyer: self.keyer };
        merge.each(in_order(&findings.alerts, &mut order), |alert| {
            while let Some((_, step)) = steps.next_if(|(index, _)| *index <= alert.index) {
                self.sink.step(step)?;
            }
            shown |= self.show(alert)?;
            Ok(())
        })?;
        for (_, step) in steps {
            self.sink.step(step)?;
        }
        if let Some(shadow) = &mut self.shadow {
            merge.each(in_order(&findings.shadow_alerts, &mut order), |exact| {
                if shadow.filter.admits(&mut exact.alert, exact.muted) {
                    *shadow.surplus.entry(exact.key(self.keyer)).or_default() -= 1;
                }
                Ok(())
            })?;
        }
        self.order = order;
        findings.clear();
        if shown { self.sink.flush() } else { Ok(()) }
    }

    fn show(&mut self, indexed: &mut Indexed) -> io::Result<bool> {
        let admitted = self.filter.admits(&mut indexed.alert, indexed.muted);
        if admitted {
            if let Some(shadow) = &mut self.shadow {
                *shadow.surplus.entry(indexed.key(self.keyer)).or_default() += 1;
            }
            self.sink.alert(&indexed.alert)?;
        }
        Ok(admitted)
    }

    /// Alerts shown, by rule, and left out, by reason, so far.
    pub fn so_far(&self) -> ([u64; RuleSet::LIMIT], LeftOut) {
        (self.filter.shown, self.filter.left_out)
    }

    /// Goes on under other rules.
    pub fn follow(&mut self, new: &'a NewRules) {
        self.filter.follow(new, self.keyer.hash_key);
        if let Some(shadow) = &mut self.shadow {
            shadow.filter.follow(new, self.keyer.hash_key);
        }
    }

    /// What became of all alerts.
    pub fn finish(self) -> AlertCounts {
        let difference = self.shadow.map(|shadow| shadow.surplus.into_values().collect());
        AlertCounts { shown: self.filter.shown, left_out: self.filter.left_out, difference }
    }
}

/// An alert with its packet's place in the round.
struct Indexed {
    index: u32,
    muted: bool,
    alert: Alert,
}

impl Indexed {
    fn key(&self, keyer: Keyer) -> (RuleId, FlowKey) {
        (self.alert.rule, keyer.key(&self.alert.packet).0)
    }
}

/// A round's packets, and what goes between its findings.
struct Merge<'r> {
    packets: &'r [Packet],
    firings: &'r [(u32, Firing)],
    keyer: Keyer,
}

impl Merge<'_> {
    /// Both kinds of alerts as one sequence; what a packet's time made due comes before the packet.
    fn each<'f>(
        &self,
        findings: impl Iterator<Item = &'f Finding>,
        mut take: impl FnMut(&mut Indexed) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut firings = self.firings.iter().peekable();
        for finding in findings {
            while let Some((at, firing)) = firings.next_if(|(at, _)| *at <= finding.event.index) {
                take(&mut from_firing(*at, firing, self.keyer))?;
            }
            if let Some(packet) = self.packets.get(finding.event.index as usize) {
                take(&mut from_finding(packet, finding))?;
            }
        }
        firings.try_for_each(|(at, firing)| take(&mut from_firing(*at, firing, self.keyer)))
    }
}

#[inline]
fn from_finding(packet: &Packet, finding: &Finding) -> Indexed {
    let event = &finding.event;
    let alert = Alert {
        rule: finding.rule,
        time: packet.time,
        packet: *packet,
        flow: event.id,
        answer: Some(finding.answer),
        state: finding.state,
        confidence: finding.confidence,
        count: None,
        left_out: 0,
    };
    Indexed { index: event.index, muted: event.no_session_muted, alert }
}

fn from_firing(index: u32, firing: &Firing, keyer: Keyer) -> Indexed {
    let packet: Packet = firing.packet;
    let alert = Alert {
        rule: firing.rule,
        time: firing.time,
        packet,
        flow: keyer.id(&keyer.key(&packet).0),
        answer: None,
        state: None,
        // Counted by a sketch of its own: the store has no part in it.
        confidence: 1.0,
        count: Some(firing.count),
        left_out: firing.suppressed,
    };
    Indexed { index, muted: false, alert }
}
