//! The latest view and the history up to it, shared between the capture thread and the displays.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::theory::{PredictedError, StoreModel, StoreTheory};
use super::view::View;

/// Ten minutes, at one sample per second.
const SAMPLES_MAX: usize = 600;

/// The latest [`View`] and the [`History`] up to it. Clones share the same data.
///
/// The capture thread publishes; displays read, each in its own thread through a [`SnapshotReader`].
/// The lock is held for as long as it takes to copy a pointer or add a sample (at most a copy of the
/// history), so that no display can delay the capture.
#[derive(Debug, Clone, Default)]
pub struct SharedSnapshot {
    latest: Arc<Mutex<Latest>>,
    model: Option<Arc<StoreModel>>,
}

#[derive(Debug, Default)]
struct Latest {
    view: Option<Arc<View>>,
    history: Arc<History>,
}

impl SharedSnapshot {
    /// Empty, for the views of a run with this store. Without a model (`default`), the predicted errors
    /// of published views are displayed as they are.
    pub fn new(model: StoreModel) -> SharedSnapshot {
        SharedSnapshot { model: Some(Arc::new(model)), ..SharedSnapshot::default() }
    }

    /// Replaces the latest view and extends the history.
    pub fn publish(&self, view: View) {
        let view = Arc::new(view);
        let mut latest = self.lock();
        if let Some(before) = &latest.view {
            let sample = Sample::between(before, &view);
            Arc::make_mut(&mut latest.history).add(sample);
        }
        latest.view = Some(view);
    }

    /// The latest view as published; `None` in the first second.
    pub fn latest(&self) -> Option<Arc<View>> {
        self.lock().view.clone()
    }

    /// The history up to the latest view.
    pub fn history(&self) -> Arc<History> {
        self.lock().history.clone()
    }

    /// Read access for a thread that displays views.
    pub fn reader(&self) -> SnapshotReader {
        let model = self.model.as_deref().cloned();
        SnapshotReader { shared: self.clone(), theory: StoreTheory::new(model) }
    }

    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a [`SharedSnapshot`] and computes the predicted errors in it, in the reader's thread.
pub struct SnapshotReader {
    shared: SharedSnapshot,
    theory: StoreTheory,
}

impl SnapshotReader {
    /// The latest view; `None` in the first second.
    pub fn latest(&mut self) -> Option<Arc<View>> {
        let view = self.shared.latest()?;
        self.theory.complete(&view.store.predicted_error);
        Some(view)
    }

    /// The history up to the latest view.
    pub fn history(&mut self) -> Arc<History> {
        let history = self.shared.history();
        history.samples().for_each(|sample| self.theory.complete(&sample.predicted_error));
        history
    }
}

/// The rates between two consecutive views, and the store at the later one. Names as in [`View`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // as in [`View`]
pub struct Sample {
    /// Of the later view.
    pub uptime_seconds: f64,
    pub packets_per_second: f64,
    pub tcp_packets_per_second: f64,
    pub bytes_per_second: f64,
    pub drops_per_second: f64,
    pub alerts_per_second: f64,
    /// Lookups answered "don't know".
    pub dont_know_per_second: f64,
    /// By state, in the order of [`View::entered`].
    pub entered_per_second: Vec<f64>,
    pub live_flows: u64,
    pub fill_ratio: f64,
    pub predicted_error: PredictedError,
}

impl Sample {
    /// The rates from `before` to `after`. A count that fell (reloaded rules may have other states)
    /// gives a rate of 0.
    pub fn between(before: &View, after: &View) -> Sample {
        let seconds = (after.uptime_seconds - before.uptime_seconds).max(f64::EPSILON);
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / seconds;
        let entered = |(state, count)| rate(before.entered.get(state), count);
        Sample {
            uptime_seconds: after.uptime_seconds,
            packets_per_second: rate(before.packets, after.packets),
            tcp_packets_per_second: rate(before.tcp_packets, after.tcp_packets),
            bytes_per_second: rate(before.bytes, after.bytes),
            drops_per_second: rate(before.drops.total(), after.drops.total()),
            alerts_per_second: rate(before.alerts.total(), after.alerts.total()),
            dont_know_per_second: rate(before.lookups.dont_know, after.lookups.dont_know),
            entered_per_second: after.entered.iter().map(entered).collect(),
            live_flows: after.store.live_flows,
            fill_ratio: after.store.fill_ratio,
            predicted_error: after.store.predicted_error.clone(),
        }
    }
}

/// The samples of the last ten minutes, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct History(VecDeque<Sample>);

impl History {
    /// Adds a sample; when full, the oldest is dropped.
    pub fn add(&mut self, sample: Sample) {
        if self.0.len() == SAMPLES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(sample);
    }

    /// Oldest first.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample> + ExactSizeIterator {
        self.0.iter()
    }
}
