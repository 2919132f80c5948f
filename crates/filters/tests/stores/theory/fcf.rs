//! fcf: errors, load, and what happens when it is full.

use acsm_filters::{
    Backend, Budget, Expire, Fcf, FlowId, Insertion, Lookup, Random, State, Store, StoreSpec,
};
use acsm_model::{StateMix, fcf};

use super::{NOW, assert_errors, cells, errors_of};
use crate::support::{Flow, flows};

/// An empty shard of `fcf` for six states, and how many slots it has and how many fingerprints.
fn fcf_shard(flows: u64, fp_rate: f64, expire: Expire) -> (Fcf<false>, f64, f64) {
    let (flows, budget) = (flows * FlowId::SHARDS as u64, Budget::FpRate(fp_rate));
    let spec = StoreSpec { flows, budget, expire, ..StoreSpec::new(Backend::Fcf, 6) };
    let sizing = spec.sizing().unwrap();
    let fingerprints = ((1u64 << sizing.cell_bits) - 1) / 12;
    (Fcf::new(6, &sizing).unwrap(), cells(&sizing), fingerprints as f64)
}

#[test]
fn fcf_errs_as_its_model_says_by_kind() {
    for mix in [StateMix::even(6), StateMix::new(&[80.0, 10.0, 4.0, 3.0, 2.0, 1.0])] {
        for (fp_rate, load) in [(0.1, 0.94), (0.01, 0.94), (0.001, 0.94), (0.01, 0.4)] {
            let (mut store, cells, fingerprints) = fcf_shard(50_000, fp_rate, Expire::None);
            let flows_in = (load * cells) as usize;
            let measured = errors_of(&mut store, &mix, flows_in, 13);
            assert_eq!(store.stats().full, 0);
            let name = format!("fcf for {fp_rate} at a load of {load}");
            let model = fcf::errors_among(fingerprints, load, &mix);
            assert_errors(&name, &measured, &model, flows_in);
            let chance = store.stats().false_positive_chance;
            assert!((chance / model.of_absent() - 1.0).abs() < 0.05, "{chance} {model:?}");
        }
    }
}

#[test]
fn fcf_fills_to_the_planned_load_and_hardly_beyond_its_threshold() {
    for (flows_planned, fp_rate) in [(1_000, 0.01), (5_000, 0.3), (20_000, 1e-6), (60_000, 0.001)] {
        for seed in 0..3 {
            let (mut store, cells, _) = fcf_shard(flows_planned, fp_rate, Expire::None);
            let state = State::new(1).unwrap();
            let inserted = flows(100 + seed).take_while(|flow| {
                store.insert(&store.locate(flow.id, ()), state, NOW.stamp()) != Insertion::Full
            });
            let load = inserted.count() as f64 / cells;
            println!("fcf of {cells} slots for {fp_rate}: full at {load:.4}");
            // Small tables vary around the threshold of large ones.
            let spread = 0.5 / cells.sqrt();
            let above = fcf::LOAD_PLANNED..fcf::LOAD_THRESHOLD + spread;
            assert!(above.contains(&load), "{flows_planned} flows, {fp_rate}: full at {load}");
        }
    }
}

#[test]
fn fcf_that_is_full_says_so_and_keeps_what_it_has() {
    let (mut store, cells, _) = fcf_shard(5_000, 1e-6, Expire::None);
    let state = |n: usize| State::new(n % 6).unwrap();
    let mut stored = vec![];
    let mut refused = 0;
    for (n, flow) in flows(7).take((1.2 * cells) as usize).enumerate() {
        let place = store.locate(flow.id, ());
        match store.insert(&place, state(n), NOW.stamp()) {
            Insertion::Full => {
                refused += 1;
                assert_eq!(store.lookup(&place, NOW).answer, Lookup::Absent);
            }
            _ => stored.push((place, state(n))),
        }
    }
    let stats = store.stats();
    assert_eq!((stats.full, stats.inserted), (refused, stored.len() as u64));
    assert_eq!((stats.occupied, stats.evicted), (stored.len() as u64, 0));
    assert!(stats.fill_ratio() > fcf::LOAD_THRESHOLD, "{}", stats.fill_ratio());
    // At a rate of 1e-6 not one pair of these flows is alike.
    for (place, state) in &stored {
        assert_eq!(store.lookup(place, NOW).answer, Lookup::Known(*state));
    }
    // Room is found again as soon as there is some.
    let (gone, state) = stored.pop().unwrap();
    let found = store.lookup(&gone, NOW);
    assert_eq!(found.answer, Lookup::Known(state));
    store.delete(&gone, &found, NOW);
    assert_ne!(store.insert(&gone, state, NOW.stamp()), Insertion::Full);
}

/// Shards do not get the same number of flows: sizing allows for that.
#[test]
fn as_many_flows_as_fcf_is_sized_for_find_room_in_its_shards() {
    for flows_in in [100, 500, 2_000, 20_000, 200_000] {
        for seed in 0..3 {
            let expire = Expire::None;
            let spec = StoreSpec { flows: flows_in, expire, ..StoreSpec::new(Backend::Fcf, 6) };
            let sizing = spec.sizing().unwrap();
            let shard = || Fcf::<false>::new(6, &sizing).unwrap();
            let mut shards: Vec<_> = (0..FlowId::SHARDS).map(|_| shard()).collect();
            for flow in flows(seed).take(flows_in as usize) {
                let shard = &mut shards[flow.id.shard()];
                shard.insert(&shard.locate(flow.id, ()), State::FIRST, NOW.stamp());
            }
            let full: u64 = shards.iter().map(|shard| shard.stats().full).sum();
            assert_eq!(full, 0, "{flows_in} flows, seed {seed}");
        }
    }
}

/// The planned flows find room, also when each of them has been replaced by another; and absent flows
/// are found no more often than planned. In 14 states, with the timer.
#[test]
fn fcf_holds_the_planned_flows_at_the_planned_rate() {
    let (planned, absent) = (200_000, 2_000_000);
    for (fp_rate, bits_per_flow) in [(1e-3, 19.3), (1e-4, 22.4)] {
        let (states, budget) = (14, Budget::FpRate(fp_rate));
        let spec = StoreSpec { flows: planned, budget, ..StoreSpec::new(Backend::Fcf, states) };
        let sizing = spec.sizing().unwrap();
        assert!(sizing.bits_per_flow < bits_per_flow, "{}", sizing.bits_per_flow);
        let shard = || Fcf::<true>::new(states, &sizing).unwrap();
        let mut shards: Vec<_> = (0..FlowId::SHARDS).map(|_| shard()).collect();
        let mut source = flows(31);
        let mut alive: Vec<Flow> = source.by_ref().take(planned as usize).collect();
        let insert = |shards: &mut [Fcf<true>], flow: &Flow| {
            let shard = &mut shards[flow.id.shard()];
            let place = shard.locate(flow.id, ());
            assert_eq!(shard.insert(&place, State::FIRST, NOW.stamp()), Insertion::STORED);
        };
        alive.iter().for_each(|flow| insert(&mut shards, flow));
        for flow in &mut alive {
            let shard = &mut shards[flow.id.shard()];
            let place = shard.locate(flow.id, ());
            let found = shard.lookup(&place, NOW);
            assert_eq!(found.answer, Lookup::Known(State::FIRST));
            shard.delete(&place, &found, NOW);
            *flow = source.next().unwrap();
            insert(&mut shards, flow);
        }
        let is_found = |flow: &Flow| {
            let shard = &mut shards[flow.id.shard()];
            shard.lookup(&shard.locate(flow.id, ()), NOW).answer != Lookup::Absent
        };
        let false_positives = source.take(absent).filter(is_found).count() as f64;
        let expected = fp_rate * absent as f64;
        println!("fcf for {fp_rate}: {false_positives} of {absent} absent flows found");
        assert!(false_positives < expected + 4.0 * expected.sqrt(), "{false_positives}");
    }
}

/// 100,000 flows in six states, four of five in one of them; 1,000,000 lookups with flows that come,
/// change and go; the store goes on from its own answers.
#[test]
fn fcf_errs_once_in_1000_lookups_at_16_6_bits_per_flow() {
    let (alive, budget) = (100_000, Budget::FpRate(0.001));
    let expire = Expire::None;
    let spec = StoreSpec { flows: alive, budget, expire, ..StoreSpec::new(Backend::Fcf, 6) };
    let sizing = spec.sizing().unwrap();
    let shard = || Fcf::<false>::new(6, &sizing).unwrap();
    let mut shards: Vec<_> = (0..FlowId::SHARDS).map(|_| shard()).collect();
    let (mut source, mut random) = (flows(21), Random::new(22));
    let draw = |random: &mut Random| {
        let index = if random.chance(0.8) { 2 } else { random.below(6) as usize };
        State::new(index).unwrap()
    };
    let mut truth: Vec<(Flow, Option<State>)> =
        source.by_ref().take(alive as usize).map(|flow| (flow, None)).collect();
    let (mut lookups, mut errors) = (0, 0);
    while lookups < 1_000_000 {
        let (flow, state) = &mut truth[random.below(alive) as usize];
        let shard = &mut shards[flow.id.shard()];
        let place = shard.locate(flow.id, ());
        let found = shard.lookup(&place, NOW);
        lookups += 1;
        errors += u64::from(found.answer != state.map_or(Lookup::Absent, Lookup::Known));
        if state.is_some() && random.chance(0.1) {
            shard.delete(&place, &found, NOW);
            (*flow, *state) = (source.next().unwrap(), None);
            continue;
        }
        let next = if state.is_none() || random.chance(0.3) { draw(&mut random) } else { continue };
        *state = Some(next);
        match found.answer {
            Lookup::Absent => drop(shard.insert(&place, next, NOW.stamp())),
            _ => drop(shard.modify(&place, &found, next, NOW.stamp())),
        }
    }
    let full: u64 = shards.iter().map(|shard| shard.stats().full).sum();
    let (rate, bits) = (errors as f64 / lookups as f64, sizing.bits_per_flow);
    println!(
        "fcf: {errors} errors in {lookups} lookups, {bits:.2} bits per flow, {full} times full"
    );
    assert!(rate <= 1.1e-3 && bits <= 16.6, "{rate} at {bits} bits per flow");
    assert_eq!(full, 0);
}
