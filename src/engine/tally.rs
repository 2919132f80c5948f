//! What workers count.

use hdrhistogram::Histogram;

use super::verify::Errors;
use crate::machine::RuleSet;
use acsm_filters::{Lookup, State};

/// Counts of one worker; workers add up, in any order.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Answers of the store.
    pub lookups: Lookups,
    /// Flows that came into a state, by state.
    pub entered: [u64; State::LIMIT],
    /// Alerts of rules that are not shown, by rule.
    pub only_counted: [u64; RuleSet::LIMIT],
    /// Time per batch.
    pub batch_nanos: Nanos,
    /// Time per slice of the sweep.
    pub sweep_nanos: Nanos,
    /// What the exact shadow found wrong, if one was asked for.
    pub errors: Option<Errors>,
}

/// Answers of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lookups {
    /// The state was told.
    pub known: u64,
    /// The flow was not there.
    pub absent: u64,
    /// The flow was there, its state could not be told.
    pub dont_know: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            lookups: Lookups::default(),
            entered: [0; State::LIMIT],
            only_counted: [0; RuleSet::LIMIT],
            batch_nanos: Nanos::default(),
            sweep_nanos: Nanos::default(),
            errors: None,
        }
    }
}

impl Lookups {
    #[inline]
    pub(super) fn count(&mut self, answer: Lookup) {
        match answer {
            Lookup::Known(_) => self.known += 1,
            Lookup::Absent => self.absent += 1,
            Lookup::DontKnow => self.dont_know += 1,
        }
    }
}

impl Tally {
    /// Adds what another worker counted.
    pub fn merge(&mut self, other: Tally) {
        self.lookups.known += other.lookups.known;
        self.lookups.absent += other.lookups.absent;
        self.lookups.dont_know += other.lookups.dont_know;
        for (ours, theirs) in self.entered.iter_mut().zip(other.entered) {
            *ours += theirs;
        }
        for (ours, theirs) in self.only_counted.iter_mut().zip(other.only_counted) {
            *ours += theirs;
        }
        self.batch_nanos.merge(&other.batch_nanos);
        self.sweep_nanos.merge(&other.sweep_nanos);
        self.errors = match (self.errors.take(), other.errors) {
            (Some(mut ours), Some(theirs)) => {
                ours.merge(&theirs);
                Some(ours)
            }
            (ours, theirs) => ours.or(theirs),
        };
    }
}

/// A histogram of durations up to a minute, to two digits.
#[derive(Debug, Clone, Default)]
pub struct Nanos {
    histogram: Option<Histogram<u64>>,
    total: u64,
}

/// What lasts longer counts as this long.
const LONGEST_NANOS: u64 = 60 * crate::time::NANOS_PER_SEC;

impl Nanos {
    pub(super) fn record(&mut self, nanos: u64) {
        self.total = self.total.saturating_add(nanos);
        if self.histogram.is_none() {
            self.histogram = Histogram::new_with_bounds(1, LONGEST_NANOS, 2).ok();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(nanos);
        }
    }

    fn merge(&mut self, other: &Nanos) {
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

    /// All durations together.
    pub fn total(&self) -> u64 {
        self.total
    }
}
