//! How the loop of a shard lets time pass: sweeping slices of the store, moving on to later epochs.

use super::shard::PacketKey;
use super::shard_loop::StoreShard;
use acsm_filters::{Epoch, Store};

/// Cells of a slice: 4 per packet.
const SWEEP_CELLS: usize = 256;

impl<S: Store<Key: PacketKey>> StoreShard<S> {
    /// Sweeps the next slice of the store.
    pub(super) fn sweep_slice(&mut self, now: Epoch, stopwatch: Option<fn() -> u64>) {
        self.events_since_sweep = 0;
        self.false_positive_chance = None;
        let start = stopwatch.map(|nanos| nanos());
        let swept = self.store.sweep(now, SWEEP_CELLS) > 0;
        if let (true, Some(nanos), Some(start)) = (swept, stopwatch, start) {
            self.stats.sweep_nanos.record(nanos().saturating_sub(start));
        }
    }

    /// Moves on to a later epoch. After a whole epoch of silence nothing is alive: the shard is
    /// swept at once, so that a silent link (live, by an idle tick) and a gap between two packets
    /// (replay) lead to the same.
    #[cold]
    pub(super) fn pass_to(&mut self, epoch: Epoch) {
        if self.epoch.is_forgotten_at(epoch) {
            while self.store.sweep(epoch, usize::MAX) > 0 {}
            self.false_positive_chance = None;
        }
        self.epoch = self.epoch.max(epoch);
    }
}
