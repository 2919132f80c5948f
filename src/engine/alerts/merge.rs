//! Merges the alerts of all shards in packet order, applies the limits and passes them on.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::limits::{Admission, AlertLimits, Suppressed};
use super::{Alert, Sink, Subject, WatchStep};
use crate::engine::active_rules::ActiveRules;
use crate::engine::batch::{Event, Marks};
use crate::engine::incidents::{Incident, IncidentTracker, Incidents};
use crate::engine::overload::OverloadEvent;
use crate::engine::thresholds::ThresholdHit;
use crate::flow::{FlowKey, Keyer, Packet};
use crate::machine::{RuleId, RuleList, RuleSet, Rules};
use crate::time::Timestamp;
use acsm_filters::{Lookup, State};

/// An alert before any limit. It names its packet by the event's `index`, and copies nothing of
/// it.
#[derive(Debug, Clone, Copy)]
pub struct RawAlert {
    /// The event that raised it.
    pub event: Event,
    /// The rule.
    pub rule: RuleId,
    /// What the store answered for the flow.
    pub answer: Lookup,
    /// The state of the flow now, if known.
    pub state: Option<State>,
    /// How sure the answer is.
    pub confidence: f64,
}

/// The alerts of one batch in packet order, those of one packet in the order of the rule book. Sorts
/// their keys, which are small, and moves no alert; `order` is a buffer that is reused.
pub fn in_order<'f>(
    alerts: &'f [RawAlert],
    order: &'f mut Vec<u64>,
) -> impl Iterator<Item = &'f RawAlert> {
    const POSITION_BITS: u32 = 24; // a batch has 4096 packets, a packet a few dozen rules at most
    let key = |(position, alert): (usize, &RawAlert)| {
        let place = u64::from(alert.event.index) << 8 | u64::from(alert.rule.0);
        place << POSITION_BITS | position as u64
    };
    order.clear();
    order.extend(alerts.iter().enumerate().map(key));
    order.sort_unstable();
    order.iter().filter_map(|key| alerts.get((key & ((1 << POSITION_BITS) - 1)) as usize))
}

/// Where the alerts of all shards come together. One per run, in the thread that reads.
pub struct AlertMerger<'a> {
    sink: &'a mut dyn Sink,
    keyer: Keyer,
    rules: Arc<Rules>,
    limits: AlertLimits,
    incidents: IncidentTracker,
    exact: Option<ExactAlerts>,
    /// Alerts shown that belong to no incident, marks aside.
    alone: u64,
    /// The order of a batch's alerts: a buffer that is reused.
    order: Vec<u64>,
}

/// What would have been shown had the store been exact.
struct ExactAlerts {
    limits: AlertLimits,
    /// Alerts shown less alerts that an exact store would have shown.
    surplus: HashMap<(RuleId, FlowKey), i64>,
}

/// What all stages found in one batch.
#[derive(Debug, Default)]
pub struct BatchAlerts {
    /// Thresholds that were reached, each with its packet's index.
    pub hits: Vec<(u32, ThresholdHit)>,
    /// Alerts by the answers of the store.
    pub alerts: Vec<RawAlert>,
    /// Alerts by the exact shadow.
    pub exact_alerts: Vec<RawAlert>,
    /// Steps of the watched flow, each with its packet's index.
    pub steps: Vec<(u32, WatchStep)>,
}

impl BatchAlerts {
    fn clear(&mut self) {
        self.hits.clear();
        self.alerts.clear();
        self.exact_alerts.clear();
        self.steps.clear();
    }
}

/// What became of all alerts.
#[derive(Debug, Clone)]
pub struct AlertCounts {
    /// Shown, by rule.
    pub shown: [u64; RuleSet::LIMIT],
    /// Raised, by rule, before all limits.
    pub raised: [u64; RuleSet::LIMIT],
    /// Shown, and part of no incident; marks aside.
    pub alone: u64,
    /// Not shown, by reason.
    pub suppressed: Suppressed,
    /// Against the exact shadow, if there was one.
    pub difference: Option<AlertDifference>,
    /// What belongs together of them.
    pub incidents: Incidents,
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

impl<'a> AlertMerger<'a> {
    /// Passes on to `sink` what the limits admit. `compares`: counts beside what an exact store
    /// would have shown.
    pub fn new(
        sink: &'a mut dyn Sink,
        keyer: Keyer,
        active: &Arc<ActiveRules>,
        compares: bool,
    ) -> AlertMerger<'a> {
        let limits = || AlertLimits::new(Arc::clone(active), keyer.hash_key);
        let exact = compares.then(|| ExactAlerts { limits: limits(), surplus: HashMap::new() });
        let incidents = IncidentTracker::new(active, keyer.hash_key);
        let rules = Arc::clone(&active.rules);
        AlertMerger {
            sink,
            keyer,
            rules,
            limits: limits(),
            incidents,
            exact,
            alone: 0,
            order: Vec::new(),
        }
    }

    /// Takes the alerts of one batch, in any order, and leaves `found` empty.
    pub fn merge(&mut self, packets: &[Packet], found: &mut BatchAlerts) -> io::Result<()> {
        found.steps.sort_unstable_by_key(|(index, _)| *index);
        let mut steps = found.steps.iter().peekable();
        let mut shown = !found.steps.is_empty();
        let mut order = std::mem::take(&mut self.order);
        let rules = Arc::clone(&self.rules);
        let merge = Merge { packets, hits: &found.hits, keyer: self.keyer, rules: &rules.list };
        let mut seen = 0;
        merge.each(in_order(&found.alerts, &mut order), |alert| {
            let up_to = packets.len().min(alert.index.saturating_add(1) as usize);
            self.incidents.observe(packets.get(seen..up_to).unwrap_or_default());
            seen = seen.max(up_to);
            while let Some((_, step)) = steps.next_if(|(index, _)| *index <= alert.index) {
                self.sink.step(step)?;
            }
            shown |= self.show(alert)?;
            Ok(())
        })?;
        for (_, step) in steps {
            self.sink.step(step)?;
        }
        self.incidents.observe(packets.get(seen..).unwrap_or_default());
        shown |= self.tell_incidents()?;
        if let Some(exact) = &mut self.exact {
            merge.each(in_order(&found.exact_alerts, &mut order), |alert| {
                if alert.is_news() {
                    return Ok(());
                }
                let admission = exact.limits.admits(&mut alert.alert, alert.muted);
                if admission == Admission::Shown {
                    *exact.surplus.entry(alert.key(self.keyer)).or_default() -= 1;
                }
                Ok(())
            })?;
        }
        self.order = order;
        found.clear();
        if shown { self.sink.flush() } else { Ok(()) }
    }

    fn show(&mut self, indexed: &mut Indexed) -> io::Result<bool> {
        if let Some(news) = indexed.hit.filter(|_| indexed.is_news()) {
            self.incidents.news(&news);
            return self.tell_incidents();
        }
        let admission = self.limits.admits(&mut indexed.alert, indexed.muted);
        if admission != Admission::Unwanted {
            let Indexed { alert, hit, .. } = &*indexed;
            indexed.alert.incident = self.incidents.alert(alert, hit.as_ref());
        }
        let is_told = self.tell_incidents()?;
        let is_shown = admission == Admission::Shown;
        if is_shown {
            let is_alone =
                indexed.alert.incident.is_none() && !self.limits.is_mark(indexed.alert.rule);
            self.alone += u64::from(is_alone);
            if let Some(exact) = &mut self.exact {
                *exact.surplus.entry(indexed.key(self.keyer)).or_default() += 1;
            }
            self.sink.alert(&indexed.alert)?;
        }
        Ok(is_shown || is_told)
    }

    /// Passes on what is to be told of incidents. Returns whether there was anything.
    fn tell_incidents(&mut self) -> io::Result<bool> {
        if !self.incidents.has_events() {
            return Ok(false);
        }
        for event in self.incidents.take_events() {
            self.sink.incident(&event)?;
        }
        Ok(true)
    }

    /// Time passes without packets.
    pub fn idle(&mut self, until: Timestamp) -> io::Result<()> {
        self.incidents.pass_to(until);
        if self.tell_incidents()? { self.sink.flush() } else { Ok(()) }
    }

    /// Open incidents and the latest of the others, at most this many; how many are open; and how many there were in all.
    pub fn incidents(&self, most: usize) -> (Vec<Incident>, u64, u64) {
        let (open, total) = self.incidents.counts();
        (self.incidents.so_far(most), open, total)
    }

    /// Alerts shown, by rule, and suppressed, by reason, so far.
    pub fn so_far(&self) -> ([u64; RuleSet::LIMIT], Suppressed) {
        (self.limits.shown, self.limits.suppressed)
    }

    /// Passes on the beginning or the end of an overload.
    pub fn overload(&mut self, event: &OverloadEvent) -> io::Result<()> {
        self.sink.overload(event)?;
        self.sink.flush()
    }

    /// Replaces the rules.
    pub fn set_rules(&mut self, new: &Arc<ActiveRules>) {
        self.rules = Arc::clone(&new.rules);
        self.limits.set_rules(new);
        self.incidents.set_rules(new);
        if let Some(exact) = &mut self.exact {
            exact.limits.set_rules(new);
        }
    }

    /// Ends all incidents. What became of all alerts.
    pub fn finish(mut self) -> io::Result<AlertCounts> {
        let incidents = self.incidents.finish();
        if self.tell_incidents()? {
            self.sink.flush()?;
        }
        let difference = self.exact.map(|exact| exact.surplus.into_values().collect());
        let AlertLimits { shown, raised, suppressed, .. } = self.limits;
        let alone = self.alone;
        Ok(AlertCounts { shown, raised, alone, suppressed, difference, incidents })
    }
}

/// An alert with its packet's index in the batch.
struct Indexed {
    index: u32,
    muted: bool,
    alert: Alert,
    /// The hit that it is of, if it is of a threshold.
    hit: Option<ThresholdHit>,
}

impl Indexed {
    /// Whether it only tells more of an alert that was raised before.
    fn is_news(&self) -> bool {
        self.hit.is_some_and(|hit| !hit.stage.is_alert())
    }

    fn key(&self, keyer: Keyer) -> (RuleId, FlowKey) {
        (self.alert.rule, keyer.key(&self.alert.packet).0)
    }
}

/// The packets of a batch, and the threshold hits that go between its alerts.
struct Merge<'r> {
    packets: &'r [Packet],
    hits: &'r [(u32, ThresholdHit)],
    keyer: Keyer,
    rules: &'r RuleList,
}

impl Merge<'_> {
    /// Both kinds of alerts as one sequence; what a packet's time made due comes before the packet.
    fn each<'f>(
        &self,
        alerts: impl Iterator<Item = &'f RawAlert>,
        mut take: impl FnMut(&mut Indexed) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut hits = self.hits.iter().peekable();
        for raw in alerts {
            while let Some((at, hit)) = hits.next_if(|(at, _)| *at <= raw.event.index) {
                take(&mut self.of_hit(*at, hit))?;
            }
            if let Some(packet) = self.packets.get(raw.event.index as usize) {
                take(&mut self.of_raw(packet, raw))?;
            }
        }
        hits.try_for_each(|(at, hit)| take(&mut self.of_hit(*at, hit)))
    }

    #[inline]
    fn of_raw(&self, packet: &Packet, raw: &RawAlert) -> Indexed {
        let event = &raw.event;
        let alert = Alert {
            rule: raw.rule,
            severity: self.severity(raw.rule),
            subject: Subject::Flow,
            incident: None,
            time: packet.time,
            packet: *packet,
            flow: event.id,
            answer: Some(raw.answer),
            state: raw.state,
            confidence: raw.confidence,
            count: None,
            suppressed: 0,
        };
        Indexed {
            index: event.index,
            muted: event.marks.has(Marks::NO_SESSION_MUTED),
            alert,
            hit: None,
        }
    }

    fn of_hit(&self, index: u32, hit: &ThresholdHit) -> Indexed {
        let packet: Packet = hit.packet;
        let alert = Alert {
            rule: hit.rule,
            severity: hit.severity,
            subject: match (hit.source, hit.destination) {
                (None, _) => Subject::Destination,
                (Some(_), None) => Subject::Source,
                (Some(_), Some(_)) => Subject::Pair,
            },
            incident: None,
            time: hit.time,
            packet,
            flow: self.keyer.id(&self.keyer.key(&packet).0),
            answer: None,
            state: None,
            // Counted by a separate sketch: the store is not involved.
            confidence: 1.0,
            count: Some(hit.count),
            suppressed: hit.suppressed,
        };
        Indexed { index, muted: false, alert, hit: Some(*hit) }
    }

    /// That of the rule.
    fn severity(&self, rule: RuleId) -> u8 {
        self.rules.get(rule).map_or(4, |rule| rule.severity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::batch::PacketContext;
    use crate::flow::{Direction, FlowId};

    fn raw_alert(index: u32, rule: u8) -> RawAlert {
        let flow = (FlowId(0), Direction::Forward);
        let event = Event::new(&Packet::UNSPECIFIED, flow, index, PacketContext::default());
        RawAlert { event, rule: RuleId(rule), answer: Lookup::Absent, state: None, confidence: 1.0 }
    }

    #[test]
    fn alerts_of_many_shards_come_in_packet_order_and_then_by_rule() {
        let places = [(7, 3), (4095, 0), (0, 63), (7, 1), (u32::MAX, 2), (0, 5)];
        let alerts: Vec<RawAlert> = places.iter().map(|&(at, rule)| raw_alert(at, rule)).collect();
        let mut order = vec![1, 2, 3];
        let sorted: Vec<(u32, u8)> =
            in_order(&alerts, &mut order).map(|f| (f.event.index, f.rule.0)).collect();
        assert_eq!(sorted, [(0, 5), (0, 63), (7, 1), (7, 3), (4095, 0), (u32::MAX, 2)]);
    }
}
