//! Aging by halves, simulated flow by flow with two plain sets of cells.

use acsm_filters::rng::Random;
use acsm_model::aging::Arrivals;
use acsm_model::{FlowCells, dbf, halves};

use crate::evidence::assert_in_interval;

const CELLS: usize = 20_000;
const HASHES: usize = 4;
const PHASE: f64 = 60.0;
const FLOWS: f64 = 3000.0;

type Cells = [usize; HASHES];

fn cells(random: &mut Random) -> Cells {
    std::array::from_fn(|_| random.below(CELLS as u64) as usize)
}

/// Flows that live for `lifetime` and send a packet every two seconds: how often an absent flow is
/// found in one half or the other.
fn simulate(lifetime: f64, seed: u64) -> f64 {
    let mut random = Random::for_purpose(seed, 5);
    let per_second = FLOWS / (lifetime + 1.5 * PHASE);
    let [mut active, mut frozen] = [vec![false; CELLS], vec![false; CELLS]];
    let mut alive: Vec<(f64, Cells)> = vec![];
    let (mut found, mut asked, mut due) = (0.0, 0.0, 0.0);
    let first_counted = lifetime + 2.0 * PHASE;
    let seconds = first_counted + 6.0 * PHASE;
    for second in 0..seconds as u32 {
        let now = f64::from(second);
        if now % PHASE == 0.0 {
            frozen = std::mem::replace(&mut active, vec![false; CELLS]);
        }
        due += per_second;
        while due >= 1.0 {
            due -= 1.0;
            alive.push((now + lifetime, cells(&mut random)));
        }
        // A flow's first packet comes when it does.
        let speaks = |n: usize| (n + second as usize).is_multiple_of(2);
        for (n, (end, cells)) in alive.iter().enumerate() {
            if speaks(n) || *end == now + lifetime {
                cells.iter().for_each(|&cell| active[cell] = true);
            }
        }
        alive.retain(|(end, _)| *end > now);
        if now >= first_counted {
            for _ in 0..200 {
                let cells = cells(&mut random);
                let in_half = |half: &[bool]| cells.iter().all(|&cell| half[cell]);
                found += f64::from(u8::from(in_half(&active) || in_half(&frozen)));
                asked += 1.0;
            }
        }
    }
    found / asked
}

#[test]
fn absent_flows_are_found_in_either_half_as_often_as_predicted() {
    for lifetime in [3.0, 60.0, 600.0] {
        let arrivals =
            Arrivals { per_second: 1.0, lifetime_seconds: lifetime, phase_seconds: PHASE };
        let load = HASHES as f64 * FLOWS / CELLS as f64;
        let model = halves::errors(&arrivals, load, |load| {
            dbf::errors(&FlowCells::at_load(HASHES, load), 1)
        });
        let measured: Vec<f64> = (0..10).map(|seed| simulate(lifetime, seed)).collect();
        let name = format!("alive for {lifetime} s");
        assert_in_interval(&name, model.false_positive, &measured, 0.06);
    }
}
