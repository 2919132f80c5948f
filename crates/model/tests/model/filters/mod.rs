//! The errors of dbf, sbf, kbf and bhbf against simulated filters in which all flows of every
//! cell are known. Nothing here is taken from the stores.

mod bhbf;
mod kbf;
mod layouts;
mod phases;
mod sbf;
mod simulated;

use acsm_model::{StateMix, dbf};

use crate::evidence::assert_in_interval;

use simulated::{CELLS, Filter, Layout, spread};

#[test]
fn dbf_as_simulated() {
    // A flow's tests in other states are those of absent flows: cells apart from each other.
    let states = 4;
    let case = spread("dbf", 3, 0.7, StateMix::even(states));
    let f = dbf::false_positive_of_one_test(&case.cells());
    let runs: Vec<f64> = (0..10)
        .map(|seed| {
            let mut filter = Filter::new(Layout::Spread, CELLS / 3 * 3, 3, seed);
            filter.fill(&case.mix, (0.7 * (CELLS / 3) as f64) as usize);
            let lookups = 10_000;
            let mut dont_know = 0;
            for _ in 0..lookups {
                let hits = (1..states).filter(|_| {
                    let element = filter.random_flow(&case.mix);
                    element.cells.iter().all(|cell| !filter.cells[*cell].is_empty())
                });
                dont_know += u32::from(hits.count() > 0);
            }
            f64::from(dont_know) / f64::from(lookups)
        })
        .collect();
    assert_in_interval("dbf: don't know", dbf::dont_know(f, states), &runs, 0.1);
}
