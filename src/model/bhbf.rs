//! `bhbf`: a cell holds a count and the sum of its flows' codes, which tells the codes of up to
//! three flows for sure, and of more as a set of candidates.
//!
//! The 16 codes are a B_3 set by Bose–Chowla: sums of three, modulo 4095, are all different. With
//! c flows on a cell the candidates are a mask of M_c of 16 codes. Salts turn each cell's mask
//! by a random amount, so that to a flow the masks are random sets of their size: a state that is
//! not the flow's survives a cell with chance (M − 1)/15, a stranger's with M/16. The states that
//! survive all k cells follow a chain with hypergeometric steps.

use super::counts::{COUNT_MAX, CellCounts};
use super::special::power;
use super::{ErrorRates, FlowCells};
use crate::state::State;

const CODES: [u32; State::LIMIT] =
    [1, 2159, 3891, 3680, 1548, 210, 448, 601, 3766, 3534, 697, 1000, 1262, 1089, 1929, 865];
const MODULUS: usize = 4095;
const SIZES: usize = State::LIMIT + 1;

/// Sizes of masks, by how many flows are on a cell.
#[derive(Debug, Clone)]
pub struct Masks {
    /// `sizes[c][s]`: the chance that c random codes leave s candidates.
    sizes: [[f64; SIZES]; COUNT_MAX + 1],
    /// What [`hypergeometric`] gives for strangers and for flows: `[own][size][candidates][left]`.
    left: Vec<Table>,
}

type Table = [[[f64; SIZES]; SIZES]; SIZES];

impl Default for Masks {
    fn default() -> Masks {
        Masks::new()
    }
}

impl Masks {
    /// Follows the sums of 1 to 14 random codes; 15 stands for a count that is stuck and tells
    /// nothing. A million steps.
    ///
    /// ```
    /// use acsm::model::bhbf::Masks;
    ///
    /// let masks = Masks::new();
    /// // Two codes are the same with 1/16, else two candidates; fifteen could be any.
    /// assert!((masks.mean_size(2) - (1.0 / 16.0 + 2.0 * 15.0 / 16.0)).abs() < 1e-12);
    /// assert_eq!(masks.mean_size(15), 16.0);
    /// ```
    pub fn new() -> Masks {
        let mut sizes = [[0.0; SIZES]; COUNT_MAX + 1];
        let mut odds = vec![0.0; MODULUS];
        odds.iter_mut().take(1).for_each(|none| *none = 1.0);
        for (count, sizes) in sizes.iter_mut().enumerate() {
            if count == 0 {
                sizes[0] = 1.0;
            } else if count == COUNT_MAX {
                sizes[State::LIMIT] = 1.0;
            } else {
                odds = add_code(&odds, sizes);
            }
        }
        Masks { sizes, left: vec![left_by_size(Own::Absent), left_by_size(Own::There)] }
    }

    /// How many codes are candidates on a cell with so many flows, on average.
    pub fn mean_size(&self, count: usize) -> f64 {
        let sizes = self.sizes.get(count.min(COUNT_MAX)).into_iter().flatten().enumerate();
        sizes.map(|(size, chance)| size as f64 * chance).sum()
    }

    /// Errors with a machine of so many states.
    ///
    /// What a flow's or a stranger's cells say never depends on the mix of states.
    pub fn errors(&self, cells: &FlowCells, states: usize) -> ErrorRates {
        let states = states.clamp(1, State::LIMIT);
        // A stranger: all states are candidates of 16, on cells as they are.
        let stranger = self.survivors(cells, states, Own::Absent);
        // A flow: all states but its own, of 15, on cells with one more.
        let flow = self.survivors(cells, states - 1, Own::There);
        let at_least = |odds: &[f64; SIZES], least: usize| odds.iter().skip(least).sum::<f64>();
        ErrorRates {
            false_positive: stranger[1],
            dont_know_absent: at_least(&stranger, 2),
            dont_know: at_least(&flow, 1),
            ..ErrorRates::default()
        }
    }

    /// How many of `candidates` states survive all cells.
    fn survivors(&self, cells: &FlowCells, candidates: usize, own: Own) -> [f64; SIZES] {
        let mut start = [0.0; SIZES];
        start.iter_mut().skip(candidates).take(1).for_each(|all| *all = 1.0);
        cells.fold(start, |counts, odds| self.pass(counts, odds, own))
    }

    /// One cell: j candidates of `codes` meet a random set of the mask's size.
    fn pass(&self, counts: &CellCounts, odds: [f64; SIZES], own: Own) -> [f64; SIZES] {
        let mut next = [0.0; SIZES];
        let tables = self.left.get(own as usize).into_iter().flatten();
        for (chance, table) in self.sizes_on(counts, own as usize).into_iter().zip(tables) {
            if chance == 0.0 {
                continue;
            }
            for (odds, left) in odds.iter().zip(table).filter(|(odds, _)| **odds > 0.0) {
                next.iter_mut().zip(left).for_each(|(next, left)| *next += odds * chance * left);
            }
        }
        next
    }

    /// The chances of mask sizes, without the flow's own code, on a cell with these others.
    fn sizes_on(&self, counts: &CellCounts, own: usize) -> [f64; SIZES] {
        let mut mean = [0.0; SIZES];
        for (others, chance) in counts.chances().iter().enumerate() {
            let sizes = self.sizes.get((others + own).min(COUNT_MAX)).into_iter().flatten();
            mean.iter_mut().zip(sizes.skip(own)).for_each(|(mean, size)| *mean += chance * size);
        }
        mean
    }
}

#[derive(Clone, Copy)]
enum Own {
    Absent = 0,
    There = 1,
}

/// Sums with one more random code; fills in how many codes each sum leaves as candidates.
fn add_code(odds: &[f64], sizes: &mut [f64; SIZES]) -> Vec<f64> {
    let before = |sum: usize, code: u32| {
        odds.get((sum + MODULUS - code as usize) % MODULUS).copied().unwrap_or(0.0)
    };
    let with_one_more = |sum: usize| {
        let ways = CODES.iter().map(|&code| before(sum, code));
        let candidates = ways.clone().filter(|odds| *odds > 0.0).count();
        let chance = ways.sum::<f64>() / State::LIMIT as f64;
        sizes.iter_mut().skip(candidates).take(1).for_each(|size| *size += chance);
        chance
    };
    (0..MODULUS).map(with_one_more).collect()
}

fn left_by_size(own: Own) -> Table {
    let mut table = [[[0.0; SIZES]; SIZES]; SIZES];
    for (size, table) in table.iter_mut().enumerate() {
        for (candidates, table) in table.iter_mut().enumerate() {
            for (left, chance) in table.iter_mut().enumerate().take(candidates + 1) {
                *chance = hypergeometric(left, candidates, size, State::LIMIT - own as usize);
            }
        }
    }
    table
}

/// The chance that `left` of `marked` items are in a random set of `size` out of `all`.
fn hypergeometric(left: usize, marked: usize, size: usize, all: usize) -> f64 {
    if left > size || size > all || marked > all || marked - left > all - size {
        return 0.0;
    }
    let choose =
        |n: usize, k: usize| -> f64 { (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product() };
    choose(marked, left) * choose(all - marked, size - left) / choose(all, size)
}

/// The chance that one given wrong state survives, by single cells: the leading term of
/// [`Masks::errors`], useful to see what k buys.
pub fn wrong_state_survives(masks: &Masks, load: f64, hashes: usize) -> f64 {
    let counts = CellCounts::poisson(load);
    let chance = |(others, odds): (usize, &f64)| {
        odds * (masks.mean_size(others + 1) - 1.0) / (State::LIMIT - 1) as f64
    };
    power(counts.chances().iter().enumerate().map(chance).sum(), hashes)
}
