//! `fcf` against a simulated cuckoo table with fingerprints short enough to err.

use acsm_filters::Random;
use acsm_filters::digest::mix;
use acsm_model::{ErrorRates, StateMix, fcf};

use crate::evidence::assert_in_interval;

const BUCKETS: usize = 4096;

/// Buckets of up to four (fingerprint, state).
struct Table {
    buckets: Vec<Vec<(u64, usize)>>,
    bits: u32,
}

impl Table {
    fn new(bits: u32) -> Table {
        Table { buckets: vec![vec![]; BUCKETS], bits }
    }

    /// A fingerprint and a bucket.
    fn draw(&self, random: &mut Random) -> (u64, usize) {
        (random.next_u64() >> (64 - self.bits), random.below(BUCKETS as u64) as usize)
    }

    fn other(bucket: usize, fingerprint: u64) -> usize {
        bucket ^ (mix(fingerprint + 1) as usize % BUCKETS)
    }

    /// Returns whether a slot was found within the limit of kicks.
    fn insert(
        &mut self,
        (mut print, mut bucket): (u64, usize),
        state: usize,
        random: &mut Random,
    ) -> bool {
        let mut state = state;
        if self.buckets[bucket].len() == 4 {
            bucket = Table::other(bucket, print);
        }
        for _ in 0..2000 {
            let slots = &mut self.buckets[bucket];
            if slots.len() < 4 {
                slots.push((print, state));
                return true;
            }
            let victim = random.below(4) as usize;
            (print, state) = std::mem::replace(&mut slots[victim], (print, state));
            bucket = Table::other(bucket, print);
        }
        false
    }

    fn states(&self, (print, bucket): (u64, usize)) -> Vec<usize> {
        let mut states: Vec<usize> = [bucket, Table::other(bucket, print)]
            .iter()
            .flat_map(|bucket| &self.buckets[*bucket])
            .filter(|(found, _)| *found == print)
            .map(|(_, state)| *state)
            .collect();
        states.sort_unstable();
        states.dedup();
        states
    }
}

fn draw_state(states: &StateMix, random: &mut Random) -> usize {
    let mut at = random.unit();
    let found = states.parts().iter().position(|part| {
        at -= part;
        at < 0.0
    });
    found.unwrap_or(0)
}

fn simulate(bits: u32, load: f64, states: &StateMix, seed: u64) -> ErrorRates {
    let mut random = Random::for_purpose(seed, 8);
    let mut table = Table::new(bits);
    let count = (load * 4.0 * BUCKETS as f64) as usize;
    let mut flows = vec![];
    for _ in 0..count {
        let place = table.draw(&mut random);
        let state = draw_state(states, &mut random);
        assert!(table.insert(place, state, &mut random), "full below the threshold");
        flows.push(place);
    }
    let mut errors = ErrorRates::default();
    for flow in &flows {
        errors.dont_know += f64::from(u8::from(table.states(*flow).len() > 1)) / count as f64;
    }
    let absent = 50_000;
    for _ in 0..absent {
        match table.states(table.draw(&mut random)).len() {
            0 => {}
            1 => errors.false_positive += 1.0 / f64::from(absent),
            _ => errors.dont_know_absent += 1.0 / f64::from(absent),
        }
    }
    errors
}

#[test]
fn errors_are_as_simulated() {
    for (bits, load, states) in [
        (6, 0.95, StateMix::even(6)),
        (8, 0.95, StateMix::new(&[80.0, 20.0])),
        (8, 0.5, StateMix::even(3)),
    ] {
        let model = fcf::errors(bits, load, &states);
        let runs: Vec<ErrorRates> =
            (0..10).map(|seed| simulate(bits, load, &states, seed)).collect();
        let of = |kind: fn(&ErrorRates) -> f64| runs.iter().map(kind).collect::<Vec<f64>>();
        let name = |kind: &str| format!("fcf, {bits} bits at {load}: {kind}");
        let positive = of(|errors| errors.false_positive);
        assert_in_interval(&name("false positive"), model.false_positive, &positive, 0.1);
        let dont_know = of(|errors| errors.dont_know);
        assert_in_interval(&name("don't know"), model.dont_know, &dont_know, 0.4);
        if bits == 6 {
            let absent = of(|errors| errors.dont_know_absent);
            assert_in_interval(&name("don't know, absent"), model.dont_know_absent, &absent, 0.2);
        }
    }
}

#[test]
fn tables_fill_up_to_the_threshold() {
    let mut random = Random::new(3);
    let mut table = Table::new(16);
    let slots = 4 * BUCKETS;
    let mut count = 0;
    loop {
        let place = table.draw(&mut random);
        if !table.insert(place, 0, &mut random) {
            break;
        }
        count += 1;
    }
    let load = f64::from(count) / slots as f64;
    println!("full at {load:.4}");
    assert!((fcf::LOAD_PLANNED..fcf::LOAD_THRESHOLD + 0.005).contains(&load), "{load}");
}

#[test]
fn fingerprints_are_as_narrow_as_can_be() {
    for rate in [0.3, 0.01, 1e-4, 1e-9] {
        let bits = fcf::fingerprint_bits(rate, 0.95);
        let found = |bits: u32| fcf::errors(bits, 0.95, &StateMix::even(6)).of_absent();
        assert!(found(bits) <= rate && found(bits - 1) > 0.8 * rate, "{rate}: {bits}");
    }
}
