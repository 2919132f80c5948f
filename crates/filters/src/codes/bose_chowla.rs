//! B_3 codes of a bhbf: sixteen codes of which no two sums of three are equal modulo 4095.
//!
//! By Bose and Chowla: with θ a primitive element of GF(16³), the logarithms of θ + a for the
//! sixteen a of GF(16) are a B_3 set modulo 16³ − 1. Sums of one code, and of two, are then unique
//! as well.

use crate::state::State;

pub(crate) const MODULUS: u32 = 4095;

const CODES: [u32; State::LIMIT] =
    [1, 2159, 3891, 3680, 1548, 210, 448, 601, 3766, 3534, 697, 1000, 1262, 1089, 1929, 865];

/// The code with this number, modulo 16.
#[inline]
pub(crate) const fn code(number: u32) -> u32 {
    CODES[number as usize % State::LIMIT]
}

/// `sum` plus `code`; both are below the modulus.
#[inline]
pub(crate) const fn plus(sum: u32, code: u32) -> u32 {
    wrapped(sum + code)
}

/// `sum` minus `code`.
#[inline]
pub(crate) const fn minus(sum: u32, code: u32) -> u32 {
    wrapped(sum + MODULUS - code)
}

#[inline]
const fn wrapped(sum: u32) -> u32 {
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_sums_of_three_are_the_same() {
        let sum = |codes: [u32; 3]| codes.iter().sum::<u32>() % MODULUS;
        let multisets: Vec<[u32; 3]> = (0..16)
            .flat_map(|a| (0..=a).flat_map(move |b| (0..=b).map(move |c| [a, b, c].map(code))))
            .collect();
        let sums: HashSet<u32> = multisets.iter().copied().map(sum).collect();
        // (16 + 3 − 1 choose 3) ways to take three of sixteen.
        assert_eq!((multisets.len(), sums.len()), (816, 816));
    }

    #[test]
    fn codes_come_out_as_they_went_in() {
        for number in 0..16 {
            for sum in [0, 1, 2000, MODULUS - 1] {
                let with = plus(sum, code(number));
                assert!(with < MODULUS);
                assert_eq!(minus(with, code(number)), sum);
            }
        }
        assert_eq!(code(17), code(1));
    }
}
