//! Which codes can be in a cell, by its count and sum: one table for all shards.
//!
//! A code can be among c if the rest of the sum can be made of c − 1. Up to three flows leave no
//! more candidates than there are flows; four leave 5.3 of 16 on average, five 12.2, six 15.98. So
//! the table ends at five: with more rows a filter would err less by half a percent, and they would
//! push those in use out of the nearest cache.

use std::sync::LazyLock;

use super::codes::{code, minus};
use super::rule::{SUM_BITS, cell, parts};
use crate::spec::BHBF_TABLE_COUNTS;
use crate::state::State;

/// A set of codes, or of states, one bit each.
pub(super) type Mask = u16;

/// The masks of cells with at most [`BHBF_TABLE_COUNTS`] flows, by the number that the cell is.
pub(super) static MASKS: LazyLock<Vec<Mask>> = LazyLock::new(|| {
    let mut masks = vec![0; (BHBF_TABLE_COUNTS as usize + 1) << SUM_BITS];
    for shared in cell(1, 0)..masks.len() as u32 {
        let (count, sum) = parts(shared);
        let is_candidate = |&number: &u32| match (count, minus(sum, code(number))) {
            (1, rest) => rest == 0,
            (_, rest) => masks[cell(count - 1, rest) as usize] != 0,
        };
        let candidates = (0..State::LIMIT as u32).filter(is_candidate);
        masks[shared as usize] = candidates.fold(0, |mask, number| mask | 1 << number);
    }
    masks
});

/// The codes that can be in this cell: none if it is empty, or no flows can have left that sum.
#[inline]
pub(super) fn candidates(masks: &[Mask], cell: u32) -> Mask {
    masks.get(cell as usize).copied().unwrap_or(Mask::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::codes::{MODULUS, plus};
    use super::*;
    use crate::rng::Random;

    #[test]
    fn one_two_and_three_flows_are_told_exactly() {
        for (a, b, c) in (0..16).flat_map(|a| (0..16).map(move |b| (a, b, (a * 7 + b) % 16))) {
            let (one, two) = (code(a), plus(code(a), code(b)));
            let three = plus(two, code(c));
            assert_eq!(candidates(&MASKS, cell(1, one)), 1 << a);
            assert_eq!(candidates(&MASKS, cell(2, two)), 1 << a | 1 << b);
            assert_eq!(candidates(&MASKS, cell(3, three)), 1 << a | 1 << b | 1 << c);
        }
        let possible = |count: u32| {
            (0..MODULUS).filter(|&sum| candidates(&MASKS, cell(count, sum)) != 0).count()
        };
        assert_eq!([1, 2, 3].map(possible), [16, 136, 816]);
        assert_eq!(candidates(&MASKS, 0), 0);
    }

    #[test]
    fn what_is_in_a_cell_is_never_ruled_out() {
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let (mut sum, mut inside) = (0, 0);
            for count in 1..=15 {
                let number = random.below(16) as u32;
                (sum, inside) = (plus(sum, code(number)), inside | 1 << number);
                assert_eq!(inside & !candidates(&MASKS, cell(count, sum)), 0, "{count} flows");
            }
        }
    }
}
