//! Generic code run with the type of store that a specification asks for: what the engine does behind
//! its shards, here with direct access to the store.

use acsm::flow::FlowKey;
use acsm_filters::{
    Backend, Bhbf, BhbfRule, Dbf, Erase, Exact, Expire, Fcf, HALVES, Kbf, KbfRule, Recycling,
    STAMPS, Sbf, SbfRule, Sizing, Store, StoreError, StoreSpec, UNTIMED,
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
    let (sizing, states, timed) = (&sizing, spec.states, spec.expire.is_timed());
    let kbf = || KbfRule::for_spec(spec, 8);
    let (sbf, bhbf) = (SbfRule::<8>::for_spec(spec), BhbfRule::new(states));
    Ok(match (spec.backend, spec.expire) {
        (Backend::Exact, _) => visitor.visit(|| Exact::<FlowKey>::growing(sizing, timed)),
        (Backend::Fcf, _) if timed => visitor.visit(|| Fcf::<true>::new(states, sizing)),
        (Backend::Fcf, _) => visitor.visit(|| Fcf::<false>::new(states, sizing)),
        (Backend::Kbf, Expire::Stamps) => visitor.visit(|| Kbf::<8, STAMPS>::new(kbf(), sizing)),
        (Backend::Sbf, Expire::Stamps) => visitor.visit(|| Sbf::<8, STAMPS>::new(sbf, sizing)),
        (Backend::Bhbf, Expire::Stamps) => visitor.visit(|| Bhbf::<STAMPS>::new(bhbf, sizing)),
        (Backend::Dbf, Expire::Stamps) => visitor.visit(|| Dbf::<2, STAMPS>::new(states, sizing)),
        (Backend::Kbf, Expire::Timer) => visitor.visit(|| Kbf::<8, HALVES>::new(kbf(), sizing)),
        (Backend::Sbf, Expire::Timer) => visitor.visit(|| Sbf::<8, HALVES>::new(sbf, sizing)),
        (Backend::Bhbf, Expire::Timer) => visitor.visit(|| Bhbf::<HALVES>::new(bhbf, sizing)),
        (Backend::Dbf, Expire::Timer) => visitor.visit(|| Dbf::<4, HALVES>::new(states, sizing)),
        (Backend::Kbf, _) => recycling(sizing, visitor, || Kbf::<8, UNTIMED>::new(kbf(), sizing)),
        (Backend::Sbf, _) => recycling(sizing, visitor, || Sbf::<8, UNTIMED>::new(sbf, sizing)),
        (Backend::Bhbf, _) => recycling(sizing, visitor, || Bhbf::<UNTIMED>::new(bhbf, sizing)),
        (Backend::Dbf, _) => recycling(sizing, visitor, || Dbf::<2, UNTIMED>::new(states, sizing)),
    })
}

fn recycling<S: Erase<Key = ()>, V: StoreVisitor>(
    sizing: &Sizing,
    visitor: V,
    make: impl Fn() -> Result<S, StoreError>,
) -> V::Output {
    visitor.visit(|| Recycling::new(sizing, &make))
}
