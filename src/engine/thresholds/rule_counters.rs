//! Threshold rules: which events each one counts, for which key, and the hit when its count is
//! reached.

use std::net::{IpAddr, Ipv6Addr};

use super::distinct::{Bitmap, Sampling};
use super::tuples::TupleHasher;
use super::window_counts::{Events, KeyTable, Reached, Trigger};
use crate::flow::Packet;
use crate::machine::{Counted, RuleId, ThresholdKey, ThresholdRule};
use crate::time::Timestamp;
use acsm_filters::memory::Arena;

/// A rule's count was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdHit {
    /// Which rule.
    pub rule: RuleId,
    /// When: the time of a packet, or the time limit of a missing answer.
    pub time: Timestamp,
    /// The source address, if the rule counts per source.
    pub source: Option<IpAddr>,
    /// The destination address, if the rule counts per destination.
    pub destination: Option<IpAddr>,
    /// The packet that completed the count: for scans and floods, a first packet that failed.
    pub packet: Packet,
    /// The count in the window: a lower bound, apart from the error of distinct counts.
    pub count: u64,
    /// Events counted during the cool-down since the last hit for this key.
    pub suppressed: u64,
}

/// The counts of a rule, by key.
#[derive(Debug)]
enum Keys {
    Events(KeyTable<Events>),
    Distinct(KeyTable<Bitmap>, Sampling),
}

/// All rules and their counts.
#[derive(Debug)]
pub(super) struct RuleCounters {
    /// By the kind of event that they count.
    by_counted: [Vec<RuleCounter>; COUNTED_KINDS],
    keys_per_rule: usize,
    hasher: TupleHasher,
}

const COUNTED_KINDS: usize = Counted::UnsolicitedSynAcks as usize + 1;

impl RuleCounters {
    pub fn new_in(
        arena: &Arena,
        rules: &[ThresholdRule],
        keys_per_rule: usize,
        hasher: TupleHasher,
    ) -> Self {
        let by_counted = std::array::from_fn(|_| Vec::new());
        let mut counters = RuleCounters { by_counted, keys_per_rule, hasher };
        counters.set_rules(arena, rules);
        counters
    }

    /// Replaces the rules. Rules that stay the same keep their counts.
    pub fn set_rules(&mut self, arena: &Arena, rules: &[ThresholdRule]) {
        let mut old: Vec<RuleCounter> =
            self.by_counted.iter_mut().flat_map(std::mem::take).collect();
        for rule in rules {
            let counter = match old.iter().position(|old| old.rule == *rule) {
                Some(at) => old.swap_remove(at),
                None => RuleCounter::new_in(arena, *rule, self.keys_per_rule, self.hasher),
            };
            if let Some(counters) = self.by_counted.get_mut(rule.counted as usize) {
                counters.push(counter);
            }
        }
    }

    /// Counts an event of a packet, by all rules that count events of this kind.
    #[inline]
    pub fn count(
        &mut self,
        counted: Counted,
        packet: &Packet,
        at_nanos: u64,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let Some(rules) = self.by_counted.get_mut(counted as usize) else { return };
        for rule in rules {
            if let Some(reached) = rule.count(packet, at_nanos) {
                fired(rule.hit(reached, packet, at_nanos));
            }
        }
    }

    /// Prefetches the counters that change if this first packet times out.
    pub fn prefetch(&self, packet: &Packet) {
        for counted in [Counted::Destinations, Counted::UnansweredPorts, Counted::HalfOpen] {
            for rule in self.by_counted.get(counted as usize).into_iter().flatten() {
                rule.prefetch(packet);
            }
        }
    }

    pub fn evicted_keys(&self) -> u64 {
        self.iter().map(RuleCounter::evicted_keys).sum()
    }

    pub fn suppressed(&self) -> u64 {
        self.iter().map(RuleCounter::suppressed).sum()
    }

    pub fn memory_bytes(&self) -> usize {
        self.iter().map(RuleCounter::memory_bytes).sum()
    }

    fn iter(&self) -> impl Iterator<Item = &RuleCounter> {
        self.by_counted.iter().flatten()
    }
}

/// A rule and its counts.
#[derive(Debug)]
struct RuleCounter {
    rule: ThresholdRule,
    hasher: TupleHasher,
    keys: Keys,
}

impl RuleCounter {
    fn new_in(arena: &Arena, rule: ThresholdRule, keys: usize, hasher: TupleHasher) -> Self {
        let mut trigger = Trigger {
            count: u64::from(rule.count.max(1)),
            window_nanos: rule.window_nanos,
            cooldown_nanos: rule.cooldown_nanos,
        };
        let keys = match rule.counted {
            Counted::UnansweredPorts | Counted::Destinations => {
                let sampling = Sampling::for_count(rule.count);
                trigger.count = sampling.scaled_down(trigger.count);
                Keys::Distinct(KeyTable::new_in(arena, keys, trigger), sampling)
            }
            _ => Keys::Events(KeyTable::new_in(arena, keys, trigger)),
        };
        RuleCounter { rule, hasher, keys }
    }

    fn count(&mut self, packet: &Packet, at_nanos: u64) -> Option<Reached> {
        let (key, item) = (self.key(packet), self.item(packet));
        match &mut self.keys {
            Keys::Events(keys) => keys.count(key, item, at_nanos),
            Keys::Distinct(keys, sampling) if sampling.takes(item) => {
                let Reached { count, suppressed } = keys.count(key, item, at_nanos)?;
                Some(Reached { count: sampling.scale(count), suppressed })
            }
            Keys::Distinct(..) => None,
        }
    }

    fn prefetch(&self, packet: &Packet) {
        let key = self.key(packet);
        match &self.keys {
            Keys::Events(keys) => keys.prefetch(key),
            Keys::Distinct(keys, _) => keys.prefetch(key),
        }
    }

    #[cold]
    fn hit(&self, reached: Reached, packet: &Packet, at_nanos: u64) -> ThresholdHit {
        let (source, destination) = match self.rule.per {
            ThresholdKey::Source | ThresholdKey::SourceAndPort => (Some(packet.src), None),
            ThresholdKey::Destination => (None, Some(packet.dst)),
            ThresholdKey::Pair => (Some(packet.src), Some(packet.dst)),
        };
        ThresholdHit {
            rule: self.rule.rule,
            time: Timestamp::from_nanos(at_nanos),
            source,
            destination,
            packet: *packet,
            count: reached.count,
            suppressed: reached.suppressed,
        }
    }

    fn evicted_keys(&self) -> u64 {
        match &self.keys {
            Keys::Events(keys) => keys.evicted,
            Keys::Distinct(keys, _) => keys.evicted,
        }
    }

    fn suppressed(&self) -> u64 {
        match &self.keys {
            Keys::Events(keys) => keys.suppressed,
            Keys::Distinct(keys, _) => keys.suppressed,
        }
    }

    fn memory_bytes(&self) -> usize {
        match &self.keys {
            Keys::Events(keys) => keys.memory_bytes(),
            Keys::Distinct(keys, _) => keys.memory_bytes(),
        }
    }

    #[inline]
    fn key(&self, packet: &Packet) -> u64 {
        match self.rule.per {
            ThresholdKey::Source => self.hasher.address(packet.src, 0),
            ThresholdKey::Destination => self.hasher.address(packet.dst, 0),
            ThresholdKey::Pair => {
                self.hasher.address(packet.src, self.hasher.address(packet.dst, 0))
            }
            ThresholdKey::SourceAndPort => {
                self.hasher.address(packet.src, u64::from(packet.dst_port))
            }
        }
    }

    /// What distinct counts count; 0 for rules that count events.
    #[inline]
    fn item(&self, packet: &Packet) -> u64 {
        match self.rule.counted {
            Counted::UnansweredPorts => self.hasher.number(u64::from(packet.dst_port)),
            Counted::Destinations => self.hasher.address(network(packet.dst), 0),
            _ => 0,
        }
    }
}

/// An IPv4 host, or the /64 of an IPv6 host, which may use any address of it.
#[inline]
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}
