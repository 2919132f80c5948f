//! `fcf`: fingerprints and states in a cuckoo table of overlapping windows of two slots.
//!
//! A lookup finds the flows with the same fingerprint and the same two windows, which it cannot tell
//! apart. There are as many windows as slots, so with a load of α flows per slot α flows have a given
//! window first and α have it second; each has a given fingerprint with 2^{−f}. So the number of
//! such flows is Poisson with mean 2 α / 2^f, each in one of the four slots of the two windows.

use crate::{ErrorRates, StateMix};

/// Windows of a flow.
const WINDOWS: f64 = 2.0;

/// The load at which cuckoo tables of this shape become full, for large tables (Walzer 2018:
/// *Load thresholds for cuckoo hashing with overlapping blocks*). Inserts fail above, not below.
pub const LOAD_THRESHOLD: f64 = 0.9650;

/// The load that sizing plans for.
pub const LOAD_PLANNED: f64 = 0.93;

/// Errors at a load of slots in use, with fingerprints of this width.
///
/// Several matches of one state are "known", of different states "don't know". No extant flow is
/// missed or misreported as long as all inserts find a slot.
///
/// ```
/// use acsm_model::{StateMix, fcf};
///
/// let errors = fcf::errors(12, 0.93, &StateMix::even(6));
/// assert!((errors.of_absent() - 2.0 * 0.93 / 4096.0).abs() < 1e-5);
/// ```
pub fn errors(fingerprint_bits: u32, load: f64, mix: &StateMix) -> ErrorRates {
    errors_among(f64::from(fingerprint_bits).exp2(), load, mix)
}

/// The same with this number of fingerprints, which need not be a power of two.
pub fn errors_among(fingerprints: f64, load: f64, mix: &StateMix) -> ErrorRates {
    let alike = WINDOWS * load.clamp(0.0, 1.0) / fingerprints.max(1.0);
    // Whether some of this part of the flows that look alike are there.
    let any = |part: f64| -(-alike * part).exp_m1();
    let others = |state: usize| any(1.0 - mix.part(state));
    // Some are there, and none of those is in another state.
    let only = |state: usize| any(1.0) - others(state);
    let known = (0..mix.states()).map(only).sum::<f64>().max(0.0).min(any(1.0));
    ErrorRates {
        false_positive: known,
        dont_know_absent: any(1.0) - known,
        // A flow that is there makes no difference to the others.
        dont_know: mix.mean(others),
        ..ErrorRates::default()
    }
}

/// The narrowest fingerprint for a false positive rate: 2 α / 2^f ≤ rate.
///
/// ```
/// use acsm_model::fcf;
///
/// assert_eq!(fcf::fingerprint_bits(0.01, fcf::LOAD_PLANNED), 8);
/// ```
pub fn fingerprint_bits(rate: f64, load: f64) -> u32 {
    (WINDOWS * load / rate.max(f64::MIN_POSITIVE)).log2().ceil().clamp(1.0, 1100.0) as u32
}
