//! `kbf`: when a key-value Bloom filter can decode the state of a flow, and how often it errs.
//!
//! # Properties
//!
//! [`errors`] is exact where cells are independent, for each way to decode. A known state is never
//! wrong for an extant flow; false positives and "don't know" divide the absent flows that find no
//! empty cell.
//!
//! # Decodability
//!
//! The papers call a cell with three or more flows undecodable, and a flow decodable if one of its
//! cells has one flow or two of them have two. They take the flow's cells for random ones. But the
//! flow itself is on each of its cells, which so hold one more flow than a random cell: the results
//! differ by a factor of thousands.
//!
//! # Implementation
//!
//! A flow in state s is known where one of its cells holds it alone. Else all decodings intersect
//! the sets of states that sums can be made of. A sum of two gives s and the other's state, or
//! nothing if that is s too; a sum of three gives at least these three. Probabilities that all
//! cells are of some kind give the rest by inclusion and exclusion. Cells with four flows or more
//! give nothing.

use std::collections::BTreeMap;

use crate::bloom::{cell_has, cell_has_at_least, load_at};
use crate::counts::CellCounts;
use crate::encodings::{Mask, get, pairs, sign, supersets};
use crate::{ErrorRates, FlowCells, StateMix};

pub use crate::encodings::Codes;

/// How a kBF decodes the state of a flow when none of its cells holds that flow alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decoding {
    /// The intersection of all cells with two flows, then of those with three.
    AllPairs,
    /// Algorithms 6 and 7 as printed: the first two cells with two flows, or one of two flows and
    /// one of three.
    Literal,
    /// The 2014 text: the intersection of all cells with two or three flows.
    ThreeWay,
}

/// P_n(ρ): the probability that a random cell has three flows or more, at ρ times the p-capacity.
///
/// ```
/// use acsm_model::kbf;
///
/// assert!((kbf::crowded_cell(1.0) - 0.0333132).abs() < 1e-6);
/// ```
pub fn crowded_cell(rho: f64) -> f64 {
    crowded_cell_at(load_at(rho))
}

/// The same at a load of kn/m flows per cell. The papers' 2^{−ρ−1}(−ρ² ln² 2 + 2^{ρ+1} − ρ ln 4 − 2) is
/// 1 − e^{−λ}(1 + λ + λ²/2), with λ = ρ ln 2; summed here from the other end, where nothing cancels.
pub fn crowded_cell_at(load: f64) -> f64 {
    cell_has_at_least(3, load)
}

/// Σ p²: the probability that a cell with two flows reveals nothing, as their encodings cancel. With
/// 80 % of the flows in one state that is two cells of three; the papers, with 3000 values, neglect
/// it.
pub fn cancels(mix: &StateMix) -> f64 {
    mix.sameness()
}

/// The probability that a flow cannot be decoded, as printed in the papers: k random cells, all of
/// them with three flows or more, or all but one, which has two.
///
/// ```
/// use acsm_model::kbf;
///
/// assert!((kbf::undecodable_as_printed(2.0, 10) - 2.1e-7).abs() < 1e-9);
/// ```
pub fn undecodable_as_printed(rho: f64, hashes: usize) -> f64 {
    undecodable(crowded_cell(rho), cell_has(2, load_at(rho)), hashes)
}

/// The probability that an extant flow cannot be decoded: two others or more on each of its cells,
/// or on all but one, which has one other.
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

/// Errors for this mix of states.
///
/// `ThreeWay` enumerates all sets of states: about a second for 16 states, negligible for 6.
///
/// ```
/// use acsm_model::{FlowCells, StateMix, kbf};
/// use acsm_model::kbf::Decoding;
///
/// let cells = FlowCells::at_load(7, 0.69);
/// let mixed = kbf::errors(&cells, &StateMix::even(6), Decoding::AllPairs);
/// let same = kbf::errors(&cells, &StateMix::new(&[95.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Decoding::AllPairs);
/// assert!(same.dont_know > 3.0 * mixed.dont_know);
/// ```
pub fn errors(cells: &FlowCells, mix: &StateMix, decode: Decoding) -> ErrorRates {
    errors_of(cells, &SumsOfThree::new(mix), decode)
}

/// [`errors`] with everything that does not depend on the load computed beforehand.
pub fn errors_of(cells: &FlowCells, sums: &SumsOfThree, decode: Decoding) -> ErrorRates {
    let mix = &sums.mix;
    let decoder = Decoder { cells, mix, codes: &sums.codes, sums };
    let all = cells.all(|counts| counts.at_least(1));
    let alone = all - cells.all(|counts| counts.at_least(2));
    let (known_of_shared, dont_know) = match decode {
        Decoding::AllPairs => {
            (decoder.absent_all_pairs(), mix.mean(|state| decoder.extant_all_pairs(state)))
        }
        Decoding::Literal => {
            (decoder.absent_literal(), mix.mean(|state| decoder.extant_literal(state)))
        }
        Decoding::ThreeWay => {
            (decoder.absent_three_way(), mix.mean(|state| decoder.extant_three_way(state)))
        }
    };
    let false_positive = (alone + known_of_shared).max(0.0).min(all);
    ErrorRates {
        false_positive,
        dont_know_absent: all - false_positive,
        dont_know: dont_know.max(0.0),
        ..ErrorRates::default()
    }
}

/// What cells with three flows reveal, for a mix of states.
#[derive(Debug, Clone)]
pub struct SumsOfThree {
    mix: StateMix,
    codes: Codes,
    /// `excludes[state][wrong]`: the sum of a flow in `state` and two others excludes `wrong`.
    excludes: Vec<Vec<f64>>,
    /// `with[a][b]`: the sum of three random flows may contain a, and may contain b.
    with: Vec<Vec<f64>>,
}

impl SumsOfThree {
    /// Enumerates all sums of three.
    pub fn new(mix: &StateMix) -> SumsOfThree {
        let (codes, states) = (Codes::new(mix.states()), mix.states());
        let mut excludes = vec![vec![0.0; states]; states];
        let mut with = excludes.clone();
        for (a, b, chance) in pairs(mix) {
            for state in 0..states {
                let mask = codes.in_three(state, a, b);
                let third = chance * mix.part(state);
                for (x, (excludes, with)) in excludes.iter_mut().zip(&mut with).enumerate() {
                    if x == state {
                        add_where(excludes, chance, |wrong| mask & 1 << wrong == 0);
                    }
                    if mask & 1 << x != 0 && third > 0.0 {
                        add_where(with, third, |other| mask & 1 << other != 0);
                    }
                }
            }
        }
        SumsOfThree { mix: mix.clone(), codes, excludes, with }
    }

    fn excludes(&self, state: usize, wrong: usize) -> f64 {
        self.excludes.get(state).and_then(|row| row.get(wrong)).copied().unwrap_or(0.0)
    }

    fn with(&self, a: usize, b: usize) -> f64 {
        self.with.get(a).and_then(|row| row.get(b)).copied().unwrap_or(0.0)
    }
}

fn add_where(row: &mut [f64], chance: f64, holds: impl Fn(usize) -> bool) {
    let chosen = row.iter_mut().enumerate().filter(|(at, _)| holds(*at));
    chosen.for_each(|(_, sum)| *sum += chance);
}

struct Decoder<'a> {
    cells: &'a FlowCells,
    mix: &'a StateMix,
    codes: &'a Codes,
    sums: &'a SumsOfThree,
}

impl Decoder<'_> {
    /// The states other than `state`, with the part of the flows in each.
    fn others(&self, state: usize) -> impl Iterator<Item = (usize, f64)> {
        let parts = self.mix.parts().iter().copied().enumerate();
        parts.filter(move |(other, part)| *other != state && *part > 0.0)
    }

    /// "Don't know": no cell holds the flow alone, and the cells with one other flow reveal nothing,
    /// or all the same, which no cell with two others excludes.
    fn extant_all_pairs(&self, state: usize) -> f64 {
        let own = self.mix.part(state);
        let silent = self.cells.all(|c| c.at_least(2) + c.exactly(1) * own);
        let stuck = |(wrong, part): (usize, f64)| {
            let keeps = 1.0 - self.sums.excludes(state, wrong);
            let rest = |c: &CellCounts| c.at_least(3) + c.exactly(2) * keeps + c.exactly(1) * own;
            self.cells.all(|c| rest(c) + c.exactly(1) * part) - self.cells.all(rest)
        };
        silent + self.others(state).map(stuck).sum::<f64>()
    }

    /// As Algorithms 6 and 7 are printed, where equal sums are one: two different sums of two tell the
    /// state; if there is one only, the first sum of three must exclude the other state in it.
    fn extant_literal(&self, state: usize) -> f64 {
        let own = self.mix.part(state);
        let silent = |c: &CellCounts| c.at_least(2) + c.exactly(1) * own;
        let mute = |c: &CellCounts| c.at_least(3) + c.exactly(1) * own;
        let stuck = self.others(state).map(|(wrong, part)| {
            let pair = |c: &CellCounts| c.exactly(1) * part;
            let with_three = self.only_pair(silent, pair) - self.only_pair(mute, pair);
            self.only_pair(silent, pair) - self.sums.excludes(state, wrong) * with_three
        });
        self.cells.all(silent) + stuck.sum::<f64>()
    }

    /// Some cells are of the kind `pair`, and all others of the kind `rest`.
    fn only_pair(
        &self,
        rest: impl Fn(&CellCounts) -> f64,
        pair: impl Fn(&CellCounts) -> f64,
    ) -> f64 {
        self.cells.all(|c| rest(c) + pair(c)) - self.cells.all(rest)
    }

    /// Some wrong state survives all sums of two and three.
    fn extant_three_way(&self, state: usize) -> f64 {
        let parts = self.mix.parts().iter().copied().enumerate();
        let two =
            self.supersets(parts.map(|(other, part)| (self.codes.in_two(state, other), part)));
        let three = pairs(self.mix).map(|(a, b, odds)| (self.codes.in_three(state, a, b), odds));
        let three = self.supersets(three);
        let sets = (1..two.len()).filter(|set| set & 1 << state == 0);
        let terms = sets.map(|set| (sign(set), get(&two, set), get(&three, set)));
        self.sum(terms, |c, two, three| c.at_least(3) + c.exactly(2) * three + c.exactly(1) * two)
    }

    /// Known: the sums of two that reveal something have one state in common, or two of which the
    /// sums of three leave one.
    fn absent_all_pairs(&self) -> f64 {
        let same = self.mix.sameness();
        let silent = |c: &CellCounts| c.at_least(3) + c.exactly(2) * same;
        let none = self.cells.all(silent);
        let all_in = |chance: f64| self.cells.all(|c| silent(c) + c.exactly(2) * chance) - none;
        let mut known = 0.0;
        for (a, p) in self.others(usize::MAX) {
            known += all_in(2.0 * p * (1.0 - p));
            for (b, q) in self.others(a) {
                known -= all_in(2.0 * p * q);
                known += self.one_left(a, b, 2.0 * p * q);
            }
        }
        known
    }

    /// All sums of two that reveal something reveal {a, b}, and the sums of three leave only a.
    fn one_left(&self, a: usize, b: usize, chance: f64) -> f64 {
        let same = self.mix.sameness();
        let left = |three: f64| {
            let rest = |c: &CellCounts| c.at_least(4) + c.exactly(3) * three + c.exactly(2) * same;
            self.cells.all(|c| rest(c) + c.exactly(2) * chance) - self.cells.all(rest)
        };
        left(self.sums.with(a, a)) - left(self.sums.with(a, b))
    }

    /// Known: the first two different sums of two have a state in common, or the only one and the first
    /// sum of three have.
    fn absent_literal(&self) -> f64 {
        let same = self.mix.sameness();
        let silent = |c: &CellCounts| c.at_least(3) + c.exactly(2) * same;
        let mute = |c: &CellCounts| c.at_least(4) + c.exactly(2) * same;
        let any = self.cells.all(|c| c.at_least(2)) - self.cells.all(silent);
        let differing = 1.0 - same;
        let mut known = 0.0;
        for (a, p) in self.others(usize::MAX) {
            for (b, q) in self.others(a) {
                let pair = |c: &CellCounts| c.exactly(2) * 2.0 * p * q;
                let alone = self.only_pair(silent, pair);
                let with_three = alone - self.only_pair(mute, pair);
                known += (self.sums.with(a, a) - self.sums.with(a, b)) * with_three;
                // The first sum is of a and b, another one of a and a third state. (Each sum of two is
                // counted as {a, b} and as {b, a}.)
                let is_first = 2.0 * p * q / differing;
                let others = differing - 2.0 * p * q;
                if others > 0.0 {
                    let meets = 2.0 * p * (1.0 - p - q) / others;
                    known += (is_first * any - alone).max(0.0) * meets;
                }
            }
        }
        known
    }

    fn absent_three_way(&self) -> f64 {
        let two =
            self.supersets(pairs(self.mix).map(|(a, b, odds)| (self.codes.in_two(a, b), odds)));
        let of_third = |(a, b, odds): (usize, usize, f64)| {
            let parts = self.mix.parts().iter().enumerate();
            parts.map(move |(c, part)| (a, b, c, odds * part))
        };
        let triples = pairs(self.mix).flat_map(of_third);
        let three =
            self.supersets(triples.map(|(a, b, c, odds)| (self.codes.in_three(a, b, c), odds)));
        let size = |set: usize| f64::from(set.count_ones());
        let terms =
            (1..two.len()).map(|set| (size(set) * sign(set), get(&two, set), get(&three, set)));
        self.sum(terms, |c, two, three| c.at_least(4) + c.exactly(3) * three + c.exactly(2) * two)
    }

    /// For each set of states, the probability that a mask contains all of it. A single state gets a
    /// second one, which no sum contains, so that a state no sum excludes is never known.
    fn supersets(&self, masks: impl Iterator<Item = (Mask, f64)>) -> Vec<f64> {
        supersets(self.mix.states().max(2), masks)
    }

    /// Σ weight · P(all cells are of a kind), where the kind depends on two probabilities. Sets of
    /// states with the same probabilities are summed first, so that their weights cancel exactly.
    fn sum(
        &self,
        terms: impl Iterator<Item = (f64, f64, f64)>,
        kind: impl Fn(&CellCounts, f64, f64) -> f64,
    ) -> f64 {
        let mut weights: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        for (weight, two, three) in terms {
            *weights.entry((two.to_bits(), three.to_bits())).or_default() += weight;
        }
        let term = |((two, three), weight): (&(u64, u64), &f64)| {
            let (two, three) = (f64::from_bits(*two), f64::from_bits(*three));
            weight * self.cells.all(|counts| kind(counts, two, three))
        };
        weights.iter().filter(|(_, weight)| **weight != 0.0).map(term).sum()
    }
}
