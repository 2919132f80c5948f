//! What goes on beside the packets of a live run: views once a second, `stats` events once a minute,
//! its end, and what signals ask for.

use std::cell::RefCell;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::desk::Desk;
use super::shelf::Shelf;
use crate::capture::live::LiveCounts;
use crate::capture::record::Recorder;
use crate::cmd::rule_args::RuleArgs;
use crate::cmd::{output, signals};
use crate::engine::{NewRules, Observer, RunPlan, Snapshot, Wish};
use crate::machine::Rules;
use crate::report::live::{Board, View, ViewContext, stats_line};
use crate::report::replay::{OverloadWatch, Prediction};
use acsm_filters::Sizing;

const VIEW_EVERY: Duration = Duration::from_secs(1);

/// What signals ask for.
#[derive(Debug, Default, Clone)]
pub struct Asked {
    /// SIGINT, SIGTERM: come to an end.
    pub stop: Arc<AtomicBool>,
    /// Whether a further one may end the process there and then. A dashboard does not allow it before
    /// it has given the terminal back, and a second after.
    pub may_end: Arc<AtomicBool>,
    /// SIGHUP: read the rules again; or the terminal is gone.
    pub reload: Arc<AtomicBool>,
    /// SIGUSR1: open the alert file again.
    pub reopen: Arc<AtomicBool>,
}

impl Asked {
    /// Flags that signals set from here on.
    pub fn by_signals(has_dashboard: bool) -> anyhow::Result<Asked> {
        let stop = Arc::<AtomicBool>::default();
        let may_end = if has_dashboard { Arc::default() } else { Arc::clone(&stop) };
        let asked = Asked { stop, may_end, ..Asked::default() };
        signals::stop_or_end_on_signals(&asked.stop, &asked.may_end)?;
        signals::note_requests(&asked.reload, &asked.reopen)?;
        Ok(asked)
    }
}

/// All that a watcher needs to know.
pub struct Watched<'a> {
    pub plan: &'a RunPlan,
    pub sizing: Sizing,
    pub rule_args: &'a RuleArgs,
    pub desk: &'a RefCell<Desk<'a>>,
    pub recorder: Option<&'a RefCell<Recorder>>,
    pub shelf: &'a Shelf,
    pub counts: Arc<LiveCounts>,
    pub board: Board,
    pub asked: Asked,
    pub duration: Option<Duration>,
    pub stats_every: Duration,
    /// The rules in force, also for those who sum up at the end.
    pub rules: &'a RefCell<&'a Rules>,
    /// No warnings of its load.
    pub quiet: bool,
}

/// Watches a live run.
pub struct Watcher<'a> {
    watched: Watched<'a>,
    started: Instant,
    next_view: Instant,
    next_stats: Instant,
    told_of_failure: bool,
    overload: OverloadWatch,
    /// Whether standard output was a terminal at the start.
    on_terminal: bool,
}

impl<'a> Watcher<'a> {
    /// Watches from now on.
    pub fn new(watched: Watched<'a>) -> Watcher<'a> {
        let started = Instant::now();
        Watcher {
            started,
            next_view: started + VIEW_EVERY,
            next_stats: started + watched.stats_every,
            watched,
            told_of_failure: false,
            overload: OverloadWatch::default(),
            on_terminal: io::stdout().is_terminal(),
        }
    }

    /// Reads the rules again, if the run can go on under them.
    fn reload(&self) -> anyhow::Result<&'a NewRules> {
        let Watched { plan, rule_args, shelf, rules, .. } = &self.watched;
        let fresh = rule_args.load(plan.keyer.kind)?;
        let new = NewRules {
            shown: fresh.list.on_in(rule_args.preset()),
            suppressions: rule_args.suppressions(&fresh)?,
            rules: fresh,
        };
        new.can_follow(*rules.borrow()).map_err(anyhow::Error::msg)?;
        Ok(shelf.put(new))
    }

    fn reload_if_asked(&self) -> Option<&'a NewRules> {
        if !self.watched.asked.reload.swap(false, Ordering::Relaxed) {
            return None;
        }
        if self.on_terminal && !io::stdout().is_terminal() {
            // Whoever hangs up has seen enough; nobody would know that it still captures.
            self.watched.asked.stop.store(true, Ordering::Relaxed);
            return None;
        }
        match self.reload() {
            Ok(new) => {
                self.watched.desk.borrow_mut().follow(&new.rules);
                *self.watched.rules.borrow_mut() = &new.rules;
                output::say("acsm: rules read again");
                Some(new)
            }
            Err(error) => {
                output::say(format_args!("acsm: the rules stay as they are: {error:#}"));
                None
            }
        }
    }

    fn reopen_if_asked(&self) {
        if self.watched.asked.reopen.swap(false, Ordering::Relaxed)
            && let Err(error) = self.watched.desk.borrow_mut().reopen()
        {
            output::say(format_args!("acsm: alerts go where they went: {error:#}"));
        }
    }

    /// A disk that is full is told of when it happens, not at the end.
    fn tell_of_failure(&mut self) {
        let Some(recorder) = self.watched.recorder.filter(|_| !self.told_of_failure) else {
            return;
        };
        if let Some((path, error)) = recorder.borrow().failure() {
            self.told_of_failure = true;
            let path = path.display();
            output::say(format_args!("acsm: warning: recording ended: {path}: {error}"));
        }
    }
}

impl<'a> Observer<'a> for Watcher<'a> {
    fn round(&mut self, _frames: u64) -> Wish<'a> {
        let now = Instant::now();
        if self.watched.duration.is_some_and(|limit| now - self.started >= limit) {
            self.watched.asked.stop.store(true, Ordering::Relaxed);
        }
        self.reopen_if_asked();
        if let Some(new) = self.reload_if_asked() {
            return Wish::Rules(new);
        }
        if now < self.next_view {
            return Wish::GoOn;
        }
        self.next_view = now + VIEW_EVERY;
        self.tell_of_failure();
        Wish::Snapshot
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        let Watched { plan, sizing, desk, counts, board, rules, rule_args, .. } = &self.watched;
        let now = Instant::now();
        let (lookups, stats) = (&snapshot.tally.lookups, &snapshot.stats);
        let prediction = Prediction::new(plan, sizing, lookups, stats.live);
        let overload = self.overload.look(&prediction, stats.full);
        if let Some(overload) = overload.filter(|_| !self.watched.quiet) {
            output::say(format_args!("acsm: warning: {overload}"));
        }
        let view = View::new(
            &snapshot,
            ViewContext {
                rules: *rules.borrow(),
                shown: rules.borrow().list.on_in(rule_args.preset()),
                spec: &plan.store,
                sizing,
                interfaces: counts.interfaces(),
                latest_alerts: desk.borrow().latest.list(),
                uptime_seconds: (now - self.started).as_secs_f64(),
                prediction,
            },
        );
        if now >= self.next_stats {
            self.next_stats = now + self.watched.stats_every;
            if !desk.borrow_mut().event(|out| stats_line(&view, out)) {
                // The next alert would fail in the same way.
                self.watched.asked.stop.store(true, Ordering::Relaxed);
            }
        }
        board.put(view);
    }
}
