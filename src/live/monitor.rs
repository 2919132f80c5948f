//! The monitor of a live run: publishes a view every second, writes `stats` events, and carries out
//! what signals request.
//!
//! With `view`, this connects the live displays with the engine: the engine calls the
//! [`Observer`] in its reading thread, between batches.

use std::cell::RefCell;
use std::fmt::Display;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::alerts::AlertFanout;
use super::shared::SharedSnapshot;
use super::stats::StatsEvents;
use super::theory::{StoreModel, StoreTheory};
use super::view::{View, ViewContext};
use crate::capture::live::LiveCounts;
use crate::capture::record::Recorder;
use crate::engine::{ActiveRules, Observer, OverloadEvent, Request, RunPlan, Snapshot};
use crate::machine::Rules;
use crate::report::alert::AlertTarget;
use crate::report::overload::OverloadMessage;
use acsm_filters::Sizing;

const VIEW_INTERVAL: Duration = Duration::from_secs(1);

/// Flags that signals set.
#[derive(Debug, Default, Clone)]
pub struct SignalFlags {
    /// SIGINT, SIGTERM: end the run.
    pub stop: Arc<AtomicBool>,
    /// Whether a further SIGINT or SIGTERM may end the process at once. A dashboard sets it one second
    /// after it has restored the terminal.
    pub may_exit: Arc<AtomicBool>,
    /// SIGHUP: reload the rules; or the terminal was closed.
    pub reload: Arc<AtomicBool>,
    /// SIGUSR1: reopen the alert file.
    pub reopen: Arc<AtomicBool>,
}

/// What the monitor cannot do by itself: these depend on the command line.
pub struct Actions<'a> {
    /// Reads the rules again, for a run that has followed the given ones.
    pub load_rules: &'a dyn Fn(&Rules) -> Result<ActiveRules, String>,
    /// Opens the alert file again; `None` if there is none.
    pub open_alerts: &'a dyn Fn() -> Result<Option<AlertTarget>, String>,
    /// Shows a message to the user.
    pub message: fn(&dyn Display),
}

/// What a monitor works with.
pub struct MonitorContext<'a> {
    /// The run.
    pub plan: &'a RunPlan,
    /// The dimensions of its store.
    pub sizing: Sizing,
    /// Where alerts and events go.
    pub alerts: &'a RefCell<AlertFanout<'a>>,
    /// What records packets, if anything does.
    pub recorder: Option<&'a RefCell<Recorder>>,
    /// Received and dropped frames.
    pub counts: Arc<LiveCounts>,
    /// Where views are published.
    pub shared: SharedSnapshot,
    /// What signals request.
    pub signals: SignalFlags,
    /// The length of the run, if limited.
    pub duration: Option<Duration>,
    /// Time between `stats` events.
    pub stats_interval: Duration,
    /// What depends on the command line.
    pub actions: Actions<'a>,
    /// No warnings about the load.
    pub quiet: bool,
}

/// Monitors a live run, as the engine's [`Observer`].
pub struct Monitor<'a> {
    context: MonitorContext<'a>,
    /// The rules in force.
    active: Arc<ActiveRules>,
    started: Instant,
    next_view: Instant,
    next_stats: Instant,
    stats_events: StatsEvents,
    theory: StoreTheory,
    has_reported_recorder: bool,
    /// Whether standard output was a terminal at the start.
    on_terminal: bool,
}

impl<'a> Monitor<'a> {
    /// Starts the clock of the run.
    pub fn new(context: MonitorContext<'a>) -> Monitor<'a> {
        let started = Instant::now();
        let MonitorContext { plan, sizing, .. } = &context;
        Monitor {
            active: Arc::clone(&plan.active),
            started,
            next_view: started + VIEW_INTERVAL,
            next_stats: started + context.stats_interval,
            stats_events: StatsEvents::default(),
            theory: StoreTheory::new(Some(StoreModel::new(plan, *sizing))),
            has_reported_recorder: false,
            on_terminal: io::stdout().is_terminal(),
            context,
        }
    }

    /// The rules in force.
    pub fn rules(&self) -> Arc<ActiveRules> {
        Arc::clone(&self.active)
    }

    fn message(&self, message: impl Display) {
        (self.context.actions.message)(&message);
    }

    fn stop(&self) {
        self.context.signals.stop.store(true, Ordering::Relaxed);
    }

    /// The new rules, if a reload was requested and succeeded.
    fn reload_if_requested(&mut self) -> Option<Arc<ActiveRules>> {
        if !self.context.signals.reload.swap(false, Ordering::Relaxed) {
            return None;
        }
        if self.on_terminal && !io::stdout().is_terminal() {
            // SIGHUP because the terminal was closed: the user would not know that the capture continues.
            self.stop();
            return None;
        }
        match (self.context.actions.load_rules)(&self.active.rules) {
            Ok(new) => {
                let new = Arc::new(new);
                self.context.alerts.borrow_mut().set_rules(&new.rules);
                self.active = Arc::clone(&new);
                self.message("acsm: rules read again");
                Some(new)
            }
            Err(error) => {
                self.message(format_args!("acsm: the rules stay as they are: {error}"));
                None
            }
        }
    }

    fn reopen_if_requested(&self) {
        if !self.context.signals.reopen.swap(false, Ordering::Relaxed) {
            return;
        }
        let reopened = (self.context.actions.open_alerts)().and_then(|target| match target {
            Some(target) => self
                .context
                .alerts
                .borrow_mut()
                .set_target(target)
                .map_err(|error| format!("cannot write alerts: {error}")),
            None => Ok(()),
        });
        if let Err(error) = reopened {
            self.message(format_args!("acsm: alerts go where they went: {error}"));
        }
    }

    /// Reports a failed recording (a full disk) when it happens, not at the end of the run.
    fn report_recorder_failure(&mut self) {
        let Some(recorder) = self.context.recorder.filter(|_| !self.has_reported_recorder) else {
            return;
        };
        if let Some((path, error)) = recorder.borrow().failure() {
            self.has_reported_recorder = true;
            let path = path.display();
            self.message(format_args!("acsm: warning: recording ended: {path}: {error}"));
        }
    }

    /// Writes a `stats` event if one is due.
    fn write_stats(&mut self, view: &View, now: Instant) {
        if now < self.next_stats {
            return;
        }
        self.next_stats = now + self.context.stats_interval;
        let theory = &mut self.theory;
        let events = &mut self.stats_events;
        let is_written = self.context.alerts.borrow_mut().event(|out| {
            theory.complete(&view.store.predicted_error);
            events.append(view, out);
        });
        if !is_written {
            // The next alert would fail in the same way.
            self.stop();
        }
    }
}

impl Observer for Monitor<'_> {
    fn batch(&mut self, _frames: u64) -> Request {
        let now = Instant::now();
        if self.context.duration.is_some_and(|limit| now - self.started >= limit) {
            self.stop();
        }
        self.reopen_if_requested();
        if let Some(new) = self.reload_if_requested() {
            return Request::SetRules(new);
        }
        if now < self.next_view {
            return Request::Continue;
        }
        self.next_view = now + VIEW_INTERVAL;
        self.report_recorder_failure();
        Request::Snapshot
    }

    fn overload(&mut self, event: &OverloadEvent) {
        if !self.context.quiet {
            self.message(format_args!("acsm: warning: {}", OverloadMessage(event)));
        }
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        let now = Instant::now();
        let MonitorContext { plan, sizing, alerts, counts, .. } = &self.context;
        let view = View::new(
            &snapshot,
            ViewContext {
                rules: &self.active.rules,
                shown: self.active.shown,
                spec: &plan.store,
                sizing,
                interfaces: counts.interfaces(),
                latest_alerts: alerts.borrow().latest(),
                uptime_seconds: (now - self.started).as_secs_f64(),
            },
        );
        self.write_stats(&view, now);
        self.context.shared.publish(view);
    }
}
