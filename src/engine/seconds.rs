//! What is decided once per second of packet time, from the counts of all shards.
//!
//! Shards count up to the packet with which a second begins, wherever it is in a batch. When a batch is
//! complete all shards have told of the same seconds, so that neither the size of batches nor the
//! number of workers matters.

use super::overload::{OverloadEvent, OverloadTotals, OverloadTracker, SecondLoad};
use super::sample::{MeasuredError, Measurement, WindowCounts, WorstMinute};

/// What a shard found at the seconds that began in a batch.
#[derive(Debug, Default)]
pub struct SecondOutput {
    /// The seconds that were over, by number, with the load of the shard.
    pub loads: Vec<(u64, SecondLoad)>,
    /// The minutes that were over, by number, with the lookups of sampled flows.
    pub minutes: Vec<(u64, WindowCounts)>,
}

/// What all shards found, second by second.
#[derive(Debug)]
pub struct Seconds {
    /// The seconds and minutes of a batch that is not complete yet.
    loads: Vec<(u64, SecondLoad)>,
    minutes: Vec<(u64, WindowCounts)>,
    /// The load of the last second that is over.
    last_load: SecondLoad,
    overload: OverloadTracker,
    /// What is to be told of overloads, until it is taken.
    events: Vec<OverloadEvent>,
    /// The minutes that are over, the oldest first, until they are taken.
    measured: Vec<(u64, MeasuredError)>,
    worst: WorstMinute,
}

impl Seconds {
    /// Of a run whose flows time out after this many idle seconds.
    pub fn new(idle_seconds: u64) -> Seconds {
        Seconds {
            loads: Vec::new(),
            minutes: Vec::new(),
            last_load: SecondLoad::default(),
            overload: OverloadTracker::new(idle_seconds),
            events: Vec::new(),
            measured: Vec::new(),
            worst: WorstMinute::default(),
        }
    }

    /// Takes what a shard found in a batch, and leaves it empty.
    pub fn add(&mut self, output: &mut SecondOutput) {
        for (second, load) in output.loads.drain(..) {
            match self.loads.iter_mut().find(|(known, _)| *known == second) {
                Some((_, all)) => *all += load,
                None => self.loads.push((second, load)),
            }
        }
        for (minute, counts) in output.minutes.drain(..) {
            match self.minutes.iter_mut().find(|(known, _)| *known == minute) {
                Some((_, all)) => all.merge(&counts),
                None => self.minutes.push((minute, counts)),
            }
        }
    }

    /// All shards have told of a batch. Returns what is to be told of overloads.
    pub fn complete(&mut self) -> &[OverloadEvent] {
        let told = self.events.len();
        self.loads.sort_unstable_by_key(|(second, _)| *second);
        for (second, load) in self.loads.drain(..) {
            self.last_load = load;
            self.overload.second(second, load, |event| self.events.push(event));
        }
        self.minutes.sort_unstable_by_key(|(minute, _)| *minute);
        for (minute, counts) in self.minutes.drain(..) {
            let error = counts.error();
            self.worst.note(&error);
            self.measured.push((minute, error));
        }
        self.events.get(told..).unwrap_or_default()
    }

    /// The minutes that were over since the last call, by number since 1970.
    pub fn take_minutes(&mut self) -> Vec<(u64, MeasuredError)> {
        std::mem::take(&mut self.measured)
    }

    /// The beginnings and ends of overloads since the last call.
    pub fn take_overloads(&mut self) -> Vec<OverloadEvent> {
        std::mem::take(&mut self.events)
    }

    /// Overloads so far.
    pub fn overloads(&self) -> OverloadTotals {
        self.overload.totals()
    }

    /// How long the pending table holds a flow at the rate of the last second; `None` if no flow
    /// arrived in it.
    pub fn pending_lifetime_seconds(&self) -> Option<f64> {
        self.last_load.lifetime_seconds()
    }

    /// Whether the pending table forgot flows at once in the last second.
    pub fn forgets_at_once(&self) -> bool {
        self.last_load.forgets_at_once()
    }

    /// The error measured so far; `last` counts the last minute.
    pub fn measurement(&self, last: &WindowCounts) -> Measurement {
        self.worst.with_last(last.error())
    }
}
