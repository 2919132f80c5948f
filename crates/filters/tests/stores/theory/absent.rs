//! Absent flows: how often they are found.

use acsm_filters::{
    Backend, Dbf, HALVES, Kbf, KbfDecode, KbfRule, Lookup, Sbf, SbfRule, SbfRules, Sizing, State,
    Store,
};
use acsm_model::bloom;

use super::{NOW, STATES, cells, fill, sizing};
use crate::support::flows;

/// Asserts that `hits` of `asked` absent flows is what theory says.
fn assert_fp_rate(name: &str, sizing: &Sizing, flows: usize, hits: usize, asked: usize) {
    let (cells, asked) = (cells(sizing), asked as f64);
    let load = bloom::load(cells, sizing.hashes, flows as f64);
    let rate = bloom::fp_rate(cells, sizing.hashes, flows as f64);
    // d(f^k)/df = k f^k / f.
    let fill = bloom::cell_has_at_least(1, load);
    let by_fill = asked * rate * sizing.hashes as f64 * bloom::fill_deviation(cells, load) / fill;
    let bound = 5.0 * (asked * rate * (1.0 - rate) + by_fill * by_fill).sqrt();
    let difference = hits as f64 - asked * rate;
    println!("{name}: {hits} of {asked}, expected {:.0} ± {bound:.0}", asked * rate);
    assert!(difference.abs() < bound, "{name}: {hits}, expected {:.0} ± {bound:.0}", asked * rate);
}

#[test]
fn absent_flows_are_found_as_often_as_theory_says() {
    let (capacity, asked) = (20_000, 100_000);
    for (fp_rate, flows_in) in [(0.1, capacity), (0.01, capacity), (0.01, 2 * capacity)] {
        let kbf_sizing = sizing(Backend::Kbf, capacity as u64, fp_rate);
        let mut source = flows(1);
        let rule = KbfRule::new(STATES, KbfDecode::AllPairs);
        let mut kbf = Kbf::<16, HALVES>::new(rule, &kbf_sizing).unwrap();
        fill(&mut kbf, &mut source, flows_in);
        let absent: Vec<_> = source.take(asked).map(|flow| kbf.locate(flow.id, ())).collect();
        let found = |place: &&_| kbf.lookup(place, NOW).answer != Lookup::Absent;
        let hits = absent.iter().filter(found).count();
        assert_fp_rate("kbf", &kbf_sizing, flows_in, hits, asked);

        let dbf_sizing = sizing(Backend::Dbf, capacity as u64, fp_rate);
        let mut source = flows(2);
        let mut dbf = Dbf::<4, HALVES>::new(STATES, &dbf_sizing).unwrap();
        fill(&mut dbf, &mut source, flows_in);
        let state = State::new(3).unwrap();
        let hits =
            source.take(asked).filter(|flow| dbf.contains(&dbf.locate(flow.id, ()), state, NOW));
        assert_fp_rate("dbf, one test", &dbf_sizing, flows_in, hits.count(), asked);
    }
}

#[test]
fn sbf_finds_no_more_absent_flows_than_a_bloom_filter_would() {
    // Cells that contradict each other prove absence, so theory is an upper bound.
    let sizing = sizing(Backend::Sbf, 20_000, 0.1);
    let mut source = flows(3);
    let mut sbf = Sbf::<8, HALVES>::new(SbfRule::new(SbfRules::Stateful), &sizing).unwrap();
    fill(&mut sbf, &mut source, 20_000);
    let places: Vec<_> = source.take(100_000).map(|flow| sbf.locate(flow.id, ())).collect();
    let not_empty = |place: &&_| sbf.cells_of(place, NOW).into_iter().all(|cell| cell != 0);
    assert_fp_rate("sbf cells", &sizing, 20_000, places.iter().filter(not_empty).count(), 100_000);
    let bound = places.iter().filter(not_empty).count();
    let hits =
        places.iter().filter(|place| sbf.lookup(place, NOW).answer != Lookup::Absent).count();
    assert!(0 < hits && hits < bound, "{hits} of {bound}");
}
