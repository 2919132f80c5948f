//! The interface of a store: one shard of flow state, driven by one thread.
//!
//! A packet costs one [`Store::locate`], one [`Store::lookup`] and at most one write. The lookup
//! returns a [`Found`]: the answer, and a handle that tells the write where the flow was found, so
//! that nothing is searched twice.

use crate::aging::{Epoch, Stamp};
use crate::digest::FlowId;
use crate::state::{Lookup, State};
use crate::stats::StoreStats;

/// One shard of flow state.
///
/// The caller supplies the time: epochs never go back. What an operation answers depends on the
/// operations before it and their epochs alone, never on when [`sweep`](Store::sweep) ran.
pub trait Store: Send {
    /// What tells two flows apart where the digest does not: `()` for filters, which use the
    /// digest alone; the full key for exact tables.
    type Key: Copy;

    /// Where a flow is stored, computed once per packet.
    type Place: Copy + Send;

    /// Where a lookup found the flow. Valid until the next write to the store or the next epoch.
    type Handle: Copy;

    /// Whether [`modify`](Store::modify) and [`delete`](Store::delete) work without the old state,
    /// so that a flow answered `DontKnow` can still be written.
    const WRITES_WITHOUT_OLD_STATE: bool;

    /// Where the flow with this digest and key is stored.
    fn locate(&self, id: FlowId, key: Self::Key) -> Self::Place;

    /// Starts loading the memory that an operation on this place needs, without waiting for it.
    fn prefetch(&self, place: &Self::Place);

    /// What is known of the flow. Touches nothing.
    fn lookup(&mut self, place: &Self::Place, now: Epoch) -> Found<Self::Handle>;

    /// Whether the flow seems to be in the store: a question on the side, which is not counted as a
    /// lookup.
    #[inline]
    fn has(&mut self, place: &Self::Place, now: Epoch) -> bool {
        self.lookup(place, now).answer != Lookup::Absent
    }

    /// The handle of a flow whose [settled](Found::settled) answer is known already: by another
    /// lookup, unless the place and the answer say enough.
    #[inline]
    fn handle_of(&mut self, place: &Self::Place, _answer: Lookup, now: Epoch) -> Self::Handle {
        self.lookup(place, now).handle
    }

    /// Keeps a flow alive. (With an answer of `Absent` it touches the cells in use: the wording of
    /// ACSM 2006, not our default.)
    fn touch(&mut self, place: &Self::Place, found: &Found<Self::Handle>, stamp: Stamp);

    /// Adds a flow that is absent.
    fn insert(&mut self, place: &Self::Place, state: State, stamp: Stamp) -> Insertion;

    /// Whether one more flow is within the number of flows that the store was sized for. Answers stay
    /// as good as planned as long as flows are inserted only then; an insertion does not ask.
    #[inline]
    fn has_room(&self) -> bool {
        true
    }

    /// Changes the state of a flow and touches it. With an answer of `DontKnow` it only touches,
    /// unless the store [writes without the old state](Store::WRITES_WITHOUT_OLD_STATE). Returns
    /// what a lookup would answer now, where that is known without one.
    fn modify(
        &mut self,
        place: &Self::Place,
        found: &Found<Self::Handle>,
        new: State,
        stamp: Stamp,
    ) -> Option<Lookup>;

    /// Removes a flow. With an answer of `DontKnow` nothing happens, unless the store
    /// [writes without the old state](Store::WRITES_WITHOUT_OLD_STATE).
    fn delete(&mut self, place: &Self::Place, found: &Found<Self::Handle>, now: Epoch);

    /// Clears what is stale among the next cells, at most about `budget_cells` of them. Returns
    /// how many it examined: 0 when all have been examined in this epoch.
    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize;

    /// The epoch by which flows come and go here: the caller's, unless the store counts its own. A
    /// flow last seen before the previous epoch is gone, whatever the reason.
    #[inline]
    fn epoch(&self, now: Epoch) -> Epoch {
        now
    }

    /// The cache lines of a flow: see [`Lines`].
    #[inline]
    fn lines(&self, _place: &Self::Place) -> Lines {
        Lines::ALL
    }

    /// Counts so far. Figures of what is in the store are right after a complete sweep.
    fn stats(&self) -> StoreStats;
}

/// What a lookup found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<H> {
    /// What is known of the flow. A caller that knows better may put its own answer here before it
    /// writes.
    pub answer: Lookup,
    /// Whether the answer stands until one of the flow's [`Lines`] is written or the epoch ends.
    pub settled: bool,
    /// Where the flow was found.
    pub handle: H,
}

/// The cache lines that hold a flow, by the lowest byte of their numbers.
///
/// Within an epoch, the [settled](Found::settled) answer for a flow changes only with an insertion,
/// modification or deletion of a flow that shares a line with it; and only such a write can make it
/// less recently touched. So a caller that counts writes by line can keep answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines(pub [u8; 2]);

impl Lines {
    /// For flows with cells in more lines than two: each counts as sharing a line with all others.
    pub const ALL: Lines = Lines([0, 0]);

    /// These two lines.
    #[inline]
    pub const fn of(one: usize, other: usize) -> Lines {
        Lines([one as u8, other as u8])
    }
}

/// The result of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insertion {
    /// The flow is stored.
    Stored {
        /// How many of its cells were in use already: by other flows, or by its own residue. Which
        /// of the two is unknown here; a caller that knows that this flow was stored before
        /// (the exact shadow) can count insertions onto residue with it.
        shared_cells: usize,
        /// What a lookup would answer now, where that is known without one.
        answer: Option<Lookup>,
    },
    /// The flow is stored, and the longest idle one was evicted for it.
    Evicted,
    /// There is no room: the flow is not in, and all others are as they were.
    Full,
}

impl Insertion {
    /// The flow is stored, and shares no cell.
    pub const STORED: Insertion = Insertion::Stored { shared_cells: 0, answer: None };
}
