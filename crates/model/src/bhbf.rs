//! `bhbf`: a cell holds a count and the sum of its flows' codes, which determines the codes of up to
//! three flows, and limits those of more to a set of candidates.
//!
//! The 16 codes are a B_3 set by Bose–Chowla: sums of three, modulo 4095, are all different. With
//! c flows on a cell the candidates are a mask of M_c of 16 codes. Salts turn each cell's mask
//! by a random amount, so that to a flow the masks are random sets of their size: a state that is
//! not the flow's survives a cell with probability (M − 1)/15, one of an absent flow with M/16; i given states
//! with M(M − 1)…/(16·15…). How many survive all k cells follows by inclusion and exclusion.

use crate::STATES_MAX;
use crate::counts::{COUNT_MAX, CellCounts};
use crate::{ErrorRates, FlowCells};

const CODES: [u32; STATES_MAX] =
    [1, 2159, 3891, 3680, 1548, 210, 448, 601, 3766, 3534, 697, 1000, 1262, 1089, 1929, 865];
const MODULUS: usize = 4095;
const SIZES: usize = STATES_MAX + 1;

/// Sizes of masks, by how many flows are on a cell.
#[derive(Debug, Clone)]
pub struct Masks {
    /// `sizes[c][s]`: the probability that c random codes leave s candidates.
    sizes: [[f64; SIZES]; COUNT_MAX + 1],
    /// `together[own][c][i]`: the probability that i given states, none of them the flow's own, are all
    /// among the candidates, by the other flows on the cell.
    together: [[[f64; SIZES]; COUNT_MAX + 1]; 2],
}

impl Default for Masks {
    fn default() -> Masks {
        Masks::new()
    }
}

impl Masks {
    /// Computes the sums of 1 to 14 random codes; 15 stands for a saturated count, which excludes
    /// nothing. A million steps.
    ///
    /// ```
    /// use acsm_model::bhbf::Masks;
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
                sizes[STATES_MAX] = 1.0;
            } else {
                odds = add_code(&odds, sizes);
            }
        }
        let together = [Presence::Absent, Presence::Extant].map(|own| together(&sizes, own));
        Masks { sizes, together }
    }

    /// The mean number of candidate codes on a cell with this number of flows.
    pub fn mean_size(&self, count: usize) -> f64 {
        let sizes = self.sizes.get(count.min(COUNT_MAX)).into_iter().flatten().enumerate();
        sizes.map(|(size, chance)| size as f64 * chance).sum()
    }

    /// Errors with a machine of this many states.
    ///
    /// Salts make the errors independent of the mix of states.
    pub fn errors(&self, cells: &FlowCells, states: usize) -> ErrorRates {
        let states = states.clamp(1, STATES_MAX);
        // An absent flow: all states are candidates of 16, on cells as they are.
        let absent = self.subsets(cells, states, Presence::Absent);
        // An extant flow: all states but its own, of 15, on cells with one more flow.
        let extant = self.subsets(cells, states - 1, Presence::Extant);
        // P(one or more) = B₁ − B₂ + B₃ …, P(two or more) = B₂ − 2 B₃ + 3 B₄ ….
        let at_least = |subsets: &[f64; SIZES], least: usize| -> f64 {
            let sign = |i: usize| if (i - least).is_multiple_of(2) { 1.0 } else { -1.0 };
            let ways = |i: usize| if least == 1 { 1.0 } else { (i - 1) as f64 };
            let terms = subsets.iter().enumerate().skip(least);
            terms.map(|(i, b)| sign(i) * ways(i) * b).sum::<f64>().clamp(0.0, 1.0)
        };
        let dont_know_absent = at_least(&absent, 2);
        ErrorRates {
            false_positive: (at_least(&absent, 1) - dont_know_absent).max(0.0),
            dont_know_absent,
            dont_know: at_least(&extant, 1),
            ..ErrorRates::default()
        }
    }

    /// B_i: the mean number of sets of i states, of `candidates`, that survive all cells together.
    fn subsets(&self, cells: &FlowCells, candidates: usize, own: Presence) -> [f64; SIZES] {
        let tables = self.together.get(own as usize);
        std::array::from_fn(|i| {
            if i == 0 || i > candidates {
                return 0.0;
            }
            let survive = |counts: &CellCounts| -> f64 {
                let by_count = tables.into_iter().flatten().map(|row| row.get(i).copied());
                let chances = counts.chances().iter();
                chances.zip(by_count).map(|(chance, all)| chance * all.unwrap_or(0.0)).sum()
            };
            choose(candidates, i) * cells.all(survive)
        })
    }
}

/// Whether the flow is one of those on its cells.
#[derive(Clone, Copy)]
enum Presence {
    Absent = 0,
    Extant = 1,
}

/// Sums with one more random code; fills in how many codes each sum leaves as candidates.
fn add_code(odds: &[f64], sizes: &mut [f64; SIZES]) -> Vec<f64> {
    let before = |sum: usize, code: u32| {
        odds.get((sum + MODULUS - code as usize) % MODULUS).copied().unwrap_or(0.0)
    };
    let with_one_more = |sum: usize| {
        let ways = CODES.iter().map(|&code| before(sum, code));
        let candidates = ways.clone().filter(|odds| *odds > 0.0).count();
        let chance = ways.sum::<f64>() / STATES_MAX as f64;
        sizes.iter_mut().skip(candidates).take(1).for_each(|size| *size += chance);
        chance
    };
    (0..MODULUS).map(with_one_more).collect()
}

fn together(sizes: &[[f64; SIZES]; COUNT_MAX + 1], own: Presence) -> [[f64; SIZES]; COUNT_MAX + 1] {
    let own = own as usize;
    let all = STATES_MAX - own;
    // i given states are in a random set of `size` out of all: s(s−1)…/(a(a−1)…).
    let in_set = |i: usize, size: usize| -> f64 {
        (0..i).map(|n| size.saturating_sub(n) as f64 / (all - n).max(1) as f64).product()
    };
    std::array::from_fn(|others| {
        std::array::from_fn(|i| {
            if i > all {
                return 0.0;
            }
            let sizes = sizes.get((others + own).min(COUNT_MAX)).into_iter().flatten();
            sizes.skip(own).enumerate().map(|(size, chance)| chance * in_set(i, size)).sum()
        })
    })
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}
