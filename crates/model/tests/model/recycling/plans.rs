//! What a filter is planned for: messages at a rate, and the best number of hashes.

use acsm_model::recycling::n_bounded::{actual, most_messages, worst};
use acsm_model::recycling::{Cycle, Filter, Phases, best_recycle};

use crate::evidence::assert_close;

/// The most messages at a rate over all k, by each model.
fn capacities(bits: f64, rate: f64) -> [f64; 3] {
    let best = |f: &dyn Fn(usize) -> f64| (1..=24).map(f).fold(0.0, f64::max);
    [
        best(&|k| most_messages(bits, rate, |n| worst(bits, k, n))),
        best(&|k| most_messages(bits, rate, |n| actual(bits, k, n.floor()))),
        best_recycle(bits as u64, rate, Phases::One).unwrap().messages,
    ]
}

/// Figures 6 and 7: at 1 % the worst case wastes about 30 % of the messages.
#[test]
fn the_worst_case_wastes_thirty_percent() {
    for (bits, rate) in [(1000.0, 0.01), (2000.0, 0.01), (50_000.0, 0.01), (2000.0, 0.001)] {
        let [by_worst, by_actual, by_sigma] = capacities(bits, rate);
        let shortfall = 1.0 - by_worst / by_sigma;
        println!(
            "M {bits}, rate {rate}: f_w {shortfall:.3} short, f_a {:.3}",
            1.0 - by_actual / by_sigma
        );
        assert!((0.25..0.40).contains(&shortfall), "{shortfall}");
        // f_a bounds the rate from below, and so the messages from above.
        assert_close("f_a", by_actual, by_sigma, 0.01);
    }
}

/// Figure 8: one phase passes more messages between recyclings; the gap narrows as the rate falls.
#[test]
fn two_phases_cost_less_where_rates_are_low() {
    let ratio = |rate: f64| {
        let [one, two] = [Phases::One, Phases::Two]
            .map(|phases| best_recycle(100_000, rate, phases).unwrap().messages);
        one / two
    };
    let ratios = [0.1, 0.01, 0.001, 1e-4, 1e-6].map(ratio);
    println!("one phase / two phases: {ratios:.3?}");
    assert!(ratios.windows(2).all(|pair| pair[1] < pair[0]));
    assert!(ratios[4] > 2.0, "half of the bits is half of the messages at least");
}

#[test]
fn plans_keep_their_rate_and_no_better_one_does() {
    for bits in [1000, 2000, 2500, 10_000_000_000] {
        for (phases, rate) in [(Phases::One, 0.01), (Phases::Two, 0.01), (Phases::One, 1e-5)] {
            let plan = best_recycle(bits, rate, phases).unwrap();
            assert!(plan.rate <= rate && plan.rate > 0.9 * rate, "{plan:?}");
        }
    }
    let cycle = Cycle::new(Filter::new(1000, 5));
    let sigma = cycle.largest_sigma(0.01).unwrap();
    assert!(cycle.false_positive_rate(sigma) <= 0.01);
    assert!(cycle.false_positive_rate(sigma + 1) > 0.01);
    // The recursion and the limit agree where one replaces the other.
    let (recursion, limit) =
        [2048, 2049].map(|bits| best_recycle(bits, 0.01, Phases::One).unwrap()).into();
    assert_close("messages", recursion.messages, limit.messages, 0.01);
    assert_eq!(best_recycle(1000, 0.0, Phases::One), None);
    assert_eq!(best_recycle(1, 0.1, Phases::Two), None);
}
