//! Alerts as shards raise them, before merging and limits.

use crate::engine::batch::Event;
use crate::machine::RuleId;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Direction, FlowId, TcpFlags};
    use acsm_filters::Epoch;

    fn raw_alert(index: u32, rule: u8) -> RawAlert {
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
