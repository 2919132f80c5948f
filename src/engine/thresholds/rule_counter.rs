//! One threshold rule: its counts by key, and the case that is opened when one is reached.

use std::net::IpAddr;

use super::cases::Cases;
use super::distinct::{Bitmap, Sampling};
use super::failures::RecentPackets;
use super::hit::{Evidence, HitStage, ThresholdHit};
use super::slice_counters::{Events, Spread, Trigger};
use super::tuples::{TupleHasher, prefix};
use super::window_counts::{Counting, KeyTable, Reached};
use crate::flow::Packet;
use crate::machine::{Counted, RuleId, ThresholdKey, ThresholdRule};
use crate::time::Timestamp;
use acsm_filters::memory::Arena;

/// One event to be counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event<'p> {
    pub packet: &'p Packet,
    /// How many of its kind it stands for, where a sample is watched.
    pub amount: u32,
    pub at_nanos: u64,
    /// What distinct counts count, if not what their name says.
    pub item: Option<u64>,
    /// The rule, if the packet and not the count decides it.
    pub rule: Option<RuleId>,
}

impl<'p> Event<'p> {
    /// The event of a packet.
    pub fn of(packet: &'p Packet, at_nanos: u64) -> Event<'p> {
        Event { packet, amount: 1, at_nanos, item: None, rule: None }
    }
}

/// The counts of a rule, by key.
#[derive(Debug)]
enum Keys {
    Events(KeyTable<Events>),
    Spread(KeyTable<Spread>),
    Distinct(KeyTable<Bitmap>, Sampling),
}

/// A rule and its counts.
#[derive(Debug)]
pub(super) struct RuleCounter {
    pub rule: ThresholdRule,
    hasher: TupleHasher,
    keys: Keys,
}

impl RuleCounter {
    pub fn new_in(arena: &Arena, rule: ThresholdRule, keys: usize, hasher: TupleHasher) -> Self {
        let mut trigger = Trigger {
            count: u64::from(rule.count.max(1)),
            window_nanos: rule.window_nanos,
            cooldown_nanos: rule.cooldown_nanos,
            share_permille: rule.conditions.share_permille,
            sources: rule.conditions.sources,
            may_be_narrow: rule.per == ThresholdKey::Prefix,
        };
        let keys = match rule.counted {
            Counted::UnansweredPorts
            | Counted::Destinations
            | Counted::UnsolicitedSynAckHosts
            | Counted::OddFlagTargets => {
                let sampling = Sampling::for_count(rule.count);
                trigger.count = sampling.scaled_down(trigger.count);
                Keys::Distinct(KeyTable::new_in(arena, keys, trigger), sampling)
            }
            Counted::IncompleteSyns => Keys::Spread(KeyTable::new_in(arena, keys, trigger)),
            Counted::RepeatedSyns => {
                // The first SYN of a 5-tuple repeats none.
                trigger.count = trigger.count.saturating_sub(1).max(1);
                Keys::Events(KeyTable::new_in(arena, keys, trigger))
            }
            _ => Keys::Events(KeyTable::new_in(arena, keys, trigger)),
        };
        RuleCounter { rule, hasher, keys }
    }

    /// Counts an event, unless the rule is about other ports or the item is not in the sample.
    pub fn count(&mut self, event: &Event<'_>) -> Option<(u64, Counting)> {
        if !self.rule.conditions.ports.contains(event.packet.dst_port) {
            return None;
        }
        let (key, item) = (self.key(event.packet), self.item(event));
        let Event { amount, at_nanos, .. } = *event;
        let mut counting = match &mut self.keys {
            Keys::Events(keys) => keys.count(key, item, amount, at_nanos),
            Keys::Spread(keys) => keys.count(key, item, amount, at_nanos),
            Keys::Distinct(keys, sampling) if sampling.takes(item) => {
                keys.count(key, item, amount, at_nanos)
            }
            Keys::Distinct(..) => None,
        }?;
        if let (Keys::Distinct(_, sampling), Some(reached)) = (&self.keys, &mut counting.reached) {
            reached.count = sampling.scale(reached.count);
        }
        if let (Counted::RepeatedSyns, Some(reached)) = (self.rule.counted, &mut counting.reached) {
            reached.count += 1;
        }
        Some((key, counting))
    }

    /// Opens a case for a key whose count was reached, or counts one more event of an open one.
    #[inline(never)]
    pub fn follow(
        &mut self,
        key: u64,
        counting: &Counting,
        event: &Event<'_>,
        cases: &mut Cases,
        recent: &RecentPackets,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let Event { packet, amount, at_nanos, .. } = *event;
        let case = counting.case;
        if cases.is_open(case) {
            cases.add(case, packet, amount.into(), at_nanos, fired);
            let count = self.count_of(counting.weight);
            cases.grade(case, (count, self.rule.severity_of(count, false)), at_nanos, fired);
            if let Some(Reached { count, suppressed, .. }) = counting.reached {
                cases.again(case, (count, suppressed), packet, at_nanos, fired);
            }
            return;
        }
        let Some(reached) = counting.reached else { return };
        let window = self.rule.window_nanos;
        let before = recent
            .since(at_nanos.saturating_sub(window))
            .filter(|before| self.is_of_recent() && self.key(before) == key && *before != packet);
        let hit = self.hit(reached, event);
        let case = cases.open(hit, reached.count, window, before, fired);
        match &mut self.keys {
            Keys::Events(keys) => keys.set_case(key, case),
            Keys::Spread(keys) => keys.set_case(key, case),
            Keys::Distinct(keys, _) => keys.set_case(key, case),
        }
    }

    /// Whether the packets that it counts are kept for a while.
    fn is_of_recent(&self) -> bool {
        let counted = self.rule.counted;
        !matches!(counted, Counted::Connections | Counted::RepeatedSyns | Counted::OddFlagTargets)
    }

    /// The count that a weight stands for.
    fn count_of(&self, weight: u32) -> u64 {
        match &self.keys {
            Keys::Distinct(_, sampling) => sampling.scale(Bitmap::estimate_of(weight)),
            _ => weight.into(),
        }
    }

    pub fn succeed(&mut self, packet: &Packet) {
        let key = self.key(packet);
        let is_asked = self.rule.conditions.share_permille > 0
            && self.rule.conditions.ports.contains(packet.dst_port);
        if let (true, Keys::Distinct(keys, _)) = (is_asked, &mut self.keys) {
            keys.succeed(key);
        }
    }

    pub fn weight(&self, packet: &Packet) -> Option<u32> {
        let key = self.key(packet);
        match &self.keys {
            Keys::Events(keys) => keys.weight(key),
            Keys::Spread(keys) => keys.weight(key),
            Keys::Distinct(keys, _) => keys.weight(key),
        }
    }

    pub fn hot_weight(&self, packet: &Packet, at_nanos: u64) -> Option<u32> {
        let key = self.key(packet);
        match &self.keys {
            Keys::Events(keys) => keys.hot_weight(key, at_nanos),
            Keys::Spread(keys) => keys.hot_weight(key, at_nanos),
            Keys::Distinct(keys, _) => keys.hot_weight(key, at_nanos),
        }
    }

    pub fn prefetch(&self, packet: &Packet) {
        let key = self.key(packet);
        match &self.keys {
            Keys::Events(keys) => keys.prefetch(key),
            Keys::Spread(keys) => keys.prefetch(key),
            Keys::Distinct(keys, _) => keys.prefetch(key),
        }
    }

    #[cold]
    fn hit(&self, reached: Reached, event: &Event<'_>) -> ThresholdHit {
        let Event { packet, at_nanos, .. } = *event;
        let (source, mut destination) = match self.rule.per {
            ThresholdKey::Source | ThresholdKey::SourceAndPort | ThresholdKey::SourceService => {
                (Some(packet.src), None)
            }
            ThresholdKey::Destination
            | ThresholdKey::Service
            | ThresholdKey::Prefix
            | ThresholdKey::WidePrefix => (None, Some(packet.dst)),
            ThresholdKey::Pair | ThresholdKey::PairAndPort | ThresholdKey::Tuple => {
                (Some(packet.src), Some(packet.dst))
            }
        };
        let mut prefix_bits = None;
        if let Some([v4_bits, v6_bits]) = self.rule.per.prefix_bits()
            && !reached.is_narrow
        {
            let bits = if packet.dst.is_ipv4() { v4_bits } else { v6_bits };
            prefix_bits = Some(bits);
            destination = Some(prefix(packet.dst, [v4_bits, v6_bits]));
        }
        let port = match self.rule.per {
            ThresholdKey::SourceAndPort | ThresholdKey::PairAndPort | ThresholdKey::Service => {
                Some(packet.dst_port)
            }
            ThresholdKey::Tuple => Some(packet.dst_port),
            ThresholdKey::SourceService => Some(packet.src_port),
            _ => None,
        };
        ThresholdHit {
            rule: event.rule.unwrap_or(self.rule.rule),
            severity: self.rule.severity_of(reached.count, false),
            stage: HitStage::Start,
            time: Timestamp::from_nanos(at_nanos),
            source,
            destination,
            packet: *packet,
            count: reached.count,
            suppressed: reached.suppressed,
            evidence: Evidence {
                port,
                prefix_bits,
                // Nobody completes a handshake, or answers, in the name of somebody else's machine.
                has_real_sources: matches!(
                    self.rule.counted,
                    Counted::UnsolicitedSynAcks
                        | Counted::UnsolicitedSynAckHosts
                        | Counted::Connections
                ),
                ..Evidence::default()
            },
        }
    }

    pub fn evicted_keys(&self) -> u64 {
        match &self.keys {
            Keys::Events(keys) => keys.evicted,
            Keys::Spread(keys) => keys.evicted,
            Keys::Distinct(keys, _) => keys.evicted,
        }
    }

    pub fn suppressed(&self) -> u64 {
        match &self.keys {
            Keys::Events(keys) => keys.suppressed,
            Keys::Spread(keys) => keys.suppressed,
            Keys::Distinct(keys, _) => keys.suppressed,
        }
    }

    pub fn memory_bytes(&self) -> usize {
        match &self.keys {
            Keys::Events(keys) => keys.memory_bytes(),
            Keys::Spread(keys) => keys.memory_bytes(),
            Keys::Distinct(keys, _) => keys.memory_bytes(),
        }
    }

    #[inline]
    fn key(&self, packet: &Packet) -> u64 {
        let hasher = &self.hasher;
        let port = u64::from(packet.dst_port);
        match self.rule.per {
            ThresholdKey::Source => hasher.address(packet.src, 0),
            ThresholdKey::Destination => hasher.address(packet.dst, 0),
            ThresholdKey::Pair => hasher.address(packet.src, hasher.address(packet.dst, 0)),
            ThresholdKey::SourceAndPort => hasher.address(packet.src, port),
            ThresholdKey::PairAndPort => {
                hasher.address(packet.src, hasher.address(packet.dst, port))
            }
            ThresholdKey::SourceService => {
                hasher.address(packet.src, u64::from(packet.src_port) | 1 << 32)
            }
            ThresholdKey::Service => hasher.address(packet.dst, port),
            ThresholdKey::Prefix => hasher.address(prefix(packet.dst, [24, 48]), 24),
            ThresholdKey::WidePrefix => hasher.address(prefix(packet.dst, [16, 32]), 16),
            ThresholdKey::Tuple => hasher.tuple(packet),
        }
    }

    /// What distinct counts count; 0 for rules that count events.
    #[inline]
    fn item(&self, event: &Event<'_>) -> u64 {
        let (packet, hasher) = (event.packet, &self.hasher);
        match (self.rule.counted, event.item) {
            (Counted::UnansweredPorts, Some(item)) => hasher.number(item),
            (Counted::UnansweredPorts, None) => hasher.number(u64::from(packet.dst_port)),
            (Counted::Destinations | Counted::UnsolicitedSynAckHosts, _) => {
                hasher.address(network(packet.dst), 0)
            }
            (Counted::OddFlagTargets, _) => hasher.address(packet.dst, packet.dst_port.into()),
            (Counted::IncompleteSyns, _) => {
                let part = match self.rule.per {
                    ThresholdKey::WidePrefix => prefix(packet.dst, [24, 48]),
                    _ => packet.dst,
                };
                Spread::item(hasher.address(packet.src, 0), hasher.address(part, 0))
            }
            _ => 0,
        }
    }
}

/// An IPv4 host, or the /64 of an IPv6 host, which may use any address of it.
#[inline]
fn network(address: IpAddr) -> IpAddr {
    prefix(address, [32, 64])
}
