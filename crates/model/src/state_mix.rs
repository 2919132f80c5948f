//! The distribution of states among the flows of a store.

use crate::STATES_MAX;

/// The part of the flows in each state; parts sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct StateMix {
    parts: Vec<f64>,
}

impl StateMix {
    /// From the number of flows in each state, on any scale. Negative and non-finite weights count as
    /// 0, states beyond [`STATES_MAX`] are left out, and if all weights are 0 the distribution is
    /// even.
    ///
    /// ```
    /// use acsm_model::StateMix;
    ///
    /// let mix = StateMix::new(&[80.0, 10.0, 10.0]);
    /// assert!((mix.part(0) - 0.8).abs() < 1e-15 && (mix.sameness() - 0.66).abs() < 1e-15);
    /// ```
    pub fn new(weights: &[f64]) -> StateMix {
        let clean = |weight: &f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
        let parts: Vec<f64> = weights.iter().take(STATES_MAX).map(clean).collect();
        let total: f64 = parts.iter().sum();
        if parts.is_empty() || total <= 0.0 {
            return StateMix::even(parts.len());
        }
        StateMix { parts: parts.into_iter().map(|part| part / total).collect() }
    }

    /// The same part in each of this number of states.
    pub fn even(states: usize) -> StateMix {
        let states = states.clamp(1, STATES_MAX);
        StateMix { parts: vec![1.0 / states as f64; states] }
    }

    /// How many states the machine has, those without flows included.
    pub fn states(&self) -> usize {
        self.parts.len()
    }

    /// The part of flows in this state.
    pub fn part(&self, state: usize) -> f64 {
        self.parts.get(state).copied().unwrap_or(0.0)
    }

    /// All parts, in the order of the states.
    pub fn parts(&self) -> &[f64] {
        &self.parts
    }

    /// Σ p²: the probability that two flows are in the same state.
    pub fn sameness(&self) -> f64 {
        self.parts.iter().map(|part| part * part).sum()
    }

    /// H = −Σ p log2 p: the entropy of a flow's state.
    pub fn entropy_bits(&self) -> f64 {
        let parts = self.parts.iter().filter(|part| **part > 0.0);
        parts.map(|part| -part * part.log2()).sum::<f64>().max(0.0)
    }

    /// The mean of f(state) over flows.
    pub fn mean(&self, mut f: impl FnMut(usize) -> f64) -> f64 {
        let parts = self.parts.iter().enumerate().filter(|(_, part)| **part > 0.0);
        parts.map(|(state, part)| part * f(state)).sum()
    }
}
