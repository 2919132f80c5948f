//! bhbf: counts and sums of salted codes.

use acsm_filters::{Backend, Budget, Expire, StoreSpec};
use acsm_model::StateMix;
use acsm_model::bhbf::Masks;
use acsm_model::counts::FlowCells;

use super::simulated::{Answer, Resident, spread};

const BOSE_CHOWLA: [usize; 16] =
    [1, 2159, 3891, 3680, 1548, 210, 448, 601, 3766, 3534, 697, 1000, 1262, 1089, 1929, 865];

/// Masks by (count, sum): a code is a candidate if the rest of the sum can be made of the others.
pub fn bhbf_judge(states: usize) -> impl Fn(&[(&[Resident], usize)]) -> Answer {
    let mut reachable = vec![vec![false; 4095]];
    reachable[0][0] = true;
    for count in 1..15 {
        let reaches = |sum: usize| {
            BOSE_CHOWLA.iter().any(|code| reachable[count - 1][(sum + 4095 - code) % 4095])
        };
        let row: Vec<bool> = (0..4095).map(reaches).collect();
        reachable.push(row);
    }
    move |cells| {
        let survives = |state: &usize| {
            cells.iter().all(|(residents, salt)| {
                let sum: usize = residents.iter().map(|(_, turned)| BOSE_CHOWLA[*turned]).sum();
                let code = BOSE_CHOWLA[(state + salt) % 16];
                match residents.len() {
                    0 => false,
                    1..15 => reachable[residents.len() - 1][(sum + 15 * 4095 - code) % 4095],
                    _ => true,
                }
            })
        };
        let left: Vec<usize> = (0..states).filter(survives).collect();
        match left[..] {
            [] => Answer::Absent,
            [state] => Answer::Known(state),
            _ => Answer::DontKnow,
        }
    }
}

#[test]
fn bhbf() {
    let masks = Masks::new();
    for (name, hashes, load, states) in
        [("bhbf, 6 states", 3, 1.5, 6), ("bhbf, 16 states", 3, 1.2, 16), ("bhbf, full", 4, 2.5, 6)]
    {
        let case = spread(name, hashes, load, StateMix::even(states));
        case.check(masks.errors(&case.cells(), states), &bhbf_judge(states));
    }
}

#[test]
fn bhbf_codes_are_a_b3_set() {
    let mut sums: Vec<usize> = vec![];
    for (i, a) in BOSE_CHOWLA.iter().enumerate() {
        for (j, b) in BOSE_CHOWLA.iter().enumerate().take(i + 1) {
            sums.extend(BOSE_CHOWLA.iter().take(j + 1).map(|c| (a + b + c) % 4095));
        }
    }
    let count = sums.len();
    sums.sort_unstable();
    sums.dedup();
    assert_eq!((sums.len(), count), (816, 816));
    // So up to three flows leave no more candidates than they are.
    let masks = Masks::new();
    let distinct = |n: i32| 16.0 * (1.0 - (15.0_f64 / 16.0).powi(n));
    for count in 1..=3 {
        assert!((masks.mean_size(count) - distinct(count as i32)).abs() < 1e-12);
    }
    assert!(masks.mean_size(4) > distinct(4));
    println!(
        "candidates by count: {:.2?}",
        (0..=15).map(|c| masks.mean_size(c)).collect::<Vec<_>>()
    );
}

/// The rule that `spec` has for the number of hashes, which cannot look here.
#[test]
fn bhbf_does_best_with_two_flows_on_a_cell() {
    let masks = Masks::new();
    let flows = 1_000_000;
    for bytes_per_flow in 2..=10 {
        let budget = Budget::MemoryBytes(bytes_per_flow * flows);
        let spec = StoreSpec { flows, budget, ..StoreSpec::new(Backend::Bhbf, 6) };
        let sizing = StoreSpec { expire: Expire::None, ..spec }.sizing().unwrap();
        let cells_per_flow = sizing.cells as f64 / flows as f64;
        for (states, absent) in [(2, 0.1), (6, 0.02), (6, 0.5), (16, 0.1)] {
            let total = |hashes: usize| {
                let cells = FlowCells::at_load(hashes, hashes as f64 / cells_per_flow);
                masks.errors(&cells, states).total(absent)
            };
            let best = (1..=10).map(total).fold(f64::INFINITY, f64::min);
            let (hashes, chosen) = (sizing.hashes, total(sizing.hashes));
            println!(
                "{cells_per_flow:.2} cells per flow, {states} states, k {hashes}: {chosen:.1e}, best {best:.1e}"
            );
            assert!(chosen <= 1.1 * best || hashes == 8 && chosen < 3e-5, "{sizing:?}: {best:e}");
        }
    }
}
