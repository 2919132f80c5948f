//! The rule of a filter of cells: what one flow does to one of its cells, and what its cells say together.

use crate::state::{Lookup, State};

/// How a flow changes one of its cells, and what its cells say together. A cell is a number: 0 if
/// it is empty.
pub trait CellRule: Send {
    /// What distinguishes the flows on a cell, for rules that need it; else `()`, which costs
    /// nothing.
    type Salt;

    /// Whether a flow can be modified and deleted when its old state is unknown.
    const WRITES_WITHOUT_OLD_STATE: bool;

    /// Whether cells can be [repaired](CellRule::repaired).
    const REPAIRS: bool = false;

    /// The salts of the flow with this digest, one for each of its cells.
    fn salts(&self, digest: u64) -> impl Iterator<Item = Self::Salt>;

    /// The cell after a flow in this state was inserted.
    fn insert(&self, cell: u32, salt: Self::Salt, state: State) -> u32;

    /// The cell, which was not empty, after a flow changed its state. `old` is `None` only if the
    /// rule [writes without it](CellRule::WRITES_WITHOUT_OLD_STATE).
    fn modify(&self, cell: u32, salt: Self::Salt, old: Option<State>, new: State) -> u32;

    /// The cell, which was not empty, after a flow was deleted. `old` as in
    /// [`modify`](CellRule::modify).
    fn delete(&self, cell: u32, salt: Self::Salt, old: Option<State>) -> u32;

    /// The state by the cells of a flow, none of which is empty.
    fn read(&self, cells: &[u32], salts: impl Iterator<Item = Self::Salt>) -> Lookup;

    /// Whether the count of this cell is at its maximum, where it stays until the cell ages.
    fn is_saturated(&self, cell: u32) -> bool;

    /// The cell of a flow that is known to be in this state, if that says more about the cell than
    /// the cell does.
    #[inline]
    fn repaired(&self, cell: u32, _state: State) -> u32 {
        cell
    }
}
