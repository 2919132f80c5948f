//! `sbf` without counters: a flow that changes its state is lost, whatever the number of cells.

use acsm_filters::rng::Random;
use acsm_filters::{
    Backend, Budget, Epoch, Expire, FlowId, Lookup, Sbf, SbfRule, SbfRules, State, Store,
    StoreSpec, UNTIMED,
};
use acsm_model::{FlowCells, StateMix, sbf};

const FLOWS: usize = 60_000;
/// The states that flows stay in, and their parts: one is by far the commonest.
const PARTS: [f64; 2] = [0.95, 0.05];
/// The state that flows begin in if they change.
const FIRST: usize = 2;

/// Null answers per flow, each asked once after all came, of which the part `changing` changed its state; and
/// the same by the form for collisions.
fn nulls(p: f64, changing: f64, seed: u64) -> (f64, f64) {
    let spec = StoreSpec {
        flows: 16 * FLOWS as u64,
        budget: Budget::FpRate(p),
        expire: Expire::None,
        ..StoreSpec::new(Backend::Sbf, 6)
    };
    let sizing = spec.sizing().unwrap();
    let rule = SbfRule::new(SbfRules::NoCounters);
    let mut shard = Sbf::<8, UNTIMED>::new(rule, &sizing).unwrap();
    let (mut random, now) = (Random::for_purpose(seed, 20), Epoch(0));
    let state = |index: usize| State::new(index).unwrap();
    let flows: Vec<(FlowId, usize)> = (0..FLOWS)
        .map(|_| {
            let bits = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
            (FlowId(bits), usize::from(random.chance(PARTS[1])))
        })
        .collect();
    for &(id, last) in &flows {
        let place = shard.locate(id, ());
        let changes = random.chance(changing);
        shard.insert(&place, state(if changes { FIRST } else { last }), now.stamp());
        if changes {
            let found = shard.lookup(&place, now);
            shard.modify(&place, &found, state(last), now.stamp());
        }
    }
    let null = flows.iter().filter(|(id, _)| {
        let place = shard.locate(*id, ());
        !matches!(shard.lookup(&place, now).answer, Lookup::Known(_))
    });
    let load = 16.0 * FLOWS as f64 / (sizing.cells as f64 / sizing.hashes as f64);
    let cells = FlowCells::at_load(sizing.hashes, load);
    let model = sbf::errors_without_counters(&cells, &StateMix::new(&PARTS), 1.0 - changing);
    (null.count() as f64 / FLOWS as f64, model.dont_know)
}

/// At 20 and 50 % of flows that change, p makes no difference; at 0 and 5 % nearly all null answers are
/// collisions, which the form tells.
#[test]
fn null_answers_do_not_depend_on_p_where_flows_change() {
    for changing in [0.0, 0.05, 0.2, 0.5] {
        let mut mean = [0.0; 2];
        for (p, mean) in [0.1, 1e-3].into_iter().zip(&mut mean) {
            let runs = [1, 2, 3].map(|seed| nulls(p, changing, seed));
            *mean = runs.iter().map(|(null, _)| null).sum::<f64>() / 3.0;
            let model = runs[0].1;
            println!("{changing} change, p = {p}: {mean:.5} null, by the form {model:.5}");
            // Five standard deviations of a count of flows; neighbours on a cell are not independent.
            let deviation = (model * (1.0 - model) / (3.0 * FLOWS as f64)).sqrt();
            assert!((*mean - model).abs() < 5.0 * deviation + 0.02 * model, "{mean} {model}");
        }
        if changing >= 0.2 {
            assert!((mean[0] / mean[1] - 1.0).abs() < 0.05, "{changing}: {mean:?}");
        }
        if changing == 0.0 {
            assert!(mean[0] > 10.0 * mean[1], "collisions alone fall with p: {mean:?}");
        }
    }
}
