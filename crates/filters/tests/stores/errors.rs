//! The errors of stores in use: flows arrive, change and leave as the store itself answered (closed
//! loop), and a list of the truth counts errors. Seeds are fixed.

use acsm_filters::{
    Backend, Budget, Epoch, Expire, FlowId, Lookup, Random, Sizing, State, Store, StoreError,
    StoreSpec,
};

use crate::support::{Flow, FlowKey, Memory, StoreUser, locate, with_store};

const NOW: Epoch = Epoch(0);

/// Lookups, and how many of them were answered wrongly.
#[derive(Debug, Clone, Copy)]
struct Errors {
    lookups: u64,
    wrong: u64,
}

impl Errors {
    fn total_rate(self) -> f64 {
        self.wrong as f64 / self.lookups as f64
    }
}

/// Drives a store that holds this many flows with this many lookups.
#[derive(Clone)]
struct Churn {
    flows: usize,
    lookups: u64,
    random: Random,
}

impl Churn {
    fn new_flow(&mut self) -> Flow {
        let [high, low] = [self.random.next_u64(), self.random.next_u64()].map(u128::from);
        Flow { key: 0, id: FlowId(high << 64 | low) }
    }

    /// Of six states, one has 80 % of the flows.
    fn new_state(&mut self) -> State {
        let index = if self.random.chance(0.8) { 2 } else { self.random.below(6) as usize };
        State::new(index).unwrap()
    }
}

impl StoreUser for Churn {
    type Output = Errors;

    fn run<S: Store<Key: FlowKey>>(mut self, make: impl Fn() -> Result<S, StoreError>) -> Errors {
        let mut shards: Vec<S> = (0..FlowId::SHARDS).map(|_| make().unwrap()).collect();
        let mut truth: Vec<(Flow, State)> = vec![];
        let mut errors = Errors { lookups: 0, wrong: 0 };
        while errors.lookups < self.lookups {
            // First flows come until all are present; then one comes for each that goes, or one
            // changes.
            let comes = truth.len() < self.flows;
            let at = self.random.below(truth.len().max(1) as u64) as usize;
            let state = self.new_state();
            let (flow, right) = match truth.get(at) {
                Some(&(flow, state)) if !comes => (flow, Lookup::Known(state)),
                _ => (self.new_flow(), Lookup::Absent),
            };
            let goes = !comes && self.random.chance(0.1);
            let shard = &mut shards[flow.id.shard()];
            let place = locate(shard, &flow);
            let found = shard.lookup(&place, NOW);
            errors.lookups += 1;
            errors.wrong += u64::from(found.answer != right);
            match (goes, found.answer) {
                (true, _) => shard.delete(&place, &found, NOW),
                (false, Lookup::Absent) => drop(shard.insert(&place, state, NOW.stamp())),
                (false, _) => drop(shard.modify(&place, &found, state, NOW.stamp())),
            }
            match (comes, goes) {
                (true, _) => truth.push((flow, state)),
                (_, true) => drop(truth.swap_remove(at)),
                _ => truth[at].1 = state,
            }
        }
        errors
    }
}

/// 50,000 flows, or fewer at the same load.
fn churn(flows: usize, lookups: u64) -> Churn {
    Churn { flows, lookups, random: Random::new(1) }
}

fn errors_in_use(backend: Backend, budget: Budget, churn: &Churn) -> (Errors, Sizing) {
    let (flows, expire) = (churn.flows as u64, Expire::None);
    let spec = StoreSpec { flows, budget, expire, ..StoreSpec::new(backend, 6) };
    let errors = with_store(&spec, Memory::Owned, churn.clone());
    let sizing = spec.sizing().unwrap();
    let (name, rate, bits) = (backend.name(), errors.total_rate(), sizing.bits_per_flow);
    println!("{name} {budget:?}, k {}: {rate:.1e} at {bits:.1} bits per flow", sizing.hashes);
    (errors, sizing)
}

#[test]
fn bhbf_errs_at_most_once_in_500_lookups_with_7_bytes_per_flow() {
    let budget = Budget::MemoryBytes(7 * 50_000);
    let (errors, sizing) = errors_in_use(Backend::Bhbf, budget, &churn(50_000, 1_000_000));
    assert!(sizing.bits_per_flow <= 56.0, "{sizing:?}");
    assert!(errors.total_rate() <= 2e-3, "{errors:?}");
}

#[test]
fn at_equal_cells_bhbf_errs_fifty_times_less_than_kbf() {
    let (kbf, bhbf) = (Backend::Kbf, Backend::Bhbf);
    let (budget, million) = (Budget::FpRate(0.1), churn(50_000, 1_000_000));
    let (of_kbf, kbf_sizing) = errors_in_use(kbf, budget, &million);
    let (of_bhbf, bhbf_sizing) = errors_in_use(bhbf, budget, &million);
    assert_eq!(kbf_sizing.cells, bhbf_sizing.cells);
    assert!(50 * of_bhbf.wrong <= of_kbf.wrong, "{of_bhbf:?}, {of_kbf:?}");

    let (errors, _) = errors_in_use(bhbf, Budget::FpRate(0.01), &churn(50_000, 350_000));
    assert!(errors.wrong <= 3, "{errors:?}");
}

/// A dbf counts to three, and a count of three stays: without a timer it fills up. In a bhbf only
/// flows stay behind whose state was unknown when they left.
#[test]
fn flows_that_come_and_go_wear_out_a_dbf_long_before_a_bhbf() {
    let of_five_bytes = |backend, lookups_per_flow: u64| {
        let (flows, budget) = (5_000, Budget::MemoryBytes(5 * 5_000));
        errors_in_use(backend, budget, &churn(flows, lookups_per_flow * flows as u64)).0
    };
    let [young_dbf, old_dbf] = [10, 80].map(|lookups| of_five_bytes(Backend::Dbf, lookups));
    let [young_bhbf, old_bhbf] = [10, 80].map(|lookups| of_five_bytes(Backend::Bhbf, lookups));
    assert!(young_dbf.total_rate() < young_bhbf.total_rate(), "{young_dbf:?} {young_bhbf:?}");
    assert!(old_dbf.total_rate() > 10.0 * old_bhbf.total_rate(), "{old_dbf:?} {old_bhbf:?}");
}
