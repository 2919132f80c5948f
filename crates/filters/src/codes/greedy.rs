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
    /// Encodings for this many states, at most [`State::LIMIT`].
    pub fn new(states: usize) -> Encodings {
        let mut codes: Vec<u32> = Vec::with_capacity(states.min(State::LIMIT));
        // The papers use a Bloom filter here, for thousands of values; here are at most 16.
        let mut taken = Vec::new();
        let mut candidate = 1;
        while codes.len() < states.min(State::LIMIT) {
            let sums = || codes.iter().map(|code| code ^ candidate).chain([candidate]);
            if !sums().any(|sum| taken.contains(&sum)) {
                taken.extend(sums());
                codes.push(candidate);
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
