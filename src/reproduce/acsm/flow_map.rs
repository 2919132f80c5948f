//! Any store as a map from flows to states: look up, then act on the answer.

use acsm_filters::{
    Backend, Bhbf, BhbfRule, Dbf, Epoch, Expire, Fcf, FlowId, HALVES, Kbf, KbfRule, Lookup, STAMPS,
    Sbf, SbfRule, Sizing, State, Store, StoreSpec, UNTIMED,
};

use crate::reproduce::Failure;

/// What is done with a flow after its lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// It is kept alive.
    Touch,
    /// It is inserted, whatever the answer.
    Insert(State),
    /// It changes its state.
    Modify(State),
    /// It ends.
    Delete,
}

/// One shard of any store.
pub trait FlowMap {
    /// Looks a flow up, and does what `choose` makes of the answer, which is returned.
    fn act(&mut self, id: FlowId, now: Epoch, choose: &dyn Fn(Lookup) -> Action) -> Lookup;

    /// Clears what is stale.
    fn sweep(&mut self, now: Epoch);

    /// The part of its cells that is in use.
    fn fill(&self) -> f64;
}

struct Shard<S>(S);

impl<S: Store<Key = ()>> FlowMap for Shard<S> {
    fn act(&mut self, id: FlowId, now: Epoch, choose: &dyn Fn(Lookup) -> Action) -> Lookup {
        let place = self.0.locate(id, ());
        let found = self.0.lookup(&place, now);
        match choose(found.answer) {
            Action::None => {}
            Action::Touch => self.0.touch(&place, &found, now.stamp()),
            Action::Insert(state) => {
                self.0.insert(&place, state, now.stamp());
            }
            Action::Modify(state) => {
                self.0.modify(&place, &found, state, now.stamp());
            }
            Action::Delete => self.0.delete(&place, &found, now),
        }
        found.answer
    }

    fn sweep(&mut self, now: Epoch) {
        while self.0.sweep(now, 1 << 20) > 0 {}
    }

    fn fill(&self) -> f64 {
        self.0.stats().fill_ratio()
    }
}

/// An empty shard of the store that `spec` describes, one of sixteen.
pub fn shard_of(spec: &StoreSpec) -> Result<Box<dyn FlowMap>, Failure> {
    let sizing = spec.sizing()?;
    match spec.expire {
        Expire::Timer => aging::<HALVES>(spec, &sizing),
        Expire::Stamps => aging::<STAMPS>(spec, &sizing),
        _ => aging::<UNTIMED>(spec, &sizing),
    }
}

fn aging<const AGING: u8>(spec: &StoreSpec, sizing: &Sizing) -> Result<Box<dyn FlowMap>, Failure> {
    fn boxed<S: Store<Key = ()> + 'static>(shard: S) -> Result<Box<dyn FlowMap>, Failure> {
        Ok(Box::new(Shard(shard)))
    }
    let states = spec.states;
    let kbf = |cell_bits| KbfRule::for_spec(spec, cell_bits);
    match (spec.backend, sizing.cell_bits) {
        (Backend::Dbf, 1) => boxed(Dbf::<1, AGING>::new(states, sizing)?),
        (Backend::Dbf, 2) => boxed(Dbf::<2, AGING>::new(states, sizing)?),
        (Backend::Dbf, 4) => boxed(Dbf::<4, AGING>::new(states, sizing)?),
        (Backend::Sbf, 8) => boxed(Sbf::<8, AGING>::new(SbfRule::for_spec(spec), sizing)?),
        (Backend::Kbf, 8) => boxed(Kbf::<8, AGING>::new(kbf(8), sizing)?),
        (Backend::Kbf, 16) => boxed(Kbf::<16, AGING>::new(kbf(16), sizing)?),
        (Backend::Bhbf, _) => boxed(Bhbf::<AGING>::new(BhbfRule::new(states), sizing)?),
        (Backend::Fcf, _) if AGING == UNTIMED => boxed(Fcf::<false>::new(states, sizing)?),
        (Backend::Fcf, _) => boxed(Fcf::<true>::new(states, sizing)?),
        (backend, bits) => {
            Err(Failure::Other(format!("no experiment has {backend:?} in cells of {bits} bits")))
        }
    }
}
