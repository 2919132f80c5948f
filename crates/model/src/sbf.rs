//! `sbf`: a cell holds a state as long as all of its flows are in that state; ACSM 2006 §3.3.
//!
//! A cell that flows of different states share answers "don't know". Other flows arrive as a Poisson
//! process, those in other states as one thinned to 1 − p_s: the cell of a flow in state s is lost
//! with 1 − e^{−λ(1−p_s)}, the flow if all its cells are. A flow that changes its state on a shared
//! cell makes that cell answer "don't know" permanently, even if all flows end up in the same state.

use crate::counts::{COUNT_MAX, CellCounts};
use crate::special::power;
use crate::{ErrorRates, FlowCells, StateMix};

/// Points of the mean over ages.
const AGES: u32 = 8;

/// Errors of flows that keep the state they were inserted in. Valid up to about 8 flows per cell:
/// 15 and more are taken for 15.
///
/// ```
/// use acsm_model::{FlowCells, StateMix, sbf};
///
/// let cells = FlowCells::at_load(3, 0.7);
/// let few = sbf::errors(&cells, &StateMix::new(&[0.9, 0.1]));
/// let many = sbf::errors(&cells, &StateMix::even(2));
/// assert!(few.dont_know < many.dont_know);
/// ```
pub fn errors(cells: &FlowCells, mix: &StateMix) -> ErrorRates {
    errors_of_changing_flows(cells, mix, 1.0)
}

/// Errors under the rule of the kBF papers, where a cell with two or more flows answers "don't
/// know".
pub fn errors_without_sharing(cells: &FlowCells, mix: &StateMix) -> ErrorRates {
    errors_of_changing_flows(cells, mix, 0.0)
}

/// Errors where the part `kept` of the flows has not changed its state since it was inserted, and
/// the others have changed it soon after.
///
/// On a shared cell that holds a state all flows are in that state, and all but the first have kept
/// it. An early flow is the first on many of its cells, so this is a mean over ages.
pub fn errors_of_changing_flows(cells: &FlowCells, mix: &StateMix, kept: f64) -> ErrorRates {
    let kept = kept.clamp(0.0, 1.0);
    // Where all flows keep their state it does not matter which was first.
    let ages = if kept < 1.0 { AGES } else { 1 };
    let lost = |state: usize| {
        let of_age = |earlier: f64| lost_at(cells, mix.part(state), kept, earlier);
        let middles = (0..ages).map(|age| (f64::from(age) + 0.5) / f64::from(ages));
        middles.map(of_age).sum::<f64>() / f64::from(ages)
    };
    // A cell that holds `state`: the first flow is in it, the others are in it and have kept it.
    let says = |counts: &CellCounts, state: usize| -> f64 {
        let part = mix.part(state);
        let but_first = part * kept;
        part * counts.chances().iter().skip(1).rev().fold(0.0, |sum, c| sum * but_first + c)
    };
    let mute = |counts: &CellCounts| {
        let telling: f64 = (0..mix.states()).map(|state| says(counts, state)).sum();
        (counts.at_least(1) - telling).max(0.0)
    };
    let dont_know_absent = cells.all(mute);
    let only = |state: usize| cells.all(|counts| mute(counts) + says(counts, state));
    let known = (0..mix.states()).map(|state| (only(state) - dont_know_absent).max(0.0));
    ErrorRates {
        false_positive: known.sum(),
        dont_know_absent,
        dont_know: mean_by_part(mix, lost),
        ..ErrorRates::default()
    }
}

/// Errors where cells have no counts, and the part `kept` of the flows has not changed its state since it
/// was inserted. A flow that changed turned all its cells into "don't know", shared or not, so that it is
/// never known again, whatever the number of cells.
///
/// ```
/// use acsm_model::{FlowCells, StateMix, sbf};
///
/// let (mix, kept) = (StateMix::even(6), 0.8);
/// for (hashes, load) in [(3, 0.69), (10, 0.69), (17, 0.69)] {
///     let errors = sbf::errors_without_counters(&FlowCells::at_load(hashes, load), &mix, kept);
///     assert!((0.2..0.5).contains(&errors.dont_know));
/// }
/// ```
pub fn errors_without_counters(cells: &FlowCells, mix: &StateMix, kept: f64) -> ErrorRates {
    let kept = kept.clamp(0.0, 1.0);
    // A cell holds a state if all of its flows are in it and have kept it.
    let holds = |counts: &CellCounts, state: usize, own: usize| -> f64 {
        let others = counts.chances().iter().enumerate().skip(1 - own);
        others.map(|(flows, chance)| chance * power(mix.part(state) * kept, flows)).sum()
    };
    let lost = |state: usize| cells.all(|counts| 1.0 - holds(counts, state, 1));
    let mute = |counts: &CellCounts| {
        let telling: f64 = (0..mix.states()).map(|state| holds(counts, state, 0)).sum();
        (counts.at_least(1) - telling).max(0.0)
    };
    let dont_know_absent = cells.all(mute);
    let only = |state: usize| cells.all(|counts| mute(counts) + holds(counts, state, 0));
    let known = (0..mix.states()).map(|state| (only(state) - dont_know_absent).max(0.0));
    ErrorRates {
        false_positive: known.sum(),
        dont_know_absent,
        dont_know: kept * mean_by_part(mix, lost) + 1.0 - kept,
        ..ErrorRates::default()
    }
}

/// The mean over flows of what depends on the part of a state alone.
fn mean_by_part(mix: &StateMix, f: impl Fn(usize) -> f64) -> f64 {
    let mut known: Vec<(f64, f64)> = vec![];
    mix.mean(|state| {
        let part = mix.part(state);
        if let Some((_, value)) = known.iter().find(|(known, _)| *known == part) {
            return *value;
        }
        let value = f(state);
        known.push((part, value));
        value
    })
}

/// The probability that all cells of a flow are lost, in a state that the part `part` of the flows
/// is in, where the part `earlier` of the others came before it.
fn lost_at(cells: &FlowCells, part: f64, kept: f64, earlier: f64) -> f64 {
    // Probabilities that a cell with this number of other flows holds the state.
    let if_first = |others: usize| power((1.0 - earlier) * part * kept, others);
    let if_later = |others: usize| match others.checked_sub(1) {
        None => 0.0,
        Some(but_first) => {
            power(part, others) * power(kept, but_first) * (1.0 - power(1.0 - earlier, others))
        }
    };
    let loses = |tells: &dyn Fn(usize) -> f64| {
        let mute: [f64; COUNT_MAX + 1] = std::array::from_fn(|others| 1.0 - tells(others));
        cells.all(|counts| {
            counts.chances().iter().zip(mute).map(|(chance, mute)| chance * mute).sum()
        })
    };
    // A flow that changed must have been first, where it was alone.
    let changed = if kept < 1.0 { loses(&if_first) } else { 0.0 };
    kept * loses(&|others| if_first(others) + if_later(others)) + (1.0 - kept) * changed
}
