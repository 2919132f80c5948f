//! For one shape: the least memory, the least error, or the most flows.

use std::f64::consts::LN_2;

use super::room::Room;
use super::shape::Shape;
use super::slots::Slots;
use super::theory::Theory;
use super::wish::{Asked, Target};
use acsm_filters::{Backend, HASHES_LIMIT};
use acsm_model::ErrorRates;

/// Numbers of hashes tried beyond the best so far, on either side: of a rough guess, and of what is
/// best for the same store in another layout.
const PATIENCE: usize = 3;
const PATIENCE_NEAR: usize = 1;
/// Logarithms of the loads that are looked at.
const LOAD_RANGE: (f64, f64) = (-60.0, 2.7);
/// The logarithm of the load at which to begin: half of the cells in use.
const LOAD_GUESS: f64 = -0.37;
/// How near below the target is near enough.
const NEAR: f64 = 1e-7;

/// A store that answers a wish, as well as its shape can.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Its memory.
    pub room: Room,
    /// Flows that it is for.
    pub flows: f64,
    /// Errors when it holds them.
    pub errors: ErrorRates,
}

/// The best store of this shape. `None` if no size of it comes near. Looks around `near` hashes, if
/// that is given.
pub fn choose(theory: &Theory, shape: Shape, asked: &Asked, near: Option<usize>) -> Option<Choice> {
    let solver = Solver { theory, shape, asked, near };
    let flows = asked.flows.map(|flows| flows as f64);
    match (flows, asked.target, asked.bits()) {
        (Some(flows), Some(target), None) => solver.smallest(flows, &target),
        (Some(flows), Some(target), Some(bits)) => {
            let smallest = solver.smallest(flows, &target);
            let fitting = smallest.filter(|choice| choice.room.bits <= bits);
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
    asked: &'a Asked,
    near: Option<usize>,
}

impl Solver<'_> {
    fn states(&self) -> usize {
        self.theory.traffic().mix.states()
    }

    /// The least memory that meets the target.
    fn smallest(&self, flows: f64, target: &Target) -> Option<Choice> {
        match self.shape.backend {
            Backend::Exact => Some(self.table(Room::of_entries(flows), flows)),
            Backend::Fcf => {
                let mut widths = Slots::all(self.shape, self.states());
                let choice = |slots: Slots| self.slots(&slots, slots.room_for(flows), flows);
                let absent = self.theory.traffic().absent;
                widths.find_map(|slots| {
                    Some(choice(slots)).filter(|choice| target.is_met(&choice.errors, absent))
                })
            }
            _ => {
                let guess = -target.rate().log2();
                self.best_hashes(guess, |hashes| {
                    let load = self.highest_load(hashes, target)?;
                    let cells = hashes as f64 * flows / load;
                    let room = Room::of_cells(self.shape, self.states(), cells, hashes)?;
                    Some((cells / flows, self.cells(room, flows)))
                })
            }
        }
    }

    /// The least error within memory; with too little for any, the smallest there is.
    fn best_within(&self, flows: f64, bits: f64) -> Option<Choice> {
        match self.shape.backend {
            Backend::Exact => Some(self.table(table_in(bits, flows), flows)),
            Backend::Fcf => {
                // A table that is too small for its flows cannot be built at all.
                let fits = |slots: &Slots| slots.room_for(flows).bits <= bits;
                let choice = |slots: Slots| self.slots(&slots, slots.room_in(bits), flows);
                self.least_wrong(Slots::all(self.shape, self.states()).filter(fits).map(choice))
            }
            _ => {
                let cells = bits / f64::from(self.shape.cell_bits(self.states()));
                self.best_hashes(LN_2 * cells / flows, |hashes| {
                    let room = Room::in_bits(self.shape, self.states(), bits, hashes)?;
                    let choice = self.cells(room, flows);
                    Some((self.measure(&choice), choice))
                })
            }
        }
    }

    /// The most flows at which the target is met.
    fn most_flows(&self, bits: f64, target: &Target) -> Option<Choice> {
        match self.shape.backend {
            Backend::Exact => {
                let room = table_in(bits, f64::INFINITY);
                Some(self.table(room, room.cells))
            }
            Backend::Fcf => {
                let absent = self.theory.traffic().absent;
                Slots::all(self.shape, self.states()).find_map(|slots| {
                    let room = slots.room_in(bits);
                    let choice = self.slots(&slots, room, slots.flows_in(&room));
                    Some(choice).filter(|choice| target.is_met(&choice.errors, absent))
                })
            }
            _ => self.best_hashes(-target.rate().log2(), |hashes| {
                let room = Room::in_bits(self.shape, self.states(), bits, hashes)?;
                let load = self.highest_load(hashes, target)?;
                let flows = (load * room.cells / hashes as f64).floor();
                (flows >= 1.0).then(|| (-flows, self.cells(room, flows)))
            }),
        }
    }

    fn measure(&self, choice: &Choice) -> f64 {
        self.asked.measure(&choice.errors, self.theory.traffic().absent)
    }

    fn least_wrong(&self, choices: impl Iterator<Item = Choice>) -> Option<Choice> {
        choices.min_by(|a, b| self.measure(a).total_cmp(&self.measure(b)))
    }

    fn cells(&self, room: Room, flows: f64) -> Choice {
        let load = room.hashes as f64 * flows / room.cells;
        let errors = self.cell_errors(room.hashes, load);
        Choice { room, flows, errors }
    }

    /// The errors of the filter that a run would make for this shape, unless told otherwise.
    fn cell_errors(&self, hashes: usize, load: f64) -> ErrorRates {
        let cell_bits = self.shape.cell_bits(self.states()).max(1);
        let cells_per_line = self.shape.cells_per_line(cell_bits) as usize;
        self.theory.cell_errors(self.shape, cells_per_line, hashes, load)
    }

    fn slots(&self, slots: &Slots, room: Room, flows: f64) -> Choice {
        Choice { room, flows, errors: slots.errors(&room, flows, &self.theory.traffic().mix) }
    }

    /// A table forgets whom it has no room for.
    fn table(&self, room: Room, flows: f64) -> Choice {
        let false_negative = (1.0 - room.cells / flows).max(0.0);
        Choice { room, flows, errors: ErrorRates { false_negative, ..ErrorRates::default() } }
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

    /// Tries numbers of hashes around the guess, and keeps what scores least.
    fn best_hashes(
        &self,
        guess: f64,
        score: impl Fn(usize) -> Option<(f64, Choice)>,
    ) -> Option<Choice> {
        let (guess, patience) = match self.near {
            Some(near) => (near, PATIENCE_NEAR),
            // Cells that tell states apart need fewer of them.
            None if self.shape.backend == Backend::Bhbf => {
                ((0.5 * guess).round() as usize, PATIENCE)
            }
            None => (guess.round() as usize, PATIENCE),
        };
        let guess = guess.clamp(1, HASHES_LIMIT);
        let upward = first_best((guess..=HASHES_LIMIT).map(&score), patience);
        let downward = first_best((1..guess).rev().map(&score), patience);
        let best = [upward, downward].into_iter().flatten().min_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, choice)| choice)
    }
}

/// The table that memory holds, and no more than the flows take.
fn table_in(bits: f64, flows: f64) -> Room {
    let within = Room::of_entries_in(bits);
    let enough = Room::of_entries(flows);
    if enough.bits <= within.bits { enough } else { within }
}

/// The least of what comes, until nothing better came for a while.
fn first_best(
    scores: impl Iterator<Item = Option<(f64, Choice)>>,
    patience: usize,
) -> Option<(f64, Choice)> {
    let (mut best, mut since): (Option<(f64, Choice)>, usize) = (None, 0);
    for score in scores {
        let better = score.is_some_and(|(new, _)| best.is_none_or(|(old, _)| new < old));
        (best, since) = if better { (score, 0) } else { (best, since + 1) };
        if since > patience {
            break;
        }
    }
    best
}

/// The largest x in the range at which the increasing `f` is not above 0 (or hardly below).
/// `None` if `f` is above 0 throughout.
///
/// Steps away from the guess until 0 lies between, then false position (Illinois).
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
        if high - low < 1e-12 || at_low > -NEAR {
            break;
        }
        let (a, b) = (weights.0 * at_low, weights.1 * at_high);
        let middle = (low * b - high * a) / (b - a);
        let at_middle = f(middle);
        // An end that stays where it is counts less each time.
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
