//! What a worker finds in one round: buffers that travel with it and are used again.

use super::alert::WatchStep;
use super::counting::Firings;
use super::event::{Event, Packets};
use crate::machine::RuleId;
use acsm_filters::{Lookup, State};

/// An alert before anything thins it out. It names its packet by the event's `index`, and copies
/// nothing of it.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// What raised it.
    pub event: Event,
    /// Which rule it broke.
    pub rule: RuleId,
    /// What the store said about its flow.
    pub answer: Lookup,
    /// The state that the flow is in now, if that is known.
    pub state: Option<State>,
    /// How sure the answer is.
    pub confidence: f64,
}

/// All that there is to say about one round.
#[derive(Debug, Default)]
pub struct Findings {
    /// The round's packets, once the round is back from all workers.
    pub packets: Packets,
    /// What thresholds found.
    pub firings: Firings,
    /// Alerts by the store's word.
    pub alerts: Vec<Finding>,
    /// Alerts by the exact shadow's.
    pub shadow_alerts: Vec<Finding>,
    /// Steps of the watched flow, each with its packet's place in the round.
    pub steps: Vec<(u32, WatchStep)>,
}

impl Findings {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.firings.clear();
        self.alerts.clear();
        self.shadow_alerts.clear();
        self.steps.clear();
    }

    /// Takes over what `other`, of another worker, holds.
    pub fn append(&mut self, other: &mut Findings) {
        self.firings.append(&mut other.firings);
        self.alerts.append(&mut other.alerts);
        self.shadow_alerts.append(&mut other.shadow_alerts);
        self.steps.append(&mut other.steps);
    }
}

/// Findings of one round in packet order, those of one packet in the order of the rule book. Sorts
/// their keys, which are small, and lets them lie; `order` is memory to use again.
pub fn in_order<'f>(
    findings: &'f [Finding],
    order: &'f mut Vec<u64>,
) -> impl Iterator<Item = &'f Finding> {
    const POSITION_BITS: u32 = 24; // a round has 4096 packets, a packet a few dozen rules at most
    let key = |(position, finding): (usize, &Finding)| {
        let place = u64::from(finding.event.index) << 8 | u64::from(finding.rule.0);
        place << POSITION_BITS | position as u64
    };
    order.clear();
    order.extend(findings.iter().enumerate().map(key));
    order.sort_unstable();
    order.iter().filter_map(|key| findings.get((key & ((1 << POSITION_BITS) - 1)) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Direction, FlowId, TcpFlags};
    use acsm_filters::Epoch;

    fn finding(index: u32, rule: u8) -> Finding {
        let event = Event {
            id: FlowId(0),
            epoch: Epoch::default(),
            index,
            flags: TcpFlags::SYN,
            has_data: false,
            direction: Direction::Forward,
            is_late: false,
            watched: false,
            no_session_muted: false,
        };
        Finding { event, rule: RuleId(rule), answer: Lookup::Absent, state: None, confidence: 1.0 }
    }

    #[test]
    fn findings_of_many_workers_come_in_packet_order_and_then_by_rule() {
        let places = [(7, 3), (4095, 0), (0, 63), (7, 1), (u32::MAX, 2), (0, 5)];
        let findings: Vec<Finding> = places.iter().map(|&(at, rule)| finding(at, rule)).collect();
        let mut order = vec![1, 2, 3];
        let sorted: Vec<(u32, u8)> =
            in_order(&findings, &mut order).map(|f| (f.event.index, f.rule.0)).collect();
        assert_eq!(sorted, [(0, 5), (0, 63), (7, 1), (7, 3), (4095, 0), (u32::MAX, 2)]);
    }
}
