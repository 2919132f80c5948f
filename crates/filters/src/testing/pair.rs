//! A store and its slow model, which are given the same operations.

use std::error::Error;
use std::fmt;

use super::operation::{Claim, FLOWS, Operation, Step, random_steps};
use super::{Counts, Flow, FlowKey, SlowStore, claiming, locate};
use crate::aging::{Epoch, Stamp};
use crate::digest::FlowId;
use crate::error::StoreError;
use crate::rng::Random;
use crate::state::{Lookup, State};
use crate::store::{Found, Insertion, Store};

/// A store that does not do what its model does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The steps that show it.
    pub steps: Vec<Step>,
    /// The epoch in which they start.
    pub start: u32,
    /// What differs after the last one.
    pub what: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, after these steps from epoch {} on:", self.what, self.start)?;
        for (number, Step { flow, operation, half }) in (1..).zip(&self.steps) {
            let stamp = if *half { ", half stamp" } else { "" };
            writeln!(f, "{number:>4}. flow {flow}: {operation:?}{stamp}")?;
        }
        Ok(())
    }
}

impl Error for Divergence {}

/// Gives a store and its model the same random operations, `cases` lists of them.
///
/// `make` makes an empty store, for small numbers of flows, so that they meet; `model` its empty model, given the epoch
/// in which it starts. `states` is how many states the store has.
pub fn conform<S: Store<Key: FlowKey>, M: SlowStore>(
    make: impl Fn() -> Result<S, StoreError>,
    model: impl Fn(u32) -> M,
    states: usize,
    cases: u32,
) -> Result<(), Divergence> {
    for case in 0..cases {
        // From the first epoch, from a later one, and from one before the numbers wrap.
        let start = [0, case % 10, 1 << 31][case as usize % 3];
        let run = |steps: &[Step]| {
            let fast = make().map_err(|error| error.to_string())?;
            run_steps(fast, model(start), states, start, steps)
        };
        let steps = random_steps(case.into());
        if let Err(what) = run(&steps) {
            return Err(shrunk(steps, start, what, run));
        }
    }
    Ok(())
}

/// Leaves out every step without which the two still differ.
fn shrunk(
    mut steps: Vec<Step>,
    start: u32,
    mut what: String,
    run: impl Fn(&[Step]) -> Result<(), String>,
) -> Divergence {
    let mut at = steps.len();
    while at > 0 {
        at -= 1;
        let mut fewer = steps.clone();
        fewer.remove(at);
        if let Err(still) = run(&fewer) {
            (steps, what) = (fewer, still);
            at = at.min(steps.len());
        }
    }
    Divergence { steps, start, what }
}

/// Runs these steps on an empty store and its empty model. An error says what differs, at the first
/// step after which something does.
pub fn run_steps<S: Store<Key: FlowKey>, M: SlowStore>(
    fast: S,
    slow: M,
    states: usize,
    start: u32,
    steps: &[Step],
) -> Result<(), String> {
    let flows = flows(start.into());
    let mut pair = Pair { fast, slow, states: states.max(1), flows, now: start };
    for &step in steps {
        pair.step(step)?;
        pair.compare()?;
    }
    pair.compare_counts()
}

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
struct Pair<S, M> {
    fast: S,
    slow: M,
    states: usize,
    flows: Vec<Flow>,
    now: u32,
}

impl<S: Store<Key: FlowKey>, M: SlowStore> Pair<S, M> {
    fn found(&mut self, flow: &Flow) -> Found<S::Handle> {
        self.fast.lookup(&locate(&self.fast, flow), Epoch(self.now))
    }

    fn state(&self, index: usize) -> State {
        State::new(index % self.states).unwrap_or(State::FIRST)
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        let flow = self.flows[step.flow % FLOWS];
        let now = Epoch(self.now);
        let time: (Stamp, i64) = match step.half {
            false => (now.stamp(), i64::from(self.now)),
            true => (now.half_stamp(), i64::from(self.now) - 1),
        };
        let found = self.found(&flow);
        let claimed = |pair: &Self, claim: Claim| match claim {
            Claim::Answered => found,
            Claim::Known(index) => claiming(found, Lookup::Known(pair.state(index))),
            Claim::DontKnow => claiming(found, Lookup::DontKnow),
        };
        match step.operation {
            Operation::Packet(index) if found.answer != Lookup::Absent => {
                self.modify(&flow, found, self.state(index), time)?;
            }
            Operation::Packet(index) | Operation::Insert(index) => {
                self.insert(&flow, self.state(index), time)?;
            }
            Operation::Touch(claim) => self.touch(&flow, claimed(self, claim), time),
            Operation::TouchAsAbsent => self.touch(&flow, claiming(found, Lookup::Absent), time),
            Operation::Modify(old, new) => {
                self.modify(&flow, claimed(self, old), self.state(new), time)?;
            }
            Operation::Delete(old) => self.delete(&flow, claimed(self, old)),
            Operation::Interleaved { deleted, inserted, loaded, state } => {
                let [gone, new, other] = [deleted, inserted, loaded].map(|n| self.flows[n % FLOWS]);
                let state = self.state(state);
                let found = self.found(&gone);
                self.delete(&gone, claiming(found, Lookup::Known(state)));
                self.insert(&new, state, time)?;
                self.fast.prefetch(&locate(&self.fast, &other));
                let found = self.found(&flow);
                self.touch(&flow, found, (now.stamp(), i64::from(self.now)));
            }
            Operation::Sweep(budget) => {
                self.fast.sweep(now, budget);
            }
            Operation::Wait(epochs) => {
                self.now = self.now.saturating_add(epochs);
                self.slow.advance(i64::from(self.now));
            }
        }
        Ok(())
    }

    fn insert(&mut self, flow: &Flow, state: State, time: (Stamp, i64)) -> Result<(), String> {
        let insertion = self.fast.insert(&locate(&self.fast, flow), state, time.0);
        if insertion == Insertion::Full {
            self.slow.expect_full();
        }
        self.slow.insert(flow, state, time.1);
        match insertion {
            Insertion::Stored { answer: Some(answer), .. } => {
                self.foretold("an insertion", flow, answer)
            }
            _ => Ok(()),
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
    ) -> Result<(), String> {
        let answer = self.fast.modify(&locate(&self.fast, flow), &found, new, stamp);
        self.slow.modify(flow, found.answer, new, at);
        answer.map_or(Ok(()), |answer| self.foretold("a modification", flow, answer))
    }

    fn delete(&mut self, flow: &Flow, found: Found<S::Handle>) {
        self.fast.delete(&locate(&self.fast, flow), &found, Epoch(self.now));
        self.slow.delete(flow, found.answer);
    }

    /// What an operation says that a lookup would answer now.
    fn foretold(&mut self, by: &str, flow: &Flow, answer: Lookup) -> Result<(), String> {
        let found = self.found(flow).answer;
        match found == answer {
            true => Ok(()),
            false => Err(format!("{by} says {answer:?}, and a lookup {found:?}")),
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        for n in 0..self.flows.len() {
            let flow = self.flows[n];
            let (fast, slow) = (self.found(&flow).answer, self.slow.lookup(&flow));
            if fast != slow {
                let now = self.now;
                return Err(format!(
                    "the store answers {fast:?} for flow {n} at epoch {now}, its model {slow:?}"
                ));
            }
        }
        // What no sweep has cleared yet takes room.
        match self.slow.has_room() == Some(false) && self.fast.has_room() {
            true => Err("the store has room, its model has none".to_owned()),
            false => Ok(()),
        }
    }

    fn compare_counts(&mut self) -> Result<(), String> {
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
        let slow = self.slow.counts();
        if fast != slow {
            return Err(format!("the store counts\n  {fast:?}\nits model\n  {slow:?}\n"));
        }
        match self.slow.has_room().is_none_or(|has_room| self.fast.has_room() == has_room) {
            true => Ok(()),
            false => Err("the store and its model differ in whether there is room".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SlowExact;
    use super::*;
    use crate::exact::Exact;
    use crate::spec::{Backend, Expire, StoreSpec};

    #[test]
    fn a_store_that_forgets_too_late_is_caught_with_few_steps() {
        let spec =
            StoreSpec { expire: Expire::Timer, flows: 1, ..StoreSpec::new(Backend::Exact, 6) };
        let sizing = spec.sizing().expect("a size");
        let of = |timed: bool| {
            conform(|| Exact::<u32>::growing(&sizing, true), |_| SlowExact::new(None, timed), 6, 50)
        };
        assert_eq!(of(true), Ok(()));
        // A model that never forgets stands for a store that forgets although it should not.
        let divergence = of(false).expect_err("they differ");
        assert!((1..=4).contains(&divergence.steps.len()), "{divergence}");
        assert!(divergence.to_string().contains("1. flow "), "{divergence}");
    }
}
