//! Timer aging: ghosts, simulated cell by cell with epochs as the stores keep them.

use acsm_filters::rng::Random;
use acsm_model::aging::Arrivals;

use crate::evidence::{assert_close, assert_in_interval};

/// An exponential time with this rate.
fn wait(random: &mut Random, rate: f64) -> f64 {
    -(1.0 - random.unit()).ln() / rate
}

/// One cell that gets `rate` flows per second, each alive for `lifetime`: how often a look at a random
/// time finds each count, up to 7.
fn simulate(rate: f64, lifetime: f64, phase: f64, seed: u64) -> [f64; 8] {
    let mut random = Random::for_purpose(seed, 3);
    let (mut found, looks) = ([0.0; 8], 40_000);
    let (mut count, mut last_touch) = (0usize, f64::NEG_INFINITY);
    let (mut next_flow, mut next_look) = (wait(&mut random, rate), 0.0);
    // Alive iff touched in this epoch or the last; a living flow touches all the time.
    let stale = |touched: f64, now: f64| (now / phase).floor() - (touched / phase).floor() > 1.0;
    for _ in 0..looks {
        next_look += wait(&mut random, rate / 3.0);
        while next_flow < next_look {
            if stale(last_touch, next_flow) {
                count = 0;
            }
            count += 1;
            last_touch = last_touch.max(next_flow + lifetime);
            next_flow += wait(&mut random, rate);
        }
        let seen = if stale(last_touch.min(next_look), next_look) { 0 } else { count };
        found[seen.min(7)] += 1.0 / f64::from(looks);
    }
    found
}

#[test]
fn counts_with_ghosts_are_geometric() {
    let phase = 60.0;
    for (touches, lifetime) in [(0.25, 0.0), (0.5, 30.0), (0.3, 120.0)] {
        // One cell with one hash: A flows per second.
        let rate = touches / phase;
        let arrivals =
            Arrivals { per_second: rate, lifetime_seconds: lifetime, phase_seconds: phase };
        let runs: Vec<[f64; 8]> =
            (0..10).map(|seed| simulate(rate, lifetime, phase, seed)).collect();
        let flow = arrivals.cells_of_absent_flow(1.0, 1);
        let name = format!("{touches} a phase, alive {lifetime} s");
        let of = |count: usize| runs.iter().map(|run| run[count]).collect::<Vec<f64>>();
        assert_in_interval(&format!("{name}: empty"), arrivals.empty(1.0, 1), &of(0), 0.05);
        for count in 1..6 {
            let model = flow.all(|counts| counts.exactly(count));
            let mean = of(count).iter().sum::<f64>() / 10.0;
            println!("{name}: {count} flows: model {model:.4}, simulated {mean:.4}");
            // Gaps and epochs hang together a little, which the model leaves out.
            assert_close(&name, model, mean, 0.12);
        }
        let load = rate * arrivals.held_seconds();
        let poisson = (-load).exp() * load.powi(4) / 24.0;
        let with_ghosts = flow.all(|counts| counts.exactly(4));
        assert!(with_ghosts > 2.0 * poisson, "ghosts: {with_ghosts} against {poisson}");
    }
}

#[test]
fn a_dead_cell_empties_after_a_geometric_number_of_phases() {
    let arrivals = Arrivals { per_second: 20.0, lifetime_seconds: 1.0, phase_seconds: 10.0 };
    let (cells, hashes) = (1000, 4);
    // 800 touches a phase on 1000 cells.
    let chance = arrivals.outlives_phase(f64::from(cells), hashes);
    assert_close("1 − e^{−kAT/m}", chance, 1.0 - (-0.8_f64).exp(), 1e-12);
    let runs: Vec<[f64; 3]> = (0..10)
        .map(|seed| {
            let mut random = Random::for_purpose(seed, 4);
            let mut phases = vec![];
            for _ in 0..60 {
                let mut alive = vec![true; cells as usize];
                let mut left = cells;
                let mut lived = 0;
                while left > cells / 20 {
                    let mut touched = vec![false; cells as usize];
                    for _ in 0..800 {
                        touched[random.below(1000) as usize] = true;
                    }
                    for (alive, touched) in alive.iter_mut().zip(&touched) {
                        if *alive && !touched {
                            *alive = false;
                            left -= 1;
                            phases.push(lived);
                        }
                    }
                    lived += 1;
                }
                phases.extend(std::iter::repeat_n(lived, left as usize));
            }
            let longer = |than: i32| {
                phases.iter().filter(|p| **p > than).count() as f64 / phases.len() as f64
            };
            [longer(0), longer(1), longer(2)]
        })
        .collect();
    for phases in 1..=3u32 {
        let outlived: Vec<f64> = runs.iter().map(|run| run[phases as usize - 1]).collect();
        let model = arrivals.outlives_phases(f64::from(cells), hashes, phases);
        assert_in_interval(&format!("outlives {phases} phases"), model, &outlived, 0.05);
    }
    assert_close("mean", arrivals.phases_until_empty(1000.0, 4), 1.0 / (1.0 - chance), 1e-12);
}

#[test]
fn ghosts_are_what_the_geometric_has_more_than_the_poisson() {
    let at =
        |load: f64| Arrivals { per_second: load / 1.5, lifetime_seconds: 0.0, phase_seconds: 1.0 };
    for load in [1e-6, 0.05, 0.0999, 0.1001, 0.7, 2.0] {
        let ghosts = at(load).ghosts_per_cell(1.0, 1);
        let series: f64 =
            (2..60).map(|j| (1..=j).map(|i| load / f64::from(i)).product::<f64>()).sum();
        assert_close("ghosts", ghosts, series, 1e-12);
    }
    assert_close("held", at(0.7).flows_held(), 0.7, 1e-12);
    // A flow that has just arrived shares its cells as an absent flow would; later it shares more.
    let young = at(0.7).cells_of_flow(1.0, 3, 0.0);
    assert_eq!(young, at(0.7).cells_of_absent_flow(1.0, 3));
    let old = at(0.7).cells_of_flow(1.0, 3, 5.0);
    assert!(old.all(|c| c.at_least(1)) > young.all(|c| c.at_least(1)));
}
