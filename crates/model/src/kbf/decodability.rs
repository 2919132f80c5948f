//! When a kBF can tell the state of a flow.
//!
//! The papers call a cell with three or more flows undecodable, and a flow decodable if one of its
//! cells has one flow or two of them have two. They take the flow's cells for random ones. But
//! the flow itself is on each of its cells: these hold one more than a random cell does, which
//! makes thousands of times the difference.

use crate::StateMix;
use crate::bloom::{cell_has, cell_has_at_least, load_at};

/// P_n(ρ): the chance that a random cell has three flows or more, at ρ times the p-capacity.
///
/// ```
/// use acsm_model::kbf;
///
/// assert!((kbf::crowded_cell(1.0) - 0.0333132).abs() < 1e-6);
/// ```
pub fn crowded_cell(rho: f64) -> f64 {
    crowded_cell_at(load_at(rho))
}

/// The same at a load of kn/m flows a cell. The papers' 2^{−ρ−1}(−ρ² ln² 2 + 2^{ρ+1} − ρ ln 4 − 2) is
/// 1 − e^{−λ}(1 + λ + λ²/2), with λ = ρ ln 2; summed here from the other end, where nothing cancels.
pub fn crowded_cell_at(load: f64) -> f64 {
    cell_has_at_least(3, load)
}

/// Σ p²: the chance that a cell with two flows says nothing, as their encodings cancel. With 80 %
/// of flows in one state that is two cells of three, which the papers, with 3000 values, neglect.
pub fn cancels(mix: &StateMix) -> f64 {
    mix.sameness()
}

/// The chance that a flow cannot be decoded as the papers have it: k random cells, all of them
/// with three flows or more, or all but one with two.
///
/// ```
/// use acsm_model::kbf;
///
/// assert!((kbf::undecodable_by_the_papers(2.0, 10) - 2.1e-7).abs() < 1e-9);
/// ```
pub fn undecodable_by_the_papers(rho: f64, hashes: usize) -> f64 {
    undecodable(crowded_cell(rho), cell_has(2, load_at(rho)), hashes)
}

/// The chance that a flow that is there cannot be decoded: on each of its cells, two others or
/// more; or one other on one of them, two or more on the rest.
///
/// An upper bound for the default decoding, which makes some use of cells with three flows; two
/// flows of the same state on a cell work against it.
///
/// ```
/// use acsm_model::kbf;
///
/// assert!((kbf::undecodable_flow(2.0, 10) - 1.1e-3).abs() < 1e-4);
/// ```
pub fn undecodable_flow(rho: f64, hashes: usize) -> f64 {
    let load = load_at(rho);
    undecodable(cell_has_at_least(2, load), cell_has(1, load), hashes)
}

fn undecodable(crowded: f64, with_two: f64, hashes: usize) -> f64 {
    let others = crowded.powi(hashes as i32 - 1);
    others * crowded + hashes as f64 * others * with_two
}
