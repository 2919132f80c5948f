//! Encodings of states of a kBF (Algorithm 1), and the states that can be in a sum of them.

use std::collections::BTreeSet;

use crate::STATES_MAX;
use crate::StateMix;

/// A set of states, one bit each.
pub type Mask = u32;

/// Encodings whose sums (XOR) of one and two are all different, and the states that can be in a
/// sum of three.
///
/// Written from the paper independently of the store, so that each is evidence for the other.
#[derive(Debug, Clone)]
pub struct Codes {
    codes: Vec<usize>,
    of_three: Vec<Mask>,
}

impl Codes {
    /// The greedy encodings (Algorithm 1) of this many states, at most 16.
    ///
    /// ```
    /// use acsm_model::kbf::Codes;
    ///
    /// // 1 ⊕ 2 ⊕ 4 = 7 = 8 ⊕ 15: but 8 ⊕ 15 ⊕ x is 7 for no code x, so 7 determines the three.
    /// assert_eq!(Codes::new(6).in_three(0, 1, 2), 0b00_0111);
    /// ```
    pub fn new(states: usize) -> Codes {
        let mut codes: Vec<usize> = vec![];
        let mut taken: Vec<usize> = vec![];
        let mut candidate = 1;
        while codes.len() < states.min(STATES_MAX) {
            let mut sums = vec![candidate];
            sums.extend(codes.iter().map(|code| code ^ candidate));
            if !sums.iter().any(|sum| taken.contains(sum)) {
                taken.extend(sums);
                codes.push(candidate);
            }
            candidate += 1;
        }
        Codes::with_sums(codes)
    }

    /// The greedy codes of which any three can be told by their sum, if they have at most this many
    /// bits; else those of Algorithm 1.
    ///
    /// ```
    /// use acsm_model::kbf::Codes;
    ///
    /// let (narrow, wide) = (Codes::within(8, 14), Codes::within(13, 14));
    /// let told = |codes: &Codes| (3..14).filter(|&c| codes.in_three(0, 1, c).count_ones() == 3).count();
    /// assert!(told(&narrow) < 11 && told(&wide) == 11);
    /// ```
    pub fn within(bits: u32, states: usize) -> Codes {
        // No sum of up to six is 0: none is the sum of up to five others.
        let mut codes: Vec<usize> = vec![];
        let mut sums: [BTreeSet<usize>; 6] = Default::default();
        sums[0].insert(0);
        let mut candidate = 1;
        while codes.len() < states.min(STATES_MAX) {
            if 1usize.unbounded_shl(bits) <= candidate {
                return Codes::new(states);
            }
            if !sums.iter().any(|sums| sums.contains(&candidate)) {
                for terms in (1..sums.len()).rev() {
                    let more: Vec<usize> =
                        sums[terms - 1].iter().map(|sum| sum ^ candidate).collect();
                    sums[terms].extend(more);
                }
                codes.push(candidate);
            }
            candidate += 1;
        }
        Codes::with_sums(codes)
    }

    fn with_sums(codes: Vec<usize>) -> Codes {
        let largest = codes.last().copied().unwrap_or(0);
        let mut of_three = vec![0; (largest + 1).next_power_of_two()];
        for (a, x) in codes.iter().enumerate() {
            for (b, y) in codes.iter().enumerate() {
                for (c, z) in codes.iter().enumerate() {
                    if let Some(mask) = of_three.get_mut(x ^ y ^ z) {
                        *mask |= 1 << a | 1 << b | 1 << c;
                    }
                }
            }
        }
        Codes { codes, of_three }
    }

    /// The states that can be in the sum of three flows in these states.
    pub fn in_three(&self, a: usize, b: usize, c: usize) -> Mask {
        let code = |state: usize| self.codes.get(state).copied().unwrap_or(0);
        self.of_three.get(code(a) ^ code(b) ^ code(c)).copied().unwrap_or(0)
    }

    /// The states that can be in the sum of two: those two, or any if they cancel.
    pub fn in_two(&self, a: usize, b: usize) -> Mask {
        let one = |state: usize| 1u32.unbounded_shl(state as u32);
        if a == b { (1 << self.codes.len()) - 1 } else { one(a) | one(b) }
    }
}

/// Pairs of states with the probability that two flows are in them.
pub(crate) fn pairs(mix: &StateMix) -> impl Iterator<Item = (usize, usize, f64)> {
    let parts = || mix.parts().iter().enumerate().filter(|(_, part)| **part > 0.0);
    parts().flat_map(move |(a, p)| parts().map(move |(b, q)| (a, b, p * q)))
}

/// For each set of states, the probability that a mask contains all of it.
pub(crate) fn supersets(states: usize, masks: impl Iterator<Item = (Mask, f64)>) -> Vec<f64> {
    let mut odds = vec![0.0; 1 << states];
    for (mask, chance) in masks {
        odds.iter_mut().skip(mask as usize).take(1).for_each(|odds| *odds += chance);
    }
    for state in 0..states {
        for set in (0..odds.len()).filter(|set| set & 1 << state == 0) {
            let larger = get(&odds, set | 1 << state);
            odds.iter_mut().skip(set).take(1).for_each(|odds| *odds += larger);
        }
    }
    odds
}

pub(crate) fn get(odds: &[f64], set: usize) -> f64 {
    odds.get(set).copied().unwrap_or(0.0)
}

/// The sign of a set in inclusion and exclusion.
pub(crate) fn sign(set: usize) -> f64 {
    if set.count_ones() % 2 == 1 { 1.0 } else { -1.0 }
}
