//! The state of a flow, and what a store can say about it.
//!
//! A [`State`] is a number to everybody but the machine that has a name for it. A store answers with
//! a [`Lookup`], of which "don't know" is a part: filters that share cells cannot always tell.

/// The state of a flow's machine: an index below [`State::LIMIT`] into its list of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(u8);

impl State {
    /// How many states a machine can have at the most: what the narrow cells can encode.
    pub const LIMIT: usize = 16;

    /// The last of so many: few machines have it.
    pub const LAST: State = State(Self::LIMIT as u8 - 1);

    /// The first state.
    pub const FIRST: State = State(0);

    /// The state with this index; `None` at or above [`State::LIMIT`].
    pub const fn new(index: usize) -> Option<State> {
        if index < Self::LIMIT { Some(State(index as u8)) } else { None }
    }

    /// Its index in the machine's list.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a store answers when it is asked for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// The flow is not there (a filter with false negatives may be wrong in this too).
    Absent,
    /// The flow is there, in this state, as far as the store can tell.
    Known(State),
    /// The flow seems to be there, but its state cannot be told.
    DontKnow,
}
