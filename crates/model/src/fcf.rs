//! `fcf`: fingerprints and states in a cuckoo table of two buckets with four slots each.
//!
//! A lookup compares 8 slots. Each of them is in use with probability α, the load, and then matches the
//! fingerprint of an absent flow with 2^{−f}.

use crate::special::any_of;
use crate::{ErrorRates, StateMix};

/// Slots a lookup compares: two buckets of four.
pub const SLOTS: usize = 8;

/// The load at which cuckoo tables of this shape become full, for large tables (Fernholz and
/// Ramachandran 2007; Cain, Sanders, Wormald 2007). Inserts fail above, not below.
pub const LOAD_THRESHOLD: f64 = 0.9768;

/// The load that sizing plans for.
pub const LOAD_PLANNED: f64 = 0.95;

/// Errors at a load of slots in use, with fingerprints of this width.
///
/// Several matches of one state are "known", of different states "don't know". No extant flow is
/// missed or misreported as long as all inserts find a slot.
///
/// ```
/// use acsm_model::{StateMix, fcf};
///
/// let errors = fcf::errors(12, 0.95, &StateMix::even(6));
/// assert!((errors.of_absent() - 8.0 * 0.95 / 4096.0).abs() < 1e-5);
/// ```
pub fn errors(fingerprint_bits: u32, load: f64, mix: &StateMix) -> ErrorRates {
    errors_among(f64::from(fingerprint_bits).exp2(), load, mix)
}

/// The same with this number of fingerprints, which need not be a power of two.
pub fn errors_among(fingerprints: f64, load: f64, mix: &StateMix) -> ErrorRates {
    let matches = load.clamp(0.0, 1.0) / fingerprints.max(1.0);
    let found = any_of(SLOTS as f64, matches);
    // Some match, and none of those is in another state.
    let only = |state: usize| found - any_of(SLOTS as f64, matches * (1.0 - mix.part(state)));
    let known = (0..mix.states()).map(only).sum::<f64>().max(0.0).min(found);
    ErrorRates {
        false_positive: known,
        dont_know_absent: found - known,
        // The other slots of a flow's two buckets are like those of any bucket.
        dont_know: mix.mean(|state| any_of(SLOTS as f64, matches * (1.0 - mix.part(state)))),
        ..ErrorRates::default()
    }
}

/// The narrowest fingerprint for a false positive rate: 8 α / 2^f ≤ rate.
///
/// ```
/// use acsm_model::fcf;
///
/// assert_eq!(fcf::fingerprint_bits(0.01, fcf::LOAD_PLANNED), 10);
/// ```
pub fn fingerprint_bits(rate: f64, load: f64) -> u32 {
    (SLOTS as f64 * load / rate.max(f64::MIN_POSITIVE)).log2().ceil().clamp(1.0, 1100.0) as u32
}
