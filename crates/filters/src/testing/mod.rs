//! What the author of a store needs to check it: random operations against a slow model, and the errors
//! that it makes.
//!
//! # Properties
//!
//! * [`conform`] gives a store and a model of its rules the same random operations: insertions, changes of
//!   state with right and wrong claims about the old one, deletions, touches, sweeps, and time that
//!   jumps. After each step all flows must be answered alike, and in the end the counts
//!   must be equal. A failure is a [`Divergence`] with the fewest steps that show it.
//! * [`errors_of`] fills a store with flows and counts what it then answers wrongly, by kind.
//! * Both are deterministic: the same seed gives the same operations.
//!
//! # Usage
//!
//! A model is written from the rules of the structure and from nothing else: plain collections, whole
//! numbers, no bit of cleverness. [`SlowExact`] is the one of an exact table.
//!
//! ```
//! use acsm_filters::testing::{SlowExact, conform, errors_of};
//! use acsm_filters::{Backend, Exact, Expire, StoreSpec};
//!
//! let spec = StoreSpec { expire: Expire::Timer, flows: 1, ..StoreSpec::new(Backend::Exact, 6) };
//! let sizing = spec.sizing()?;
//! let make = || Exact::<u32>::growing(&sizing, true);
//! conform(make, |_start| SlowExact::new(None, true), 6, 20)?;
//!
//! let errors = errors_of(&mut make()?, 1000, 6, 10_000);
//! assert_eq!((errors.wrong_of_stored(), errors.absent_found), (0, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/my_store.rs` adds a store of one's own to a comparison with those of this crate.
//!
//! # Implementation
//!
//! | file | what |
//! |---|---|
//! | `operation` | the operations, and random lists of them |
//! | `pair` | a store and its model, given the same operations |
//! | `exact` | the slow model of an exact table |
//! | `errors` | errors of a full store, by kind |

mod errors;
mod exact;
mod operation;
mod pair;

pub use errors::{ErrorCounts, errors_of};
pub use exact::SlowExact;
pub use operation::{Claim, FLOWS, Operation, Step, random_steps};
pub use pair::{Divergence, conform, run_steps};

use crate::digest::FlowId;
use crate::rng::Random;
use crate::state::{Lookup, State};
use crate::store::{Found, Store};

/// A flow: its digest, and the number that is its key in exact tables.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// The digest.
    pub id: FlowId,
    /// The key.
    pub key: u32,
}

/// The key of a flow as a store takes it: `()` for filters.
pub trait FlowKey: Copy {
    /// That of this flow.
    fn of(flow: &Flow) -> Self;
}

impl FlowKey for () {
    fn of(_flow: &Flow) {}
}

impl FlowKey for u32 {
    fn of(flow: &Flow) -> u32 {
        flow.key
    }
}

/// Where a flow is stored.
pub fn locate<S: Store<Key: FlowKey>>(store: &S, flow: &Flow) -> S::Place {
    store.locate(flow.id, S::Key::of(flow))
}

/// What was found, with another answer.
pub fn claiming<H>(found: Found<H>, answer: Lookup) -> Found<H> {
    Found { answer, ..found }
}

/// An endless sequence of random flows.
#[derive(Debug, Clone)]
pub struct Flows {
    random: Random,
    next_key: u32,
}

/// The flows of a seed.
pub fn flows(seed: u64) -> Flows {
    Flows { random: Random::new(seed), next_key: 0 }
}

impl Iterator for Flows {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let [high, low] = [self.random.next_u64(), self.random.next_u64()].map(u128::from);
        self.next_key = self.next_key.wrapping_add(1);
        Some(Flow { id: FlowId(high << 64 | low), key: self.next_key })
    }
}

/// What a model counts: the figures of the same name of [`StoreStats`](crate::StoreStats).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // as there
pub struct Counts {
    pub occupied: u64,
    pub aged: u64,
    pub evicted: u64,
    pub full: u64,
    pub inserts_of_present: u64,
    pub writes_to_absent: u64,
    pub saturations: u64,
    pub recycles: u64,
}

/// A slow model of a store.
///
/// Time is a whole number of epochs. `at` is the epoch that an operation leaves on what it writes: this
/// one, or for a [half stamp](crate::Epoch::half_stamp) the one before.
pub trait SlowStore {
    /// The epoch is `now` from here on. What is stale is cleared.
    fn advance(&mut self, now: i64);
    /// What is known of a flow.
    fn lookup(&self, flow: &Flow) -> Lookup;
    /// Keeps a flow alive, of which this answer is given.
    fn touch(&mut self, flow: &Flow, found: Lookup, at: i64);
    /// Adds a flow.
    fn insert(&mut self, flow: &Flow, state: State, at: i64);
    /// Changes the state of a flow, of which this answer is given.
    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64);
    /// Removes a flow, of which this answer is given.
    fn delete(&mut self, flow: &Flow, old: Lookup);
    /// The insertion that follows was refused by a store that may give up its search for room.
    fn expect_full(&mut self) {}
    /// Whether one more flow is within the plan; `None` if the model does not say.
    fn has_room(&self) -> Option<bool> {
        None
    }
    /// What was counted so far.
    fn counts(&self) -> Counts;
}
