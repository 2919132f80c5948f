//! Errors of a store that is filled with flows.

use super::{Flow, FlowKey, flows, locate};
use crate::aging::Epoch;
use crate::rng::Random;
use crate::state::{Lookup, State};
use crate::store::Store;

/// What a store answers for flows that it holds, and for absent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorCounts {
    /// Flows that were stored and asked for.
    pub stored: u64,
    /// Of these, those that seem absent.
    pub not_found: u64,
    /// Those with another state.
    pub wrong_state: u64,
    /// Those of which the state is not known.
    pub dont_know: u64,
    /// Flows that were asked for and never stored.
    pub absent: u64,
    /// Of these, those that have a state.
    pub absent_found: u64,
    /// Those that seem to be there, without a known state.
    pub absent_dont_know: u64,
}

impl ErrorCounts {
    /// Stored flows that are not answered rightly.
    pub const fn wrong_of_stored(&self) -> u64 {
        self.not_found + self.wrong_state + self.dont_know
    }
}

/// Inserts `count` random flows in random states, each in its first packet; asks for all of them,
/// then for `absent` others.
pub fn errors_of<S: Store<Key: FlowKey>>(
    store: &mut S,
    count: usize,
    states: usize,
    absent: usize,
) -> ErrorCounts {
    let (mut source, mut random) = (flows(1), Random::new(2));
    let now = Epoch(0);
    let mut stored: Vec<(Flow, State)> = vec![];
    for flow in source.by_ref().take(count) {
        let state = State::new(random.below(states as u64) as usize).unwrap_or(State::FIRST);
        store.insert(&locate(store, &flow), state, now.stamp());
        stored.push((flow, state));
    }
    let mut errors =
        ErrorCounts { stored: count as u64, absent: absent as u64, ..Default::default() };
    for (flow, state) in &stored {
        match store.lookup(&locate(store, flow), now).answer {
            Lookup::Known(known) if known == *state => {}
            Lookup::Known(_) => errors.wrong_state += 1,
            Lookup::Absent => errors.not_found += 1,
            Lookup::DontKnow => errors.dont_know += 1,
        }
    }
    for flow in source.take(absent) {
        match store.lookup(&locate(store, &flow), now).answer {
            Lookup::Known(_) => errors.absent_found += 1,
            Lookup::DontKnow => errors.absent_dont_know += 1,
            Lookup::Absent => {}
        }
    }
    errors
}
