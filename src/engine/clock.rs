//! The aging clock: it turns packet times, or counts of packets, into epochs.

use crate::store::Epoch;
use crate::time::Timestamp;

/// What one epoch of the aging clock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// So many nanoseconds of trace time (`--idle-timeout`).
    Nanos(u64),
    /// So many TCP packets: the operation count of ACSM 2006.
    Operations(u64),
    /// Time stands still: nothing ages.
    Never,
}

/// Tells the epoch of each packet. Time is the largest packet time so far: packets out of order
/// never turn it back.
#[derive(Debug, Clone)]
pub struct Clock {
    phase: Phase,
    now: Timestamp,
    operations: u64,
    /// Epochs count from the first packet's, so that they fit 32 bits.
    first: Option<u64>,
}

impl Clock {
    /// A clock at the beginning of a trace.
    pub fn new(phase: Phase) -> Self {
        Clock { phase, now: Timestamp::default(), operations: 0, first: None }
    }

    /// The epoch of a packet captured at `time`.
    #[inline]
    pub fn advance(&mut self, time: Timestamp) -> Epoch {
        self.now = self.now.max(time);
        self.operations += 1;
        let epoch = match self.phase {
            Phase::Nanos(nanos) => self.now.as_nanos() / nanos.max(1),
            Phase::Operations(count) => (self.operations - 1) / count.max(1),
            Phase::Never => 0,
        };
        let first = *self.first.get_or_insert(epoch);
        // More than 2^32 epochs only come of idle timeouts that no packet could ever meet.
        Epoch(u32::try_from(epoch - first).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_whole_phases_of_the_largest_time() {
        let mut clock = Clock::new(Phase::Nanos(60_000_000_000));
        let mut at = |secs| clock.advance(Timestamp::new(secs, 0)).0;
        // 119 s lies in epoch 1, 120 s in epoch 2: boundaries are those of floor(t / P).
        assert_eq!([at(119), at(120), at(179), at(180)], [0, 1, 1, 2]);
        assert_eq!(at(10), 2, "time does not run backwards");
        assert_eq!(at(180 + 365 * 86_400), 2 + 365 * 1440, "years are just many epochs");
    }

    #[test]
    fn operations_count_packets() {
        let mut clock = Clock::new(Phase::Operations(3));
        let epochs: Vec<u32> = (0..7).map(|_| clock.advance(Timestamp::default()).0).collect();
        assert_eq!(epochs, [0, 0, 0, 1, 1, 1, 2]);
    }

    #[test]
    fn no_phase_is_too_short() {
        let mut clock = Clock::new(Phase::Nanos(0));
        clock.advance(Timestamp::default());
        assert_eq!(clock.advance(Timestamp::MAX).0, u32::MAX);
    }
}
