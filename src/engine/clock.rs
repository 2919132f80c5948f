//! The aging clock: it turns packet times, or counts of packets, into epochs.

use crate::time::Timestamp;
use acsm_filters::{Epoch, Stamp};

/// What one epoch of the aging clock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A number of nanoseconds of trace time (`--idle-timeout`).
    Nanos(u64),
    /// A number of TCP packets: the operation count of ACSM 2006.
    Operations(u64),
    /// Time stands still: nothing ages.
    Never,
}

/// A moment of the aging clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The epoch.
    pub epoch: Epoch,
    /// Whether it is the second half of the epoch.
    pub is_late: bool,
}

impl Tick {
    /// The stamp of a touched flow. A half-open flow gets the stamp of the previous epoch, but only in
    /// the first half of an epoch: in the second half it could expire at once, at the end of the
    /// epoch, in the middle of a handshake. So half-open flows live 1/2 to 3/2 phases, others 1 to 2.
    #[inline]
    pub fn stamp(self, half_open: bool) -> Stamp {
        match half_open && !self.is_late {
            true => self.epoch.half_stamp(),
            false => self.epoch.stamp(),
        }
    }
}

/// The aging clock. Time is the largest packet time so far: packets out of order never set it back.
#[derive(Debug, Clone)]
pub struct Clock {
    phase: Phase,
    now: Timestamp,
    operations: u64,
    tick: Tick,
    /// When the tick changes next, in the unit of the phase: nanoseconds or packets.
    next_tick: u64,
    /// The epoch of the first packet. Epochs are counted from it, so that they fit 32 bits.
    first: Option<u64>,
}

impl Clock {
    /// A clock at the beginning of a trace.
    pub fn new(phase: Phase) -> Self {
        let tick = Tick { epoch: Epoch(0), is_late: false };
        Clock { phase, now: Timestamp::default(), operations: 0, tick, next_tick: 0, first: None }
    }

    /// Advances the clock by a packet captured at `time`, and returns its tick.
    #[inline]
    pub fn advance(&mut self, time: Timestamp) -> Tick {
        self.now = self.now.max(time);
        let (at, phase) = match self.phase {
            Phase::Nanos(nanos) => (self.now.as_nanos(), nanos),
            Phase::Operations(count) => {
                self.operations += 1;
                (self.operations - 1, count)
            }
            Phase::Never => return self.tick,
        };
        if at >= self.next_tick {
            self.turn(at, phase.max(1));
        }
        self.tick
    }

    /// The time before which no packet changes the tick; 0 if packets are counted.
    #[inline]
    pub fn next_change(&self) -> Timestamp {
        match self.phase {
            Phase::Nanos(_) => Timestamp::from_nanos(self.next_tick),
            Phase::Operations(_) => Timestamp::default(),
            Phase::Never => Timestamp::MAX,
        }
    }

    /// Computes the tick at `at`, and when the next one starts.
    #[cold]
    fn turn(&mut self, at: u64, phase: u64) {
        let (epoch, into_it) = (at / phase, at % phase);
        let first = *self.first.get_or_insert(epoch);
        let is_late = into_it >= phase / 2;
        let lasts = if is_late { phase } else { phase / 2 };
        self.next_tick = (at - into_it).saturating_add(lasts);
        // More than 2^32 epochs occur only with idle timeouts too short for any flow.
        self.tick =
            Tick { epoch: Epoch(u32::try_from(epoch - first).unwrap_or(u32::MAX)), is_late };
    }

    /// The current tick.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Advances the clock without a packet. Returns the current epoch if a whole epoch has passed
    /// without packets, so that all flows have aged. No later packet gets an earlier epoch.
    pub fn idle(&mut self, time: Timestamp) -> Option<Epoch> {
        let (Phase::Nanos(nanos), Some(first)) = (self.phase, self.first) else { return None };
        let nanos = nanos.max(1);
        let epoch = time.as_nanos() / nanos;
        let then = Epoch(u32::try_from(epoch.saturating_sub(first)).unwrap_or(u32::MAX));
        if !self.tick.epoch.is_forgotten_at(then) {
            return None;
        }
        self.now = self.now.max(Timestamp::from_nanos(epoch * nanos));
        self.turn(epoch * nanos, nanos);
        Some(self.tick.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_whole_phases_of_the_largest_time() {
        let mut clock = Clock::new(Phase::Nanos(60_000_000_000));
        let mut at = |secs| clock.advance(Timestamp::new(secs, 0)).epoch.0;
        // 119 s lies in epoch 1, 120 s in epoch 2: boundaries are those of floor(t / P).
        assert_eq!([at(119), at(120), at(179), at(180)], [0, 1, 1, 2]);
        assert_eq!(at(10), 2, "time does not run backwards");
        assert_eq!(at(180 + 365 * 86_400), 2 + 365 * 1440, "years are just many epochs");
    }

    #[test]
    fn operations_count_packets() {
        let mut clock = Clock::new(Phase::Operations(3));
        let epochs: Vec<u32> =
            (0..7).map(|_| clock.advance(Timestamp::default()).epoch.0).collect();
        assert_eq!(epochs, [0, 0, 0, 1, 1, 1, 2]);
    }

    #[test]
    fn flows_age_after_a_whole_epoch_without_packets() {
        let mut clock = Clock::new(Phase::Nanos(60_000_000_000));
        assert_eq!(clock.idle(Timestamp::new(1000, 0)), None, "nothing seen yet, nothing to age");
        clock.advance(Timestamp::new(100, 0));
        for (secs, expected) in
            [(119, None), (179, None), (180, Some(2)), (239, None), (300, Some(4))]
        {
            assert_eq!(
                clock.idle(Timestamp::new(secs, 0)).map(|epoch| epoch.0),
                expected,
                "{secs}"
            );
        }
        assert_eq!(clock.advance(Timestamp::new(290, 0)).epoch.0, 4, "late: time does not go back");
        assert_eq!(clock.advance(Timestamp::new(360, 0)).epoch.0, 5);
        let mut by_packets = Clock::new(Phase::Operations(3));
        by_packets.advance(Timestamp::default());
        assert_eq!(by_packets.idle(Timestamp::MAX), None);
    }

    #[test]
    fn no_phase_is_too_short() {
        let mut clock = Clock::new(Phase::Nanos(0));
        clock.advance(Timestamp::default());
        assert_eq!(clock.advance(Timestamp::MAX).epoch.0, u32::MAX);
    }

    #[test]
    fn half_open_flows_live_at_least_half_a_phase() {
        let mut clock = Clock::new(Phase::Nanos(60_000_000_000));
        let mut tick = |secs| clock.advance(Timestamp::new(secs, 0));
        for (secs, half) in [(120, true), (149, true), (150, false), (179, false), (180, true)] {
            let tick = tick(secs);
            let expected = if half { tick.epoch.half_stamp() } else { tick.epoch.stamp() };
            assert_eq!(tick.stamp(true), expected, "{secs}");
            assert_eq!(tick.stamp(false), tick.epoch.stamp());
        }
    }
}
