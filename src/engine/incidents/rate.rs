//! How many packets an incident has, how fast they came, and which of them belong to it.
//!
//! A flood ends, and traffic to its victim goes on. So where packets are told apart by their destination
//! alone, a second counts only from the moment on at which it has an eighth of the busiest second's packets.

use crate::time::{NANOS_PER_SEC, Timestamp};

/// A second with less than this part of the peak is ordinary traffic.
const FADED: u64 = 8;
/// Steps of a timeline.
pub const STEPS: usize = 48;

/// Packets of an incident over time.
#[derive(Debug, Clone)]
pub struct Rate {
    /// The second under way, and its packets.
    second: u64,
    in_second: u64,
    /// Of these, packets that do not count yet.
    undecided: u64,
    /// The last second that counted.
    counted_second: u64,
    /// Packets that count.
    pub total: u64,
    /// The most packets in one second.
    pub peak: u64,
    /// Times of the first and last of them.
    pub span: Option<(Timestamp, Timestamp)>,
    timeline: Timeline,
}

/// Packets in steps of equal length, which doubles whenever the time does not fit.
#[derive(Debug, Clone)]
struct Timeline {
    from: u64,
    step_seconds: u64,
    packets: [u32; STEPS],
}

impl Rate {
    /// No packets yet.
    pub fn new() -> Rate {
        Rate {
            second: 0,
            in_second: 0,
            undecided: 0,
            counted_second: 0,
            total: 0,
            peak: 0,
            span: None,
            timeline: Timeline { from: 0, step_seconds: 1, packets: [0; STEPS] },
        }
    }

    /// Counts a packet. `may_fade`: it may be ordinary traffic. Returns whether the incident is under
    /// way, as far as the rate tells.
    pub fn add(&mut self, time: Timestamp, may_fade: bool) -> bool {
        let second = time.as_nanos() / NANOS_PER_SEC;
        if second > self.second || self.peak == 0 {
            (self.second, self.in_second, self.undecided) = (second, 0, 0);
        }
        self.in_second += 1;
        self.undecided += 1;
        self.peak = self.peak.max(self.in_second);
        let counts = !may_fade || self.in_second * FADED >= self.peak;
        let follows = self.second - self.counted_second.min(self.second) <= 1;
        if counts {
            self.timeline.add(self.second, self.undecided, self.total == 0);
            self.total += self.undecided;
            (self.undecided, self.counted_second) = (0, self.second);
            let first = self.span.map_or(time, |(first, _)| first.min(time));
            let last = self.span.map_or(time, |(_, last)| last.max(time));
            self.span = Some((first, last));
        }
        counts || follows
    }

    /// Counts a packet of the past that certainly belongs to it. It changes no peak.
    pub fn add_past(&mut self, time: Timestamp) {
        self.timeline.add(time.as_nanos() / NANOS_PER_SEC, 1, self.total == 0);
        self.total += 1;
        let first = self.span.map_or(time, |(first, _)| first.min(time));
        let last = self.span.map_or(time, |(_, last)| last.max(time));
        self.span = Some((first, last));
    }

    /// Also counts what `other` counted.
    pub fn merge(&mut self, other: &Rate) {
        let is_first = self.total == 0;
        for (second, packets) in other.steps() {
            if packets > 0 {
                self.timeline.add(second, packets.into(), is_first && self.total == 0);
                self.total += u64::from(packets);
            }
        }
        // The steps saturate, the total does not.
        self.total = self.total.max(other.total);
        // At best in different seconds, at worst in the same.
        self.peak = self.peak.max(other.peak);
        self.counted_second = self.counted_second.max(other.counted_second);
        self.span = match (self.span, other.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (span, None) | (None, span) => span,
        };
    }

    /// The seconds at which the steps of the timeline begin, and their packets.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let Timeline { from, step_seconds, packets } = &self.timeline;
        packets.iter().zip(0..).map(move |(&packets, step)| (from + step * step_seconds, packets))
    }

    /// Packets in steps of equal length, from the first that has any to the last.
    pub fn timeline(&self) -> Vec<u32> {
        let packets = &self.timeline.packets;
        let last = packets.iter().rposition(|&packets| packets > 0).map_or(0, |last| last + 1);
        packets[..last].iter().copied().skip_while(|&packets| packets == 0).collect()
    }
}

impl Timeline {
    fn add(&mut self, second: u64, packets: u64, is_first: bool) {
        if is_first {
            (self.from, self.step_seconds) = (second, 1);
        }
        while second.saturating_sub(self.from) / self.step_seconds >= STEPS as u64 {
            self.halve();
        }
        let step = (second.saturating_sub(self.from) / self.step_seconds) as usize;
        if let Some(step) = self.packets.get_mut(step) {
            *step = step.saturating_add(u32::try_from(packets).unwrap_or(u32::MAX));
        }
    }

    fn halve(&mut self) {
        self.step_seconds = self.step_seconds.saturating_mul(2);
        for step in 0..STEPS {
            let pair = self.packets.get(2 * step..(2 * step + 2).min(STEPS)).unwrap_or_default();
            let both = pair.iter().fold(0u32, |sum, &packets| sum.saturating_add(packets));
            self.packets[step] = both;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn traffic_after_a_flood_is_not_counted() {
        let mut rate = Rate::new();
        (0..5000).for_each(|millis| assert!(rate.add(at(millis), true)));
        // Ten per second for a minute: ordinary traffic.
        (6000..66_000).step_by(100).for_each(|millis| {
            rate.add(at(millis), true);
        });
        assert_eq!((rate.total, rate.peak), (5000, 1000));
        assert_eq!(rate.span, Some((at(0), at(4999))));
        let mut scan = Rate::new();
        (0..100).for_each(|second| assert!(scan.add(at(1000 * second), false)));
        assert_eq!((scan.total, scan.peak), (100, 1));
    }

    #[test]
    fn a_timeline_keeps_its_sum_however_long_it_lasts() {
        let mut rate = Rate::new();
        for second in 0..100_000 {
            rate.add(at(1000 * (second + 50)), false);
        }
        let steps = rate.timeline();
        assert!(steps.len() > STEPS / 4 && steps.len() <= STEPS);
        assert_eq!(steps.iter().map(|&packets| u64::from(packets)).sum::<u64>(), 100_000);
    }

    #[test]
    fn merged_rates_have_the_packets_of_both() {
        let (mut one, mut other) = (Rate::new(), Rate::new());
        (0..10).for_each(|second| assert!(one.add(at(1000 * second), false)));
        (5..25).for_each(|second| assert!(other.add(at(1000 * second), false)));
        one.merge(&other);
        assert_eq!((one.total, one.span), (30, Some((at(0), at(24_000)))));
    }
}
