//! For one shape: the least memory, the least error, or the most flows.

use std::f64::consts::LN_2;

use super::requirements::{ResolvedRequirements, Target};
use super::shape::Shape;
use super::theory::{Theory, slot_errors};
use acsm_filters::{Backend, Footprint, HASHES_LIMIT, SlotFormat, Storage};
use acsm_model::ErrorRates;

/// Numbers of hashes tried beyond the best so far, on either side of a rough guess.
const TRIES: usize = 3;
/// The same around the best number for the same store in another layout.
const TRIES_AROUND_HINT: usize = 1;
/// Range of the logarithm of the load.
const LOAD_RANGE: (f64, f64) = (-60.0, 2.7);
/// The logarithm of the load at which the search begins: half of the cells in use.
const LOAD_GUESS: f64 = -0.37;
/// The search ends this close below the target.
const TOLERANCE: f64 = 1e-7;

/// The store of a shape that meets the requirements best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Its memory.
    pub footprint: Footprint,
    /// The number of flows it is for.
    pub flows: f64,
    /// Errors when it holds them.
    pub errors: ErrorRates,
}

/// The best store of this shape. `None` if no size of it is near the target. With a hint, only
/// numbers of hashes around it are tried.
pub fn choose(
    theory: &Theory,
    shape: Shape,
    required: &ResolvedRequirements,
    hashes_hint: Option<usize>,
) -> Option<Choice> {
    let solver = Solver { theory, shape, required, hashes_hint };
    let flows = required.flows.map(|flows| flows as f64);
    match (flows, required.target, required.bits()) {
        (Some(flows), Some(target), None) => solver.smallest(flows, &target),
        (Some(flows), Some(target), Some(bits)) => {
            let smallest = solver.smallest(flows, &target);
            let fitting = smallest.filter(|choice| choice.footprint.bits <= bits);
            fitting.or_else(|| solver.best_within(flows, bits))
        }
        (Some(flows), None, Some(bits)) => solver.best_within(flows, bits),
        (None, Some(target), Some(bits)) => solver.most_flows(bits, &target),
        _ => None,
    }
}

struct Solver<'a> {
    theory: &'a Theory,
    shape: Shape,
    required: &'a ResolvedRequirements,
    hashes_hint: Option<usize>,
}

impl Solver<'_> {
    fn states(&self) -> usize {
        self.theory.traffic().mix.states()
    }

    /// The least memory that meets the target.
    fn smallest(&self, flows: f64, target: &Target) -> Option<Choice> {
        match self.shape.backend.info().storage {
            Storage::Entries => Some(self.entries(Footprint::of_entries(flows), flows)),
            Storage::Slots => {
                let absent = self.theory.traffic().absent;
                let mut choices = self
                    .slot_formats()
                    .map(|slots| self.slots(&slots, slots.of_flows(flows), flows));
                choices.find(|choice| target.is_met(&choice.errors, absent))
            }
            Storage::Cells => {
                let guess = -target.rate().log2();
                self.best_hashes(guess, |hashes| {
                    let load = self.highest_load(hashes, target)?;
                    let cells = hashes as f64 * flows / load;
                    let format = self.shape.cell_format(self.states(), hashes);
                    let footprint = format.filling_lines_of(cells)?;
                    Some((cells / flows, self.cells(footprint, flows)))
                })
            }
        }
    }

    /// The least error within memory; with too little for any, the smallest there is.
    fn best_within(&self, flows: f64, bits: f64) -> Option<Choice> {
        match self.shape.backend.info().storage {
            Storage::Entries => Some(self.entries(entries_in(bits, flows), flows)),
            Storage::Slots => {
                // A table that is too small for its flows cannot be built at all.
                let fits = |slots: &SlotFormat| slots.of_flows(flows).bits <= bits;
                let choice = |slots: SlotFormat| self.slots(&slots, slots.in_bits(bits), flows);
                self.least_error(self.slot_formats().filter(fits).map(choice))
            }
            Storage::Cells => {
                let cells = bits / f64::from(self.shape.cell_format(self.states(), 1).cell_bits);
                self.best_hashes(LN_2 * cells / flows, |hashes| {
                    let format = self.shape.cell_format(self.states(), hashes);
                    let choice = self.cells(format.in_bits(bits)?, flows);
                    Some((self.measure(&choice), choice))
                })
            }
        }
    }

    /// The most flows at which the target is met.
    fn most_flows(&self, bits: f64, target: &Target) -> Option<Choice> {
        match self.shape.backend.info().storage {
            Storage::Entries => {
                let footprint = entries_in(bits, f64::INFINITY);
                Some(self.entries(footprint, footprint.cells))
            }
            Storage::Slots => {
                let absent = self.theory.traffic().absent;
                let mut choices = self.slot_formats().map(|slots| {
                    let footprint = slots.in_bits(bits);
                    self.slots(&slots, footprint, SlotFormat::flows_in(&footprint))
                });
                choices.find(|choice| target.is_met(&choice.errors, absent))
            }
            Storage::Cells => self.best_hashes(-target.rate().log2(), |hashes| {
                let footprint = self.shape.cell_format(self.states(), hashes).in_bits(bits)?;
                let load = self.highest_load(hashes, target)?;
                let flows = (load * footprint.cells / hashes as f64).floor();
                (flows >= 1.0).then(|| (-flows, self.cells(footprint, flows)))
            }),
        }
    }

    fn slot_formats(&self) -> impl Iterator<Item = SlotFormat> {
        SlotFormat::all(self.states(), self.shape.expire)
    }

    fn measure(&self, choice: &Choice) -> f64 {
        self.required.measure(&choice.errors, self.theory.traffic().absent)
    }

    fn least_error(&self, choices: impl Iterator<Item = Choice>) -> Option<Choice> {
        choices.min_by(|a, b| self.measure(a).total_cmp(&self.measure(b)))
    }

    fn cells(&self, footprint: Footprint, flows: f64) -> Choice {
        let load = footprint.hashes as f64 * flows / footprint.cells;
        let errors = self.cell_errors(footprint.hashes, load);
        Choice { footprint, flows, errors }
    }

    /// The errors of a filter with the narrowest cells.
    fn cell_errors(&self, hashes: usize, load: f64) -> ErrorRates {
        let cells_per_line = self.shape.cell_format(self.states(), hashes).cells_per_line();
        self.theory.cell_errors(self.shape, cells_per_line, hashes, load)
    }

    fn slots(&self, slots: &SlotFormat, footprint: Footprint, flows: f64) -> Choice {
        let mix = &self.theory.traffic().mix;
        let errors = slot_errors(slots.fingerprints(), flows / footprint.cells, mix);
        Choice { footprint, flows, errors }
    }

    /// A table evicts the flows that it has no room for.
    fn entries(&self, footprint: Footprint, flows: f64) -> Choice {
        let false_negative = (1.0 - footprint.cells / flows).max(0.0);
        Choice { footprint, flows, errors: ErrorRates { false_negative, ..ErrorRates::default() } }
    }

    /// The largest load at which the target is met.
    fn highest_load(&self, hashes: usize, target: &Target) -> Option<f64> {
        let absent = self.theory.traffic().absent;
        let excess = |load_ln: f64| {
            let errors = self.cell_errors(hashes, load_ln.exp());
            (target.measure(&errors, absent).max(1e-300) / target.rate()).ln()
        };
        last_not_above_zero(LOAD_RANGE, excess).map(f64::exp)
    }

    /// Tries numbers of hashes around the guess, and keeps the one with the lowest score.
    fn best_hashes(
        &self,
        guess: f64,
        score: impl Fn(usize) -> Option<(f64, Choice)>,
    ) -> Option<Choice> {
        let (guess, tries) = match self.hashes_hint {
            Some(hint) => (hint, TRIES_AROUND_HINT),
            // A flow needs fewer cells if they distinguish states.
            None if self.shape.backend == Backend::Bhbf => ((0.5 * guess).round() as usize, TRIES),
            None => (guess.round() as usize, TRIES),
        };
        let guess = guess.clamp(1, HASHES_LIMIT);
        let upward = first_minimum((guess..=HASHES_LIMIT).map(&score), tries);
        let downward = first_minimum((1..guess).rev().map(&score), tries);
        let best = [upward, downward].into_iter().flatten().min_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, choice)| choice)
    }
}

/// The table that memory holds, but no larger than the flows need.
fn entries_in(bits: f64, flows: f64) -> Footprint {
    let within = Footprint::of_entries_in(bits);
    let enough = Footprint::of_entries(flows);
    if enough.bits <= within.bits { enough } else { within }
}

/// The lowest score, until this number of scores in a row were no better.
fn first_minimum(
    scores: impl Iterator<Item = Option<(f64, Choice)>>,
    tries: usize,
) -> Option<(f64, Choice)> {
    let (mut best, mut since): (Option<(f64, Choice)>, usize) = (None, 0);
    for score in scores {
        let better = score.is_some_and(|(new, _)| best.is_none_or(|(old, _)| new < old));
        (best, since) = if better { (score, 0) } else { (best, since + 1) };
        if since > tries {
            break;
        }
    }
    best
}

/// The largest x in the range at which the increasing `f` is not above 0, within the tolerance.
/// `None` if `f` is above 0 throughout.
///
/// Steps away from the guess until the root is bracketed, then false position (Illinois).
fn last_not_above_zero((least, most): (f64, f64), f: impl Fn(f64) -> f64) -> Option<f64> {
    let (mut low, mut high) = (LOAD_GUESS, LOAD_GUESS);
    let (mut at_low, mut at_high) = (f(low), f(high));
    let mut step = 0.5;
    while at_low > 0.0 && low > least {
        (high, at_high) = (low, at_low);
        low = (low - step).max(least);
        at_low = f(low);
        step *= 2.0;
    }
    while at_high <= 0.0 && high < most {
        (low, at_low) = (high, at_high);
        high = (high + step).min(most);
        at_high = f(high);
        step *= 2.0;
    }
    if at_high <= 0.0 {
        return Some(high);
    }
    if at_low.is_nan() || at_low > 0.0 {
        return None;
    }
    let mut weights = (1.0, 1.0);
    for _ in 0..100 {
        if high - low < 1e-12 || at_low > -TOLERANCE {
            break;
        }
        let (a, b) = (weights.0 * at_low, weights.1 * at_high);
        let middle = (low * b - high * a) / (b - a);
        let at_middle = f(middle);
        // An end that stays in place is given less weight each time.
        weights = if at_middle <= 0.0 {
            (low, at_low) = (middle, at_middle);
            (1.0, 0.5 * weights.1)
        } else {
            (high, at_high) = (middle, at_middle);
            (0.5 * weights.0, 1.0)
        };
    }
    Some(low)
}
