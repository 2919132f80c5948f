//! `fcf` against a simulated cuckoo table with fingerprints short enough to err.

use acsm_filters::Random;
use acsm_filters::digest::mix;
use acsm_model::{ErrorRates, StateMix, fcf};

use crate::evidence::assert_in_interval;

const SLOTS: usize = 16_384;

/// Slots in a ring, where a window starts at each. A slot holds a fingerprint, which slot of its
/// window it is, and a state.
struct Table {
    slots: Vec<Option<(u64, usize, usize)>>,
    bits: u32,
}

impl Table {
    fn new(bits: u32) -> Table {
        Table { slots: vec![None; SLOTS], bits }
    }

    /// A fingerprint and a window.
    fn draw(&self, random: &mut Random) -> (u64, usize) {
        (random.next_u64() >> (64 - self.bits), random.below(SLOTS as u64) as usize)
    }

    fn other(window: usize, fingerprint: u64) -> usize {
        window ^ (mix(fingerprint + 1) as usize % SLOTS)
    }

    /// Its four slots, each with its number in its window.
    fn places((print, window): (u64, usize)) -> [(usize, usize); 4] {
        let other = Table::other(window, print);
        [(window, 0), (window, 1), (other, 0), (other, 1)]
            .map(|(window, n)| ((window + n) % SLOTS, n))
    }

    /// Returns whether a slot was found within the limit of kicks.
    fn insert(&mut self, flow: (u64, usize), state: usize, random: &mut Random) -> bool {
        let (mut flow, mut state, mut left) = (flow, state, SLOTS);
        for _ in 0..20_000 {
            let places = Table::places(flow);
            let free = places.iter().find(|(slot, _)| self.slots[*slot].is_none());
            // Not back to where it came from.
            let elsewhere = places.into_iter().filter(|(slot, _)| *slot != left);
            let any = elsewhere.collect::<Vec<_>>();
            let (slot, n) = *free.unwrap_or_else(|| &any[random.below(any.len() as u64) as usize]);
            let Some((print, old, of)) = self.slots[slot].replace((flow.0, n, state)) else {
                return true;
            };
            (flow, state, left) = ((print, (slot + SLOTS - old) % SLOTS), of, slot);
        }
        false
    }

    fn states(&self, flow: (u64, usize)) -> Vec<usize> {
        let mut states: Vec<usize> = Table::places(flow)
            .into_iter()
            .filter_map(|(slot, n)| {
                self.slots[slot].filter(|(print, of, _)| (*print, *of) == (flow.0, n))
            })
            .map(|(_, _, state)| state)
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
    let count = (load * SLOTS as f64) as usize;
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
        (4, 0.93, StateMix::even(6)),
        (6, 0.93, StateMix::new(&[80.0, 20.0])),
        (6, 0.5, StateMix::even(3)),
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
        if bits == 4 {
            let absent = of(|errors| errors.dont_know_absent);
            assert_in_interval(&name("don't know, absent"), model.dont_know_absent, &absent, 0.2);
        }
    }
}

#[test]
fn tables_fill_up_to_the_threshold() {
    let mut random = Random::new(3);
    let mut table = Table::new(16);
    let mut count = 0;
    loop {
        let place = table.draw(&mut random);
        if !table.insert(place, 0, &mut random) {
            break;
        }
        count += 1;
    }
    let load = f64::from(count) / SLOTS as f64;
    println!("full at {load:.4}");
    assert!((fcf::LOAD_PLANNED..fcf::LOAD_THRESHOLD + 0.005).contains(&load), "{load}");
}

#[test]
fn fingerprints_are_as_narrow_as_can_be() {
    for rate in [0.3, 0.01, 1e-4, 1e-9] {
        let bits = fcf::fingerprint_bits(rate, 0.93);
        let found = |bits: u32| fcf::errors(bits, 0.93, &StateMix::even(6)).of_absent();
        assert!(found(bits) <= rate && found(bits - 1) > 0.8 * rate, "{rate}: {bits}");
    }
}
