//! Overload of the store: new flows come faster than the pending table holds them for a handshake, or
//! the store has no room for flows that are to be admitted.
//!
//! Decided once per second of packet time, from the counts of all shards. An overload begins with the
//! first second of too much load, and is over after an idle timeout without one. The beginning and the
//! end of an overload are announced, but not more than one overload per [ten minutes](QUIET_SECONDS);
//! further ones are counted.

use std::ops::AddAssign;

use crate::time::Timestamp;
use acsm_filters::pending::PendingStats;

/// A pending flow should be held at least this long: most handshakes take less, and a lost SYN is
/// repeated after one second, then after two.
const LIFETIME_SECONDS_MIN: f64 = 3.0;
/// Below this lifetime, packets of flows that are under way may seem to belong to none.
const FORGETFUL_SECONDS: f64 = 1.0;
/// After the beginning of an overload was announced, that of another one is not for this long.
pub const QUIET_SECONDS: u64 = 600;

/// What one or more shards have had to do: within a second, or since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecondLoad {
    /// Flows that fit the pending table.
    pub slots: u64,
    /// Flows that came into it.
    pub arrived: u64,
    /// Flows that fell out of it for others.
    pub lost: u64,
    /// Flows that the store had no room for.
    pub refused: u64,
}

impl SecondLoad {
    /// Since the start, of a shard with this pending table. `refused`: flows that the store had no
    /// room for.
    pub fn with_pending(pending: &PendingStats, refused: u64) -> SecondLoad {
        let PendingStats { slots, inserted, lost, .. } = *pending;
        SecondLoad { slots, arrived: inserted, lost, refused }
    }

    /// What was added since an earlier moment.
    pub fn since(self, earlier: SecondLoad) -> SecondLoad {
        SecondLoad {
            slots: self.slots,
            arrived: self.arrived.saturating_sub(earlier.arrived),
            lost: self.lost.saturating_sub(earlier.lost),
            refused: self.refused.saturating_sub(earlier.refused),
        }
    }

    /// How long the pending table holds a flow if every second is like this one, at least; `None` if no
    /// flow arrived.
    pub fn lifetime_seconds(self) -> Option<f64> {
        (self.slots > 0 && self.arrived > 0).then(|| self.slots as f64 / self.arrived as f64)
    }

    /// Whether the pending table forgets flows so soon that rules about packets of no flow mean nothing.
    pub fn forgets_at_once(self) -> bool {
        self.lifetime_seconds().is_some_and(|seconds| seconds < FORGETFUL_SECONDS)
    }

    /// Whether it was too much for a second.
    fn is_too_much(self) -> bool {
        let is_short = |seconds| seconds < LIFETIME_SECONDS_MIN;
        self.refused > 0 || self.lifetime_seconds().is_some_and(is_short)
    }
}

impl AddAssign for SecondLoad {
    fn add_assign(&mut self, other: SecondLoad) {
        self.slots += other.slots;
        self.arrived += other.arrived;
        self.lost += other.lost;
        self.refused += other.refused;
    }
}

/// The beginning or the end of an overload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverloadEvent {
    /// Which of the two.
    pub status: OverloadStatus,
    /// When that was.
    pub time: Timestamp,
    /// When the overload began.
    pub since: Timestamp,
    /// How long the pending table held flows in the worst second of the overload so far.
    pub pending_lifetime_seconds: Option<f64>,
    /// Flows that the store had no room for, since it began.
    pub refused: u64,
    /// Flows that fell out of the pending table, since it began.
    pub lost: u64,
}

/// Which part of an overload is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverloadStatus {
    /// It begins.
    Start,
    /// It is over.
    End,
}

impl OverloadStatus {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            OverloadStatus::Start => "start",
            OverloadStatus::End => "end",
        }
    }
}

/// Overloads so far, announced or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OverloadTotals {
    /// Overloads that began.
    pub entered: u64,
    /// Overloads that are over.
    pub over: u64,
    /// Seconds from the beginnings to the last seconds of too much load.
    pub seconds: u64,
    /// When the present overload began, if there is one.
    pub since: Option<Timestamp>,
}

/// Finds overloads, second by second.
#[derive(Debug)]
pub struct OverloadTracker {
    /// An overload is over after this long without too much load.
    idle_seconds: u64,
    current: Option<Overload>,
    last_announced: Option<u64>,
    totals: OverloadTotals,
}

/// An overload that is not over.
#[derive(Debug, Clone, Copy)]
struct Overload {
    since: u64,
    /// The last second of too much load.
    last: u64,
    lifetime_seconds: Option<f64>,
    refused: u64,
    lost: u64,
    is_announced: bool,
}

impl Overload {
    fn event(&self, status: OverloadStatus, second: u64) -> OverloadEvent {
        OverloadEvent {
            status,
            time: Timestamp::new(second, 0),
            since: Timestamp::new(self.since, 0),
            pending_lifetime_seconds: self.lifetime_seconds,
            refused: self.refused,
            lost: self.lost,
        }
    }
}

impl OverloadTracker {
    /// For a run whose flows time out after this many idle seconds.
    pub fn new(idle_seconds: u64) -> OverloadTracker {
        OverloadTracker {
            idle_seconds: idle_seconds.max(1),
            current: None,
            last_announced: None,
            totals: OverloadTotals::default(),
        }
    }

    /// Takes the load of a second, and hands `announce` what is to be told. Seconds come in order; those
    /// without a packet may be left out.
    pub fn second(
        &mut self,
        second: u64,
        load: SecondLoad,
        mut announce: impl FnMut(OverloadEvent),
    ) {
        if let Some(overload) = self.current
            && second >= overload.last + self.idle_seconds
        {
            self.current = None;
            self.totals.over += 1;
            self.totals.since = None;
            if overload.is_announced {
                announce(overload.event(OverloadStatus::End, overload.last + self.idle_seconds));
            }
        }
        if self.current.is_none() && load.is_too_much() {
            self.begin(second);
        }
        let Some(overload) = &mut self.current else { return };
        overload.refused += load.refused;
        overload.lost += load.lost;
        if load.is_too_much() {
            let lifetimes = overload.lifetime_seconds.into_iter().chain(load.lifetime_seconds());
            overload.lifetime_seconds = lifetimes.reduce(f64::min);
            self.totals.seconds += second - overload.last;
            overload.last = second;
        }
        if overload.since == second && overload.is_announced {
            announce(overload.event(OverloadStatus::Start, second));
        }
    }

    fn begin(&mut self, second: u64) {
        let is_announced = self.last_announced.is_none_or(|last| second >= last + QUIET_SECONDS);
        if is_announced {
            self.last_announced = Some(second);
        }
        self.totals.entered += 1;
        self.totals.seconds += 1;
        self.totals.since = Some(Timestamp::new(second, 0));
        self.current = Some(Overload {
            since: second,
            last: second,
            lifetime_seconds: None,
            refused: 0,
            lost: 0,
            is_announced,
        });
    }

    /// Overloads so far.
    pub fn totals(&self) -> OverloadTotals {
        self.totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: SecondLoad = SecondLoad { slots: 3000, arrived: 1000, lost: 0, refused: 0 };
    const BUSY: SecondLoad = SecondLoad { slots: 3000, arrived: 1500, lost: 10, refused: 0 };
    const FULL: SecondLoad = SecondLoad { slots: 0, arrived: 0, lost: 0, refused: 7 };

    /// The events of a run with these loads, by second.
    fn events(
        tracker: &mut OverloadTracker,
        loads: impl IntoIterator<Item = (u64, SecondLoad)>,
    ) -> Vec<OverloadEvent> {
        let mut events = vec![];
        for (second, load) in loads {
            tracker.second(second, load, |event| events.push(event));
        }
        events
    }

    #[test]
    fn an_overload_begins_with_too_much_load_and_ends_an_idle_timeout_after_it() {
        let mut tracker = OverloadTracker::new(60);
        let load = |second| if (100..110).contains(&second) { BUSY } else { CALM };
        let [start, end] = events(&mut tracker, (0..300).map(|n| (n, load(n))))[..] else {
            panic!("two events");
        };
        assert_eq!((start.status, start.time), (OverloadStatus::Start, Timestamp::new(100, 0)));
        assert_eq!((start.pending_lifetime_seconds, start.lost), (Some(2.0), 10));
        assert_eq!((end.status, end.time), (OverloadStatus::End, Timestamp::new(169, 0)));
        assert_eq!((end.since, end.lost, end.refused), (start.time, 100, 0));
        let totals = OverloadTotals { entered: 1, over: 1, seconds: 10, since: None };
        assert_eq!(tracker.totals(), totals);
    }

    #[test]
    fn a_store_without_room_is_an_overload_and_silence_ends_it() {
        let mut tracker = OverloadTracker::new(60);
        let found = events(&mut tracker, [(5, FULL), (6, CALM), (7, FULL), (500, CALM)]);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].refused, found[1].refused), (7, 14));
        assert_eq!(found[1].time, Timestamp::new(67, 0));
        assert_eq!(tracker.totals().seconds, 3);
    }

    #[test]
    fn one_overload_per_ten_minutes_is_announced() {
        let mut tracker = OverloadTracker::new(5);
        let pulses = (0..1200).map(|n| (n, if n % 10 == 0 { BUSY } else { CALM }));
        let found = events(&mut tracker, pulses);
        let starts: Vec<u64> = found
            .iter()
            .filter(|event| event.status == OverloadStatus::Start)
            .map(|event| event.time.as_nanos() / 1_000_000_000)
            .collect();
        assert_eq!(starts, [0, 600]);
        assert_eq!(found.len(), 4, "each with its end");
        let totals = tracker.totals();
        assert_eq!((totals.entered, totals.over, totals.seconds), (120, 120, 120));
    }
}
