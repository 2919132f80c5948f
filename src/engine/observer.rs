//! What a run shows of itself while it goes on, and what may be changed meanwhile.
//!
//! After every batch, and at every idle tick, the engine asks its [`Observer`] for a [`Request`]. A
//! [`Snapshot`] copies the counts of all shards: once per second that costs nothing that could be
//! measured. Batches under way are completed first, so its figures agree with each other.

use std::sync::Arc;

use super::active_rules::ActiveRules;
use super::alerts::Suppressed;
use super::incidents::Incident;
use super::overload::{OverloadEvent, OverloadTotals};
use super::sample::{MeasuredError, Measurement};
use super::stats::{Durations, ShardStats};
use super::thresholds::Losses;
use super::top_talkers::TopTalkers;
use crate::capture::FrameCounts;
use crate::machine::RuleSet;
use crate::time::Timestamp;
use acsm_filters::StoreStats;
use acsm_filters::pending::PendingStats;

/// What an observer wants after a batch.
#[derive(Debug, Clone)]
pub enum Request {
    /// Nothing: go on.
    Continue,
    /// A [`Snapshot`].
    Snapshot,
    /// Other rules from here on.
    SetRules(Arc<ActiveRules>),
}

/// Watches a run from the thread that reads. A plain `FnMut(u64)` is one that requests nothing.
pub trait Observer {
    /// A batch is done, or an idle tick is over; this many frames were seen so far.
    fn batch(&mut self, frames: u64) -> Request;

    /// The latest time of a packet or an idle tick, before each batch is [told](Self::batch).
    fn time(&mut self, _time: Timestamp) {}

    /// A minute of packet time is over, by its number since 1970: the error that was measured in it on a
    /// sample of flows.
    fn minute(&mut self, _minute: u64, _error: &MeasuredError) {}

    /// The store is overloaded from here on, or no longer.
    fn overload(&mut self, _event: &OverloadEvent) {}

    /// The snapshot that was requested.
    fn snapshot(&mut self, _snapshot: Snapshot) {}
}

impl<F: FnMut(u64)> Observer for F {
    fn batch(&mut self, frames: u64) -> Request {
        self(frames);
        Request::Continue
    }
}

/// A run at one moment. Counts are totals since the start; rates come from two snapshots.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The latest time of a packet or an idle tick.
    pub time: Timestamp,
    /// Frames, and why some were skipped.
    pub frames: FrameCounts,
    /// Lookups by answer, entries into states, times of sweeps.
    pub shards: ShardStats,
    /// Time per batch and thread.
    pub batch_nanos: Durations,
    /// What the stores say about themselves; `live` is an estimate where `live_estimated`.
    pub store: StoreStats,
    /// What the pending tables say about themselves, if there are any.
    pub pending: Option<PendingStats>,
    /// How long they hold a flow at the rate of the last second; `None` if no flow arrived in it.
    pub pending_lifetime_seconds: Option<f64>,
    /// Times in which the load was too much.
    pub overloads: OverloadTotals,
    /// The error measured on a sample of flows, if there is one.
    pub measured: Option<Measurement>,
    /// Alerts shown, by rule.
    pub shown: [u64; RuleSet::LIMIT],
    /// Alerts not shown, by reason.
    pub suppressed: Suppressed,
    /// Open incidents and the latest of the others, at most [`Snapshot::INCIDENTS`].
    pub incidents: Vec<Incident>,
    /// How many are open.
    pub incidents_open: u64,
    /// How many there were in all.
    pub incidents_total: u64,
    /// What the thresholds' bounded memory left out.
    pub losses: Losses,
    /// Whether the capture seems to show one direction of its flows only.
    pub one_way: bool,
    /// Whether "no session" rules are muted at this moment.
    pub no_session_muted: bool,
    /// The busiest sources and destinations, if they were asked for.
    pub top: Option<TopTalkers>,
}

impl Snapshot {
    /// Incidents in a snapshot, at most.
    pub const INCIDENTS: usize = 50;
}
