//! The state of a flow, and what a store answers when it is looked up.
//!
//! A [`State`] is a number; only the state machine has names for them. A store answers with a
//! [`Lookup`], which can be "don't know": in filters with shared cells not every state can be
//! decoded.

/// The state of a flow's machine: an index below [`State::LIMIT`] into its list of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(u8);

impl State {
    /// The most states that a machine can have: as many as the narrowest cells can encode.
    pub const LIMIT: usize = 16;

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

/// Some of the states of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StateSet(u16);

impl StateSet {
    /// No state.
    pub const EMPTY: StateSet = StateSet(0);

    /// Whether a state is one of them.
    pub const fn contains(self, state: State) -> bool {
        self.0 >> state.index() & 1 == 1
    }

    /// How many they are.
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl FromIterator<State> for StateSet {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> StateSet {
        StateSet(states.into_iter().fold(0, |set, state| set | 1 << state.index()))
    }
}

/// What a store answers when it is asked for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// The flow is absent (a filter with false negatives can be wrong about that).
    Absent,
    /// The flow is present in this state, as far as the store can tell.
    Known(State),
    /// The flow seems to be present, but its state cannot be decoded.
    DontKnow,
}
