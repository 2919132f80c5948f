//! What all filters of k cells per flow have in common.
//!
//! With n flows of k cells each on m cells, the number of flows on a cell is Poisson distributed
//! with mean λ = kn/m, for large m. Cutting the cells into one part per hash changes that only in
//! terms of order 1/m.

use std::f64::consts::LN_2;

/// λ = kn/m: the mean number of flows on a cell.
pub fn load(cells: f64, hashes: usize, flows: f64) -> f64 {
    hashes as f64 * flows / cells
}

/// The chance that a cell with this load has exactly `count` flows.
pub fn cell_has(count: u32, load: f64) -> f64 {
    (1..=count).fold((-load).exp(), |chance, i| chance * load / f64::from(i))
}

/// The chance that a cell with this load has `count` flows or more.
pub fn cell_has_at_least(count: u32, load: f64) -> f64 {
    1.0 - (0..count).map(|fewer| cell_has(fewer, load)).sum::<f64>()
}

/// (1 − e^{−kn/m})^k: the chance that an absent flow finds none of its cells empty.
///
/// ```
/// use acsm::model::bloom;
///
/// // 9.585 cells a flow and 7 hashes buy 1 %.
/// assert!((bloom::fp_rate(9_585_059.0, 7, 1e6) - 0.01).abs() < 1e-4);
/// ```
pub fn fp_rate(cells: f64, hashes: usize, flows: f64) -> f64 {
    cell_has_at_least(1, load(cells, hashes, flows)).powi(hashes as i32)
}

/// The standard deviation of the part of cells in use. Cells fill up more evenly than if each
/// were drawn alone: (e^{−λ} − (1 + λ) e^{−2λ}) / m.
pub fn fill_deviation(cells: f64, load: f64) -> f64 {
    let empty = (-load).exp();
    ((empty - (1.0 + load) * empty * empty) / cells).sqrt()
}

/// The load at ρ times the p-capacity: at ρ = 1 half of the cells are empty, whatever p.
pub fn load_at(rho: f64) -> f64 {
    rho * LN_2
}

/// ln 2 · m/n: the number of hashes that errs least, not rounded. Bloom-g paper (2).
pub fn optimal_hashes(cells_per_flow: f64) -> f64 {
    LN_2 * cells_per_flow
}
