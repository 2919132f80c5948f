//! Generic code run with the type of store that a specification asks for: what the engine does behind
//! its shards, here with direct access to the store.

use acsm::flow::FlowKey;
use acsm_filters::{
    Backend, Bhbf, BhbfRule, Dbf, Erase, Exact, Expire, Fcf, Kbf, KbfRule, Recycling, Sbf, SbfRule,
    Sizing, Store, StoreError, StoreSpec,
};

/// What distinguishes two flows beyond the digest: nothing, or the full key.
pub trait TestKey: Copy {
    /// Of the flow with this key.
    fn of(key: FlowKey) -> Self;
}

impl TestKey for () {
    fn of(_key: FlowKey) {}
}

impl TestKey for FlowKey {
    fn of(key: FlowKey) -> FlowKey {
        key
    }
}

/// Code that works with any store.
pub trait StoreVisitor {
    /// What it returns.
    type Output;

    /// Runs it; `make` gives an empty shard.
    fn visit<S: Store<Key: TestKey>>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> Self::Output;
}

/// Runs `visitor` with the store that `spec` asks for. Cells have their narrowest width for up to six
/// states.
pub fn with_store<V: StoreVisitor>(spec: &StoreSpec, visitor: V) -> Result<V::Output, StoreError> {
    let sizing = spec.sizing()?;
    let (sizing, states, timed) = (&sizing, spec.states, spec.expire == Expire::Timer);
    let kbf = || KbfRule::new(states, spec.decode);
    let (sbf, bhbf) = (SbfRule::<8>::new(spec.sbf), BhbfRule::new(states));
    Ok(match (spec.backend, timed) {
        (Backend::Kbf, true) => visitor.visit(|| Kbf::<8, true>::new(kbf(), sizing)),
        (Backend::Sbf, true) => visitor.visit(|| Sbf::<8, true>::new(sbf, sizing)),
        (Backend::Bhbf, true) => visitor.visit(|| Bhbf::<true>::new(bhbf, sizing)),
        (Backend::Dbf, true) => visitor.visit(|| Dbf::<2, true>::new(states, sizing)),
        (Backend::Fcf, true) => visitor.visit(|| Fcf::<true>::new(states, sizing)),
        (Backend::Kbf, false) => recycling(sizing, visitor, || Kbf::<8, false>::new(kbf(), sizing)),
        (Backend::Sbf, false) => recycling(sizing, visitor, || Sbf::<8, false>::new(sbf, sizing)),
        (Backend::Bhbf, false) => recycling(sizing, visitor, || Bhbf::<false>::new(bhbf, sizing)),
        (Backend::Dbf, false) => {
            recycling(sizing, visitor, || Dbf::<2, false>::new(states, sizing))
        }
        (Backend::Fcf, false) => visitor.visit(|| Fcf::<false>::new(states, sizing)),
        (Backend::Exact, _) => visitor.visit(|| Exact::<FlowKey>::growing(sizing, timed)),
    })
}

fn recycling<S: Erase<Key = ()>, V: StoreVisitor>(
    sizing: &Sizing,
    visitor: V,
    make: impl Fn() -> Result<S, StoreError>,
) -> V::Output {
    visitor.visit(|| Recycling::new(sizing, &make))
}
