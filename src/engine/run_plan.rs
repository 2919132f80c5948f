//! What a run goes by, and what it returns.

use std::io;
use std::sync::Arc;

use super::active_rules::ActiveRules;
use super::alerts::merge::AlertCounts;
use super::clock::Phase;
use super::dispatch::Watch;
use super::errors::Errors;
use super::overload::OverloadTotals;
use super::pool::WorkerLost;
use super::sample::Measurement;
use super::stats::{Durations, ShardStats};
use super::thresholds::Losses;
use crate::capture::{CaptureError, FrameCounts};
use crate::flow::Keyer;
use crate::seed::Seed;
use acsm_filters::pending::PendingStats;
use acsm_filters::{StoreError, StoreSpec, StoreStats};

/// Everything that a run goes by.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// Which store, how large.
    pub store: StoreSpec,
    /// The rules to begin with.
    pub active: Arc<ActiveRules>,
    /// How packets become flows.
    pub keyer: Keyer,
    /// The aging clock's phase.
    pub phase: Phase,
    /// How long "no session" rules stay muted at the start.
    pub startup_nanos: u64,
    /// Whose steps to show.
    pub watch: Option<Watch>,
    /// Seed of the thresholds' sketches.
    pub seed: Seed,
    /// Whether lookups that find nothing touch the cells in use.
    pub touch_absent: bool,
    /// How many threads, the one that reads among them: 1 to 16.
    pub workers: usize,
    /// Whether snapshots contain the busiest addresses.
    pub top_talkers: bool,
    /// Whether to compare with an exact shadow.
    pub verify: bool,
    /// How many flows to compare with an exact table while the run goes on, if any.
    pub sample: Option<u64>,
    /// Nanoseconds on some clock, for the histograms alone.
    pub stopwatch: fn() -> u64,
}

/// What a run found.
#[derive(Debug)]
pub struct RunResult {
    /// Frames, and why some were skipped.
    pub frames: FrameCounts,
    /// Lookups, entries into states, times of sweeps.
    pub shards: ShardStats,
    /// Time per batch and thread.
    pub batch_nanos: Durations,
    /// What the exact shadow found wrong, if one was asked for.
    pub errors: Option<Errors>,
    /// What the stores say about themselves.
    pub store: StoreStats,
    /// What the pending tables say about themselves, if there are any.
    pub pending: Option<PendingStats>,
    /// How long the pending tables hold a flow at the rate of the last second; `None` if no flow
    /// arrived in it.
    pub pending_lifetime_seconds: Option<f64>,
    /// Times in which the load was too much.
    pub overloads: OverloadTotals,
    /// The error measured on a sample of flows, if one was asked for.
    pub measured: Option<Measurement>,
    /// Alerts shown and suppressed.
    pub alerts: AlertCounts,
    /// What the thresholds' bounded memory left out.
    pub losses: Losses,
    /// Whether the capture seems to show one direction of its flows only.
    pub one_way: bool,
    /// Why reading ended early, if it did. What was read before it is in all figures.
    pub failure: Option<CaptureError>,
}

/// Why a run could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store could not be built.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An output failed.
    #[error("cannot write alerts")]
    Output(#[from] io::Error),
    /// A worker died.
    #[error(transparent)]
    Worker(#[from] WorkerLost),
}
