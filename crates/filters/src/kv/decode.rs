//! From the cells of a key to its value: the papers' two options, Algorithm 6 as printed, and joint
//! decoding.
//!
//! A cell with one key has that key's code. The sum of two codes tells which two they are, or that
//! they are equal. Of the sum of three, a code is a part if the rest is the sum of two codes, or 0. Of four
//! and more nothing is known: almost any word is such a sum.

use super::answer::Answer;
use crate::codes::Codes;

/// How the value of a key is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decoding {
    /// The papers' first option: the first cell with one key; else what all cells with two keys have in
    /// common.
    Option1,
    /// The papers' second option: as the first; if two values are left, what cells with three keys say
    /// about them.
    Option2,
    /// Algorithms 6 and 7 as printed: the first cell with one key; else the first two different sums of
    /// two; else one sum of two and one of three.
    Literal,
    /// All cells together: the values that no cell excludes. None: the key is absent.
    Joint,
}

/// The most values that joint decoding tries one by one, where no cell has fewer than three keys.
pub(super) const ENUMERATED_MAX: usize = 1 << 14;

/// One of the cells of a key.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyCell {
    /// Keys on it; [`UNKNOWN`](KeyCell::UNKNOWN) if the counter is at its maximum.
    pub(super) count: u32,
    pub(super) sum: u64,
    /// What is added to the value's index for its code in this cell.
    pub(super) salt: u32,
}

impl KeyCell {
    pub(super) const UNKNOWN: u32 = u32::MAX;
}

/// Decodes with these codes.
pub(super) struct Decoder<'a> {
    pub(super) codes: &'a Codes,
    /// Values in use: those with an index below.
    pub(super) assigned: u32,
}

impl Decoder<'_> {
    /// The value of the key with these cells, none of which is empty.
    pub(super) fn decode(&self, decoding: Decoding, cells: &[KeyCell]) -> Answer<u32> {
        if decoding == Decoding::Joint {
            return self.joint(cells);
        }
        match cells.iter().find(|cell| cell.count == 1) {
            Some(alone) => self.alone_in_use(alone),
            None => self.in_use(self.of_shared(decoding, cells)),
        }
        .map_or(Answer::Undecided, Answer::Found)
    }

    /// The value in a cell with one key, if it is in use.
    #[inline(always)] // into the loops over many keys
    pub(super) fn alone_in_use(&self, cell: &KeyCell) -> Option<u32> {
        self.in_use(self.alone(cell))
    }

    #[inline]
    fn in_use(&self, found: Option<u32>) -> Option<u32> {
        found.filter(|value| *value < self.assigned)
    }

    fn of_shared(&self, decoding: Decoding, cells: &[KeyCell]) -> Option<u32> {
        match decoding {
            Decoding::Literal => self.literal(cells),
            _ => self.all_pairs(cells, decoding == Decoding::Option2),
        }
    }

    /// decode22 of all cells with two keys, and decode23 of what is left.
    fn all_pairs(&self, cells: &[KeyCell], with_threes: bool) -> Option<u32> {
        let mut left: Option<Vec<u32>> = None;
        for cell in cells.iter().filter(|cell| cell.count == 2 && cell.sum != 0) {
            let pair = self.pair(cell)?;
            left = Some(match left {
                None => pair.to_vec(),
                Some(left) => left.into_iter().filter(|value| pair.contains(value)).collect(),
            });
        }
        let mut left = left?;
        if left.len() > 1 && with_threes {
            let threes = || cells.iter().filter(|cell| cell.count == 3);
            left.retain(|&value| threes().all(|cell| self.allows(cell, value)));
        }
        only(&left)
    }

    fn literal(&self, cells: &[KeyCell]) -> Option<u32> {
        let with = |count| cells.iter().filter(move |cell| cell.count == count && cell.sum != 0);
        let mut pairs = with(2).map(|cell| self.pair(cell));
        let first = pairs.next()??;
        match pairs.flatten().find(|pair| *pair != first) {
            Some(second) => {
                let common = first.into_iter().filter(|value| second.contains(value));
                only(&common.collect::<Vec<_>>())
            }
            None => {
                let three = with(3).next()?;
                let left = first.into_iter().filter(|&value| self.allows(three, value));
                only(&left.collect::<Vec<_>>())
            }
        }
    }

    fn joint(&self, cells: &[KeyCell]) -> Answer<u32> {
        if let Some(alone) = cells.iter().find(|cell| cell.count == 1) {
            return self.among(self.alone(alone).into_iter(), cells);
        }
        if let Some(pair) = cells.iter().find(|cell| cell.count == 2 && cell.sum != 0) {
            return self.among(self.pair(pair).into_iter().flatten(), cells);
        }
        self.among_all(cells)
    }

    /// The same where no cell has fewer than three keys, but for those whose codes cancel: every value is
    /// tried on the first cell with three.
    #[cold]
    fn among_all(&self, cells: &[KeyCell]) -> Answer<u32> {
        let values = self.assigned as usize;
        match cells.iter().find(|cell| cell.count == 3) {
            Some(three) if values <= ENUMERATED_MAX => {
                let codes = self.codes.in_sum_of_three(three.sum).into_iter();
                let mut left: Vec<u32> =
                    codes.map(|index| self.unsalted(index, three.salt)).collect();
                left.sort_unstable();
                self.among(left.into_iter(), cells)
            }
            _ if values <= Answer::<u32>::ONE_OF_MAX => self.among(0..self.assigned, cells),
            _ => Answer::Undecided,
        }
    }

    /// Those of the candidates that no cell excludes.
    fn among(&self, candidates: impl Iterator<Item = u32>, cells: &[KeyCell]) -> Answer<u32> {
        let is_possible = |&value: &u32| {
            value < self.assigned && cells.iter().all(|cell| self.allows(cell, value))
        };
        Answer::of(candidates.filter(is_possible))
    }

    /// Whether the value can be in a cell.
    #[inline]
    pub(super) fn allows(&self, cell: &KeyCell, value: u32) -> bool {
        if cell.count > 3 || (cell.count == 2 && cell.sum == 0) {
            return true;
        }
        let rest = cell.sum ^ self.code(value, cell.salt);
        match cell.count {
            1 => rest == 0,
            2 => self.codes.index(rest).is_some(),
            _ => rest == 0 || self.codes.pair(rest).is_some(),
        }
    }

    /// The value in a cell with one key.
    #[inline]
    fn alone(&self, cell: &KeyCell) -> Option<u32> {
        let index = self.codes.index(cell.sum)?;
        Some(self.unsalted(index, cell.salt))
    }

    /// The two values that a cell with two keys can have for this key, in ascending order.
    #[inline]
    fn pair(&self, cell: &KeyCell) -> Option<[u32; 2]> {
        let mut pair = self.codes.pair(cell.sum)?.map(|index| self.unsalted(index, cell.salt));
        pair.sort_unstable();
        Some(pair)
    }

    /// The code of a value in a cell with this salt: (value + salt) mod V.
    #[inline]
    pub(super) fn code(&self, value: u32, salt: u32) -> u64 {
        let (index, values) = (value + salt, self.codes.count() as u32);
        self.codes.code(index.min(index.wrapping_sub(values)))
    }

    /// (index − salt) mod V, without a branch: salts are random.
    #[inline]
    fn unsalted(&self, index: u32, salt: u32) -> u32 {
        let value = index.wrapping_sub(salt);
        value.min(value.wrapping_add(self.codes.count() as u32))
    }
}

/// The one value, if it is one.
fn only(values: &[u32]) -> Option<u32> {
    match values {
        [value] => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::CodeFamily;

    const ALL: [Decoding; 4] =
        [Decoding::Option1, Decoding::Option2, Decoding::Literal, Decoding::Joint];

    /// What each decoding makes of cells with these values, the key's own first; salts are the number
    /// of the cell times seven.
    fn decode(family: CodeFamily, cells: &[&[u32]]) -> [Answer<u32>; 4] {
        let codes = Codes::new(family, 1000).unwrap();
        let decoder = Decoder { codes: &codes, assigned: 1000 };
        let cells: Vec<KeyCell> = (0..)
            .zip(cells)
            .map(|(n, values)| {
                let salt = 7 * n;
                let count = if values.len() > 6 { KeyCell::UNKNOWN } else { values.len() as u32 };
                let sum = values.iter().fold(0, |sum, &value| sum ^ decoder.code(value, salt));
                KeyCell { count, sum, salt }
            })
            .collect();
        ALL.map(|decoding| decoder.decode(decoding, &cells))
    }

    #[test]
    fn each_decoding_follows_its_rules() {
        use Answer::{Absent, Found, OneOf, Undecided};
        for family in [CodeFamily::Greedy, CodeFamily::Algebraic { degree: 14 }] {
            let decode = |cells: &[&[u32]]| decode(family, cells);
            // A cell of its own.
            assert_eq!(
                decode(&[&[525, 648, 777], &[525]]),
                [Found(525), Found(525), Found(525), Found(525)]
            );
            // Two pairs.
            assert_eq!(
                decode(&[&[525, 648], &[525, 777]]),
                [Found(525), Found(525), Found(525), Found(525)]
            );
            // The same pair twice; the third decides, unless only the first two are read.
            let same = [Undecided, Undecided, Undecided, OneOf(vec![525, 648])];
            assert_eq!(decode(&[&[525, 648], &[525, 648]]), same);
            assert_eq!(decode(&[&[525, 648], &[525, 648], &[525, 953]])[0], Found(525));
            // A pair and a sum of three.
            let three = [Undecided, Found(525), Found(525), Found(525)];
            assert_eq!(decode(&[&[525, 648], &[525, 777, 912]]), three);
            let both = [Undecided, Undecided, Undecided, OneOf(vec![525, 648])];
            assert_eq!(decode(&[&[525, 648], &[525, 648, 912]]), both);
            // Equal codes cancel.
            let cancelled = [Undecided, Undecided, Undecided, Undecided];
            assert_eq!(decode(&[&[525, 525], &[525, 525]]), cancelled);
            assert_eq!(decode(&[&[525; 7], &[525, 93, 192, 297]]), cancelled);
            // Sums of three alone.
            let threes =
                decode(&[&[525, 93, 192], &[525, 297, 408], &[525, 648, 777], &[525, 912, 953]]);
            assert_eq!(threes, [Undecided, Undecided, Undecided, Found(525)]);
            // Cells that contradict each other.
            assert_eq!(decode(&[&[525], &[648]])[3], Absent);
            assert_eq!(decode(&[&[525], &[648, 777]])[3], Absent);
            assert_eq!(decode(&[&[525, 912], &[648, 777]])[3], Absent);
            assert_eq!(decode(&[&[525], &[648]])[1], Found(525));
        }
    }

    #[test]
    fn values_that_are_not_in_use_are_no_candidates() {
        let codes = Codes::new(CodeFamily::Algebraic { degree: 14 }, 1000).unwrap();
        let decoder = Decoder { codes: &codes, assigned: 6 };
        let pair = KeyCell { count: 2, sum: codes.code(5) ^ codes.code(6), salt: 0 };
        assert_eq!(decoder.decode(Decoding::Joint, &[pair]), Answer::Found(5));
        let alone = KeyCell { count: 1, sum: codes.code(6), salt: 0 };
        assert_eq!(decoder.decode(Decoding::Joint, &[alone]), Answer::Absent);
        assert_eq!(decoder.decode(Decoding::Option2, &[alone]), Answer::Undecided);
        let crowded = KeyCell { count: 5, sum: 1, salt: 0 };
        let all = Answer::OneOf((0..6).collect());
        assert_eq!(decoder.decode(Decoding::Joint, &[crowded]), all);
    }
}
