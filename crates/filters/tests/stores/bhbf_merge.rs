//! The cells of a bhbf are sums: their content does not depend on the order of operations, and two
//! filters of different flows add up to the filter of both, while no count saturates.

use acsm_filters::{
    Backend, Bhbf, BhbfRule, Budget, Epoch, Expire, FlowId, Lookup, Random, Sizing, State, Store,
    StoreSpec, UNTIMED,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::support::claiming;

const NOW: Epoch = Epoch(0);
/// So few that not even all of them on one cell saturate its count.
const FLOWS: usize = 14;

/// The states that a flow goes through, and whether it then leaves.
type Life = (Vec<usize>, bool);

/// Which flow takes its next step, in order.
type Order = Vec<usize>;

fn lives_in_two_orders() -> impl Strategy<Value = (Vec<Life>, Order, Order)> {
    let life = (prop::collection::vec(0..16usize, 1..4), any::<bool>());
    prop::collection::vec(life, 1..=FLOWS).prop_flat_map(|lives| {
        let steps = |(flow, (states, leaves)): (usize, &Life)| {
            vec![flow; states.len() + usize::from(*leaves)]
        };
        let order: Order = lives.iter().enumerate().flat_map(steps).collect();
        (Just(lives), Just(order.clone()).prop_shuffle(), Just(order).prop_shuffle())
    })
}

fn flow(random: &mut Random) -> FlowId {
    FlowId(random.next_u64().into())
}

/// A shard of some 20 cells.
fn sizing() -> Sizing {
    let (budget, hashes) = (Budget::FpRate(0.3), Some(4));
    let store = StoreSpec { expire: Expire::None, ..StoreSpec::new(Backend::Bhbf, 16) };
    StoreSpec { flows: 120, budget, hashes, ..store }.sizing().unwrap()
}

/// The cells after these steps of the flows that `takes_part`.
fn cells_after(lives: &[Life], order: &Order, takes_part: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut store = Bhbf::<UNTIMED>::new(BhbfRule::new(16), &sizing()).unwrap();
    let mut random = Random::new(1);
    let flows: Vec<FlowId> = lives.iter().map(|_| flow(&mut random)).collect();
    let mut steps = vec![0usize; lives.len()];
    for &number in order.iter().filter(|&&number| takes_part(number)) {
        let place = store.locate(flows[number], ());
        let state = |step: usize| lives[number].0.get(step).and_then(|&state| State::new(state));
        let old = steps[number].checked_sub(1).and_then(state).map(Lookup::Known);
        // The truth, whatever the filter answers.
        let found = store.lookup(&place, NOW);
        let found = old.map(|old| claiming(found, old));
        match (found, state(steps[number])) {
            (None, Some(first)) => drop(store.insert(&place, first, NOW.stamp())),
            (Some(found), Some(next)) => drop(store.modify(&place, &found, next, NOW.stamp())),
            (Some(found), None) => store.delete(&place, &found, NOW),
            (None, None) => unreachable!("every flow has a state"),
        }
        steps[number] += 1;
    }
    assert_eq!(store.stats().saturations, 0);
    // The cells of many absent flows are all cells.
    let places = (0..100).map(|_| store.locate(flow(&mut random), ()));
    places.flat_map(|place| store.cells_of(&place, NOW)).collect()
}

/// The cell of two: counts, and sums modulo 4095.
fn merged(a: u32, b: u32) -> u32 {
    let (count, sum) = ((a >> 12) + (b >> 12), (a & 4095) + (b & 4095));
    count << 12 | (sum % 4095)
}

fn holds(property: impl Fn(Vec<Life>, Order, Order) -> Result<(), TestCaseError>) {
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[8; 32]);
    TestRunner::new_with_rng(config, rng)
        .run(&lives_in_two_orders(), |(lives, one, other)| property(lives, one, other))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn the_order_of_operations_does_not_matter() {
    holds(|lives, one, other| {
        let [one, other] = [one, other].map(|order| cells_after(&lives, &order, |_| true));
        prop_assert_eq!(one, other);
        Ok(())
    });
}

#[test]
fn filters_of_different_flows_add_up() {
    holds(|lives, order, _| {
        let [even, odd] = [0, 1].map(|rest| cells_after(&lives, &order, |flow| flow % 2 == rest));
        let sums: Vec<u32> = even.iter().zip(&odd).map(|(&a, &b)| merged(a, b)).collect();
        prop_assert_eq!(sums, cells_after(&lives, &order, |_| true));
        Ok(())
    });
}
