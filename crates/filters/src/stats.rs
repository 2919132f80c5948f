//! Counts and estimates of a store.

use std::ops::AddAssign;

use crate::snapshot::{Decoder, Encoder, Persist, SnapshotError};

/// Counts of one store; those of shards add up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StoreStats {
    /// Cells, or entries that fit.
    pub cells: u64,
    /// Cells in use: not empty, or stale and not yet cleared by a sweep.
    pub occupied: u64,
    /// Flows alive: counted by `exact`, estimated from the occupied cells by filters.
    pub live: f64,
    /// Whether `live` is an estimate.
    pub live_estimated: bool,
    /// The probability, at this fill, that an absent flow is found.
    pub false_positive_chance: f64,
    /// Flows inserted.
    pub inserted: u64,
    /// Flows deleted (not aged, not evicted).
    pub deleted: u64,
    /// Cells cleared because they were not touched in time.
    pub cells_aged: u64,
    /// Cells that insertions found in use. What the fill at that time does not explain is residue.
    pub cells_shared: u64,
    /// How often the store was full and was emptied.
    pub recycles: u64,
    /// Flows that moved from a frozen to an active half.
    pub moved: u64,
    /// Flows evicted for others.
    pub evicted: u64,
    /// Insertions that found no room.
    pub full: u64,
    /// Insertions that found all cells of the flow in use: it seemed present, unless the cells
    /// contradicted each other.
    pub inserts_of_present: u64,
    /// Modifications and deletions that found an empty cell: the flow was absent.
    pub writes_to_absent: u64,
    /// Counters that reached their maximum, where they stay.
    pub saturations: u64,
}

impl StoreStats {
    /// The part of the cells that is in use.
    pub fn fill_ratio(&self) -> f64 {
        if self.cells == 0 { 0.0 } else { self.occupied as f64 / self.cells as f64 }
    }
}

impl AddAssign for StoreStats {
    fn add_assign(&mut self, other: StoreStats) {
        let cells = (self.cells + other.cells).max(1) as f64;
        let chance = |stats: &StoreStats| stats.false_positive_chance * stats.cells as f64 / cells;
        self.false_positive_chance = chance(self) + chance(&other);
        self.cells += other.cells;
        self.occupied += other.occupied;
        self.live += other.live;
        self.live_estimated |= other.live_estimated;
        self.inserted += other.inserted;
        self.deleted += other.deleted;
        self.cells_aged += other.cells_aged;
        self.cells_shared += other.cells_shared;
        self.recycles += other.recycles;
        self.moved += other.moved;
        self.evicted += other.evicted;
        self.full += other.full;
        self.inserts_of_present += other.inserts_of_present;
        self.writes_to_absent += other.writes_to_absent;
        self.saturations += other.saturations;
    }
}

/// What was counted. The other figures follow from what is in the store.
impl Persist for StoreStats {
    fn encode<'a>(&'a self, out: &mut Encoder<'a>) {
        for (_, count) in { *self }.counted() {
            out.u64(*count);
        }
    }

    fn decode(&mut self, input: &mut Decoder<'_>) -> Result<(), SnapshotError> {
        for (what, count) in self.counted() {
            *count = input.count(what)?;
        }
        Ok(())
    }
}

impl StoreStats {
    /// The counts of what happened, each with its name.
    fn counted(&mut self) -> [(&'static str, &mut u64); 11] {
        // Without `..`, so that a new count is not forgotten here.
        let StoreStats {
            cells: _,
            occupied: _,
            live: _,
            live_estimated: _,
            false_positive_chance: _,
            inserted,
            deleted,
            cells_aged,
            cells_shared,
            recycles,
            moved,
            evicted,
            full,
            inserts_of_present,
            writes_to_absent,
            saturations,
        } = self;
        [
            ("the number of flows inserted", inserted),
            ("the number of flows deleted", deleted),
            ("the number of cells aged", cells_aged),
            ("the number of cells shared", cells_shared),
            ("the number of recycles", recycles),
            ("the number of flows moved", moved),
            ("the number of flows evicted", evicted),
            ("the number of insertions without room", full),
            ("the number of insertions of flows present", inserts_of_present),
            ("the number of writes to absent flows", writes_to_absent),
            ("the number of saturations", saturations),
        ]
    }
}
