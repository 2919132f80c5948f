//! Bloom filters, and what all filters of k cells per flow have in common.
//!
//! With n flows of k cells each on m cells, the number of flows on a cell is Poisson distributed
//! with mean λ = kn/m, for large m. Cutting the cells into one part per hash changes that only in
//! terms of order 1/m.

use std::f64::consts::LN_2;

use crate::special;

/// λ = kn/m: the mean number of flows on a cell.
pub fn load(cells: f64, hashes: usize, flows: f64) -> f64 {
    hashes as f64 * flows / cells
}

/// The probability that a cell with this load has exactly `count` flows: P(c = j) of the kBF papers in
/// the limit, λ^j e^{−λ} / j!.
pub fn cell_has(count: u32, load: f64) -> f64 {
    special::poisson(f64::from(count), load)
}

/// P(c = j) of the kBF papers for a filter of finite size: C(nk, j) (1/m)^j (1 − 1/m)^{nk−j}.
pub fn cell_has_of(count: u32, cells: f64, hashes: usize, flows: f64) -> f64 {
    special::binomial(f64::from(count), hashes as f64 * flows, 1.0 / cells)
}

/// The probability that a cell with this load has `count` flows or more.
pub fn cell_has_at_least(count: u32, load: f64) -> f64 {
    let chance = |flows: f64| special::poisson(flows, load);
    if f64::from(count) < load {
        return 1.0 - (0..count).map(|fewer| cell_has(fewer, load)).sum::<f64>();
    }
    // From here on each term is smaller than the one before.
    let (mut sum, mut flows) = (0.0, f64::from(count));
    loop {
        let next = sum + chance(flows);
        if next <= sum || next.is_nan() {
            return sum;
        }
        (sum, flows) = (next, flows + 1.0);
    }
}

/// (1 − e^{−kn/m})^k: the probability that an absent flow finds none of its cells empty.
///
/// ```
/// use acsm_model::bloom;
///
/// // 9.585 cells per flow and 7 hashes give 1 %.
/// assert!((bloom::fp_rate(9_585_059.0, 7, 1e6) - 0.01).abs() < 1e-4);
/// ```
pub fn fp_rate(cells: f64, hashes: usize, flows: f64) -> f64 {
    special::power(-(-load(cells, hashes, flows)).exp_m1(), hashes)
}

/// The standard deviation of the part of cells in use. Cells fill more evenly than independent
/// ones would: (e^{−λ} − (1 + λ) e^{−2λ}) / m.
pub fn fill_deviation(cells: f64, load: f64) -> f64 {
    let empty = (-load).exp();
    ((empty - (1.0 + load) * empty * empty) / cells).sqrt()
}

/// The load at ρ times the p-capacity: at ρ = 1 half of the cells are empty, whatever p.
pub fn load_at(rho: f64) -> f64 {
    rho * LN_2
}

/// ln 2 · m/n: the number of hashes with the fewest errors, not rounded. Bloom-g paper (2).
pub fn optimal_hashes(cells_per_flow: f64) -> f64 {
    LN_2 * cells_per_flow
}

/// The integer number of hashes, from 1 to `most`, with the fewest errors.
///
/// ```
/// use acsm_model::bloom;
///
/// assert_eq!((bloom::best_hashes(9.6, 32), bloom::best_hashes(1.0, 32)), (7, 1));
/// ```
pub fn best_hashes(cells_per_flow: f64, most: usize) -> usize {
    let low = (optimal_hashes(cells_per_flow).floor() as usize).clamp(1, most.max(1));
    let high = (low + 1).min(most.max(1));
    let rate = |hashes: usize| fp_rate(cells_per_flow, hashes, 1.0);
    if rate(high) < rate(low) { high } else { low }
}

/// −m ln² 2 / ln p: the number of flows at which the false positive rate reaches `p`, with the best
/// k. kBF papers, definition 1.
///
/// ```
/// use acsm_model::bloom;
///
/// assert!((bloom::capacity(9.585, 0.01) - 1.0).abs() < 1e-3);
/// ```
pub fn capacity(cells: f64, p: f64) -> f64 {
    -cells * LN_2 * LN_2 / p.ln()
}

/// ρ = (nk/m) / ln 2: the load in multiples of the capacity.
pub fn rho(load: f64) -> f64 {
    load / LN_2
}
