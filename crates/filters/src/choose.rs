//! The one place where a kind of store becomes a type.

use super::{
    Bhbf, BhbfRule, Dbf, Erase, Exact, Fcf, Gated, Kbf, KbfRule, Recent, Recycling, Sbf, SbfRule,
    Store, StoreError, Striped,
};
use crate::memory::Arena;
use crate::spec::{Backend, Budget, Expire, Sizing, StoreSpec};

/// Code that works with any store: a generic function with what it needs.
pub trait StoreUser {
    /// What it returns.
    type Output;

    /// Runs it. `make` gives an empty shard; there are [`FlowId::SHARDS`](crate::digest::FlowId) of
    /// them.
    fn run<S: Store + 'static>(self, make: impl Fn() -> Result<S, StoreError>) -> Self::Output;
}

/// Runs `user` with the kind of store that `spec` asks for, behind its gate if it has one.
pub fn with_store<U: StoreUser>(spec: &StoreSpec, user: U) -> Result<U::Output, StoreError> {
    let gate = spec.gate.map(|gate| gate.sizing(spec)).transpose()?;
    choose(spec, Behind { gate, user })
}

/// Puts a gate, or none, before whatever store was chosen.
struct Behind<U> {
    gate: Option<Sizing>,
    user: U,
}

impl<U: StoreUser> StoreUser for Behind<U> {
    type Output = U::Output;

    fn run<S: Store + 'static>(self, make: impl Fn() -> Result<S, StoreError>) -> Self::Output {
        self.user.run(|| Gated::new(make()?, self.gate.as_ref()))
    }
}

fn choose<U: StoreUser>(spec: &StoreSpec, user: U) -> Result<U::Output, StoreError> {
    let sizing = spec.sizing()?;
    let timed = spec.expire == Expire::Timer;
    let arena = Arena::with_capacity(((sizing.bits - sizing.gate_bits) / 8) as usize);
    Ok(match (spec.backend, sizing.cell_bits) {
        (Backend::Exact, _) => match spec.budget {
            Budget::MemoryBytes(_) => user.run(|| Exact::capped(&sizing, timed)),
            Budget::FpRate(_) => user.run(|| Exact::growing(&sizing, timed)),
        },
        (Backend::Sbf, 8) => sbf::<8, U>(&arena, spec, &sizing, user),
        (Backend::Sbf, 16) => sbf::<16, U>(&arena, spec, &sizing, user),
        (Backend::Sbf, _) => sbf::<32, U>(&arena, spec, &sizing, user),
        (Backend::Kbf, 8) => kbf::<8, U>(&arena, spec, &sizing, user),
        (Backend::Kbf, 16) => kbf::<16, U>(&arena, spec, &sizing, user),
        (Backend::Kbf, _) => kbf::<32, U>(&arena, spec, &sizing, user),
        (Backend::Bhbf, _) => bhbf(&arena, spec, &sizing, user),
        (Backend::Dbf, _) => dbf(&arena, spec, &sizing, user),
        (Backend::Fcf, _) if timed => {
            aging(|| Fcf::<true>::new_in(&arena, spec.states, &sizing), user)
        }
        (Backend::Fcf, _) => aging(|| Fcf::<false>::new_in(&arena, spec.states, &sizing), user),
    })
}

/// Runs `user` with stores that the timer empties, or nothing.
fn aging<S: Striped + 'static, U: StoreUser>(
    make: impl Fn() -> Result<S, StoreError>,
    user: U,
) -> U::Output {
    user.run(|| make().map(Recent::new))
}

/// Runs `user` with stores that empty themselves, or never.
fn recycling<S: Striped + Erase + 'static, U: StoreUser>(
    sizing: &Sizing,
    make: impl Fn() -> Result<S, StoreError>,
    user: U,
) -> U::Output {
    user.run(|| Recycling::new(sizing, || make().map(Recent::new)))
}

fn sbf<const BITS: u32, U: StoreUser>(
    arena: &Arena,
    spec: &StoreSpec,
    sizing: &Sizing,
    user: U,
) -> U::Output {
    let rule = SbfRule::<BITS>::new(spec.sbf);
    match spec.expire {
        Expire::Timer => aging(|| Sbf::<BITS, true>::new_in(arena, rule, sizing), user),
        _ => recycling(sizing, || Sbf::<BITS, false>::new_in(arena, rule, sizing), user),
    }
}

fn kbf<const BITS: u32, U: StoreUser>(
    arena: &Arena,
    spec: &StoreSpec,
    sizing: &Sizing,
    user: U,
) -> U::Output {
    let rule = KbfRule::new(spec.states, spec.decode);
    match spec.expire {
        Expire::Timer => aging(|| Kbf::<BITS, true>::new_in(arena, rule.clone(), sizing), user),
        _ => recycling(sizing, || Kbf::<BITS, false>::new_in(arena, rule.clone(), sizing), user),
    }
}

fn bhbf<U: StoreUser>(arena: &Arena, spec: &StoreSpec, sizing: &Sizing, user: U) -> U::Output {
    let rule = BhbfRule::new(spec.states);
    match spec.expire {
        Expire::Timer => aging(|| Bhbf::<true>::new_in(arena, rule, sizing), user),
        _ => recycling(sizing, || Bhbf::<false>::new_in(arena, rule, sizing), user),
    }
}

fn dbf<U: StoreUser>(arena: &Arena, spec: &StoreSpec, sizing: &Sizing, user: U) -> U::Output {
    let states = spec.states;
    match (spec.expire, spec.dbf_counters) {
        (Expire::Timer, true) => aging(|| Dbf::<2, true>::new_in(arena, states, sizing), user),
        (Expire::Timer, false) => aging(|| Dbf::<1, true>::new_in(arena, states, sizing), user),
        (_, true) => recycling(sizing, || Dbf::<2, false>::new_in(arena, states, sizing), user),
        (_, false) => recycling(sizing, || Dbf::<1, false>::new_in(arena, states, sizing), user),
    }
}
