//! The one clock of the program: for durations that are shown, never for decisions.

use std::sync::OnceLock;
use std::time::Instant;

/// Nanoseconds since the first call.
pub fn nanos() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
