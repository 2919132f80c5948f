//! Tiny filters: every outcome is listed, in exact fractions.

use acsm_model::recycling::{Cycle, End, Filter, Hashing, Retain, expected_messages, one_hash};

use super::{VARIANTS, filter};
use crate::evidence::{Fraction, assert_close};

/// τ_k(i, j) by listing every outcome of k hashes on a filter whose first i bits are set.
fn listed_step(filter: &Filter, set: u64) -> Vec<Fraction> {
    let mut ways = vec![0i128; filter.hashes + 1];
    let outcomes = filter.bits.pow(filter.hashes as u32);
    for outcome in 0..outcomes {
        let mut places: Vec<u64> = (0..filter.hashes as u32)
            .map(|hash| outcome / filter.bits.pow(hash) % filter.bits)
            .collect();
        places.sort_unstable();
        places.dedup();
        if filter.hashing == Hashing::Distinct && places.len() < filter.hashes {
            continue;
        }
        ways[places.iter().filter(|&&place| place >= set).count()] += 1;
    }
    let total: i128 = ways.iter().sum();
    ways.into_iter().map(|ways| Fraction::new(ways, total)).collect()
}

#[test]
fn steps_are_exact() {
    for variant in VARIANTS {
        for hashes in 1..=4 {
            let filter = filter(6, hashes, variant);
            // Distinct hashes leave no state between 0 and k.
            let reachable =
                |&set: &u64| variant.0 == Hashing::Colliding || set == 0 || set >= hashes as u64;
            for set in (0..=6).filter(reachable) {
                let listed = listed_step(&filter, set);
                for (step, exact) in filter.step(set).iter().zip(&listed) {
                    assert!((step - exact.to_f64()).abs() < 1e-15, "{filter:?} {set}: {step}");
                }
                let rate = filter.false_positive_rate(set);
                assert!((rate - listed[0].to_f64()).abs() < 1e-15, "{filter:?} {set}: {rate}");
                let beyond: f64 = listed.iter().skip(3).map(|step| step.to_f64()).sum();
                assert!((filter.overflow(set, set + 2) - beyond).abs() < 1e-15);
            }
        }
    }
}

/// The steady state as equations (15) and (16) have it: π = π P, with P listed, solved by Gauss in
/// exact fractions.
fn solved_steady_state(filter: &Filter, sigma: usize) -> Vec<Fraction> {
    let states = sigma + 1;
    let mut transitions = vec![vec![Fraction::ZERO; states]; states];
    let start = listed_step(filter, 0);
    for (set, row) in transitions.iter_mut().enumerate() {
        for (more, chance) in listed_step(filter, set as u64).into_iter().enumerate() {
            match (set + more <= sigma, filter.retain) {
                (true, _) => row[set + more] = row[set + more] + chance,
                (false, Retain::Forget) => row[0] = row[0] + chance,
                (false, Retain::Keep) => {
                    for (bits, again) in start.iter().enumerate() {
                        row[bits] = row[bits] + chance * *again;
                    }
                }
            }
        }
    }
    // π (P − 1) = 0 with the last equation replaced by Σ π = 1.
    let mut system: Vec<Vec<Fraction>> = (0..states)
        .map(|to| {
            let last = to + 1 == states;
            let entry = |from: usize| match last {
                true => Fraction::ONE,
                false if from == to => transitions[from][to] - Fraction::ONE,
                false => transitions[from][to],
            };
            let right = if last { Fraction::ONE } else { Fraction::ZERO };
            (0..states).map(entry).chain([right]).collect()
        })
        .collect();
    for pivot in 0..states {
        let row = (pivot..states).find(|&row| system[row][pivot] != Fraction::ZERO).unwrap();
        system.swap(pivot, row);
        let head = system[pivot].clone();
        for (_, row) in system.iter_mut().enumerate().filter(|(other, _)| *other != pivot) {
            let factor = row[pivot] / head[pivot];
            for (entry, of_head) in row.iter_mut().zip(&head) {
                *entry = *entry - factor * *of_head;
            }
        }
    }
    (0..states).map(|state| system[state][states] / system[state][state]).collect()
}

#[test]
fn steady_states_are_exact() {
    for (variant, hashes) in VARIANTS.into_iter().flat_map(|v| [(v, 1), (v, 2)]) {
        let filter = filter(6, hashes, variant);
        let cycle = Cycle::new(filter);
        for sigma in 2..=5 {
            let solved = solved_steady_state(&filter, sigma);
            let mut rate = Fraction::ZERO;
            for (set, exact) in solved.iter().enumerate() {
                let state = cycle.steady_state(set as u64, sigma as u64);
                assert!((state - exact.to_f64()).abs() < 1e-14, "{filter:?} {sigma} {set}");
                // Distinct hashes never visit the states below k.
                if *exact != Fraction::ZERO {
                    rate = rate + *exact * listed_step(&filter, set as u64)[0];
                }
            }
            let model = cycle.false_positive_rate(sigma as u64);
            assert!((model - rate.to_f64()).abs() < 1e-14, "{filter:?} {sigma}: {model}");
        }
    }
}

#[test]
fn the_text_after_15_forgets_the_empty_filter() {
    let cycle = Cycle::new(filter(1000, 7, (Hashing::Distinct, Retain::Forget)));
    assert!((cycle.steady_state(0, 500) - 1.0 / cycle.messages(500)).abs() < 1e-15);
    assert!((1..7).all(|set| cycle.steady_state(set, 500) == 0.0));
    assert!(cycle.steady_state(7, 500) > 0.0);
    // That fits where the message is kept.
    let cycle = Cycle::new(filter(1000, 7, (Hashing::Distinct, Retain::Keep)));
    assert_eq!(cycle.steady_state(0, 500), 0.0);
}

#[test]
fn one_hash_has_a_closed_form_and_the_print_of_it_is_a_product() {
    for (bits, sigma) in [(1000, 1), (1000, 500), (1000, 999), (50_000, 40_000)] {
        let cycle = Cycle::new(Filter::new(bits, 1));
        assert_close("k = 1", one_hash(bits, sigma), cycle.false_positive_rate(sigma), 1e-9);
    }
    let inverses: f64 = (0..=500).map(|j| 1.0 / f64::from(1000 - j)).sum();
    let over: f64 = (0..=500).map(|i| f64::from(i) / (1000.0 * f64::from(1000 - i))).sum();
    assert_close("quotient", over / inverses, one_hash(1000, 500), 1e-12);
    assert_close("(19) as printed", over * inverses, 0.1345, 1e-3);
    assert_close("(19)", one_hash(1000, 500), 0.2788, 1e-3);
}

#[test]
fn messages_counted_backwards_are_those_counted_forwards() {
    for (variant, hashes) in VARIANTS.into_iter().flat_map(|v| [(v, 1), (v, 3), (v, 7)]) {
        if variant.1 == Retain::Keep {
            continue; // (20)–(23) start with an empty filter
        }
        let filter = filter(1000, hashes, variant);
        let cycle = Cycle::new(filter);
        for sigma in [20, 300, 500, 900] {
            let backwards = expected_messages(&filter, sigma, End::Beyond);
            assert_close("E[N_0]", cycle.messages(sigma), backwards, 1e-11);
            let printed = expected_messages(&filter, sigma, End::AtOrBeyond);
            assert_close(
                "b ≥ σ",
                printed,
                expected_messages(&filter, sigma - 1, End::Beyond),
                1e-13,
            );
            assert!(printed < backwards);
        }
    }
    assert_eq!(expected_messages(&Filter::new(100, 2), 100, End::Beyond), f64::INFINITY);
}
