//! Greedy encodings of a kBF (Xiong et al., Algorithm 1): their pairwise XORs are all different.

use crate::state::State;

/// The encodings of a machine's states.
///
/// No two of `e_i` and `e_i ⊕ e_j` (i < j) are equal, so that the XOR of one or two encodings
/// tells which they are. Three or more may be ambiguous.
///
/// ```
/// use acsm_filters::Encodings;
///
/// assert_eq!(Encodings::new(6).codes(), [1, 2, 4, 8, 15, 16]);
/// ```
#[derive(Debug, Clone)]
pub struct Encodings {
    codes: Vec<u32>,
}

impl Encodings {
    /// Encodings for this many states, at most [`State::LIMIT`]: the sum of two tells which two.
    pub fn new(states: usize) -> Encodings {
        Self::telling(2, states)
    }

    /// Encodings of at most this many bits: the sum of three tells which three, where there is room
    /// for that, else the sum of two.
    pub fn within(bits: u32, states: usize) -> Encodings {
        let wide = Self::telling(3, states);
        if wide.bits() <= bits { wide } else { Self::new(states) }
    }

    /// Encodings of which any `order` can be told by their XOR: no XOR of up to 2 · `order` of them
    /// is 0.
    fn telling(order: u32, states: usize) -> Encodings {
        let mut codes: Vec<u32> = Vec::with_capacity(states.min(State::LIMIT));
        // The papers use a Bloom filter here, for thousands of values; here are at most 16. By sum:
        // how many codes it takes to make it.
        let mut terms = vec![0u32];
        let mut candidate = 1;
        while codes.len() < states.min(State::LIMIT) {
            if terms.len() <= candidate {
                terms.resize(2 * candidate, u32::MAX);
            }
            if terms.get(candidate).is_some_and(|&terms| terms >= 2 * order) {
                codes.push(candidate as u32);
                let with = |sum: usize| {
                    terms.get(sum ^ candidate).map_or(u32::MAX, |&n| n.saturating_add(1))
                };
                terms = (0..terms.len())
                    .map(|sum| with(sum).min(terms.get(sum).copied().unwrap_or(u32::MAX)))
                    .collect();
            }
            candidate += 1;
        }
        Encodings { codes }
    }

    /// All codes, in the order of the states.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// How many bits the widest code takes.
    pub fn bits(&self) -> u32 {
        self.codes.last().map_or(0, |widest| u32::BITS - widest.leading_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::kbf_code_bits;

    #[test]
    fn sums_of_two_are_unique_and_the_spec_knows_their_width() {
        for states in 1..=State::LIMIT {
            let encodings = Encodings::new(states);
            let codes = encodings.codes();
            assert_eq!(codes.len(), states);
            let mut sums = codes.to_vec();
            for (i, a) in codes.iter().enumerate() {
                sums.extend(codes[..i].iter().map(|b| a ^ b));
            }
            let count = sums.len();
            sums.sort_unstable();
            sums.dedup();
            assert_eq!((sums.len(), sums.contains(&0)), (count, false));
            assert_eq!(encodings.bits(), kbf_code_bits(states), "{states} states");
        }
    }
}
