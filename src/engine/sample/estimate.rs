//! From counts by flow to the measured error and its interval.

use std::ops::AddAssign;

/// Flows are told apart by how many halvings of the threshold leave them in a sample: 0 to 23.
pub const LEVELS: usize = 24;

/// Minutes with fewer flows say too little to be the worst.
const FLOWS_MIN: u64 = 100;

/// Lookups of some flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct FlowCounts {
    flows: u64,
    flows_wrong: u64,
    wrong: u64,
    asked: u64,
    /// Sums of squares, by flow.
    wrong_squared: u64,
    asked_squared: u64,
}

impl AddAssign for FlowCounts {
    fn add_assign(&mut self, other: FlowCounts) {
        self.flows += other.flows;
        self.flows_wrong += other.flows_wrong;
        self.wrong = self.wrong.saturating_add(other.wrong);
        self.asked = self.asked.saturating_add(other.asked);
        self.wrong_squared = self.wrong_squared.saturating_add(other.wrong_squared);
        self.asked_squared = self.asked_squared.saturating_add(other.asked_squared);
    }
}

/// The lookups of a minute in the samples of one or more shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowCounts {
    /// Flows of this level and above were in all samples throughout.
    level: usize,
    /// By the level of flows.
    by_level: Box<[FlowCounts; LEVELS]>,
}

impl WindowCounts {
    /// No lookups, of samples with flows of this level and above.
    pub fn new(level: usize) -> WindowCounts {
        WindowCounts { level, by_level: Box::new([FlowCounts::default(); LEVELS]) }
    }

    /// Adds a flow with its lookups, if it has any.
    pub fn add_flow(&mut self, level: usize, wrong: u64, asked: u64) {
        if asked > 0
            && let Some(counts) = self.by_level.get_mut(level)
        {
            *counts += FlowCounts {
                flows: 1,
                flows_wrong: u64::from(wrong > 0),
                wrong,
                asked,
                wrong_squared: wrong.saturating_mul(wrong),
                asked_squared: asked.saturating_mul(asked),
            };
        }
    }

    /// Whether there are no lookups.
    pub fn is_empty(&self) -> bool {
        self.by_level.iter().all(|counts| counts.asked == 0)
    }

    /// Adds those of another shard.
    pub fn merge(&mut self, other: &WindowCounts) {
        self.level = self.level.max(other.level);
        for (ours, theirs) in self.by_level.iter_mut().zip(other.by_level.iter()) {
            *ours += *theirs;
        }
    }

    /// The error that they show.
    pub fn error(&self) -> MeasuredError {
        let mut sum = FlowCounts::default();
        self.by_level.iter().skip(self.level).for_each(|counts| sum += *counts);
        MeasuredError::new(&sum, self.level)
    }
}

/// The error of a store in a minute, measured on a sample of its flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredError {
    /// Wrong answers of the store.
    pub wrong: u64,
    /// Lookups of sampled flows.
    pub asked: u64,
    /// Sampled flows that were looked up.
    pub flows: u64,
    /// Those of them with a wrong answer.
    pub flows_wrong: u64,
    /// The share of wrong answers among all lookups is at least this…
    pub low: f64,
    /// …and at most this, each in 39 of 40 cases.
    pub high: f64,
    /// Of how many flows one was in the sample.
    pub flows_per_sampled: u64,
}

impl MeasuredError {
    fn new(counts: &FlowCounts, level: usize) -> MeasuredError {
        let &FlowCounts { flows, flows_wrong, wrong, asked, .. } = counts;
        let (low, high) = interval(counts);
        let flows_per_sampled = 1 << level;
        MeasuredError { wrong, asked, flows, flows_wrong, low, high, flows_per_sampled }
    }

    /// The share of wrong answers; 0 without lookups.
    pub fn rate(&self) -> f64 {
        ratio(self.wrong as f64, self.asked as f64)
    }

    /// Whether so few flows were sampled that a prediction may say more.
    pub fn is_thin(&self) -> bool {
        self.flows < FLOWS_MIN
    }

    /// Whether the figure is that of many flows, or of all there are.
    fn is_meaningful(&self) -> bool {
        self.asked > 0 && (!self.is_thin() || self.flows_per_sampled == 1)
    }
}

/// The error measured in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// That of the last minute.
    pub last: MeasuredError,
    /// The highest rate of a minute since the start.
    pub worst: f64,
}

/// The highest rate of the minutes so far, of those with enough flows.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorstMinute(Option<f64>);

impl WorstMinute {
    /// Notes a minute.
    pub fn note(&mut self, minute: &MeasuredError) {
        if minute.is_meaningful() {
            self.0 = Some(self.0.map_or(minute.rate(), |worst| worst.max(minute.rate())));
        }
    }

    /// What was measured, if the last minute is this one.
    pub fn with_last(mut self, last: MeasuredError) -> Measurement {
        self.note(&last);
        Measurement { last, worst: self.0.unwrap_or(last.rate()) }
    }
}

/// The interval that holds the share of wrong answers in 19 of 20 cases. Flows are the trials, each
/// with the weight of its lookups.
fn interval(counts: &FlowCounts) -> (f64, f64) {
    let rate = ratio(counts.wrong as f64, counts.asked as f64);
    let flows = equal_flows(counts.asked, counts.asked_squared);
    if flows == 0.0 {
        return (0.0, 1.0);
    }
    // One wrong flow must not say less than none.
    let high_of_none = 3.0 / flows;
    if counts.wrong == 0 {
        return (0.0, high_of_none.min(1.0));
    }
    let wrong_flows = equal_flows(counts.wrong, counts.wrong_squared);
    // The relative variances of a ratio's two parts add up.
    let trials = 1.0 / (1.0 / wrong_flows + 1.0 / flows);
    let [low, high] = poisson_limits(trials).map(|limit| rate * limit / trials);
    (low, high.max(high_of_none).min(1.0))
}

/// As many flows with equal counts say as much as these, by the sum of counts and that of their
/// squares.
fn equal_flows(sum: u64, squared: u64) -> f64 {
    ratio(sum as f64 * sum as f64, squared as f64)
}

/// The limits of a Poisson mean of which `count` was seen, each exceeded in 1 of 40 cases: Byar's
/// approximation.
fn poisson_limits(count: f64) -> [f64; 2] {
    const Z: f64 = 1.96;
    let above = count + 1.0;
    let low = count * (1.0 - 1.0 / (9.0 * count) - Z / (3.0 * count.sqrt())).max(0.0).powi(3);
    let high = above * (1.0 - 1.0 / (9.0 * above) + Z / (3.0 * above.sqrt())).powi(3);
    [low, high]
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::Random;

    fn window(flows: impl IntoIterator<Item = (u64, u64)>) -> WindowCounts {
        let mut window = WindowCounts::new(0);
        flows.into_iter().for_each(|(wrong, asked)| window.add_flow(0, wrong, asked));
        window
    }

    #[test]
    fn none_wrong_of_f_flows_is_at_most_three_in_f() {
        let error = window((0..600).map(|_| (0, 7))).error();
        assert_eq!((error.wrong, error.asked, error.flows), (0, 4200, 600));
        assert_eq!((error.low, error.high), (0.0, 3.0 / 600.0));
        // Half of the lookups are of six flows: two lookups in three are worth little.
        let uneven = window((0..600).map(|n| (0, if n < 6 { 700 } else { 7 }))).error();
        assert!((0.1..0.2).contains(&uneven.high), "{uneven:?}");
        let empty = window([]).error();
        assert_eq!((empty.rate(), empty.low, empty.high), (0.0, 0.0, 1.0));
    }

    #[test]
    fn one_wrong_flow_does_not_say_less_than_none() {
        let none = window((0..600).map(|_| (0, 7))).error();
        let one = window((0..600).map(|n| (u64::from(n == 0), 7))).error();
        assert!(one.low > 0.0 && one.low < one.rate() && one.high >= none.high, "{one:?}");
    }

    #[test]
    fn poisson_limits_are_those_of_tables() {
        for (count, low, high) in [(1.0, 0.0253, 5.572), (4.0, 1.090, 10.24), (10.0, 4.795, 18.39)]
        {
            let [below, above] = poisson_limits(count);
            assert!((below - low).abs() < 0.06 * low + 0.02, "{count}: {below}");
            assert!((above - high).abs() < 0.02 * high, "{count}: {above}");
        }
    }

    #[test]
    fn only_flows_below_the_smallest_threshold_count() {
        let mut all = WindowCounts::new(2);
        all.add_flow(1, 9, 9);
        all.add_flow(2, 1, 10);
        let mut other = WindowCounts::new(3);
        other.add_flow(3, 0, 10);
        all.merge(&other);
        let error = all.error();
        assert_eq!((error.wrong, error.asked, error.flows), (0, 10, 1));
        assert_eq!(error.flows_per_sampled, 8);
    }

    #[test]
    fn the_worst_minute_has_enough_flows() {
        let mut worst = WorstMinute::default();
        let mut few = window([(1, 2)]);
        assert_eq!(worst.with_last(few.error()).worst, 0.5, "all there are");
        few.level = 1;
        few.by_level.swap(0, 1);
        worst.note(&few.error());
        worst.note(&window((0..200).map(|n| (u64::from(n < 2), 1))).error());
        assert_eq!(worst.with_last(few.error()).worst, 0.01);
    }

    /// Populations of many short and some long flows, with errors of either: how often the interval of
    /// a sample holds the rate of all.
    #[test]
    fn intervals_hold_what_is_true_of_all_flows() {
        let mut random = Random::new(5);
        let (mut held, mut runs) = (0, 0);
        for (share_long, long_wrong, short_wrong) in
            [(20, 50, 2), (5, 200, 0), (100, 10, 1), (0, 0, 3), (50, 2, 2)]
        {
            for _ in 0..400 {
                let mut all = WindowCounts::new(0);
                let mut sample = WindowCounts::new(0);
                for _ in 0..8000 {
                    let is_long = random.below(1000) < share_long;
                    let chance = if is_long { long_wrong } else { short_wrong };
                    let asked = if is_long { 60 + random.below(120) } else { 1 + random.below(9) };
                    let wrong = if random.below(10_000) < chance { asked.div_ceil(2) } else { 0 };
                    all.add_flow(0, wrong, asked);
                    if random.below(16) == 0 {
                        sample.add_flow(0, wrong, asked);
                    }
                }
                let (truth, error) = (all.error().rate(), sample.error());
                held += u32::from((error.low..=error.high).contains(&truth));
                runs += 1;
            }
        }
        assert!(f64::from(held) >= 0.95 * f64::from(runs), "{held} of {runs}");
    }
}
