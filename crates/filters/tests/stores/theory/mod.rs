//! The filters against the closed forms of `acsm-model`. Seeds are fixed; bounds are five standard
//! deviations, of the sampling and of the filter itself.

mod absent;
mod blocked;
mod by_kind;
mod fcf;
mod papers;

use acsm_filters::{
    Backend, Budget, Epoch, FlowId, KbfDecode, Lookup, Random, Sizing, State, Store, StoreSpec,
};
use acsm_model::joint::JointDecoding;
use acsm_model::kbf::Decoding;
use acsm_model::{ErrorRates, FlowCells, StateMix, kbf};

use crate::support::{Flow, Flows, flows};

const NOW: Epoch = Epoch(0);
const STATES: usize = 16;

/// One shard's worth of flows at this rate.
fn sizing(backend: Backend, flows: u64, fp_rate: f64) -> Sizing {
    let flows = flows * FlowId::SHARDS as u64;
    let budget = Budget::FpRate(fp_rate);
    StoreSpec { flows, budget, ..StoreSpec::new(backend, STATES) }.sizing().unwrap()
}

/// The errors of a kbf with codes of at most this many bits by its decoding's model.
fn kbf_model(cells: &FlowCells, mix: &StateMix, decode: KbfDecode, code_bits: u32) -> ErrorRates {
    match decode {
        KbfDecode::AllPairs => kbf::errors(cells, mix, Decoding::AllPairs),
        KbfDecode::Literal => kbf::errors(cells, mix, Decoding::Literal),
        KbfDecode::ThreeWay => kbf::errors(cells, mix, Decoding::ThreeWay),
        KbfDecode::Joint => JointDecoding::new(mix, code_bits).errors(cells),
        KbfDecode::Salt => JointDecoding::salted(mix.states(), code_bits).errors(cells),
    }
}

fn cells(sizing: &Sizing) -> f64 {
    sizing.cells as f64 / FlowId::SHARDS as f64
}

/// Fills a shard from the flows; the n-th flow gets state n mod 16.
fn fill<S: Store<Key = ()>>(store: &mut S, flows: &mut Flows, count: usize) -> Vec<S::Place> {
    let mut insert = |(n, flow): (usize, Flow)| {
        let place = store.locate(flow.id, ());
        store.insert(&place, State::new(n % STATES).unwrap(), NOW.stamp());
        place
    };
    flows.take(count).enumerate().map(&mut insert).collect()
}

/// Fills a shard with flows in these states and counts what it gets wrong, by kind.
fn errors_of<S: Store<Key = ()>>(
    store: &mut S,
    mix: &StateMix,
    flows_in: usize,
    seed: u64,
) -> ErrorRates {
    let mut source = flows(seed);
    let mut random = Random::for_purpose(seed, 1);
    let mut draw = || {
        let mut at = random.unit();
        let state = mix.parts().iter().position(|part| {
            at -= part;
            at < 0.0
        });
        State::new(state.unwrap_or(0)).unwrap()
    };
    let mut errors = ErrorRates::default();
    let mut places = vec![];
    for flow in source.by_ref().take(flows_in) {
        let (place, state) = (store.locate(flow.id, ()), draw());
        store.insert(&place, state, NOW.stamp());
        places.push((place, state));
    }
    let each = 1.0 / flows_in as f64;
    for (place, state) in &places {
        match store.lookup(place, NOW).answer {
            Lookup::Known(known) if known == *state => {}
            Lookup::Known(_) => errors.false_return += each,
            Lookup::Absent => errors.false_negative += each,
            Lookup::DontKnow => errors.dont_know += each,
        }
    }
    let asked = 100_000;
    for absent in source.take(asked) {
        let place = store.locate(absent.id, ());
        match store.lookup(&place, NOW).answer {
            Lookup::Known(_) => errors.false_positive += 1.0 / asked as f64,
            Lookup::DontKnow => errors.dont_know_absent += 1.0 / asked as f64,
            Lookup::Absent => {}
        }
    }
    errors
}

/// Each kind of error, where it is frequent enough to see: within a tenth, for the variance of one
/// filter's fill, and five deviations of the sampling.
fn assert_errors(name: &str, measured: &ErrorRates, model: &ErrorRates, flows_in: usize) {
    println!("{name}: measured {measured:?}\n  model {model:?}");
    let kinds: [(f64, f64, f64); 5] = [
        (measured.false_positive, model.false_positive, 1e5),
        (measured.dont_know_absent, model.dont_know_absent, 1e5),
        (measured.false_negative, model.false_negative, flows_in as f64),
        (measured.dont_know, model.dont_know, flows_in as f64),
        (measured.false_return, model.false_return, flows_in as f64),
    ];
    for (measured, model, asked) in kinds {
        let bound = 0.1 * model + 5.0 * (model / asked).sqrt();
        assert!((measured - model).abs() <= bound, "{name}: {measured:e}, {model:e} ± {bound:e}");
    }
}
