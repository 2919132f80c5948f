//! Threshold rules: which events each one counts, for which key, and the hit when its count is
//! reached.

use super::cases::{CaseId, Cases};
use super::failures::RecentPackets;
use super::hit::ThresholdHit;
use super::rule_counter::{Event, RuleCounter};
use super::tuples::TupleHasher;
use crate::flow::Packet;
use crate::machine::{Counted, ThresholdKey, ThresholdRule};
use acsm_filters::memory::Arena;

/// All rules and their counts.
#[derive(Debug)]
pub(super) struct RuleCounters {
    /// By the kind of event that they count; of the same key, the shortest window first.
    by_counted: [Vec<RuleCounter>; COUNTED_KINDS],
    keys_per_rule: usize,
    hasher: TupleHasher,
    pub cases: Cases,
    /// First packets that failed.
    failures: RecentPackets,
    /// Packets that count by themselves, by the order of [`TALLIED`].
    tallied: [RecentPackets; TALLIED.len()],
    /// One bit for each (source, destination port) with a failed attempt, by its hash.
    failed_sources: Box<[u64; FAILED_WORDS]>,
}

const COUNTED_KINDS: usize = Counted::OddFlagTargets as usize + 1;
const FAILED_WORDS: usize = 128;
/// First packets that failed that are kept, and packets of each kind of [`TALLIED`].
const FAILURES_KEPT: usize = 2048;
const TALLIED_KEPT: usize = 512;
/// Kinds of events that are packets which say by themselves what they are.
const TALLIED: [Counted; 3] = [Counted::Resets, Counted::Fins, Counted::OddFlags];

impl RuleCounters {
    pub fn new_in(
        arena: &Arena,
        rules: &[ThresholdRule],
        keys_per_rule: usize,
        hasher: TupleHasher,
    ) -> Self {
        let mut counters = RuleCounters {
            by_counted: std::array::from_fn(|_| Vec::new()),
            keys_per_rule,
            hasher,
            cases: Cases::new(hasher),
            failures: RecentPackets::new(FAILURES_KEPT),
            tallied: std::array::from_fn(|_| RecentPackets::new(TALLIED_KEPT)),
            failed_sources: Box::new([0; FAILED_WORDS]),
        };
        counters.set_rules(arena, rules);
        counters
    }

    /// Replaces the rules. Rules that stay the same keep their counts.
    pub fn set_rules(&mut self, arena: &Arena, rules: &[ThresholdRule]) {
        let mut old: Vec<RuleCounter> =
            self.by_counted.iter_mut().flat_map(std::mem::take).collect();
        for rule in
            rules.iter().filter(|rule| rule.per != ThresholdKey::Service || counts_keys(rule))
        {
            let Some(counters) = self.by_counted.get_mut(rule.counted as usize) else { continue };
            // Rules about flags share a count: the packet decides which of them it is.
            if rule.counted == Counted::OddFlagTargets && !counters.is_empty() {
                continue;
            }
            let counter = match old.iter().position(|old| old.rule == *rule) {
                Some(at) => old.swap_remove(at),
                None => RuleCounter::new_in(arena, *rule, self.keys_per_rule, self.hasher),
            };
            counters.push(counter);
            counters.sort_by_key(|counter| {
                (counter.rule.per != ThresholdKey::WidePrefix, counter.rule.window_nanos)
            });
        }
    }

    /// Counts an event, by all rules that count events of this kind. Returns whether the key of one of
    /// them is hot: its count was reached now or a short while ago.
    #[inline]
    pub fn count(
        &mut self,
        counted: Counted,
        event: &Event<'_>,
        fired: &mut impl FnMut(ThresholdHit),
    ) -> bool {
        let tallied = TALLIED.iter().zip(&mut self.tallied).find(|(kind, _)| **kind == counted);
        let before = match tallied {
            Some((_, recent)) => {
                recent.push(event.packet);
                recent
            }
            None => &self.failures,
        };
        let Some(rules) = self.by_counted.get_mut(counted as usize) else { return false };
        for rule in rules {
            let Some((key, counting)) = rule.count(event) else { continue };
            if counting.reached.is_some() || self.cases.is_open(counting.case) {
                rule.follow(key, &counting, event, &mut self.cases, before, fired);
                return true;
            }
            if counting.is_hot {
                return true;
            }
        }
        false
    }

    /// The number of distinct items that the first rule of this kind has counted for the packet's key.
    pub fn distinct(&self, counted: Counted, packet: &Packet) -> u32 {
        let rules = self.by_counted.get(counted as usize);
        rules.and_then(|rules| rules.first()?.weight(packet)).unwrap_or(0)
    }

    /// Opens a case of a service, whose count is that of the hit.
    pub fn open_service(
        &mut self,
        hit: ThresholdHit,
        window_nanos: u64,
        fired: &mut impl FnMut(ThresholdHit),
    ) -> CaseId {
        let to = (hit.packet.dst, hit.packet.dst_port);
        let since = hit.time.as_nanos().saturating_sub(window_nanos);
        let before = self.failures.since(since);
        let before = before.filter(|p| (p.dst, p.dst_port) == to && **p != hit.packet);
        self.cases.open(hit, hit.count, window_nanos, before, fired)
    }

    /// Remembers a first packet that failed.
    #[inline]
    pub fn failed(&mut self, packet: &Packet) {
        self.failures.push(packet);
        let bit = self.hasher.address(packet.src, u64::from(packet.dst_port));
        self.failed_sources[bit as usize / 64 % FAILED_WORDS] |= 1 << (bit % 64);
    }

    /// Notes an attempt that succeeded, where attempts of the same source have failed.
    #[inline]
    pub fn succeeded(&mut self, packet: &Packet) {
        let bit = self.hasher.address(packet.src, u64::from(packet.dst_port));
        if self.failed_sources[bit as usize / 64 % FAILED_WORDS] >> (bit % 64) & 1 == 0 {
            return;
        }
        if let Some(rules) = self.by_counted.get_mut(Counted::Destinations as usize) {
            rules.iter_mut().for_each(|rule| rule.succeed(packet));
        }
    }

    /// Forgets which sources had attempts that failed.
    pub fn forget_sources(&mut self) {
        *self.failed_sources = [0; FAILED_WORDS];
    }

    /// The count of a prefix of the destination that is under attack.
    pub fn attacked_prefix(&self, packet: &Packet, at_nanos: u64) -> Option<u32> {
        let rules = self.by_counted.get(Counted::IncompleteSyns as usize)?;
        rules.iter().find_map(|rule| rule.hot_weight(packet, at_nanos))
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
        let keys: usize = self.iter().map(RuleCounter::memory_bytes).sum();
        let tallied: usize = self.tallied.iter().map(RecentPackets::memory_bytes).sum();
        let recent = self.failures.memory_bytes() + tallied;
        keys + self.cases.memory_bytes() + recent + FAILED_WORDS * 8
    }

    fn iter(&self) -> impl Iterator<Item = &RuleCounter> {
        self.by_counted.iter().flatten()
    }
}

/// Whether a rule per service counts keys, and not by the account of the service.
fn counts_keys(rule: &ThresholdRule) -> bool {
    !matches!(
        rule.counted,
        Counted::IncompleteSyns | Counted::RefusedSyns | Counted::EmptyConnections
    )
}
