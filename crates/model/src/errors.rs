//! Error rates by kind: what every model of a store returns.

/// Error rates of a store by kind.
///
/// ```
/// use acsm_model::ErrorRates;
///
/// let errors = ErrorRates { false_positive: 0.01, dont_know: 0.002, ..ErrorRates::default() };
/// // One lookup in ten is for an absent flow.
/// assert!((errors.total(0.1) - 0.0028).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ErrorRates {
    /// An absent flow is said to be in a state; per lookup of absent flows.
    pub false_positive: f64,
    /// The answer for an absent flow is "don't know"; per lookup of absent flows.
    pub dont_know_absent: f64,
    /// A flow is said to be absent; per lookup of extant flows.
    pub false_negative: f64,
    /// The answer for a flow is "don't know"; per lookup of extant flows.
    pub dont_know: f64,
    /// A flow is said to be in another state; per lookup of extant flows.
    pub false_return: f64,
}

impl ErrorRates {
    /// All errors per lookup, where the part `absent` of the lookups is for absent flows.
    pub fn total(&self, absent: f64) -> f64 {
        absent * self.of_absent() + (1.0 - absent) * self.of_extant()
    }

    /// The sum of these and `weight` times `other`.
    pub fn plus(&self, other: &ErrorRates, weight: f64) -> ErrorRates {
        ErrorRates {
            false_positive: self.false_positive + weight * other.false_positive,
            dont_know_absent: self.dont_know_absent + weight * other.dont_know_absent,
            false_negative: self.false_negative + weight * other.false_negative,
            dont_know: self.dont_know + weight * other.dont_know,
            false_return: self.false_return + weight * other.false_return,
        }
    }

    /// All errors per lookup of absent flows.
    pub fn of_absent(&self) -> f64 {
        self.false_positive + self.dont_know_absent
    }

    /// All errors per lookup of extant flows.
    pub fn of_extant(&self) -> f64 {
        self.false_negative + self.dont_know + self.false_return
    }
}
