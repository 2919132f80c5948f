//! A store and its slow model, which are given the same operations.

use acsm_filters::{
    Epoch, Expire, FlowId, Found, Insertion, Lookup, Random, Stamp, State, Store, StoreError,
    StoreSpec,
};
use proptest::prelude::*;

use super::slow_store::slow_store;
use super::steps::{Claim, FLOWS, Operation, Step};
use crate::slow::{Counts, Slow, cap};
use crate::support::{Flow, FlowKey, StoreUser, claiming, locate};

fn flows(seed: u64) -> Vec<Flow> {
    let mut random = Random::new(seed);
    let mut flow = |key: u32| Flow {
        key,
        // Few fingerprints, so that some flows look alike.
        id: FlowId(u128::from(random.below(4)) << 122 | u128::from(random.next_u64())),
    };
    (0..FLOWS as u32).map(&mut flow).collect()
}

/// Both stores, the same flows, one clock.
struct Pair<'a, S> {
    spec: &'a StoreSpec,
    fast: S,
    slow: Box<dyn Slow>,
    /// How much of it may be in use.
    limit: Option<u64>,
    flows: Vec<Flow>,
    now: u32,
}

impl<S: Store<Key: FlowKey>> Pair<'_, S> {
    fn found(&mut self, flow: &Flow) -> Found<S::Handle> {
        self.fast.lookup(&locate(&self.fast, flow), Epoch(self.now))
    }

    fn step(&mut self, step: Step) {
        let flow = self.flows[step.flow];
        let now = Epoch(self.now);
        let (stamp, at): (Stamp, i64) = match step.half {
            false => (now.stamp(), i64::from(self.now)),
            true => (now.half_stamp(), i64::from(self.now) - 1),
        };
        let states = self.spec.states;
        let state = |index: usize| State::new(index % states).unwrap();
        let found = self.found(&flow);
        let claimed = |claim: Claim| match claim {
            Claim::Answered => found,
            Claim::Known(index) => claiming(found, Lookup::Known(state(index))),
            Claim::DontKnow => claiming(found, Lookup::DontKnow),
        };
        match step.operation {
            Operation::Packet(index) if found.answer != Lookup::Absent => {
                self.modify(&flow, found, state(index), (stamp, at));
            }
            Operation::Packet(index) | Operation::Insert(index) => {
                self.insert(&flow, state(index), (stamp, at));
            }
            Operation::Touch(claim) => self.touch(&flow, claimed(claim), (stamp, at)),
            Operation::TouchAsAbsent => {
                self.touch(&flow, claiming(found, Lookup::Absent), (stamp, at));
            }
            Operation::Modify(old, new) => {
                self.modify(&flow, claimed(old), state(new), (stamp, at));
            }
            Operation::Delete(old) => self.delete(&flow, claimed(old)),
            Operation::Interleaved { deleted, inserted, loaded, state: index } => {
                let [gone, new, other] = [deleted, inserted, loaded].map(|n| self.flows[n]);
                let found = self.found(&gone);
                self.delete(&gone, claiming(found, Lookup::Known(state(index))));
                self.insert(&new, state(index), (stamp, at));
                self.fast.prefetch(&locate(&self.fast, &other));
                let found = self.found(&flow);
                self.touch(&flow, found, (now.stamp(), i64::from(self.now)));
            }
            Operation::Sweep(budget) => drop(self.fast.sweep(now, budget)),
            Operation::Wait(epochs) => {
                self.now = self.now.saturating_add(epochs);
                self.slow.advance(i64::from(self.now));
            }
        }
    }

    fn insert(&mut self, flow: &Flow, state: State, (stamp, at): (Stamp, i64)) {
        let insertion = self.fast.insert(&locate(&self.fast, flow), state, stamp);
        if insertion == Insertion::Full {
            self.slow.expect_full();
        }
        self.slow.insert(flow, state, at);
        if let Insertion::Stored { answer: Some(answer), .. } = insertion {
            assert_eq!(self.found(flow).answer, answer, "the answer that an insertion predicts");
        }
    }

    fn touch(&mut self, flow: &Flow, found: Found<S::Handle>, (stamp, at): (Stamp, i64)) {
        self.fast.touch(&locate(&self.fast, flow), &found, stamp);
        self.slow.touch(flow, found.answer, at);
    }

    fn modify(
        &mut self,
        flow: &Flow,
        found: Found<S::Handle>,
        new: State,
        (stamp, at): (Stamp, i64),
    ) {
        let answer = self.fast.modify(&locate(&self.fast, flow), &found, new, stamp);
        self.slow.modify(flow, found.answer, new, at);
        if let Some(answer) = answer {
            assert_eq!(self.found(flow).answer, answer, "the answer that a modification predicts");
        }
    }

    fn delete(&mut self, flow: &Flow, found: Found<S::Handle>) {
        self.fast.delete(&locate(&self.fast, flow), &found, Epoch(self.now));
        self.slow.delete(flow, found.answer);
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        for n in 0..self.flows.len() {
            let flow = self.flows[n];
            let (fast, slow) = (self.found(&flow).answer, self.slow.lookup(&flow));
            prop_assert_eq!(fast, slow, "flow {} at epoch {}", n, self.now);
        }
        // What no sweep has cleared yet takes room.
        prop_assert!(self.has_room() != Some(false) || !self.fast.has_room());
        Ok(())
    }

    /// Whether the flows in the slow store are within the plan. For two halves that is an estimate,
    /// which `cap` tests.
    fn has_room(&self) -> Option<bool> {
        let halves = self.spec.expire == Expire::Timer && self.spec.backend.has_cells();
        let has_room = self.limit.is_none_or(|limit| self.slow.counts().occupied < limit);
        (!halves).then_some(has_room)
    }

    fn compare_counts(&mut self) -> Result<(), TestCaseError> {
        while self.fast.sweep(Epoch(self.now), 100) > 0 {}
        let stats = self.fast.stats();
        let fast = Counts {
            occupied: stats.occupied,
            aged: stats.cells_aged,
            evicted: stats.evicted,
            full: stats.full,
            inserts_of_present: stats.inserts_of_present,
            writes_to_absent: stats.writes_to_absent,
            saturations: stats.saturations,
            recycles: stats.recycles,
        };
        prop_assert_eq!(fast, self.slow.counts());
        prop_assert!(self.has_room().is_none_or(|has_room| self.fast.has_room() == has_room));
        Ok(())
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
        let (fast, slow) = (make().unwrap(), slow_store(self.spec, self.start));
        let flows = flows(u64::from(self.start));
        let limit = cap::limit(self.spec);
        let mut pair = Pair { spec: self.spec, fast, slow, limit, flows, now: self.start };
        for &step in self.steps {
            pair.step(step);
            pair.compare()?;
        }
        pair.compare_counts()
    }
}
