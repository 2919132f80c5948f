//! Bloom filters and the papers' figures of the kBF: printed values, and sums in fractions.

use acsm_model::counts::{CellCounts, FlowCells};
use acsm_model::{StateMix, bloom, bound, dbf, kbf};

use crate::evidence::{Fraction, assert_close, choose};

/// kBF journal §4: 0.0333132 predicted, 0.0333313 computed for a finite filter.
#[test]
fn printed_chance_of_a_crowded_cell() {
    assert_eq!(format!("{:.7}", kbf::crowded_cell(1.0)), "0.0333132");
    let (rho, ln_2) = (1.7_f64, std::f64::consts::LN_2);
    let printed = 2f64.powf(-rho - 1.0)
        * (-rho * rho * ln_2 * ln_2 + 2f64.powf(rho + 1.0) - rho * 4f64.ln() - 2.0);
    assert_close("closed form", kbf::crowded_cell(rho), printed, 1e-13);
    // The closed form loses all digits here, the sum none: λ³/6.
    assert_close("small load", kbf::crowded_cell_at(1e-7), 1e-21 / 6.0, 1e-6);
}

#[test]
fn global_decodability_as_printed_and_as_right() {
    // Figure 5: at ρ = 2 and k = 10 the papers see no failures.
    assert_close("printed", kbf::undecodable_as_printed(2.0, 10), 2.1e-7, 0.05);
    assert_close("right", kbf::undecodable_flow(2.0, 10), 1.1e-3, 0.05);
    // With all flows in different states it is what no decoding gets around but by sums of three.
    let load = bloom::load_at(2.0);
    let [crowded, with_one] = [bloom::cell_has_at_least(2, load), bloom::cell_has(1, load)];
    let by_hand = crowded.powi(10) + 10.0 * crowded.powi(9) * with_one;
    assert_close("by hand", kbf::undecodable_flow(2.0, 10), by_hand, 1e-12);
}

#[test]
fn counts_of_cells_are_exact_for_few_flows() {
    // 3 flows of 2 hashes on 5 cells.
    for count in 0..=6u32 {
        let exact = choose(6, u64::from(count))
            * Fraction::new(1, 5).power(count)
            * Fraction::new(4, 5).power(6 - count);
        assert_close("P(c = j)", bloom::cell_has_of(count, 5.0, 2, 3.0), exact.to_f64(), 1e-13);
        let counts = CellCounts::binomial(6.0, 0.2);
        assert_close("counts", counts.exactly(count as usize), exact.to_f64(), 1e-13);
    }
    let (large, limit) = (bloom::cell_has_of(2, 1e10, 7, 1e9), bloom::cell_has(2, 0.7));
    assert_close("limit", large, limit, 1e-9);
}

#[test]
fn tails_agree_with_sums() {
    for load in [1e-9, 0.3, 0.7, 2.0, 9.0, 300.0] {
        for count in 0..20 {
            let tail: f64 =
                (count..count + 900).rev().map(|flows| bloom::cell_has(flows, load)).sum();
            let whole = bloom::cell_has_at_least(count, load);
            assert!(
                (whole - tail).abs() < 1e-13 * tail.max(1e-300) + 1e-13 * whole,
                "{load} {count}"
            );
        }
    }
}

#[test]
fn capacity_is_where_the_rate_is_reached() {
    for p in [0.1_f64, 0.01, 1e-5] {
        let k = -p.log2();
        let flows = bloom::capacity(1e6, p);
        let rate = (1.0 - (-k * flows / 1e6).exp()).powf(k);
        assert_close("rate at capacity", rate, p, 1e-12);
        assert_close("rho", bloom::rho(k * flows / 1e6), 1.0, 1e-12);
    }
    for cells_per_flow in [0.5, 1.0, 4.8, 9.6, 14.4, 24.0, 43.0] {
        let best = bloom::best_hashes(cells_per_flow, 32);
        let rate = |hashes: usize| bloom::fp_rate(cells_per_flow, hashes, 1.0);
        assert!((1..=32).all(|hashes| rate(hashes) >= rate(best)), "{cells_per_flow}: {best}");
    }
}

/// All layouts and cells of few flows listed: two lines of two cells, each flow on one cell of a line.
#[test]
fn cells_of_lines_share_their_luck() {
    let cells = FlowCells::blocked(2, 1.0, 1, 2);
    // One line of two cells with both picked by every flow: both empty or none.
    let empty = cells.all(|counts| counts.exactly(0));
    assert_close("both empty", empty, (-1.0_f64).exp(), 1e-12);
    let spread = FlowCells::at_load(2, 1.0).all(|counts| counts.exactly(0));
    assert_close("spread", spread, (-2.0_f64).exp(), 1e-12);
    assert_eq!(FlowCells::blocked(7, 0.7, 3, 26).hashes(), 7);
    // As many lines as hashes, of many cells each, are spread cells.
    let lines = FlowCells::blocked(5, 0.7, 5, 4000).all(|counts| counts.at_least(2));
    assert_close("lines", lines, FlowCells::at_load(5, 0.7).all(|c| c.at_least(2)), 1e-3);
    let one = FlowCells::at_load(3, 0.7);
    let [z, x] = [bloom::cell_has_at_least(2, 0.7), bloom::cell_has(1, 0.7)];
    let but_one = one.all_but_one(|c| c.at_least(2), |c| c.exactly(1));
    assert_close("but one", but_one, 3.0 * z * z * x, 1e-12);
}

#[test]
fn dbf_errors_are_those_of_independent_tests() {
    for (states, hashes, load) in [(1, 3, 0.7), (2, 3, 0.7), (6, 4, 1.0), (16, 7, 0.69)] {
        let cells = FlowCells::at_load(hashes, load);
        let f = (1.0 - (-load).exp()).powi(hashes as i32);
        let errors = dbf::errors(&cells, states);
        let none = (1.0 - f).powi(states as i32);
        assert_close("absent flows found", errors.of_absent(), 1.0 - none, 1e-9);
        let others = 1.0 - (1.0 - f).powi(states as i32 - 1);
        assert!((errors.dont_know - others).abs() < 1e-12);
    }
    // 0.6 for 0.6185, and s for s − 1.
    let right = dbf::errors(&FlowCells::at_load(10, 10.0 / 14.4), 6).dont_know;
    let ratio = right / dbf::dont_know_as_printed(14.4, 6);
    println!("dbf's don't know, right / printed: {ratio:.2}");
    assert!((1.2..1.4).contains(&ratio), "{ratio}");
}

#[test]
fn the_bound_counts_membership_slots_and_states() {
    let mix = StateMix::new(&[8.0, 1.0, 1.0]);
    assert_close("entropy", mix.entropy_bits(), 0.921_928_094_887_362, 1e-12);
    let bits = bound::bits_per_flow(1.0 / 1024.0, &mix);
    assert_close("bits", bits, 10.0 + std::f64::consts::LOG2_E + 0.921_928_094_887_362, 1e-12);
    assert!(bound::bloom_bits_per_flow(1e-3, &mix) > bound::bits_per_flow(1e-3, &mix));
    assert_eq!(StateMix::even(8).entropy_bits(), 3.0);
    // Nonsense becomes something that can be computed with.
    assert_eq!(StateMix::new(&[f64::NAN, -1.0]), StateMix::even(2));
    assert_eq!(StateMix::new(&[]), StateMix::even(1));
    assert_eq!(StateMix::new(&[1.0; 40]).states(), 16);
}
