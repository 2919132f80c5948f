//! A limit on how often something costly is done in a second of packet time.

use crate::time::{NANOS_PER_SEC, Timestamp};

/// How often something costly was done in a second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PerSecond {
    second: u64,
    count: u32,
}

impl PerSecond {
    /// Whether it may be done once more in the second of `now`, of at most `most` times.
    pub fn take(&mut self, now: Timestamp, most: u32) -> bool {
        let second = now.as_nanos() / NANOS_PER_SEC;
        if second != self.second {
            *self = PerSecond { second, count: 0 };
        }
        self.count += 1;
        self.count <= most
    }
}
