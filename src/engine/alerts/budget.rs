//! How many alerts are shown per second: a budget per rule and severity, shared among classes of sources
//! and of destinations.

use std::net::IpAddr;

use super::Alert;
use crate::machine::RuleSet;
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::HashKey;

/// Classes of sources, and of destinations.
const CLASSES: usize = 256;
const SEVERITIES: usize = 4;
/// The share of a class is at least this.
const SHARE_MIN: u32 = 5;

/// The budgets of all rules, for the current second.
#[derive(Debug)]
pub struct Budgets {
    hash_key: HashKey,
    budgets: Vec<Budget>,
}

/// What one rule has shown at one severity.
#[derive(Debug, Clone)]
struct Budget {
    second: u64,
    shown: u32,
    sources: [u8; CLASSES],
    destinations: [u8; CLASSES],
}

impl Budgets {
    /// All unspent. Which prefixes share a class depends on the key.
    pub fn new(hash_key: HashKey) -> Budgets {
        let budget =
            Budget { second: 0, shown: 0, sources: [0; CLASSES], destinations: [0; CLASSES] };
        Budgets { hash_key, budgets: vec![budget; RuleSet::LIMIT * SEVERITIES] }
    }

    /// Whether the second of `now` may show this alert, of `limit` per rule and severity.
    pub fn have_room(&mut self, alert: &Alert, now: Timestamp, limit: u32) -> bool {
        let (source, destination) = self.classes(alert);
        let Some(budget) = self.budgets.get_mut(place(alert)) else { return false };
        let second = now.as_nanos() / NANOS_PER_SEC;
        if second != budget.second {
            *budget =
                Budget { second, shown: 0, sources: [0; CLASSES], destinations: [0; CLASSES] };
        }
        // A tenth for each class of sources, a quarter for each class of destinations; but some.
        let of_source = u32::from(budget.sources[source]);
        let of_destination = u32::from(budget.destinations[destination]);
        let has_share =
            of_source < (limit / 10).max(SHARE_MIN) && of_destination < (limit / 4).max(SHARE_MIN);
        limit > 0 && (of_source == 0 || budget.shown < limit && has_share)
    }

    /// Takes this alert from its budget.
    pub fn take(&mut self, alert: &Alert) {
        let (source, destination) = self.classes(alert);
        let Some(budget) = self.budgets.get_mut(place(alert)) else { return };
        budget.shown += 1;
        budget.sources[source] = budget.sources[source].saturating_add(1);
        budget.destinations[destination] = budget.destinations[destination].saturating_add(1);
    }

    /// The classes of the prefix of its source, and of its destination.
    fn classes(&self, alert: &Alert) -> (usize, usize) {
        let prefix = match alert.packet.src {
            IpAddr::V4(v4) => u64::from(v4.to_bits() >> 8),
            IpAddr::V6(v6) => (v6.to_bits() >> 80) as u64 | 1 << 63,
        };
        let destination = match alert.packet.dst {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits(),
        };
        let class = |words| self.hash_key.digest(words) as usize % CLASSES;
        (class([prefix, 1]), class([destination as u64, (destination >> 64) as u64]))
    }
}

fn place(alert: &Alert) -> usize {
    usize::from(alert.rule.0) * SEVERITIES + usize::from(alert.severity.clamp(1, 4) - 1)
}
