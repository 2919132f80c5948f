//! From counts by flow to the measured error and its interval.
//!
//! The estimate is *post-stratified* by the answer of the store. How many answers were "known", "absent"
//! and "don't know" among the lookups of all flows is counted; K, A and D. The sample tells which
//! part of the first two is wrong, and D is wrong throughout: D + K · (wrong / known) + A · (wrong /
//! absent). So the sample errs only about wrong states and wrong absences, whatever flow has them.

use std::ops::AddAssign;

use crate::engine::stats::Lookups;

/// Flows are told apart by how many halvings of the threshold leave them in a sample: 0 to 23.
pub const LEVELS: usize = 24;

/// Lookups of one flow, by the answer of the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowLookups {
    /// It told a state…
    pub known: u64,
    /// …and this many times a wrong one, or of a flow that does not exist.
    pub known_wrong: u64,
    /// It did not have the flow…
    pub absent: u64,
    /// …although it exists.
    pub absent_wrong: u64,
    /// It could not tell: always wrong.
    pub dont_know: u64,
}

impl FlowLookups {
    fn asked(&self) -> u64 {
        self.known + self.absent + self.dont_know
    }

    fn wrong(&self) -> u64 {
        self.known_wrong + self.absent_wrong + self.dont_know
    }
}

/// Lookups of some flows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct FlowCounts {
    flows: u64,
    flows_wrong: u64,
    lookups: FlowLookups,
    /// Sums of squares, by flow: of all lookups but "don't know"…
    decided_squared: f64,
    /// …and of those that were wrong, with the sum of products of the two.
    known_wrong_squared: f64,
    absent_wrong_squared: f64,
    known_by_absent_wrong: f64,
}

impl FlowCounts {
    fn of_flow(lookups: FlowLookups) -> FlowCounts {
        let FlowLookups { known, known_wrong, absent, absent_wrong, .. } = lookups;
        FlowCounts {
            flows: 1,
            flows_wrong: u64::from(lookups.wrong() > 0),
            lookups,
            decided_squared: ((known + absent) as f64).powi(2),
            known_wrong_squared: (known_wrong as f64).powi(2),
            absent_wrong_squared: (absent_wrong as f64).powi(2),
            known_by_absent_wrong: known_wrong as f64 * absent_wrong as f64,
        }
    }
}

impl AddAssign for FlowCounts {
    fn add_assign(&mut self, other: FlowCounts) {
        self.flows += other.flows;
        self.flows_wrong += other.flows_wrong;
        self.lookups.known += other.lookups.known;
        self.lookups.known_wrong += other.lookups.known_wrong;
        self.lookups.absent += other.lookups.absent;
        self.lookups.absent_wrong += other.lookups.absent_wrong;
        self.lookups.dont_know += other.lookups.dont_know;
        self.decided_squared += other.decided_squared;
        self.known_wrong_squared += other.known_wrong_squared;
        self.absent_wrong_squared += other.absent_wrong_squared;
        self.known_by_absent_wrong += other.known_by_absent_wrong;
    }
}

/// The lookups of a minute in the samples of one or more shards.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCounts {
    /// Flows of this level and above were in all samples throughout.
    level: usize,
    /// Lookups of all flows, in the samples or not.
    all: Lookups,
    /// By the level of flows.
    by_level: Box<[FlowCounts; LEVELS]>,
}

impl WindowCounts {
    /// No lookups, of samples with flows of this level and above.
    pub fn new(level: usize) -> WindowCounts {
        let by_level = Box::new([FlowCounts::default(); LEVELS]);
        WindowCounts { level, all: Lookups::default(), by_level }
    }

    /// Adds lookups of all flows, in the samples or not.
    pub fn add_all(&mut self, lookups: Lookups) {
        self.all += lookups;
    }

    /// Adds a flow of the samples with its lookups, if it has any.
    pub fn add_flow(&mut self, level: usize, lookups: FlowLookups) {
        if lookups.asked() > 0
            && let Some(counts) = self.by_level.get_mut(level)
        {
            *counts += FlowCounts::of_flow(lookups);
        }
    }

    /// Whether there are no lookups of sampled flows.
    pub fn is_empty(&self) -> bool {
        self.by_level.iter().all(|counts| counts.flows == 0)
    }

    /// Adds those of another shard.
    pub fn merge(&mut self, other: &WindowCounts) {
        self.level = self.level.max(other.level);
        self.all += other.all;
        for (ours, theirs) in self.by_level.iter_mut().zip(other.by_level.iter()) {
            *ours += *theirs;
        }
    }

    /// The error that they show.
    pub fn error(&self) -> MeasuredError {
        let mut sum = FlowCounts::default();
        self.by_level.iter().skip(self.level).for_each(|counts| sum += *counts);
        MeasuredError::new(self.all, &sum, self.level)
    }
}

/// The error of a store in a minute, measured on a sample of its flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredError {
    /// Wrong answers of the store to lookups of all flows: an estimate, unless all are in the sample.
    pub wrong: u64,
    /// Lookups of all flows.
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
    /// With fewer flows, a prediction may say more; and a minute with fewer is not the worst.
    pub const FLOWS_MIN: u64 = 100;

    fn new(all: Lookups, counts: &FlowCounts, level: usize) -> MeasuredError {
        let &FlowCounts { flows, flows_wrong, .. } = counts;
        let estimate = Estimate::new(all, counts);
        let (low, high) = estimate.interval();
        let (wrong, asked) = (estimate.wrong().round() as u64, all.total());
        let flows_per_sampled = 1 << level;
        MeasuredError { wrong, asked, flows, flows_wrong, low, high, flows_per_sampled }
    }

    /// The share of wrong answers; 0 without lookups.
    pub fn rate(&self) -> f64 {
        ratio(self.wrong as f64, self.asked as f64)
    }

    /// Whether so few flows were sampled that a prediction may say more.
    pub fn is_thin(&self) -> bool {
        self.flows < MeasuredError::FLOWS_MIN
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

/// What a sample says about the lookups of all flows.
struct Estimate {
    /// Lookups of all flows.
    asked: f64,
    /// Those answered "don't know".
    dont_know: f64,
    /// Wrong answers among the others, by the sample.
    wrong_decided: f64,
    /// As many wrong flows with equal counts would say as much as those of the sample…
    wrong_flows: f64,
    /// …and as many flows.
    flows: f64,
}

impl Estimate {
    fn new(all: Lookups, counts: &FlowCounts) -> Estimate {
        let sampled = &counts.lookups;
        // Of how many lookups one was in the sample.
        let of_known = ratio(all.known as f64, sampled.known as f64);
        let of_absent = ratio(all.absent as f64, sampled.absent as f64);
        let wrong_decided =
            of_known * sampled.known_wrong as f64 + of_absent * sampled.absent_wrong as f64;
        let squared = of_known * of_known * counts.known_wrong_squared
            + 2.0 * of_known * of_absent * counts.known_by_absent_wrong
            + of_absent * of_absent * counts.absent_wrong_squared;
        let decided = (sampled.known + sampled.absent) as f64;
        Estimate {
            asked: all.total() as f64,
            dont_know: all.dont_know as f64,
            wrong_decided,
            wrong_flows: equal_flows(wrong_decided, squared),
            flows: equal_flows(decided, counts.decided_squared),
        }
    }

    fn wrong(&self) -> f64 {
        self.dont_know + self.wrong_decided
    }

    /// The interval that holds the share of wrong answers in 19 of 20 cases. Flows are the trials, each
    /// with the weight of its lookups.
    fn interval(&self) -> (f64, f64) {
        let &Estimate { asked, dont_know, wrong_decided, wrong_flows, flows } = self;
        if asked == 0.0 {
            return (0.0, 1.0);
        }
        let share_of = |wrong_decided: f64| ((dont_know + wrong_decided) / asked).min(1.0);
        // One wrong flow must not say less than none.
        let of_none = if flows > 0.0 { (3.0 / flows).min(1.0) } else { 1.0 };
        let high_of_none = share_of(of_none * (asked - dont_know));
        if wrong_decided == 0.0 {
            return (share_of(0.0), high_of_none);
        }
        // The relative variances of a ratio's two parts add up.
        let trials = 1.0 / (1.0 / wrong_flows + 1.0 / flows);
        let [low, high] =
            poisson_limits(trials).map(|limit| share_of(wrong_decided * limit / trials));
        (low, high.max(high_of_none))
    }
}

/// As many flows with equal counts say as much as these, by the sum of counts and that of their
/// squares.
fn equal_flows(sum: f64, squared: f64) -> f64 {
    ratio(sum * sum, squared)
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

    fn known(wrong: u64, asked: u64) -> FlowLookups {
        FlowLookups { known: asked, known_wrong: wrong, ..FlowLookups::default() }
    }

    fn answered_known(known: u64) -> Lookups {
        Lookups { known, ..Lookups::default() }
    }

    /// Flows with these numbers of wrong answers and lookups, all with a state, and no others.
    fn window(flows: impl IntoIterator<Item = (u64, u64)>) -> WindowCounts {
        let mut window = WindowCounts::new(0);
        for (wrong, asked) in flows {
            window.add_all(answered_known(asked));
            window.add_flow(0, known(wrong, asked));
        }
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
        all.add_all(answered_known(19));
        all.add_flow(1, known(9, 9));
        all.add_flow(2, known(1, 10));
        let mut other = WindowCounts::new(3);
        other.add_all(answered_known(10));
        other.add_flow(3, known(0, 10));
        all.merge(&other);
        let error = all.error();
        assert_eq!((error.wrong, error.asked, error.flows), (0, 29, 1));
        assert_eq!(error.flows_per_sampled, 8);
    }

    /// One flow outside the sample has most of the wrong answers: the store itself said "don't know".
    #[test]
    fn answers_that_are_wrong_by_themselves_are_counted_for_all_flows() {
        let mut window = WindowCounts::new(4);
        window.add_all(Lookups { known: 8000, absent: 1000, dont_know: 1000 });
        for n in 0..100 {
            let absent_wrong = u64::from(n < 10);
            window.add_flow(4, FlowLookups { absent: 1, absent_wrong, ..known(0, 9) });
        }
        let error = window.error();
        assert_eq!((error.wrong, error.asked), (1100, 10_000));
        assert!(error.low > 0.1 && error.low < 0.11 && error.high > 0.11, "{error:?}");
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
                    all.add_all(answered_known(asked));
                    all.add_flow(0, known(wrong, asked));
                    sample.add_all(answered_known(asked));
                    if random.below(16) == 0 {
                        sample.add_flow(0, known(wrong, asked));
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
