//! Flows that share cells, lines and fingerprints far more often than random ones do.

use acsm_filters::{Epoch, FlowId, Found, Insertion, Lookup, Random, Sizing, State, Store};

/// More flows than the cache has entries.
const FLOWS: usize = 200;
/// Flows with packets at about the same time.
pub const TRAINS: u64 = 24;

pub fn random_id(random: &mut Random) -> FlowId {
    FlowId(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()))
}

/// Flows for a filter of cells: each flow whose cells all belong to others too is followed by those
/// others.
pub fn sharing_cells<S: Store<Key = ()>>(sizing: &Sizing, make: impl Fn() -> S) -> Vec<FlowId> {
    let mut random = Random::new(9);
    let base: Vec<FlowId> = (0..300).map(|_| random_id(&mut random)).collect();
    let mut full = make();
    for &id in &base {
        insert(&mut full, id);
    }
    let mut flows = vec![];
    while flows.len() < FLOWS {
        let one = random_id(&mut random);
        if shared_cells(&mut full, one) < sizing.hashes {
            continue;
        }
        let mut alone = make();
        insert(&mut alone, one);
        let others = base.iter().copied().filter(|&other| shared_cells(&mut alone, other) > 0);
        flows.push(one);
        flows.extend(others.take(TRAINS as usize / 4));
    }
    // Other flows with the same cells.
    let twins = [0, 50, 100].map(|n: usize| FlowId(flows[n].0 ^ 1 << 100));
    flows.extend(twins);
    flows
}

/// Flows for windows: of each five, four have the same fingerprint and the same two windows, in
/// either order. Soon there are more than two windows hold.
pub fn sharing_windows<S: Store<Key = ()>>(make: impl Fn() -> S) -> Vec<FlowId> {
    let mut random = Random::new(9);
    let mut flows = vec![];
    while flows.len() < FLOWS {
        let [one, other] = [1, 2].map(|_| random_id(&mut random));
        let mut alone = make();
        insert(&mut alone, one);
        let mut like_one = |bits: u64| loop {
            let like = FlowId(one.0 ^ u128::from(random.next_u64() >> (64 - bits)));
            if alone.lookup(&alone.locate(like, ()), Epoch(0)).answer != Lookup::Absent {
                return like;
            }
        };
        // The upper bits of a position choose the window.
        flows.extend([one, like_one(48), like_one(64), like_one(64), other]);
    }
    flows
}

fn insert<S: Store<Key = ()>>(store: &mut S, id: FlowId) -> usize {
    let place = store.locate(id, ());
    match store.insert(&place, State::FIRST, Epoch(0).stamp()) {
        Insertion::Stored { shared_cells, .. } => shared_cells,
        other => panic!("filters accept every flow: {other:?}"),
    }
}

/// How many cells of the flow are in use.
fn shared_cells<S: Store<Key = ()>>(store: &mut S, id: FlowId) -> usize {
    let shared = insert(store, id);
    let place = store.locate(id, ());
    let found = store.lookup(&place, Epoch(0));
    store.delete(&place, &Found { answer: Lookup::Known(State::FIRST), ..found }, Epoch(0));
    shared
}
