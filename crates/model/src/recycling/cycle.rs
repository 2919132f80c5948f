//! Equations (15)–(19) and (24)–(26): the average over a cycle that ends beyond σ bits.
//!
//! How often a cycle passes through i set bits depends on what lies below i alone, and not on σ:
//! v_i = (s_i + Σ_{j<i} v_j τ(j, i)) / (1 − τ(i, i)), where s is where a cycle starts. Cut at σ and
//! scaled to 1 that is the steady state π of (15); with s_i = τ(0, i) also that of (16), for which
//! the paper solves a linear system. So one pass of O(k²M) serves every σ.

use super::filter::{Filter, Retain};
use crate::special::largest;

/// Larger filters are cut off here; use [`limit`](super::limit) above.
const BITS_MAX: u64 = 1 << 22;

/// All cycles of a filter, whatever their threshold.
#[derive(Debug, Clone)]
pub struct Cycle {
    filter: Filter,
    /// Arrivals of a cycle that find i bits set.
    visits: Vec<f64>,
    /// Arrivals that find i bits or fewer.
    arrivals: Vec<f64>,
    /// False positives among them.
    false_positives: Vec<f64>,
}

/// How much of the overflowing message a frozen filter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frozen {
    /// None: the filter freezes as it was before it (σ − k + 1 to σ bits). What (24) says.
    BeforeOverflow,
    /// All: the filter freezes as it is when found too full (σ + 1 to σ + k bits). What the text
    /// of §II-C says, where a filter is frozen, not undone.
    AfterOverflow,
}

impl Cycle {
    /// Computes τ and the steady state for every threshold below M. O(k²M) time, O(M) memory: for
    /// filters up to 10^5 bits or so (larger than 2^22 is cut off there).
    pub fn new(filter: Filter) -> Cycle {
        let hashes = filter.hashes;
        let states = filter.bits.min(BITS_MAX) as usize;
        let mut visits = vec![0.0; states + hashes];
        match filter.retain {
            Retain::Forget => visits.iter_mut().take(1).for_each(|visit| *visit = 1.0),
            // (10) and (14): the message that overflowed, alone in an empty filter.
            Retain::Keep => {
                visits.iter_mut().zip(filter.step(0)).for_each(|(visit, chance)| *visit = chance);
            }
        }
        let mut row = vec![0.0; hashes + 1];
        for set in 0..states {
            let Some((here, above)) = visits.get_mut(set..).and_then(<[f64]>::split_first_mut)
            else {
                break;
            };
            if *here == 0.0 {
                continue; // distinct hashes never stop between 0 and k
            }
            filter.step_into(set as u64, &mut row);
            let (stays, moves) = row.split_first().map_or((0.0, [].as_slice()), |(s, m)| (*s, m));
            *here /= 1.0 - stays;
            above.iter_mut().zip(moves).for_each(|(visit, chance)| *visit += *here * chance);
        }
        visits.truncate(states);
        let rates = (0..states as u64).map(|set| filter.false_positive_rate(set));
        let wrong = visits.iter().zip(rates).map(|(visit, rate)| visit * rate);
        let false_positives = running_sum(wrong);
        let arrivals = running_sum(visits.iter().copied());
        Cycle { filter, visits, arrivals, false_positives }
    }

    /// The filter it is about.
    pub const fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The largest threshold: a filter with all bits set never overflows.
    pub const fn sigma_max(&self) -> u64 {
        (self.visits.len() as u64).saturating_sub(1)
    }

    fn index(&self, sigma: u64) -> usize {
        sigma.min(self.sigma_max()) as usize
    }

    /// π_i: the part of arrivals that find `set` bits set. Equations (15) and (16).
    ///
    /// With distinct hashes and a forgotten message π_0 is not 0, against the text after (15):
    /// that remark fits the retaining variant.
    pub fn steady_state(&self, set: u64, sigma: u64) -> f64 {
        let visit = self.visits.get(set as usize).copied().unwrap_or(0.0);
        if set > sigma { 0.0 } else { visit / self.messages(sigma) }
    }

    /// f_σ¹: the average false positive rate of new messages, filter emptied beyond `sigma` bits.
    /// Equation (18).
    ///
    /// ```
    /// use acsm_model::recycling::{Cycle, Filter};
    ///
    /// let cycle = Cycle::new(Filter::new(1000, 5));
    /// assert!(cycle.false_positive_rate(500) < 0.3 * cycle.filter().false_positive_rate(500));
    /// ```
    pub fn false_positive_rate(&self, sigma: u64) -> f64 {
        self.false_positives.get(self.index(sigma)).map_or(0.0, |sum| sum / self.messages(sigma))
    }

    /// New messages of a cycle, the one that overflows the filter included: E\[N_0\] of (23) with
    /// "b > σ" in (22). One fewer stays in the filter if it is forgotten.
    pub fn messages(&self, sigma: u64) -> f64 {
        self.arrivals.get(self.index(sigma)).copied().unwrap_or(0.0)
    }

    /// Messages of a cycle that set bits: all that a user can count, as a message that sets none
    /// looks like a repeat.
    pub fn bit_setting_messages(&self, sigma: u64) -> f64 {
        let wrong = self.false_positives.get(self.index(sigma)).copied().unwrap_or(0.0);
        self.messages(sigma) - wrong
    }

    /// Frozen filters by the bits they hold, as (bits, chance). Equations (24) and (25), or their
    /// likes where the overflowing message is frozen too.
    pub fn frozen(&self, sigma: u64, frozen: Frozen) -> Vec<(u64, f64)> {
        let sigma = self.index(sigma) as u64;
        let hashes = self.filter.hashes as u64;
        let mut after = vec![0.0; self.filter.hashes];
        let mut before = vec![];
        for set in (sigma + 1).saturating_sub(hashes)..=sigma {
            let visits = self.visits.get(set as usize).copied().unwrap_or(0.0);
            let row = self.filter.step(set);
            let beyond = row.iter().skip((sigma - set) as usize + 1);
            before.push((set, visits * beyond.clone().sum::<f64>()));
            after.iter_mut().zip(beyond).for_each(|(sum, chance)| *sum += visits * chance);
        }
        let mut odds = match frozen {
            Frozen::BeforeOverflow => before,
            Frozen::AfterOverflow => after
                .into_iter()
                .enumerate()
                .map(|(i, odds)| (sigma + 1 + i as u64, odds))
                .collect(),
        };
        let total: f64 = odds.iter().map(|(_, odds)| odds).sum();
        odds.iter_mut().for_each(|(_, odds)| *odds /= total);
        odds
    }

    /// f_σ²: the average false positive rate of two filters of this size, one active and one
    /// frozen, where a match with either counts. Equation (26).
    ///
    /// Takes hits in both for independent; the shared hashes make that wrong in order 1/M.
    pub fn two_phase_rate(&self, sigma: u64, frozen: Frozen) -> f64 {
        let states = self.frozen(sigma, frozen).into_iter();
        let in_frozen: f64 =
            states.map(|(set, odds)| odds * self.filter.false_positive_rate(set)).sum();
        let in_active = self.false_positive_rate(sigma);
        in_active + (1.0 - in_active) * in_frozen
    }

    /// The largest threshold whose average rate is at most `rate`, or `None` if none is.
    pub fn largest_sigma(&self, rate: f64) -> Option<u64> {
        largest(self.sigma_max(), |sigma| self.false_positive_rate(sigma) <= rate)
    }

    /// The largest threshold whose average rate in two phases is at most `rate`.
    pub fn largest_two_phase_sigma(&self, rate: f64, frozen: Frozen) -> Option<u64> {
        largest(self.sigma_max(), |sigma| self.two_phase_rate(sigma, frozen) <= rate)
    }
}

fn running_sum(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let add = |sum: &mut f64, value: f64| {
        *sum += value;
        Some(*sum)
    };
    values.scan(0.0, add).collect()
}

/// Equation (19): f_σ¹ for k = 1 (colliding, forgetting), 1 − (σ + 1) / (M Σ_{j≤σ} 1/(M − j)).
///
/// The print multiplies the two sums, where the second must divide: at M = 1000, σ = 500 that
/// gives 0.135 instead of 0.278. O(σ).
///
/// ```
/// use acsm_model::recycling::{Cycle, Filter, one_hash};
///
/// let rate = Cycle::new(Filter::new(1000, 1)).false_positive_rate(500);
/// assert!((one_hash(1000, 500) - rate).abs() < 1e-13);
/// ```
pub fn one_hash(bits: u64, sigma: u64) -> f64 {
    let sigma = sigma.min(bits.saturating_sub(1));
    let inverses: f64 = (0..=sigma).map(|set| 1.0 / (bits - set) as f64).sum();
    1.0 - (sigma + 1) as f64 / (bits as f64 * inverses)
}

/// §II-E: three ways to count the false positives of a cycle.
///
/// Message i, a false positive at its first arrival with probability F_i, arrives η(i) times in the
/// cycle. The rates need only expectations where η(i) does not depend on whether i was a false
/// positive.
///
/// (The paper recommends count-instance for an application that pays for every dropped request; by
/// its own definition that is count-each.)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountedRates {
    /// Σ F / Σ η: only first arrivals can be wrong, all are counted.
    pub first: f64,
    /// Σ F η / Σ η: each arrival of a message first taken for a repeat is wrong.
    pub each: f64,
    /// Σ F / Σ 1: first arrivals alone. The largest of the three if F grows in i and η falls.
    pub instance: f64,
}

/// The rates of a cycle of messages given as (F_i, E\[η(i)\]).
pub fn counted_rates(messages: impl IntoIterator<Item = (f64, f64)>) -> CountedRates {
    let (mut wrong, mut wrong_arrivals, mut arrivals, mut count) = (0.0, 0.0, 0.0, 0.0);
    for (false_positive, times) in messages {
        wrong += false_positive;
        wrong_arrivals += false_positive * times;
        arrivals += times;
        count += 1.0;
    }
    let over = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    CountedRates {
        first: over(wrong, arrivals),
        each: over(wrong_arrivals, arrivals),
        instance: over(wrong, count),
    }
}

/// E\[η(i)\] for i = 1..=`messages` if every new message is followed by `repeats` arrivals of
/// messages drawn evenly from those that came so far: 1 + r Σ_{j=i}^{N} 1/j.
///
/// ```
/// use acsm_model::recycling::even_repeats;
///
/// assert_eq!(even_repeats(2, 1.0), [2.5, 1.5]);
/// ```
pub fn even_repeats(messages: usize, repeats: f64) -> Vec<f64> {
    let mut times = vec![1.0; messages];
    let mut later = 0.0;
    for (index, time) in times.iter_mut().enumerate().rev() {
        later += 1.0 / (index + 1) as f64;
        *time += repeats * later;
    }
    times
}
