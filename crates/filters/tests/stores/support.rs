//! What the tests share: flows, and any store that a specification can ask for.

use acsm_filters::snapshot::{Persist, SectionKind, SnapshotReader, SnapshotWriter};
use acsm_filters::{
    Backend, Bhbf, BhbfRule, Budget, Dbf, Exact, Expire, Fcf, HALVES, Kbf, KbfRule, Recycling,
    STAMPS, Sbf, SbfRule, Sizing, Store, StoreError, StoreSpec, UNTIMED, array_bytes,
};

pub use acsm_filters::testing::{Flow, FlowKey, Flows, claiming, flows, locate};

/// Code that works with any store.
pub trait StoreUser {
    type Output;

    /// `make` makes an empty shard.
    fn run<S: Store<Key: FlowKey> + Persist>(
        self,
        make: impl Fn() -> Result<S, StoreError>,
    ) -> Self::Output;
}

/// Where the lines of a store are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Owned,
    /// Borrowed bytes at an odd address.
    Borrowed,
}

/// Zeros for one array of lines, at an odd address. They are never freed, so that a store over them
/// can be made anywhere in a test.
pub fn unaligned_bytes(sizing: &Sizing) -> &'static mut [u8] {
    let needed = array_bytes(sizing);
    let bytes = vec![0; needed + 1].leak();
    let odd = 1 - bytes.as_ptr().addr() % 2;
    &mut bytes[odd..odd + needed]
}

/// Runs `user` with the store that `spec` asks for.
pub fn with_store<U: StoreUser>(spec: &StoreSpec, memory: Memory, user: U) -> U::Output {
    let sizing = spec.sizing().unwrap();
    let (timed, states) = (spec.expire.is_timed(), spec.states);
    let bytes = || unaligned_bytes(&sizing);
    /// A store of cells: of this width, if it has several, and with this rule.
    macro_rules! store {
        ($store:ident, [$($bits:literal)?], $rule:expr) => {
            match (spec.expire, memory) {
                (Expire::Stamps, Memory::Owned) => {
                    user.run(|| $store::<$($bits,)? STAMPS>::new($rule, &sizing))
                }
                (Expire::Stamps, Memory::Borrowed) => {
                    user.run(|| $store::<$($bits,)? STAMPS, _>::over(bytes(), $rule, &sizing))
                }
                (Expire::Timer, Memory::Owned) => {
                    user.run(|| $store::<$($bits,)? HALVES>::new($rule, &sizing))
                }
                (Expire::Timer, Memory::Borrowed) => {
                    user.run(|| $store::<$($bits,)? HALVES, _>::over(bytes(), $rule, &sizing))
                }
                (_, Memory::Owned) => {
                    let array = || $store::<$($bits,)? UNTIMED>::new($rule, &sizing);
                    user.run(|| Recycling::new(&sizing, array))
                }
                (_, Memory::Borrowed) => {
                    let array = || $store::<$($bits,)? UNTIMED, _>::over(bytes(), $rule, &sizing);
                    user.run(|| Recycling::new(&sizing, array))
                }
            }
        };
    }
    let kbf = |cell_bits| KbfRule::for_spec(spec, cell_bits);
    match (spec.backend, sizing.cell_bits) {
        (Backend::Exact, _) => match spec.budget {
            Budget::MemoryBytes(_) => user.run(|| Exact::<u32>::capped(&sizing, timed)),
            Budget::FpRate(_) => user.run(|| Exact::<u32>::growing(&sizing, timed)),
        },
        (Backend::Sbf, 8) => store!(Sbf, [8], SbfRule::for_spec(spec)),
        (Backend::Sbf, 16) => store!(Sbf, [16], SbfRule::for_spec(spec)),
        (Backend::Sbf, _) => store!(Sbf, [32], SbfRule::for_spec(spec)),
        (Backend::Kbf, 8) => store!(Kbf, [8], kbf(8)),
        (Backend::Kbf, 16) => store!(Kbf, [16], kbf(16)),
        (Backend::Kbf, _) => store!(Kbf, [32], kbf(32)),
        (Backend::Bhbf, _) => store!(Bhbf, [], BhbfRule::new(states)),
        (Backend::Dbf, 4) => store!(Dbf, [4], states),
        (Backend::Dbf, 2) => store!(Dbf, [2], states),
        (Backend::Dbf, _) => store!(Dbf, [1], states),
        (Backend::Fcf, _) => match (timed, memory) {
            (true, Memory::Owned) => user.run(|| Fcf::<true>::new(states, &sizing)),
            (true, Memory::Borrowed) => user.run(|| Fcf::<true, _>::over(bytes(), states, &sizing)),
            (false, Memory::Owned) => user.run(|| Fcf::<false>::new(states, &sizing)),
            (false, Memory::Borrowed) => {
                user.run(|| Fcf::<false, _>::over(bytes(), states, &sizing))
            }
        },
    }
}

/// A snapshot with one section.
pub fn saved(kind: SectionKind, value: &impl Persist) -> Vec<u8> {
    let mut out = SnapshotWriter::new(vec![]).unwrap();
    out.save(kind, value).unwrap();
    out.finish().unwrap()
}

/// `empty` after `value` was saved and loaded into it.
pub fn saved_and_loaded<T: Persist>(kind: SectionKind, value: &T, empty: T) -> T {
    let saved = saved(kind, value);
    let mut input = SnapshotReader::new(&saved[..]).unwrap();
    let loaded = input.load(kind, empty).unwrap();
    input.finish().unwrap();
    loaded
}
