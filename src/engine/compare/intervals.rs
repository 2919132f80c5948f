//! How sure a rate is: 95 % intervals by resampling flows.
//!
//! Lookups of one flow are not independent: a flow that is wrong once is likely to be wrong again.
//! So flows are resampled, whole, as a cluster bootstrap does: each flow counts Poisson(1) times
//! in a replicate, and the interval is what 95 % of the replicates' rates lie within. Flows with
//! the same counts are drawn together (n of them are Poisson(n)), which is exact and makes it cost
//! as much as there are different flows.
//!
//! With fewer than 30 erring flows the replicates know too little of what could have been. Then
//! the number of erring flows is taken for Poisson, with its exact interval (Garwood 1936), and
//! none seen is "at most 3/n".

use super::flow_errors::{ErrorCounts, FlowErrors};
use crate::engine::errors::ErrorKind;
use crate::flow::FlowKey;
use acsm_filters::rng::Random;
use acsm_filters::{FlowLookups, GroundTruth};
use acsm_model::special::poisson;

const REPLICATES: usize = 400;
/// Replicates are the same every time.
const SEED: u64 = 0x626f_6f74;
/// With fewer erring flows than this, resampling them has too little information.
const FEW_FLOWS: u64 = 30;
/// The part of replicates left out at each end.
const TAIL: f64 = 0.025;

/// An interval for each rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateIntervals {
    /// By [`ErrorKind`], each rate with its own denominator.
    pub of_kind: [[f64; 2]; ErrorKind::COUNT],
    /// Errors of any kind per lookup.
    pub total: [f64; 2],
    /// Flows with any error per flow.
    pub flows_wrong: [f64; 2],
}

/// Errors of any kind, and flows with any, stand behind the kinds.
const TOTAL: usize = ErrorKind::COUNT;
const FLOWS: usize = ErrorKind::COUNT + 1;
const RATES: usize = ErrorKind::COUNT + 2;

/// What flows can have in common: how often they were looked up, and with which errors.
type Kind = (FlowLookups, ErrorCounts);

/// All flows of a trace by how often they were looked up: the same for every run.
#[derive(Debug)]
pub struct Population {
    flows: Vec<(FlowLookups, u64)>,
}

/// Sums over flows: what rates are made of.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    extant: f64,
    absent: f64,
    flows: f64,
    counts: [f64; RATES],
}

impl Population {
    /// The flows of `ground_truth`.
    pub fn new(history: &GroundTruth<FlowKey>) -> Population {
        Population { flows: counted(history.lookups().collect()) }
    }

    /// The intervals of a run that was wrong about these flows.
    pub fn intervals(&self, erring: &FlowErrors, history: &GroundTruth<FlowKey>) -> RateIntervals {
        let kind = |(flow, errors)| (history.lookups_of(flow), errors);
        let mut kinds: Vec<(Kind, u64)> = counted(erring.iter().map(kind).collect());
        let mut erring_flows = [0; RATES];
        let mut right = self.flows.clone();
        for ((lookups, errors), flows) in &kinds {
            for (rate, count) in counts_of(errors).into_iter().enumerate() {
                erring_flows[rate] += if count > 0.0 { *flows } else { 0 };
            }
            if let Ok(place) = right.binary_search_by_key(lookups, |(lookups, _)| *lookups) {
                right[place].1 = right[place].1.saturating_sub(*flows);
            }
        }
        let right = right.into_iter().filter(|(_, flows)| *flows > 0);
        kinds.extend(right.map(|(lookups, flows)| ((lookups, [0; _]), flows)));
        let rates = intervals(&kinds, &erring_flows);
        RateIntervals {
            of_kind: std::array::from_fn(|kind| rates[kind]),
            total: rates[TOTAL],
            flows_wrong: rates[FLOWS],
        }
    }
}

/// Each value once, in order, with how often it was there.
fn counted<T: Ord + Copy>(mut values: Vec<T>) -> Vec<(T, u64)> {
    values.sort_unstable();
    let mut counts: Vec<(T, u64)> = Vec::new();
    for value in values {
        match counts.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => counts.push((value, 1)),
        }
    }
    counts
}

fn intervals(kinds: &[(Kind, u64)], erring_flows: &[u64; RATES]) -> [[f64; 2]; RATES] {
    let mut seen = Sums::default();
    for (kind, flows) in kinds {
        seen.add(kind, *flows as f64);
    }
    let enough = erring_flows.iter().any(|flows| *flows >= FEW_FLOWS);
    let replicates = if enough { replicates(kinds) } else { Vec::new() };
    std::array::from_fn(|rate| {
        let (errors, asked) = (seen.counts[rate], seen.denominator(rate));
        match erring_flows[rate] {
            0 => [0.0, (3.0 / asked).min(1.0)],
            few @ 1..FEW_FLOWS => {
                let by_flows = errors / few as f64 / asked;
                poisson_interval(few).map(|flows| (flows * by_flows).min(1.0))
            }
            _ => percentiles(replicates.iter().map(|sums| sums.rate(rate)).collect()),
        }
    })
}

/// Each flow as often as chance has it, again and again.
fn replicates(kinds: &[(Kind, u64)]) -> Vec<Sums> {
    let mut replicates = vec![Sums::default(); REPLICATES];
    let mut random = Random::new(SEED);
    for (kind, flows) in kinds {
        for sums in &mut replicates {
            sums.add(kind, draw_poisson(&mut random, *flows));
        }
    }
    replicates
}

fn percentiles(mut rates: Vec<f64>) -> [f64; 2] {
    rates.sort_by(f64::total_cmp);
    let last = rates.len().saturating_sub(1);
    let at = |share: f64| rates.get((share * last as f64).round() as usize).copied().unwrap_or(0.0);
    [at(TAIL), at(1.0 - TAIL)]
}

/// The errors of a flow by kind, all of them, and whether there are any.
fn counts_of(errors: &ErrorCounts) -> [f64; RATES] {
    let total: u64 = errors.iter().map(|count| u64::from(*count)).sum();
    std::array::from_fn(|rate| match errors.get(rate) {
        Some(count) => f64::from(*count),
        None if rate == TOTAL => total as f64,
        None => f64::from(u8::from(total > 0)),
    })
}

impl Sums {
    /// Adds `flows` flows of a kind.
    #[inline]
    fn add(&mut self, (lookups, errors): &Kind, flows: f64) {
        self.extant += flows * f64::from(lookups.extant);
        self.absent += flows * f64::from(lookups.absent);
        self.flows += flows;
        if *errors != [0; ErrorKind::COUNT] {
            for (sum, count) in self.counts.iter_mut().zip(counts_of(errors)) {
                *sum += flows * count;
            }
        }
    }

    /// What a rate is per.
    fn denominator(&self, rate: usize) -> f64 {
        const FALSE_POSITIVE: usize = ErrorKind::FalsePositive as usize;
        const DONT_KNOW_ABSENT: usize = ErrorKind::DontKnowAbsent as usize;
        match rate {
            FALSE_POSITIVE | DONT_KNOW_ABSENT => self.absent,
            TOTAL => self.absent + self.extant,
            FLOWS => self.flows,
            _ => self.extant,
        }
    }

    fn rate(&self, rate: usize) -> f64 {
        let asked = self.denominator(rate);
        if asked > 0.0 { self.counts[rate] / asked } else { 0.0 }
    }
}

/// A draw from the Poisson distribution: by inversion, or for large means a rounded normal.
fn draw_poisson(random: &mut Random, mean: u64) -> f64 {
    let mean = mean as f64;
    if mean >= 64.0 {
        let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random.unit()).cos();
        return (mean + mean.sqrt() * normal).round().max(0.0);
    }
    let mut left = random.unit();
    let (mut count, mut chance) = (0.0, (-mean).exp());
    // Beyond this, what is left is rounding.
    while left >= chance && count < 1000.0 {
        left -= chance;
        count += 1.0;
        chance *= mean / count;
    }
    count
}

/// The exact 95 % interval for the mean of a Poisson variable that was seen to be `count`.
fn poisson_interval(count: u64) -> [f64; 2] {
    let up_to = |last: u64, mean: f64| -> f64 { (0..=last).map(|x| poisson(x as f64, mean)).sum() };
    // Both chances fall as the mean grows.
    let low = falls_to(1.0 - TAIL, |mean| up_to(count.saturating_sub(1), mean));
    [low, falls_to(TAIL, |mean| up_to(count, mean))]
}

/// Where a falling function of a mean of at most some hundred takes this value.
fn falls_to(value: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 4.0 * FEW_FLOWS as f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if f(middle) > value { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_mean_and_variance_of_poisson() {
        for mean in [1, 5, 63, 64, 10_000] {
            let mut random = Random::new(mean);
            let n = 40_000;
            let draws: Vec<f64> = (0..n).map(|_| draw_poisson(&mut random, mean)).collect();
            let (n, mean) = (f64::from(n), mean as f64);
            let average = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            // Five standard deviations of each; the fourth central moment is 3λ² + λ.
            assert!((average - mean).abs() < 5.0 * (mean / n).sqrt(), "{mean}: {average}");
            let spread = ((2.0 * mean * mean + mean) / n).sqrt();
            assert!((variance - mean).abs() < 5.0 * spread, "{mean}: {variance}");
        }
    }

    #[test]
    fn the_poisson_interval_is_garwoods() {
        // From the table of Garwood (1936), 95 %.
        for (count, low, high) in [(1, 0.0253, 5.572), (5, 1.623, 11.668), (20, 12.217, 30.888)] {
            let [l, h] = poisson_interval(count);
            assert!((l - low).abs() < 1e-3 && (h - high).abs() < 1e-3, "{count}: {l} {h}");
        }
    }

    fn lookups(extant: u32, absent: u32) -> FlowLookups {
        FlowLookups { extant, absent }
    }

    #[test]
    fn none_seen_is_at_most_three_in_n() {
        let kinds = [((lookups(9, 1), [0; 5]), 1000)];
        let rates = intervals(&kinds, &[0; RATES]);
        assert_eq!(rates[ErrorKind::FalsePositive as usize], [0.0, 3.0 / 1000.0]);
        assert_eq!(rates[ErrorKind::DontKnow as usize], [0.0, 3.0 / 9000.0]);
        assert_eq!(rates[TOTAL], [0.0, 3.0 / 10_000.0]);
        assert_eq!(intervals(&[], &[0; RATES])[TOTAL], [0.0, 1.0]);
    }

    /// Errors that come in clusters make the interval as much wider as theory says.
    #[test]
    fn clusters_widen_the_interval() {
        let interval = |flows: u64, errors: u32| {
            let mut kind = [0; ErrorKind::COUNT];
            kind[ErrorKind::DontKnow as usize] = errors;
            let kinds =
                [((lookups(99, 1), [0; 5]), 100_000 - flows), ((lookups(99, 1), kind), flows)];
            let mut erring = [0; RATES];
            erring[ErrorKind::DontKnow as usize] = flows;
            intervals(&kinds, &erring)[ErrorKind::DontKnow as usize]
        };
        // 4000 errors either way: one per flow, or 40 in each of a hundred flows.
        let (single, clustered) = (interval(4000, 1), interval(100, 40));
        let rate = 4000.0 / 9_900_000.0;
        for ([low, high], flows) in [(single, 4000.0_f64), (clustered, 100.0)] {
            assert!(low < rate && rate < high);
            // 1.96 standard deviations to each side; 400 replicates leave 15 % of play.
            let expected = 2.0 * 1.96 * rate / flows.sqrt();
            assert!(((high - low) / expected - 1.0).abs() < 0.25, "{low} {high} {expected}");
        }
    }

    /// Means hit by 95 % intervals in about 95 % of many samples, few erring flows or many.
    #[test]
    fn intervals_cover_as_they_promise() {
        let mut random = Random::new(11);
        for mean in [4_u64, 20, 200] {
            let samples = 300;
            let covered = (0..samples).filter(|_| {
                let flows = draw_poisson(&mut random, mean) as u64;
                let mut kind = [0; ErrorKind::COUNT];
                kind[ErrorKind::FalsePositive as usize] = 1;
                let kinds =
                    [((lookups(0, 1), [0; 5]), 100_000 - flows), ((lookups(0, 1), kind), flows)];
                let mut erring = [0; RATES];
                erring[ErrorKind::FalsePositive as usize] = flows;
                let [low, high] = intervals(&kinds, &erring)[ErrorKind::FalsePositive as usize];
                (low..=high).contains(&(mean as f64 / 100_000.0))
            });
            let covered = covered.count() as f64 / f64::from(samples);
            // 95 %, less five standard deviations of 300 tries.
            assert!(covered > 0.95 - 5.0 * (0.95 * 0.05 / 300.0_f64).sqrt(), "{mean}: {covered}");
        }
    }
}
