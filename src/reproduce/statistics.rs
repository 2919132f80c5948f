//! Rates and 99 % intervals.

/// A point with fewer expected events is not measured.
pub const EVENTS_LEAST: f64 = 10.0;

/// The quantile of the normal distribution for 99 %, two-sided.
const Z: f64 = 2.575_829_303_548_901;

/// Events in independent trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    /// How often it happened.
    pub events: u64,
    /// How often it could have happened.
    pub trials: u64,
}

impl Rate {
    /// Events per trial; 0 without trials.
    pub fn value(self) -> f64 {
        self.events as f64 / self.trials.max(1) as f64
    }

    /// The 99 % interval of the probability (Wilson's score interval).
    pub fn interval(self) -> [f64; 2] {
        if self.trials == 0 {
            return [0.0, 1.0];
        }
        let (n, p) = (self.trials as f64, self.value());
        let scale = 1.0 + Z * Z / n;
        let middle = (p + Z * Z / (2.0 * n)) / scale;
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
        [(middle - half).clamp(0.0, p), (middle + half).clamp(p, 1.0)]
    }

    /// The interval that 99 % of rates lie in that somebody else counts in `their_trials` trials.
    ///
    /// ```
    /// use acsm::reproduce::Rate;
    ///
    /// let ours = Rate { events: 500, trials: 10_000 };
    /// let [low, high] = ours.interval_for(100);
    /// assert!(low == 0.0 && high > 0.10);
    /// ```
    pub fn interval_for(self, their_trials: u64) -> [f64; 2] {
        let trials = |n: u64| 1.0 / n.max(1) as f64;
        // One event more and one less than were seen, so that "none" has a width.
        let p = (self.events as f64 + 1.0) / (self.trials as f64 + 2.0);
        let half = Z * (p * (1.0 - p) * (trials(self.trials) + trials(their_trials))).sqrt();
        [(self.value() - half).max(0.0), (self.value() + half).min(1.0)]
    }
}

/// The mean of `values`, and the interval that 99 % of means lie in that somebody else computes from
/// `their_count` values. `None` for fewer than two values.
pub fn mean_interval(values: &[f64], their_count: usize) -> Option<(f64, [f64; 2])> {
    let n = values.len() as f64;
    if values.len() < 2 || their_count == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = Z * (variance * (1.0 / n + 1.0 / their_count as f64)).sqrt();
    Some((mean, [mean - half, mean + half]))
}

/// How many trials a rate takes that [`EVENTS_LEAST`] events can be expected.
pub fn trials_needed(rate: f64) -> f64 {
    EVENTS_LEAST / rate
}

#[cfg(test)]
mod tests {
    use acsm_filters::rng::Random;

    use super::*;

    #[test]
    fn intervals_hold_the_probability_in_99_of_100_cases() {
        let mut random = Random::new(5);
        for (p, trials, theirs) in [(0.3, 400, 100), (0.02, 2000, 1000), (0.001, 20_000, 20_000)] {
            let mut count = |trials: u64| {
                let events = (0..trials).filter(|_| random.chance(p)).count();
                Rate { events: events as u64, trials }
            };
            let (mut held, mut predicted) = (0, 0);
            for _ in 0..1000 {
                let rate = count(trials);
                let [low, high] = rate.interval();
                held += u32::from((low..=high).contains(&p));
                let [low, high] = rate.interval_for(theirs);
                predicted += u32::from((low..=high).contains(&count(theirs).value()));
            }
            // 990 expected, standard deviation 3.1; approximations are allowed another 8.
            assert!(held >= 970 && predicted >= 970, "{p}: {held} {predicted}");
        }
    }

    #[test]
    fn a_mean_has_the_interval_of_both_samples() {
        let (mean, [low, high]) = mean_interval(&[1.0, 3.0, 1.0, 3.0], 4).unwrap();
        assert_eq!(mean, 2.0);
        // The standard deviation of a difference of two means of four: √(4/3 · 2/4).
        assert!((high - low - 2.0 * Z * (2.0 / 3.0_f64).sqrt()).abs() < 1e-12);
        assert_eq!(mean_interval(&[1.0], 4), None);
    }
}
