//! The lower bound of bits per flow, against which every store is measured.

use std::f64::consts::LOG2_E;

use crate::StateMix;

/// log2(1/ε) for membership with error ε.
pub fn membership_bits(error: f64) -> f64 {
    -error.clamp(f64::MIN_POSITIVE, 1.0).log2()
}

/// log2(1/ε) + H(states): the lower bound for a store with false positive rate ε and exact states.
/// No store takes fewer bits per flow.
///
/// ```
/// use acsm_model::{StateMix, bound};
///
/// assert_eq!(bound::static_bits_per_flow(1.0 / 1024.0, &StateMix::even(4)), 12.0);
/// ```
pub fn static_bits_per_flow(error: f64, mix: &StateMix) -> f64 {
    membership_bits(error) + mix.entropy_bits()
}

/// log2(1/ε) + log2 e + H(states): fingerprints in a full hash table. The log2 e bits say which
/// slots are in use. Reports print this measure.
pub fn bits_per_flow(error: f64, mix: &StateMix) -> f64 {
    static_bits_per_flow(error, mix) + LOG2_E
}

/// log2(e) log2(1/ε) + bits of the state: a Bloom filter with the states beside it, for
/// comparison.
pub fn bloom_bits_per_flow(error: f64, mix: &StateMix) -> f64 {
    LOG2_E * membership_bits(error) + mix.entropy_bits()
}
