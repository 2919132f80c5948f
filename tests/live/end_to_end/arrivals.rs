//! When alerts appear in their file, as seen by a thread that only polls it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::monitor::wait_until;

const AT_ONCE: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// An alert passes several threads, each of which may be scheduled as late as the polling thread.
const TURNS: u32 = 10;

/// Lines of a file, with the time when they were first seen. Polls the file until it is dropped.
pub struct Arrivals(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    lines: Vec<(Value, Duration)>,
    /// The longest delay of the polling thread itself, caused by the machine's other work.
    latest: Duration,
}

impl Arrivals {
    /// Polls `file` from now on.
    pub fn of(file: PathBuf) -> Arrivals {
        let seen = Arc::<Mutex<Seen>>::default();
        let shared = Arc::downgrade(&seen);
        spawn(move || while look(&file, &shared).is_some() {});
        Arrivals(seen)
    }

    /// `alert` must have been written within a second of its timestamp; on a busy machine, a second
    /// and the scheduling delays measured there.
    pub fn assert_at_once(&self, alert: &Value) {
        let seen_at =
            |seen: &Seen| seen.lines.iter().find(|(line, _)| line == alert).map(|it| it.1);
        let at = wait_until("the alert is seen", || seen_at(&self.0.lock().unwrap()));
        let text = alert["timestamp"].as_str().unwrap().replace("+0000", "Z");
        let time: acsm::time::Timestamp = text.parse().unwrap();
        let delay = at.saturating_sub(Duration::from_nanos(time.as_nanos()));
        let latest = self.0.lock().unwrap().latest;
        assert!(
            delay < AT_ONCE + TURNS * latest,
            "{} came after {delay:?}; scheduling delays are up to {latest:?}",
            alert["acsm"]["rule"]
        );
    }
}

/// Polls once; `None` when the [`Arrivals`] are dropped.
fn look(file: &PathBuf, seen: &Weak<Mutex<Seen>>) -> Option<()> {
    let before = Instant::now();
    sleep(LOOK_EVERY);
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seen = seen.upgrade()?;
    let mut seen = seen.lock().unwrap();
    for line in text.lines().skip(seen.lines.len()) {
        seen.lines.push((serde_json::from_str(line).unwrap(), now));
    }
    seen.latest = seen.latest.max(before.elapsed().saturating_sub(LOOK_EVERY));
    Some(())
}
