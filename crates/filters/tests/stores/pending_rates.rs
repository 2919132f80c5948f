//! How often the pending table errs, against theory: flows that look alike, and flows that are lost.
//! Seeds are fixed; bounds are five standard deviations.

use std::collections::VecDeque;

use acsm_filters::pending::{Evidence, PendingFlow, PendingTable};
use acsm_filters::{Epoch, FlowId, State};
use acsm_model::special::binomial;

use crate::support::flows;

const NOW: Epoch = Epoch(0);
const SLOTS_PER_LINE: usize = 12;
const TAGS: f64 = (1 << 22) as f64;
/// A tag of 17 bits, and one of two directions.
const DIRECTED_TAGS: f64 = (1 << 18) as f64;

fn put(table: &mut PendingTable, id: FlowId) {
    let lookup = table.lookup(id, NOW);
    table.put(&lookup, PendingFlow { state: State::FIRST, evidence: Evidence::NONE });
}

#[test]
fn absent_flows_are_found_as_often_as_tags_collide() {
    let one_line = || PendingTable::new(1).unwrap();
    check_false_matches(one_line(), 24_000_000, TAGS);
    check_false_matches(one_line().directed(), 2_000_000, DIRECTED_TAGS);
}

fn check_false_matches(mut table: PendingTable, asked: usize, tags: f64) {
    let mut flows = flows(1).map(|flow| flow.id);
    flows.by_ref().take(SLOTS_PER_LINE).for_each(|id| put(&mut table, id));
    assert_eq!(table.stats().used, SLOTS_PER_LINE as u64);
    let hits = flows.take(asked).filter(|&id| table.lookup(id, NOW).flow.is_some()).count() as f64;
    let expected = asked as f64 * SLOTS_PER_LINE as f64 / tags;
    let bound = 5.0 * expected.sqrt();
    println!("{hits} of {asked}, expected {expected:.0} ± {bound:.0}");
    assert!((hits - expected).abs() < bound, "{hits}, expected {expected:.0} ± {bound:.0}");
}

/// The part of flows still there after `arrivals` others, in a table of the default size.
fn retention(arrivals: usize, flows_in: usize) -> f64 {
    let mut table = PendingTable::new(PendingTable::default_slots(0)).unwrap();
    let mut waiting = VecDeque::with_capacity(arrivals + 1);
    let mut kept = 0;
    for id in flows(2).map(|flow| flow.id).take(flows_in + arrivals) {
        put(&mut table, id);
        waiting.push_back(id);
        if waiting.len() > arrivals
            && let Some(first) = waiting.pop_front()
        {
            kept += u64::from(table.lookup(first, NOW).flow.is_some());
        }
    }
    kept as f64 / flows_in as f64
}

#[test]
fn flows_are_kept_as_long_as_theory_says() {
    let table = PendingTable::new(PendingTable::default_slots(0)).unwrap();
    let slots = table.stats().slots as f64;
    let (lines, flows_in) = (slots / SLOTS_PER_LINE as f64, 1_000_000);
    for slots_per_arrival in [1.0, 1.5, 2.2, 3.0] {
        // Rate × gap.
        let arrivals = (slots / slots_per_arrival) as usize;
        let in_line = |count: usize| binomial(count as f64, arrivals as f64, 1.0 / lines);
        let expected: f64 = (0..SLOTS_PER_LINE).map(in_line).sum();
        // Flows of a line share their fate with those shortly before and after.
        let independent = (flows_in / SLOTS_PER_LINE) as f64;
        let bound = 5.0 * (expected * (1.0 - expected) / independent).sqrt();
        let measured = retention(arrivals, flows_in);
        println!("S = {slots_per_arrival} r g: {measured:.5}, expected {expected:.5} ± {bound:.5}");
        assert!((measured - expected).abs() < bound, "{measured}, {expected} ± {bound}");
        assert!(slots_per_arrival < 2.2 || expected > 0.989);
    }
}

#[test]
fn sizes_are_those_of_whole_lines_in_all_shards() {
    assert_eq!(PendingTable::default_slots(0), 128 << 10);
    assert_eq!(PendingTable::default_slots(1_000_000), 250_000);
    for slots in [0, 1, 192, 193, 131_072, 250_000] {
        let all = PendingTable::new(slots).unwrap().stats().slots * FlowId::SHARDS as u64;
        let line_slots = (FlowId::SHARDS * SLOTS_PER_LINE) as u64;
        assert!(all >= slots && all < slots.max(1) + line_slots, "{slots}: {all}");
        assert_eq!(PendingTable::bits(slots), all / SLOTS_PER_LINE as u64 * 512);
    }
    assert!(PendingTable::new(u64::MAX).is_err());
}
