//! A store and its slow model, which are given the same operations.

use acsm_filters::testing::{Counts, Flow, FlowKey, SlowStore, Step, run_steps};
use acsm_filters::{Expire, Lookup, State, Store, StoreError, StoreSpec};
use proptest::prelude::*;

use super::slow_store::slow_store;
use crate::slow::cap;
use crate::support::StoreUser;

/// A slow store with a plan.
struct Planned<'a> {
    spec: &'a StoreSpec,
    slow: Box<dyn SlowStore>,
    /// How much of it may be in use.
    limit: Option<u64>,
}

impl SlowStore for Planned<'_> {
    fn advance(&mut self, now: i64) {
        self.slow.advance(now);
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        self.slow.lookup(flow)
    }

    fn touch(&mut self, flow: &Flow, found: Lookup, at: i64) {
        self.slow.touch(flow, found, at);
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        self.slow.insert(flow, state, at);
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        self.slow.modify(flow, old, new, at);
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        self.slow.delete(flow, old);
    }

    fn expect_full(&mut self) {
        self.slow.expect_full();
    }

    /// Whether the flows in the slow store are within the plan. For two halves that is an estimate,
    /// which `cap` tests.
    fn has_room(&self) -> Option<bool> {
        let halves = self.spec.expire == Expire::Timer && self.spec.backend.has_cells();
        let has_room = self.limit.is_none_or(|limit| self.slow.counts().occupied < limit);
        (!halves).then_some(has_room)
    }

    fn counts(&self) -> Counts {
        self.slow.counts()
    }
}

pub struct Conform<'a> {
    pub spec: &'a StoreSpec,
    pub steps: &'a [Step],
    pub start: u32,
}

impl StoreUser for Conform<'_> {
    type Output = Result<(), TestCaseError>;

    fn run<S: Store<Key: FlowKey>>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> Result<(), TestCaseError> {
        let Conform { spec, steps, start } = self;
        let slow = Planned { spec, slow: slow_store(spec, start), limit: cap::limit(spec) };
        run_steps(make().unwrap(), slow, spec.states, start, steps).map_err(TestCaseError::fail)
    }
}
