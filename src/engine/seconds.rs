//! What is decided once per second of packet time, from the counts of all shards.
//!
//! Shards count up to the packet with which a second begins, wherever it is in a batch. When a batch is
//! complete all shards have told of the same seconds, so that neither the size of batches nor the
//! number of workers matters.

use super::sample::{MeasuredError, Measurement, WindowCounts, WorstMinute};

/// What a shard found at the seconds that began in a batch.
#[derive(Debug, Default)]
pub struct SecondOutput {
    /// The minutes that were over, by number, with the lookups of sampled flows.
    pub minutes: Vec<(u64, WindowCounts)>,
}

/// What all shards found, second by second.
#[derive(Debug, Default)]
pub struct Seconds {
    /// The minutes of a batch that is not complete yet.
    minutes: Vec<(u64, WindowCounts)>,
    /// The minutes that are over, the oldest first, until they are taken.
    measured: Vec<(u64, MeasuredError)>,
    worst: WorstMinute,
}

impl Seconds {
    /// Takes what a shard found in a batch, and leaves it empty.
    pub fn add(&mut self, output: &mut SecondOutput) {
        for (minute, counts) in output.minutes.drain(..) {
            match self.minutes.iter_mut().find(|(known, _)| *known == minute) {
                Some((_, all)) => all.merge(&counts),
                None => self.minutes.push((minute, counts)),
            }
        }
    }

    /// All shards have told of a batch.
    pub fn complete(&mut self) {
        self.minutes.sort_unstable_by_key(|(minute, _)| *minute);
        for (minute, counts) in self.minutes.drain(..) {
            let error = counts.error();
            self.worst.note(&error);
            self.measured.push((minute, error));
        }
    }

    /// The minutes that were over since the last call, by number since 1970.
    pub fn take_minutes(&mut self) -> Vec<(u64, MeasuredError)> {
        std::mem::take(&mut self.measured)
    }

    /// The error measured so far; `last` counts the last minute.
    pub fn measurement(&self, last: &WindowCounts) -> Measurement {
        self.worst.with_last(last.error())
    }
}
