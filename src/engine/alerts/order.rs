//! Alerts in packet order: those that rest on a store's answers, and the hits of thresholds between them.

use std::io;

use super::{Alert, Subject};
use crate::engine::batch::{Event, Marks};
use crate::engine::thresholds::ThresholdHit;
use crate::flow::{FlowKey, Keyer, Packet};
use crate::machine::{RuleId, RuleList};
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
    /// Whether it is that of a store that may err.
    pub is_approximate: bool,
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

/// An alert with its packet's index in the batch.
#[derive(Clone)]
pub(super) struct Indexed {
    pub index: u32,
    pub muted: bool,
    pub alert: Alert,
    /// Whether it rests on the answer of a store that may err.
    pub is_approximate: bool,
    /// The hit that it is of, if it is of a threshold.
    pub hit: Option<ThresholdHit>,
}

impl Indexed {
    /// Whether it only tells more of an alert that was raised before.
    pub fn is_news(&self) -> bool {
        self.hit.is_some_and(|hit| !hit.stage.is_alert())
    }

    pub fn key(&self, keyer: Keyer) -> (RuleId, FlowKey) {
        (self.alert.rule, keyer.key(&self.alert.packet).0)
    }
}

/// The packets of a batch, and the threshold hits that go between its alerts.
pub(super) struct Merge<'r> {
    pub packets: &'r [Packet],
    pub hits: &'r [(u32, ThresholdHit)],
    pub keyer: Keyer,
    pub rules: &'r RuleList,
}

impl Merge<'_> {
    /// Both kinds of alerts as one sequence; what a packet's time made due comes before the packet.
    pub fn each<'f>(
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
            names_source: true,
            incident: None,
            time: packet.time,
            packet: *packet,
            flow: event.id,
            answer: Some(raw.answer),
            state: raw.state,
            confidence: raw.confidence,
            confirmed: None,
            count: None,
            suppressed: 0,
        };
        Indexed {
            index: event.index,
            muted: event.marks.has(Marks::NO_SESSION_MUTED),
            alert,
            is_approximate: raw.is_approximate,
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
            names_source: hit.source.is_some() || hit.evidence.main_source == Some(packet.src),
            incident: None,
            time: hit.time,
            packet,
            flow: self.keyer.id(&self.keyer.key(&packet).0),
            answer: None,
            state: None,
            // Counted by a separate sketch: the store is not involved.
            confidence: 1.0,
            confirmed: None,
            count: Some(hit.count),
            suppressed: hit.suppressed,
        };
        Indexed { index, muted: false, alert, is_approximate: false, hit: Some(*hit) }
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
        let (answer, state) = (Lookup::Absent, None);
        let rule = RuleId(rule);
        RawAlert { event, rule, answer, state, confidence: 1.0, is_approximate: false }
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
