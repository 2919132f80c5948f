//! The limit on what decoding takes in one call.
//!
//! A server answers nobody else during a call. The value of most items follows from the cell with the
//! fewest items; where every cell has three or more, joint decoding tries all values, and a pair of greedy
//! codes is found by trying all codes. So a call is refused if its decoding may take too long. This is
//! counted in steps, not measured: every server decides the same.

use std::ops::Deref;

use super::SlabError;
use crate::codes::CodeFamily;
use crate::kv::decode::ENUMERATED_MAX;
use crate::kv::many::Clue;
use crate::kv::{Answer, Decoding, KbfMap};
use crate::line::Line;

/// The most steps of a call with several items. A step takes two to five nanoseconds: it is one code of
/// those that are tried for a pair of greedy codes. A call with one item is never refused.
pub const CALL_STEPS_MAX: u64 = 1 << 26;

/// What decoding a pair of algebraic codes takes by logarithms, in steps…
const PAIR_STEPS: u64 = 4;
/// …and without.
const WIDE_PAIR_STEPS: u64 = 128;

/// What decoding an item can take, in steps, by what its cells tell.
struct Steps {
    few: u64,
    three: u64,
    none: u64,
}

impl Steps {
    fn of<L: Deref<Target = [Line]>>(filter: &KbfMap<L>, below: u32) -> Steps {
        let parameters = filter.parameters();
        let (hashes, values) = (u64::from(parameters.hashes), u64::from(parameters.values));
        let pair = match parameters.family {
            CodeFamily::Greedy => values,
            CodeFamily::Algebraic { degree: 14 } => PAIR_STEPS,
            CodeFamily::Algebraic { .. } => WIDE_PAIR_STEPS,
        };
        // A cell with two items gives two values, and each is tried on each cell.
        let few = (1 + 2 * hashes) * pair;
        let tried = u64::from(below.min(parameters.values));
        let (three, none) = match parameters.decoding {
            // All values that fit an answer are tried on all cells.
            Decoding::Joint if tried <= Answer::<u32>::ONE_OF_MAX as u64 => {
                (tried * hashes * pair, tried * hashes * pair)
            }
            // All on one cell, and those that it allows on the others: at most half, then a quarter, …
            Decoding::Joint if tried <= ENUMERATED_MAX as u64 => (2 * values * pair, hashes),
            Decoding::Joint => (hashes, hashes),
            _ => (few, few),
        };
        Steps { few, three: few.max(three), none }
    }

    fn after(&self, clue: Clue) -> u64 {
        match clue {
            Clue::Absent => 0,
            Clue::Few => self.few,
            Clue::Three => self.three,
            Clue::None => self.none,
        }
    }
}

/// Refuses a call whose decoding may take more than [`CALL_STEPS_MAX`] steps.
pub(super) fn check<L: Deref<Target = [Line]>>(
    filter: &KbfMap<L>,
    below: u32,
    digests: impl ExactSizeIterator<Item = u128>,
) -> Result<(), SlabError> {
    let steps = Steps::of(filter, below);
    let items = digests.len() as u64;
    if items <= 1 || items * steps.three.max(steps.none) <= CALL_STEPS_MAX {
        return Ok(()); // without a look at the cells
    }
    let needed: u64 = digests.map(|digest| steps.after(filter.clue(digest))).sum();
    if needed <= CALL_STEPS_MAX {
        return Ok(());
    }
    let items_possible = (items * CALL_STEPS_MAX / needed).max(1);
    Err(SlabError::TooMuchWork { items, needed, limit: CALL_STEPS_MAX, items_possible })
}
