//! From the cells of a flow to its state, by tables.
//!
//! For the XOR of two and of three encodings a table says which encodings can be among them, as a
//! mask of states. Decoding is then one AND per cell.

use super::encodings::Encodings;
use super::rule::parts;
use crate::spec::KbfDecode;
use crate::state::{Lookup, State};

/// A set of states, one bit each.
type Mask = u16;

/// The tables for one set of encodings.
#[derive(Debug, Clone)]
pub(super) struct Decoder {
    decode: KbfDecode,
    /// Which state a code is.
    alone: Vec<Lookup>,
    /// Which states can be in a sum of two.
    of_two: Vec<Mask>,
    /// Which states can be in a sum of three.
    of_three: Vec<Mask>,
}

impl Decoder {
    pub(super) fn new(encodings: &Encodings, decode: KbfDecode) -> Decoder {
        let codes = encodings.codes();
        let size = 1 << encodings.bits();
        let mut tables = Decoder {
            decode,
            alone: vec![Lookup::DontKnow; size],
            of_two: vec![0; size],
            of_three: vec![0; size],
        };
        let mark = |table: &mut Vec<Mask>, sum: u32, states: Mask| {
            if let Some(mask) = table.get_mut(sum as usize) {
                *mask |= states;
            }
        };
        for (a, code_a) in codes.iter().enumerate() {
            if let (Some(alone), Some(state)) =
                (tables.alone.get_mut(*code_a as usize), State::new(a))
            {
                *alone = Lookup::Known(state);
            }
            for (b, code_b) in codes.iter().enumerate() {
                mark(&mut tables.of_two, code_a ^ code_b, 1 << a | 1 << b);
                for (c, code_c) in codes.iter().enumerate() {
                    let states = 1 << a | 1 << b | 1 << c;
                    mark(&mut tables.of_three, code_a ^ code_b ^ code_c, states);
                }
            }
        }
        tables
    }

    /// The state that the cells of a flow, none of them empty, tell.
    ///
    /// A cell that is the flow's alone decides, the first such. If it holds no code (only false
    /// operations leave such a cell), the state cannot be told.
    #[inline]
    pub(super) fn state(&self, cells: &[u32]) -> Lookup {
        match cells.iter().map(|&cell| parts(cell)).find(|&(count, _)| count == 1) {
            Some((_, code)) => self.alone.get(code as usize).copied().unwrap_or(Lookup::DontKnow),
            None => self.of_shared(cells),
        }
    }

    #[cold]
    fn of_shared(&self, cells: &[u32]) -> Lookup {
        match self.decode {
            KbfDecode::AllPairs => self.all_pairs(cells),
            KbfDecode::Literal => self.literal(cells),
            KbfDecode::ThreeWay => only(self.common_to_two(cells) & self.common_to_three(cells)),
        }
    }

    /// decode22 of all pairs of cells with two flows: what they all have in common. Two different
    /// sums share at most one code, so any such pair is enough. Else decode23 of the one sum with
    /// all cells with three flows.
    fn all_pairs(&self, cells: &[u32]) -> Lookup {
        let anchored =
            cells.iter().map(|&cell| parts(cell)).any(|(count, sum)| count == 2 && sum != 0);
        let common = self.common_to_two(cells);
        match common.count_ones() {
            _ if !anchored => Lookup::DontKnow,
            0 | 1 => only(common),
            _ => only(common & self.common_to_three(cells)),
        }
    }

    /// Algorithm 6 as printed, after the test for membership that it leaves out (without which no
    /// flow would ever be absent).
    fn literal(&self, cells: &[u32]) -> Lookup {
        let sums_of = |wanted: u32| {
            let parts = cells.iter().map(|&cell| parts(cell));
            parts.filter(move |&(count, sum)| count == wanted && sum != 0).map(|(_, sum)| sum)
        };
        let (mut twos, mut threes) = (sums_of(2), sums_of(3));
        match (twos.next(), twos.next(), threes.next()) {
            (Some(first), Some(second), _) => {
                only(get(&self.of_two, first) & get(&self.of_two, second))
            }
            // Algorithm 7: its test of V4 catches two encodings in common, V5 and V6 one.
            (Some(two), None, Some(three)) => {
                only(get(&self.of_two, two) & get(&self.of_three, three))
            }
            _ => Lookup::DontKnow,
        }
    }

    fn common_to_two(&self, cells: &[u32]) -> Mask {
        common(&self.of_two, 2, cells)
    }

    fn common_to_three(&self, cells: &[u32]) -> Mask {
        common(&self.of_three, 3, cells)
    }
}

/// The states that can be in every cell with this count.
fn common(table: &[Mask], count: u32, cells: &[u32]) -> Mask {
    cells
        .iter()
        .map(|&cell| parts(cell))
        .filter(|&(of, _)| of == count)
        .fold(Mask::MAX, |mask, (_, sum)| mask & get(table, sum))
}

#[inline]
fn get(table: &[Mask], sum: u32) -> Mask {
    table.get(sum as usize).copied().unwrap_or(0)
}

/// The one state in the mask; none or several cannot be told.
#[inline]
fn only(mask: Mask) -> Lookup {
    match State::new(mask.trailing_zeros() as usize) {
        Some(state) if mask.is_power_of_two() => Lookup::Known(state),
        _ => Lookup::DontKnow,
    }
}
