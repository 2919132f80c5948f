//! sbf: cells that hold a state, or that several flows share.

use acsm_filters::rng::Random;
use acsm_model::counts::FlowCells;
use acsm_model::{StateMix, sbf};

use super::simulated::{Answer, Resident, spread};
use crate::evidence::assert_in_interval;

pub fn judge_sbf(cells: &[(&[Resident], usize)]) -> Answer {
    let mut values = vec![];
    for (residents, _) in cells {
        let Some((first, _)) = residents.first() else { return Answer::Absent };
        if residents.iter().all(|(state, _)| state == first) && !values.contains(first) {
            values.push(*first);
        }
    }
    match values[..] {
        [] => Answer::DontKnow,
        [state] => Answer::Known(state),
        _ => Answer::Absent,
    }
}

/// As the kBF papers describe it.
fn judge_lone_sbf(cells: &[(&[Resident], usize)]) -> Answer {
    let shared_tell_nothing = |(residents, salt): &(&[Resident], usize)| {
        let same: &[Resident] = if residents.len() > 1 { &[(98, 0), (99, 0)] } else { &[] };
        let lone = residents.len() <= 1;
        (if lone { residents.to_vec() } else { same.to_vec() }, *salt)
    };
    let cells: Vec<(Vec<Resident>, usize)> = cells.iter().map(shared_tell_nothing).collect();
    let cells: Vec<(&[Resident], usize)> = cells.iter().map(|(r, s)| (r.as_slice(), *s)).collect();
    judge_sbf(&cells)
}

#[test]
fn sbf() {
    for (name, hashes, load, mix) in [
        ("sbf, even", 3, 0.7, StateMix::even(6)),
        ("sbf, 80 %", 3, 0.7, StateMix::new(&[80.0, 10.0, 4.0, 3.0, 2.0, 1.0])),
        ("sbf, full", 5, 1.5, StateMix::new(&[60.0, 30.0, 10.0])),
    ] {
        let case = spread(name, hashes, load, mix);
        case.check(sbf::errors(&case.cells(), &case.mix), &judge_sbf);
    }
    let case = spread("sbf of the kBF papers", 3, 0.7, StateMix::new(&[80.0, 20.0]));
    case.check(sbf::errors_without_sharing(&case.cells(), &case.mix), &judge_lone_sbf);
}

/// A cell as the rules of sbf make it, packet by packet: flows come in `open` or `syn`, and the part
/// `1 − kept` of them moves on to `open` or `fin` at once.
#[test]
fn sbf_of_changing_flows() {
    let (hashes, load, kept) = (3, 1.0, 0.6);
    let part = 4096;
    let flows = (load * part as f64) as usize;
    let mix = StateMix::new(&[70.0, 30.0]);
    let runs: Vec<f64> = (0..10)
        .map(|seed| {
            let mut random = Random::for_purpose(seed, 77);
            // Count and value; 9 is don't know.
            let mut cells = vec![(0u32, 0u8); hashes * part];
            let mut all = vec![];
            for _ in 0..flows {
                let state = u8::from(random.chance(0.3));
                let places: Vec<usize> =
                    (0..hashes).map(|i| i * part + random.below(part as u64) as usize).collect();
                let changes = !random.chance(kept);
                let first = if changes { 5 } else { state };
                for &place in &places {
                    let (count, value) = cells[place];
                    let value = if count == 0 || value == first { first } else { 9 };
                    cells[place] = (count + 1, value);
                }
                if changes {
                    for &place in &places {
                        let (count, value) = cells[place];
                        let value = if count == 1 || value == state { state } else { 9 };
                        cells[place] = (count, value);
                    }
                }
                all.push(places);
            }
            let lost = all.iter().filter(|places| places.iter().all(|place| cells[*place].1 == 9));
            lost.count() as f64 / flows as f64
        })
        .collect();
    let model = sbf::errors_of_changing_flows(&FlowCells::at_load(hashes, load), &mix, kept);
    assert_in_interval("sbf, 60 % keep their state", model.dont_know, &runs, 0.1);
    let never = sbf::errors(&FlowCells::at_load(hashes, load), &mix);
    assert!(model.dont_know > 1.5 * never.dont_know);
}

/// Without counts: a flow that changes its state turns all of its cells into "don't know".
#[test]
fn sbf_without_counters() {
    let (load, part) = (0.8, 40_960);
    let mix = StateMix::new(&[70.0, 20.0, 10.0]);
    for (hashes, kept) in [(3, 1.0), (3, 0.8), (7, 0.5)] {
        let mut runs = [vec![], vec![], vec![]];
        for seed in 0..10 {
            let mut random = Random::for_purpose(seed, 78);
            let mut places = || -> Vec<usize> {
                (0..hashes).map(|i| i * part + random.below(part as u64) as usize).collect()
            };
            let flows: Vec<Vec<usize>> =
                (0..(load * part as f64) as usize).map(|_| places()).collect();
            let absent: Vec<Vec<usize>> = (0..4 * part).map(|_| places()).collect();
            // 8 is empty, 9 don't know.
            let mut cells = vec![8_u8; hashes * part];
            for places in &flows {
                let drawn = random.unit();
                let state = if drawn < 0.7 { 0 } else { 1 + u8::from(drawn < 0.9) };
                let changes = !random.chance(kept);
                for &place in places {
                    let same = !changes && [8, state].contains(&cells[place]);
                    cells[place] = if same { state } else { 9 };
                }
            }
            let values = |places: &Vec<usize>| places.iter().map(|place| cells[*place]).collect();
            let of = |flows: &[Vec<usize>], is: fn(Vec<u8>) -> bool| {
                flows.iter().filter(|places| is(values(places))).count() as f64 / flows.len() as f64
            };
            let is_mute = |values: Vec<u8>| values.iter().all(|value| *value == 9);
            runs[0].push(of(&flows, is_mute));
            runs[1].push(of(&absent, is_mute));
            runs[2].push(of(&absent, |mut values| {
                let is_full = !values.contains(&8);
                values.retain(|value| *value != 9);
                values.dedup();
                is_full && values.len() == 1
            }));
        }
        let cells = FlowCells::at_load(hashes, load);
        let model = sbf::errors_without_counters(&cells, &mix, kept);
        let rates = [model.dont_know, model.dont_know_absent, model.false_positive];
        for (rate, runs) in rates.into_iter().zip(&runs) {
            assert_in_interval(&format!("sbf without counters, {kept} kept"), rate, runs, 0.3);
        }
    }
}
