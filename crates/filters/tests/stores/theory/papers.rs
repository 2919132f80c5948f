//! What the kBF papers say of crowded cells, and what is so.

use acsm_filters::{Backend, CellPlace, HALVES, Kbf, KbfDecode, KbfRule, Lookup, Store};
use acsm_model::kbf;

use super::{NOW, STATES, cells, fill, sizing};
use crate::support::{Flows, flows};

/// A kBF for 100,000 flows with k = 10, filled to ρ times that.
fn crowded_kbf(rho: f64) -> (Kbf<16, HALVES>, Vec<CellPlace>, Flows, f64) {
    let (capacity, hashes) = (100_000, 10);
    let sizing = sizing(Backend::Kbf, capacity, 0.5f64.powi(hashes));
    assert_eq!(sizing.hashes, hashes as usize);
    let rule = KbfRule::new(STATES, KbfDecode::AllPairs);
    let mut kbf = Kbf::new(rule, &sizing).unwrap();
    let mut source = flows(4);
    let places = fill(&mut kbf, &mut source, (rho * capacity as f64) as usize);
    (kbf, places, source, cells(&sizing))
}

/// The count of a cell as the kBF packs it.
fn count(cell: u32) -> u32 {
    cell & 7
}

#[test]
fn random_cells_are_crowded_as_often_as_the_papers_say() {
    assert!((kbf::crowded_cell(1.0) - 0.0333).abs() < 5e-5);
    for rho in [0.5, 1.0, 1.5, 2.0] {
        let (filter, _, source, cells) = crowded_kbf(rho);
        let samples = source
            .take(20_000)
            .flat_map(|absent| filter.cells_of(&filter.locate(absent.id, ()), NOW));
        let (mut sampled, mut crowded) = (0.0, 0.0);
        for cell in samples {
            sampled += 1.0;
            crowded += f64::from(u8::from(count(cell) >= 3));
        }
        let expected = kbf::crowded_cell(rho);
        let variance = expected * (1.0 - expected) * (1.0 / sampled + 1.0 / cells);
        let measured = crowded / sampled;
        println!("rho {rho}: {measured:.5}, P_n = {expected:.5}");
        assert!((measured - expected).abs() < 5.0 * variance.sqrt(), "rho {rho}: {measured}");
    }
}

/// The papers take a flow's cells for random ones; but the flow itself is on all of them.
#[test]
fn flows_are_undecodable_far_more_often_than_the_papers_say() {
    for (rho, hashes) in [(1.5, 10), (2.0, 10)] {
        let (mut filter, places, source, _) = crowded_kbf(rho);
        let is_undecodable = |place: &CellPlace, filter: &Kbf<16, HALVES>| {
            let counts: Vec<u32> = filter.cells_of(place, NOW).into_iter().map(count).collect();
            let with = |wanted: u32| counts.iter().filter(|&&count| count == wanted).count();
            with(0) == 0 && with(1) == 0 && with(2) <= 1
        };
        let undecodable = places.iter().filter(|place| is_undecodable(place, &filter)).count();
        let by_the_papers = kbf::undecodable_as_printed(rho, hashes);
        let right = kbf::undecodable_flow(rho, hashes);
        let expected = right * places.len() as f64;
        println!(
            "rho {rho}, k {hashes}: {:.2e} measured, {right:.2e} right, {by_the_papers:.2e} papers",
            undecodable as f64 / places.len() as f64
        );
        assert!((undecodable as f64 - expected).abs() < 5.0 * expected.sqrt(), "{undecodable}");

        // Among absent flows, whose cells are random, the papers' figure would hold: too rare to see.
        let absent = source.take(50_000).map(|flow| filter.locate(flow.id, ()));
        assert_eq!(absent.filter(|place| is_undecodable(place, &filter)).count(), 0);

        // What the store answers: never a wrong state, and don't know where all cells are crowded.
        let mut dont_know = 0;
        for (n, place) in places.iter().enumerate() {
            match filter.lookup(place, NOW).answer {
                Lookup::Known(state) => assert_eq!(state.index(), n % STATES),
                answer => {
                    assert_eq!(answer, Lookup::DontKnow);
                    dont_know += 1;
                }
            }
        }
        println!("rho {rho}: {dont_know} of {} answered DontKnow", places.len());
        assert!(f64::from(dont_know) > 100.0 * by_the_papers * places.len() as f64);
    }
}
