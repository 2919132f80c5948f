//! What a replay shows while it is running: progress, overloads, and EVE `stats` events by packet time.

use std::cell::RefCell;
use std::io;

use super::progress::Progress;
use super::stderr;
use crate::engine::{
    Alert, IncidentEvent, Observer, OverloadEvent, Request, RunPlan, Sink, Snapshot, WatchStep,
};
use crate::live::{StatsEvents, StoreModel, StoreTheory, View, ViewContext};
use crate::report::alert::AlertOutput;
use crate::report::overload::OverloadMessage;
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::Sizing;

/// Shows progress, and what happens to the store.
pub struct ReplayObserver<'a> {
    /// The progress bar.
    pub progress: Progress,
    /// No warnings.
    pub quiet: bool,
    /// What writes `stats` events, if they are wanted.
    pub stats: Option<StatsWriter<'a>>,
}

impl Observer for ReplayObserver<'_> {
    fn time(&mut self, time: Timestamp) {
        if let Some(stats) = &mut self.stats {
            stats.time = time;
        }
    }

    fn batch(&mut self, frames: u64) -> Request {
        self.progress.tick(frames);
        match self.stats.as_mut().is_some_and(StatsWriter::is_due) {
            true => Request::Snapshot,
            false => Request::Continue,
        }
    }

    fn overload(&mut self, event: &OverloadEvent) {
        if !self.quiet {
            let message = OverloadMessage(event);
            self.progress.above(|| stderr::message(format_args!("acsm: warning: {message}")));
        }
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        if let Some(stats) = &mut self.stats {
            stats.write(&snapshot);
        }
    }
}

/// Writes `stats` events among the alerts: with the first batch after every interval of packet time.
pub struct StatsWriter<'a> {
    plan: &'a RunPlan,
    sizing: Sizing,
    output: &'a RefCell<AlertOutput>,
    interval_nanos: u64,
    time: Timestamp,
    /// When the next event is due; `None` before the first packet.
    next: Option<Timestamp>,
    theory: StoreTheory,
    events: StatsEvents,
    failure: Option<io::Error>,
}

impl<'a> StatsWriter<'a> {
    /// Writes to `output` after every `interval_nanos`.
    pub fn new(
        plan: &'a RunPlan,
        sizing: Sizing,
        output: &'a RefCell<AlertOutput>,
        interval_nanos: u64,
    ) -> StatsWriter<'a> {
        StatsWriter {
            plan,
            sizing,
            output,
            interval_nanos: interval_nanos.max(1),
            time: Timestamp::default(),
            next: None,
            theory: StoreTheory::new(Some(StoreModel::new(plan, sizing))),
            events: StatsEvents::default(),
            failure: None,
        }
    }

    /// Why the last event could not be written, if so.
    pub fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn is_due(&mut self) -> bool {
        let interval = self.interval_nanos;
        let next = *self.next.get_or_insert(self.time.plus(interval));
        let is_due = self.time >= next;
        if is_due {
            let passed = self.time.since(next) / interval;
            self.next = Some(next.plus((passed + 1).saturating_mul(interval)));
        }
        is_due
    }

    fn write(&mut self, snapshot: &Snapshot) {
        let first = snapshot.frames.span.map_or(snapshot.time, |(first, _)| first);
        let view = View::new(
            snapshot,
            ViewContext {
                rules: &self.plan.active.rules,
                shown: self.plan.active.shown,
                spec: &self.plan.store,
                sizing: &self.sizing,
                interfaces: vec![],
                latest_alerts: vec![],
                uptime_seconds: (snapshot.time.since(first) / NANOS_PER_SEC) as f64,
            },
        );
        let (theory, events) = (&mut self.theory, &mut self.events);
        let written = self.output.borrow_mut().event(|out| {
            theory.complete(&view.store.predicted_error);
            events.append(&view, out);
        });
        self.failure = written.err().or(self.failure.take());
    }
}

/// The engine's access to an output that the [`StatsWriter`] shares.
pub struct SharedOutput<'a>(pub &'a RefCell<AlertOutput>);

impl Sink for SharedOutput<'_> {
    fn alert(&mut self, alert: &Alert) -> io::Result<()> {
        self.0.borrow_mut().alert(alert)
    }

    fn step(&mut self, step: &WatchStep) -> io::Result<()> {
        self.0.borrow_mut().step(step)
    }

    fn overload(&mut self, event: &OverloadEvent) -> io::Result<()> {
        self.0.borrow_mut().overload(event)
    }

    fn incident(&mut self, event: &IncidentEvent) -> io::Result<()> {
        self.0.borrow_mut().incident(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}
