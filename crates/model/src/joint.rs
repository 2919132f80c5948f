//! `kbf` in joint decoding: the state of a flow is what all of its cells allow.
//!
//! # Properties
//!
//! [`JointDecoding`] is exact where cells are independent and salts are uniform. An extant flow is
//! never absent and never has a wrong state. An absent flow is absent unless some state is allowed by
//! all of its cells, so that false positives are much rarer than with the papers' decodings.
//!
//! # Implementation
//!
//! A cell with one flow allows that flow's state; with two or three, every state that can be in the
//! sum; with more, all. For each set of states, the probability that a cell allows all of them, by the
//! number of flows on it, is the same for all cells; its product over the cells is the probability that
//! the set survives, and inclusion and exclusion gives how many states survive. With salts, codes on
//! a cell are uniform for any mix of states, and sets are rotated at random.

use std::collections::BTreeMap;

use crate::encodings::{Codes, get, pairs, sign, supersets};
use crate::{ErrorRates, FlowCells, STATES_MAX, StateMix};

/// Probabilities below are rounded to multiples of its inverse, so that sets of states with the same
/// probabilities are recognised, and their weights cancel exactly.
const PRECISION: f64 = (1u64 << 46) as f64;

/// What the errors of joint decoding depend on, other than the load.
///
/// ```
/// use acsm_model::joint::JointDecoding;
/// use acsm_model::kbf::{self, Decoding};
/// use acsm_model::{FlowCells, StateMix};
///
/// let cells = FlowCells::at_load(7, 0.69);
/// let mix = StateMix::new(&[80.0, 4.0, 4.0, 4.0, 4.0, 4.0]);
/// let papers = kbf::errors(&cells, &mix, Decoding::AllPairs);
/// let joint = JointDecoding::new(&mix, 5).errors(&cells);
/// let salted = JointDecoding::salted(6, 5).errors(&cells);
/// assert!(joint.of_absent() < papers.of_absent() && joint.dont_know < papers.dont_know);
/// assert!(salted.of_absent() < 0.1 * joint.of_absent() && salted.dont_know < 0.5 * joint.dont_know);
/// ```
#[derive(Debug, Clone)]
pub struct JointDecoding {
    /// By sets of wrong states, for flows in the filter.
    extant: Vec<Term>,
    /// By sets of states, for flows that are not: one survives or more.
    some: Vec<Term>,
    /// The same: exactly one survives.
    one: Vec<Term>,
}

/// Sets of states with the same probability to survive.
#[derive(Debug, Clone)]
struct Term {
    weight: f64,
    /// The probability that a cell with one, two and three flows allows the whole set.
    allows: [f64; 3],
}

impl JointDecoding {
    /// Without salts, with codes of at most this many bits.
    pub fn new(mix: &StateMix, code_bits: u32) -> JointDecoding {
        let codes = Codes::within(code_bits, mix.states());
        let [mut extant, mut some, mut one] =
            [Terms::default(), Terms::default(), Terms::default()];
        let absent = of_absent(&codes, mix);
        for set in 1..1usize << mix.states() {
            let allows = [0, 1, 2].map(|count| get(&absent[count], set));
            some.add(sign(set), allows);
            one.add(f64::from(set.count_ones()) * sign(set), allows);
        }
        for (state, part) in mix.parts().iter().enumerate().filter(|(_, part)| **part > 0.0) {
            let [two, three] = of_extant(&codes, mix, state);
            for set in (1..1usize << mix.states()).filter(|set| set & 1 << state == 0) {
                extant.add(part * sign(set), [0.0, get(&two, set), get(&three, set)]);
            }
        }
        JointDecoding { extant: extant.list(), some: some.list(), one: one.list() }
    }

    /// With salts, with codes of at most this many bits. Errors do not depend on the mix of states.
    pub fn salted(states: usize, code_bits: u32) -> JointDecoding {
        let states = states.clamp(1, STATES_MAX);
        let (codes, mix) = (Codes::within(code_bits, states), StateMix::even(states));
        let [mut extant, mut some, mut one] =
            [Terms::default(), Terms::default(), Terms::default()];
        let absent = of_absent(&codes, &mix);
        // By the code that the flow has on the cell.
        let present: Vec<[Vec<f64>; 2]> =
            (0..states).map(|code| of_extant(&codes, &mix, code)).collect();
        let mean =
            |chance: &dyn Fn(usize) -> f64| (0..states).map(chance).sum::<f64>() / states as f64;
        for set in 1..1usize << states {
            let turned = |by: usize| (set << by | set >> (states - by)) & ((1 << states) - 1);
            let allows = [0, 1, 2].map(|count| mean(&|salt| get(&absent[count], turned(salt))));
            some.add(sign(set), allows);
            one.add(f64::from(set.count_ones()) * sign(set), allows);
            // Wrong states of a flow whose own is the first.
            if set & 1 == 0 {
                let [two, three] = [0, 1].map(|count| {
                    let chance = |code: usize| {
                        present.get(code).map_or(0.0, |sums| get(&sums[count], turned(code)))
                    };
                    mean(&chance)
                });
                extant.add(sign(set), [0.0, two, three]);
            }
        }
        JointDecoding { extant: extant.list(), some: some.list(), one: one.list() }
    }

    /// Errors of a filter with these cells.
    pub fn errors(&self, cells: &FlowCells) -> ErrorRates {
        // Counts are of other flows: a flow in the filter is one more on each of its cells.
        let sum = |terms: &[Term], own: usize| -> f64 {
            let survives = |term: &Term| {
                cells.all(|counts| {
                    let allows = term.allows.iter().zip(1usize..).skip(own);
                    let few: f64 =
                        allows.map(|(allows, flows)| allows * counts.exactly(flows - own)).sum();
                    few + counts.at_least(4 - own)
                })
            };
            terms.iter().map(|term| term.weight * survives(term)).sum::<f64>().clamp(0.0, 1.0)
        };
        let (some, one) = (sum(&self.some, 0), sum(&self.one, 0));
        let false_positive = one.min(some);
        ErrorRates {
            false_positive,
            dont_know_absent: some - false_positive,
            dont_know: sum(&self.extant, 1),
            ..ErrorRates::default()
        }
    }
}

/// The probability that a cell with one, two and three flows of this mix allows a set, by set.
fn of_absent(codes: &Codes, mix: &StateMix) -> [Vec<f64>; 3] {
    let states = mix.states();
    let parts = || mix.parts().iter().copied().enumerate();
    let one = parts().map(|(state, part)| (1 << state, part));
    let two = pairs(mix).map(|(a, b, odds)| (codes.in_two(a, b), odds));
    let three = pairs(mix).flat_map(|(a, b, odds)| {
        parts().map(move |(c, part)| (codes.in_three(a, b, c), odds * part))
    });
    [supersets(states, one), supersets(states, two), supersets(states, three)]
}

/// The same of a cell with one and two others beside a flow in `state`.
fn of_extant(codes: &Codes, mix: &StateMix, state: usize) -> [Vec<f64>; 2] {
    let parts = mix.parts().iter().copied().enumerate();
    let two = parts.map(|(other, part)| (codes.in_two(state, other), part));
    let three = pairs(mix).map(|(a, b, odds)| (codes.in_three(state, a, b), odds));
    [supersets(mix.states(), two), supersets(mix.states(), three)]
}

/// Weights of sets of states, by their probabilities.
#[derive(Default)]
struct Terms(BTreeMap<[u64; 3], f64>);

impl Terms {
    fn add(&mut self, weight: f64, allows: [f64; 3]) {
        let key = allows.map(|chance| (chance * PRECISION).round() as u64);
        *self.0.entry(key).or_default() += weight;
    }

    fn list(self) -> Vec<Term> {
        let terms = self.0.into_iter().filter(|(_, weight)| *weight != 0.0);
        let of = |(key, weight): ([u64; 3], f64)| Term {
            weight,
            allows: key.map(|chance| chance as f64 / PRECISION),
        };
        terms.map(of).collect()
    }
}
