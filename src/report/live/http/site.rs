//! What there is to give. Each answer is made when it is first asked for after a new view, and then
//! shared by all who ask for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::page::Page;
use crate::report::live::{Board, Sample, View, metrics};

/// Views come once a second: one so old says that the capture stands still.
const STALE: Duration = Duration::from_secs(5);
/// Samples that a page gets each second: it may miss all but one of them.
const RECENT_SAMPLES: usize = 10;
/// Alerts that a page gets each second; if more are new, it asks for all.
const RECENT_ALERTS: usize = 16;

/// The things that change with every view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    /// For Prometheus.
    Metrics,
    /// The view, as JSON.
    Snapshot,
    /// The last ten minutes.
    History,
    /// What is new for a page that has seen the rest.
    Recent,
}

/// All that is served, from one board.
#[derive(Debug)]
pub struct Site {
    pub page: Page,
    board: Board,
    view: Option<Arc<View>>,
    /// When the view was new, or the server.
    since: Instant,
    now: Instant,
    made: [Option<Arc<[u8]>>; 4],
}

impl Site {
    /// Shows `board` from now on.
    pub fn new(board: Board, now: Instant) -> Site {
        let made = Default::default();
        Site { page: Page::new(), board, view: None, since: now, now, made }
    }

    /// Looks at the board. To be called often, for that is how the age of a view is known.
    pub fn look(&mut self, now: Instant) {
        self.now = now;
        let latest = self.board.latest();
        if latest.as_ref().map(Arc::as_ptr) != self.view.as_ref().map(Arc::as_ptr) {
            (self.view, self.since, self.made) = (latest, now, Default::default());
        }
    }

    /// One of the things; `None` before the first view.
    pub fn get(&mut self, thing: Thing) -> Option<Arc<[u8]>> {
        let view = self.view.as_ref()?;
        let body = match &self.made[thing as usize] {
            Some(body) => body.clone(),
            None => make(thing, view, &self.board).into(),
        };
        self.made[thing as usize] = Some(body.clone());
        Some(body)
    }

    /// What is wrong with the run, if anything is.
    pub fn trouble(&self) -> Option<String> {
        let Some(view) = &self.view else {
            return Some("no figures yet: they come once a second".to_owned());
        };
        let age = self.now.saturating_duration_since(self.since);
        if age > STALE {
            return Some(format!(
                "no new figures for {} s: the capture stands still",
                age.as_secs()
            ));
        }
        let down: Vec<&str> = view
            .interfaces
            .iter()
            .filter(|counts| !counts.is_open)
            .map(|counts| counts.interface.as_str())
            .collect();
        (!down.is_empty()).then(|| format!("gone, and waited for: {}", down.join(", ")))
    }
}

/// The last minutes, for plots.
#[derive(Debug, Serialize)]
struct HistoryPage<'a> {
    /// Names for `entered_per_second`.
    states: Vec<&'a str>,
    samples: Vec<&'a Sample>,
}

/// What is new.
#[derive(Debug, Serialize)]
struct RecentPage<'a> {
    /// With the last few of its alerts.
    view: &'a View,
    samples: Vec<&'a Sample>,
}

fn make(thing: Thing, view: &View, board: &Board) -> Vec<u8> {
    match thing {
        Thing::Metrics => metrics(view).into_bytes(),
        Thing::Snapshot => json(view),
        Thing::History => {
            let history = board.history();
            let states = view.entered.keys().map(String::as_str).collect();
            json(&HistoryPage { states, samples: history.samples().collect() })
        }
        Thing::Recent => {
            let history = board.history();
            let mut view = view.clone();
            let old = view.latest_alerts.len().saturating_sub(RECENT_ALERTS);
            view.latest_alerts.drain(..old);
            let old = history.samples().len().saturating_sub(RECENT_SAMPLES);
            json(&RecentPage { view: &view, samples: history.samples().skip(old).collect() })
        }
    }
}

/// Plain data: this cannot fail.
fn json(data: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(data).unwrap_or_default()
}
