//! How much memory thresholds take, and what that left out.

use crate::time::NANOS_PER_SEC;

/// How much is remembered, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchLimits {
    /// First packets that wait for an answer at once.
    pub pending: usize,
    /// Keys counted at once, for each rule.
    pub keys_per_rule: usize,
    /// 5-tuples remembered as seen; between one and two times as many.
    pub recent_tuples: usize,
    /// How long a 5-tuple is remembered as seen; between one and two times as long.
    pub recent_nanos: u64,
    /// How long a first packet may wait for its answer, and a SYN for its sender's ACK.
    pub answer_nanos: u64,
}

/// About 7 MiB with the shipped rules.
impl Default for SketchLimits {
    fn default() -> Self {
        SketchLimits {
            pending: 1 << 15,
            keys_per_rule: 1 << 11,
            recent_tuples: 1 << 18,
            recent_nanos: 60 * NANOS_PER_SEC,
            answer_nanos: 5 * NANOS_PER_SEC,
        }
    }
}

/// What bounded memory left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// First packets that were not watched because too many waited.
    pub unwatched: u64,
    /// Keys that lost their counts to others.
    pub evicted_keys: u64,
    /// Events counted in silence, during cool-downs.
    pub suppressed: u64,
}

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, other: Losses) {
        self.unwatched += other.unwatched;
        self.evicted_keys += other.evicted_keys;
        self.suppressed += other.suppressed;
    }
}
