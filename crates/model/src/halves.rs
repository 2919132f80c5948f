//! Aging by two halves: an active filter takes the flows of this epoch, a frozen one has those of
//! the epoch before, and a flow of the frozen one that sends a packet is inserted into the active
//! one as well.
//!
//! A flows per second arrive, live for L and are forgotten after this epoch and the next, of T each.
//! The frozen filter has all flows that sent packets in its epoch, A (L + T). The active one begins
//! with those that go on from the epoch before, A L, and ends with as many as the frozen one. At any
//! time A (L + 3/2 T) flows are held, on average over an epoch. So short flows fill each filter to
//! two thirds of the flows held, and flows that live for many epochs to all of them.

use crate::ErrorRates;
use crate::aging::Arrivals;
use crate::recycling::{over_cycle, two_phase};

/// The mean errors over an epoch, where `load` is that of one filter with all flows held in it.
///
/// Flows that go on from the epoch before are in both filters, on the same cells: a cell is in use in
/// both with β = α + φ + ν − 1, where α and φ are the chances for each and ν that for neither; so an
/// absent flow finds all its k cells in use in one or the other with α^k + φ^k − β^k. That is never
/// more than one filter of all flows has.
///
/// A flow of an earlier epoch that the frozen filter does not know, or that the active one takes for
/// another, is lost until the epoch ends: all its lookups in it are wrong.
///
/// ```
/// use acsm_model::aging::Arrivals;
/// use acsm_model::{FlowCells, bloom, dbf, halves};
///
/// let of_lifetime = |lifetime_seconds| {
///     let arrivals = Arrivals { per_second: 1.0, lifetime_seconds, phase_seconds: 60.0 };
///     let errors = |load| dbf::errors(&FlowCells::at_load(7, load), 1);
///     halves::errors(&arrivals, 0.69, errors).false_positive
/// };
/// // Flows that live for days are in both filters.
/// let one = bloom::cell_has_at_least(1, 0.69).powi(7);
/// assert!((of_lifetime(1e6) / one - 1.0).abs() < 0.01);
/// assert!(of_lifetime(1.0) < 0.3 * one);
/// ```
pub fn errors(arrivals: &Arrivals, load: f64, errors_at: impl Fn(f64) -> ErrorRates) -> ErrorRates {
    let Arrivals { lifetime_seconds: lifetime, phase_seconds: phase, .. } = *arrivals;
    let load_of = |seconds: f64| load * seconds / arrivals.held_seconds();
    let (frozen_load, carried) = (load_of(lifetime + phase), carried(arrivals));
    let frozen = errors_at(frozen_load);
    over_cycle(phase, |since| {
        let active_load = load_of(lifetime + since);
        let all_load = load_of(lifetime + phase + since);
        // β = α + φ − (1 − ν).
        let in_both = (-all_load).exp_m1() - (-active_load).exp_m1() - (-frozen_load).exp_m1();
        let both = errors_at(-(-in_both).ln_1p());
        either(&errors_at(active_load), &frozen, &both, carried)
    })
}

/// The part of the lookups of flows that come in a later epoch than the flow.
fn carried(arrivals: &Arrivals) -> f64 {
    let epochs = arrivals.lifetime_seconds / arrivals.phase_seconds;
    match epochs < 1.0 {
        // This part of the flows meets the end of an epoch, halfway through its lookups on average.
        true => 0.5 * epochs,
        false => 1.0 - 0.5 / epochs,
    }
}

/// The active filter, and the frozen one where the active one says absent. `both`: an absent flow is
/// found in both.
fn either(active: &ErrorRates, frozen: &ErrorRates, both: &ErrorRates, carried: f64) -> ErrorRates {
    let in_frozen = frozen.of_absent();
    let only_there = match in_frozen > 0.0 {
        true => (1.0 - both.of_absent() / in_frozen).max(0.0),
        false => 0.0,
    };
    // Found in the frozen filter, a flow is in the active one from then on.
    let moved = (1.0 - active.of_absent()) * (1.0 - frozen.of_extant());
    let of_flows = two_phase(active, frozen, carried).plus(active, carried * moved);
    ErrorRates {
        false_positive: active.false_positive + only_there * frozen.false_positive,
        dont_know_absent: active.dont_know_absent + only_there * frozen.dont_know_absent,
        ..of_flows
    }
}
