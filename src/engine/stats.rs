//! What shards count, and how long their work takes.

use std::ops::AddAssign;

use hdrhistogram::Histogram;

use crate::machine::RuleSet;
use acsm_filters::{Lookup, State};

/// Counts of one shard; shards add up, in any order.
#[derive(Debug, Clone)]
pub struct ShardStats {
    /// Answers of the store.
    pub lookups: Lookups,
    /// Flows that entered a state, by state.
    pub entered: [u64; State::LIMIT],
    /// Flows that the store had no room for when they were to leave the pending table.
    pub refused: u64,
    /// Flows that were taken to be reset, and whose ends went on.
    pub resets_ignored: u64,
    /// Alerts of rules that are not shown, by rule.
    pub only_counted: [u64; RuleSet::LIMIT],
    /// Time per slice of the sweep.
    pub sweep_nanos: Durations,
}

/// How many answers a store gave, by what it answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lookups {
    /// The state was found.
    pub known: u64,
    /// The flow was absent.
    pub absent: u64,
    /// The flow was present, its state unknown.
    pub dont_know: u64,
}

impl Default for ShardStats {
    fn default() -> Self {
        ShardStats {
            lookups: Lookups::default(),
            entered: [0; State::LIMIT],
            refused: 0,
            resets_ignored: 0,
            only_counted: [0; RuleSet::LIMIT],
            sweep_nanos: Durations::default(),
        }
    }
}

impl Lookups {
    /// Answers of every kind.
    pub fn total(self) -> u64 {
        self.known + self.absent + self.dont_know
    }

    /// What was added since an earlier moment.
    pub(super) fn since(self, earlier: Lookups) -> Lookups {
        Lookups {
            known: self.known.saturating_sub(earlier.known),
            absent: self.absent.saturating_sub(earlier.absent),
            dont_know: self.dont_know.saturating_sub(earlier.dont_know),
        }
    }

    #[inline]
    pub(super) fn count(&mut self, answer: Lookup) {
        match answer {
            Lookup::Known(_) => self.known += 1,
            Lookup::Absent => self.absent += 1,
            Lookup::DontKnow => self.dont_know += 1,
        }
    }
}

impl AddAssign for Lookups {
    fn add_assign(&mut self, other: Lookups) {
        self.known += other.known;
        self.absent += other.absent;
        self.dont_know += other.dont_know;
    }
}

impl ShardStats {
    /// Adds the counts of another shard.
    pub fn merge(&mut self, other: &ShardStats) {
        self.lookups += other.lookups;
        for (ours, theirs) in self.entered.iter_mut().zip(other.entered) {
            *ours += theirs;
        }
        self.refused += other.refused;
        self.resets_ignored += other.resets_ignored;
        for (ours, theirs) in self.only_counted.iter_mut().zip(other.only_counted) {
            *ours += theirs;
        }
        self.sweep_nanos.merge(&other.sweep_nanos);
    }
}

/// A histogram of durations up to a minute, to two significant digits.
#[derive(Debug, Clone, Default)]
pub struct Durations {
    histogram: Option<Histogram<u64>>,
    total: u64,
}

/// Longer durations are counted as this one.
const LONGEST_NANOS: u64 = 60 * crate::time::NANOS_PER_SEC;

impl Durations {
    pub(super) fn record(&mut self, nanos: u64) {
        self.total = self.total.saturating_add(nanos);
        if self.histogram.is_none() {
            self.histogram = Histogram::new_with_bounds(1, LONGEST_NANOS, 2).ok();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(nanos);
        }
    }

    fn merge(&mut self, other: &Durations) {
        self.total = self.total.saturating_add(other.total);
        match (&mut self.histogram, &other.histogram) {
            // Cannot fail: every histogram here has the same bounds.
            (Some(ours), Some(theirs)) => drop(ours.add(theirs)),
            (ours @ None, theirs) => *ours = theirs.clone(),
            (Some(_), None) => {}
        }
    }

    /// The duration that this share of all (0 to 1) does not exceed.
    pub fn quantile(&self, share: f64) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.value_at_quantile(share))
    }

    /// How many durations there were.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    /// The sum of all durations.
    pub fn total(&self) -> u64 {
        self.total
    }
}
