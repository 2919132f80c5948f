//! One threshold rule at work: which events it counts, for which key.

use std::net::{IpAddr, Ipv6Addr};

use super::Firing;
use super::counters::{Events, KeyTable, Reached, Trigger};
use super::distinct::{Bitmap, Sampling};
use super::tuple::TupleHasher;
use crate::flow::Packet;
use crate::machine::{Counted, ThresholdKey, ThresholdRule};
use crate::time::Timestamp;

#[derive(Debug)]
enum Table {
    Events(KeyTable<Events>),
    Distinct(KeyTable<Bitmap>, Sampling),
}

/// A rule and its counts.
#[derive(Debug)]
pub(super) struct RuleCounter {
    rule: ThresholdRule,
    hasher: TupleHasher,
    table: Table,
}

impl RuleCounter {
    pub fn new(rule: ThresholdRule, keys: usize, hasher: TupleHasher) -> Self {
        let mut trigger = Trigger {
            count: u64::from(rule.count.max(1)),
            window_nanos: rule.window_nanos,
            cooldown_nanos: rule.cooldown_nanos,
        };
        let table = match rule.counted {
            Counted::UnansweredPorts | Counted::Destinations => {
                let sampling = Sampling::for_count(rule.count);
                trigger.count = sampling.scaled_down(trigger.count);
                Table::Distinct(KeyTable::new(keys, trigger), sampling)
            }
            _ => Table::Events(KeyTable::new(keys, trigger)),
        };
        RuleCounter { rule, hasher, table }
    }

    /// Whether it counts for this very rule.
    pub fn is_of(&self, rule: &ThresholdRule) -> bool {
        self.rule == *rule
    }

    pub fn counts(&self, counted: Counted) -> bool {
        self.rule.counted == counted
    }

    /// Counts what happened to (or with) a packet.
    pub fn count(&mut self, packet: &Packet, at: Timestamp) -> Option<Firing> {
        let (key, item, at_nanos) = (self.key(packet), self.item(packet), at.as_nanos());
        let reached = match &mut self.table {
            Table::Events(keys) => keys.count(key, item, at_nanos)?,
            Table::Distinct(keys, sampling) if sampling.takes(item) => {
                let Reached { count, suppressed } = keys.count(key, item, at_nanos)?;
                Reached { count: sampling.scale(count), suppressed }
            }
            Table::Distinct(..) => return None,
        };
        let (source, destination) = match self.rule.per {
            ThresholdKey::Source | ThresholdKey::SourceAndPort => (Some(packet.src), None),
            ThresholdKey::Destination => (None, Some(packet.dst)),
            ThresholdKey::Pair => (Some(packet.src), Some(packet.dst)),
        };
        Some(Firing {
            rule: self.rule.rule,
            time: at,
            source,
            destination,
            packet: *packet,
            count: reached.count,
            suppressed: reached.suppressed,
        })
    }

    pub fn evicted_keys(&self) -> u64 {
        match &self.table {
            Table::Events(keys) => keys.evicted,
            Table::Distinct(keys, _) => keys.evicted,
        }
    }

    pub fn suppressed(&self) -> u64 {
        match &self.table {
            Table::Events(keys) => keys.suppressed,
            Table::Distinct(keys, _) => keys.suppressed,
        }
    }

    pub fn memory_bytes(&self) -> usize {
        match &self.table {
            Table::Events(keys) => keys.memory_bytes(),
            Table::Distinct(keys, _) => keys.memory_bytes(),
        }
    }

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

    /// What must differ to count again; rules that count events do not ask.
    fn item(&self, packet: &Packet) -> u64 {
        match self.rule.counted {
            Counted::UnansweredPorts => self.hasher.number(u64::from(packet.dst_port)),
            Counted::Destinations => self.hasher.address(network(packet.dst), 0),
            _ => 0,
        }
    }
}

/// A host of IPv4, the /64 of IPv6: a host there may use any address of it.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}
