//! How much memory the detector takes, and what it leaves out for lack of it.

use crate::time::NANOS_PER_SEC;

/// How much memory the sketches take, and how long they remember.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchLimits {
    /// First packets pending at once.
    pub pending: usize,
    /// Keys counted at once, for each rule.
    pub keys_per_rule: usize,
    /// 5-tuples remembered as seen: between one and two times this number.
    pub recent_tuples: usize,
    /// How long a 5-tuple is remembered as seen: between one and two times this long.
    pub recent_nanos: u64,
    /// Time limit for the answer to a first packet, and for the ACK after a SYN.
    pub answer_nanos: u64,
}

/// About 11 MiB with the shipped rules.
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

/// What was not counted for lack of memory, or not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// First packets that were not watched because too many were pending.
    pub unwatched: u64,
    /// Keys whose counts were evicted by other keys.
    pub evicted_keys: u64,
    /// Events counted during cool-downs, without a report.
    pub suppressed: u64,
}

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, other: Losses) {
        self.unwatched += other.unwatched;
        self.evicted_keys += other.evicted_keys;
        self.suppressed += other.suppressed;
    }
}
