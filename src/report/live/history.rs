//! The last minutes of a run, a sample a second: what plots draw.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{View, count, total};

/// Ten minutes of one a second.
const KEPT: usize = 600;

/// The time between two views, in rates; and how the store stood at its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // named as in [`View`]
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
    pub predicted_error: f64,
}

impl Sample {
    /// What went on from `before` to `after`. Rules that were read again may have other states:
    /// a count that fell is a rate of zero.
    pub fn between(before: &View, after: &View) -> Sample {
        let seconds = (after.uptime_seconds - before.uptime_seconds).max(f64::EPSILON);
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / seconds;
        let of_all =
            |of: fn(&View) -> &Map<String, Value>| rate(total(of(before)), total(of(after)));
        let entered = after.entered.keys();
        Sample {
            uptime_seconds: after.uptime_seconds,
            packets_per_second: rate(before.packets, after.packets),
            tcp_packets_per_second: rate(before.tcp_packets, after.tcp_packets),
            bytes_per_second: rate(before.bytes, after.bytes),
            drops_per_second: of_all(|view| &view.drops),
            alerts_per_second: of_all(|view| &view.alerts),
            dont_know_per_second: rate(
                count(&before.lookups, "dont_know"),
                count(&after.lookups, "dont_know"),
            ),
            entered_per_second: entered
                .map(|state| rate(count(&before.entered, state), count(&after.entered, state)))
                .collect(),
            live_flows: after.store.live_flows,
            fill_ratio: after.store.fill_ratio,
            predicted_error: after.store.predicted_error,
        }
    }
}

/// The latest samples, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct History(VecDeque<Sample>);

impl History {
    /// Adds a sample; the oldest may go.
    pub fn add(&mut self, sample: Sample) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(sample);
    }

    /// Oldest first.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample> + ExactSizeIterator {
        self.0.iter()
    }
}
