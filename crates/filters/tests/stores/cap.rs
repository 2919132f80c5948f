//! The cap: a store that takes flows only while it has room for them stays within its plan.

use acsm_filters::{
    Backend, Budget, Epoch, Expire, FlowId, Insertion, LayoutKind, Lookup, State, Store,
    StoreError, StoreSpec,
};

use crate::support::{FlowKey, Memory, StoreUser, flows, locate, with_store};

const FLOWS: u64 = 40_000;
const RATE: f64 = 0.01;

/// What became of one shard that took flows as long as it had room.
struct Filled {
    stored: u64,
    /// How many of the absent flows it seems to have.
    found: f64,
}

struct Fill;

impl StoreUser for Fill {
    type Output = Filled;

    fn run<S: Store<Key: FlowKey>>(self, make: impl Fn() -> Result<S, StoreError>) -> Filled {
        let (mut shard, now) = (make().unwrap(), Epoch(0));
        let mut flows = flows(5);
        let mut stored = 0;
        for flow in flows.by_ref().take(FLOWS as usize) {
            if !shard.has_room() {
                break;
            }
            let insertion = shard.insert(&locate(&shard, &flow), State::FIRST, now.stamp());
            assert!(matches!(insertion, Insertion::Stored { .. }), "{insertion:?}");
            stored += 1;
        }
        let asked = 50_000;
        let is_found = |flow| shard.lookup(&locate(&shard, &flow), now).answer != Lookup::Absent;
        let found = flows.take(asked).map(is_found).filter(|found| *found).count();
        Filled { stored, found: found as f64 / asked as f64 }
    }
}

#[test]
fn a_shard_takes_its_share_and_no_more() {
    let share = FLOWS / FlowId::SHARDS as u64;
    for backend in [Backend::Fcf, Backend::Kbf, Backend::Bhbf, Backend::Sbf, Backend::Dbf] {
        for expire in [Expire::Timer, Expire::None] {
            let spec = StoreSpec {
                flows: FLOWS,
                expire,
                budget: Budget::FpRate(RATE),
                ..StoreSpec::new(backend, 1)
            };
            let Filled { stored, found } = with_store(&spec, Memory::Owned, Fill);
            assert!((share..share * 109 / 100).contains(&stored), "{backend:?}: {stored}");
            assert!(found < 1.4 * RATE, "{backend:?}: {found}");
        }
    }
}

/// Fills a shard, touches all flows in the next epoch, when it has both halves in use, and tries more.
struct FillTwice;

impl StoreUser for FillTwice {
    type Output = (u64, u64);

    fn run<S: Store<Key: FlowKey>>(self, make: impl Fn() -> Result<S, StoreError>) -> (u64, u64) {
        let mut shard = make().unwrap();
        let flows: Vec<_> = flows(5).take(FLOWS as usize).collect();
        let mut stored = 0;
        let mut fill = |shard: &mut S, now: Epoch| {
            while shard.has_room() && stored < flows.len() {
                shard.insert(&locate(shard, &flows[stored]), State::FIRST, now.stamp());
                stored += 1;
            }
            stored
        };
        let first = fill(&mut shard, Epoch(0));
        for flow in &flows[..first] {
            let place = locate(&shard, flow);
            let found = shard.lookup(&place, Epoch(1));
            shard.touch(&place, &found, Epoch(1).stamp());
        }
        let second = fill(&mut shard, Epoch(1));
        (first as u64, second as u64)
    }
}

#[test]
fn flows_in_both_halves_take_room_once() {
    for backend in [Backend::Kbf, Backend::Bhbf, Backend::Sbf] {
        let spec = StoreSpec { flows: FLOWS, ..StoreSpec::new(backend, 1) };
        let (first, second) = with_store(&spec, Memory::Owned, FillTwice);
        // Both counts are estimates from cells in use, with a deviation of about a per cent.
        assert!((first..first * 105 / 100).contains(&second), "{backend:?}: {first} {second}");
    }
}

#[test]
fn a_shard_in_lines_takes_its_share_and_no_more() {
    let share = FLOWS / FlowId::SHARDS as u64;
    let layout = LayoutKind::Blocked(2);
    let spec = StoreSpec { flows: FLOWS, layout, ..StoreSpec::new(Backend::Kbf, 6) };
    let Filled { stored, .. } = with_store(&spec, Memory::Owned, Fill);
    assert!((share..share * 109 / 100).contains(&stored), "{stored}");
}

#[test]
fn an_exact_table_has_room_for_what_memory_holds_or_for_all() {
    let exact = |budget| StoreSpec { budget, ..StoreSpec::new(Backend::Exact, 6) };
    let capped = with_store(&exact(Budget::MemoryBytes(72 * 16_000)), Memory::Owned, Fill);
    assert_eq!(capped.stored, 1000);
    let growing = with_store(&exact(Budget::FpRate(RATE)), Memory::Owned, Fill);
    assert_eq!(growing.stored, FLOWS);
}
