//! Stores that recycle against the models of the recycling paper. Seeds are fixed; bounds are five
//! standard deviations of the sampling, and what the layout's parts change against free hashes.

use acsm_filters::{
    Backend, Budget, Epoch, Expire, FlowId, Lookup, Random, RecycleAt, Recycling, Sbf, SbfRule,
    SbfRules, Sizing, State, Store, StoreSpec, UNTIMED,
};
use acsm_model::recycling::{Cycle, Filter, Frozen, Retain, n_bounded};

const NOW: Epoch = Epoch(0);
const MESSAGES: usize = 400_000;

type Shard = Recycling<Sbf<8, UNTIMED>>;

/// A shard, its sizing, and the number of cells of one of its arrays.
fn shard(spec: &StoreSpec) -> (Shard, Sizing, u64) {
    let sizing = spec.sizing().unwrap();
    let rule = SbfRule::<8>::new(SbfRules::Stateful);
    let make = || Sbf::<8, UNTIMED>::new(rule, &sizing);
    let cells = sizing.cells / (FlowId::SHARDS as u64 * sizing.phases);
    (Recycling::new(&sizing, make).unwrap(), sizing, cells)
}

/// About 4,800 cells per shard, k = 5.
fn spec(expire: Expire, retain: bool, recycle_at: RecycleAt) -> StoreSpec {
    StoreSpec {
        expire,
        retain,
        recycle_at: Some(recycle_at),
        hashes: Some(5),
        flows: 500 * FlowId::SHARDS as u64,
        budget: Budget::FpRate(0.01),
        ..StoreSpec::new(Backend::Sbf, 6)
    }
}

/// Feeds new messages; returns the fraction taken for old ones: count-instance.
fn false_positives(shard: &mut Shard, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let state = State::new(1).unwrap();
    let mut wrong = 0;
    for _ in 0..MESSAGES {
        let place = shard.locate(FlowId(random.next_u64().into()), ());
        let found = shard.lookup(&place, NOW);
        if found.answer == Lookup::Absent {
            shard.insert(&place, state, NOW.stamp());
        } else {
            shard.touch(&place, &found, NOW.stamp());
            wrong += 1;
        }
    }
    wrong as f64 / MESSAGES as f64
}

fn assert_rate(name: &str, measured: f64, model: f64, unlike: f64) {
    let bound = 5.0 * (model / MESSAGES as f64).sqrt() + unlike * model;
    println!("{name}: measured {measured:.4e}, model {model:.4e} ± {bound:.1e}");
    assert!((measured - model).abs() < bound, "{name}: {measured:e}, {model:e} ± {bound:e}");
}

#[test]
fn average_rates_of_one_phase_are_the_papers() {
    for fill in [0.3, 0.5] {
        for retain in [false, true] {
            let spec = spec(Expire::Recycle, retain, RecycleAt::Fill(fill));
            let (mut shard, sizing, cells) = shard(&spec);
            let sigma = (cells as f64 * fill) as u64;
            let kept = if retain { Retain::Keep } else { Retain::Forget };
            let cycle = Cycle::new(Filter { retain: kept, ..Filter::new(cells, sizing.hashes) });
            let measured = false_positives(&mut shard, 1);
            assert_rate("f_σ¹", measured, cycle.false_positive_rate(sigma), 0.03);

            let messages = MESSAGES as f64 / shard.stats().recycles as f64;
            println!("  {messages:.1} messages per cycle, E[N] = {:.1}", cycle.messages(sigma));
            assert!((messages / cycle.messages(sigma) - 1.0).abs() < 0.01);
        }
    }
}

#[test]
fn average_rates_of_bounded_messages_are_the_papers() {
    for flows in [400, 800] {
        let at = RecycleAt::Flows(flows * FlowId::SHARDS as u64);
        let (mut shard, sizing, cells) = shard(&spec(Expire::Recycle, false, at));
        let measured = false_positives(&mut shard, 2);
        let bits = cells as f64;
        let f_a = n_bounded::actual(bits, sizing.hashes, flows as f64);
        assert_rate("f_a", measured, f_a, 0.03);
        // Only messages that take an empty cell count.
        let counted = MESSAGES as f64 * (1.0 - measured) / shard.stats().recycles as f64;
        assert!((counted / flows as f64 - 1.0).abs() < 0.01, "{counted}");
    }
}

#[test]
fn average_rates_of_two_phases_are_the_papers() {
    for fill in [0.3, 0.5] {
        let spec = spec(Expire::TwoPhase, true, RecycleAt::Fill(fill));
        let (mut shard, sizing, cells) = shard(&spec);
        let sigma = (cells as f64 * fill) as u64;
        let cycle = Cycle::new(Filter::new(cells, sizing.hashes));
        let model = cycle.two_phase_rate(sigma, Frozen::AfterOverflow);
        // An absent flow found in the frozen half moves: it fills the active half as in the paper, but
        // also clears cells of the frozen one.
        assert_rate("f_σ²", false_positives(&mut shard, 3), model, 0.06);
    }
}
