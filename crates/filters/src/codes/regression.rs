//! From a code to its index in a sorted table: the regression look-up of the kBF papers, bracketed.
//!
//! A quadratic function fitted to the table gives a first index; the error there, divided by the slope,
//! gives the next, and so on. As printed, with the average slope of the table, this does not end for one
//! code in four: the codes grow with the power 2.85 of the index, and the steps oscillate. So the slope
//! is that between the last two entries read, and a bracket is kept around what is left of the table: a
//! step that leaves it goes to its middle, and so does every fourth step, so that the search ends in any
//! table.

use std::cmp::Ordering;

/// A table of ascending codes, with a quadratic function fitted to it.
///
/// ```
/// use acsm_filters::codes::{GREEDY_CODES, RegressionTable};
///
/// let table = RegressionTable::new(&GREEDY_CODES[..3000]);
/// let found = table.position(GREEDY_CODES[1234]);
/// assert_eq!(found.index, Some(1234));
/// assert!(found.accesses <= 24);
/// ```
#[derive(Debug, Clone)]
pub struct RegressionTable<'a> {
    codes: &'a [u32],
    /// The code at x = index / length, by least squares: c₀ + c₁ x + c₂ x².
    fit: [f64; 3],
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Where the code is, if it is in the table.
    pub index: Option<usize>,
    /// How many entries of the table were read.
    pub accesses: u32,
}

/// After this number of accesses the bracket is halved, and again after as many more.
const HALVE_EVERY: u32 = 4;

impl<'a> RegressionTable<'a> {
    /// Fits the function to `codes`, which are in ascending order.
    pub fn new(codes: &'a [u32]) -> RegressionTable<'a> {
        RegressionTable { codes, fit: fitted(codes) }
    }

    /// The table.
    pub fn codes(&self) -> &'a [u32] {
        self.codes
    }

    /// Looks a code up.
    pub fn position(&self, code: u32) -> Position {
        let (mut begin, mut end) = (0, self.codes.len());
        let mut accesses = 0;
        let mut at = self.first_guess(code);
        let mut last = None;
        while begin < end {
            let found = self.codes[at];
            accesses += 1;
            match found.cmp(&code) {
                Ordering::Equal => return Position { index: Some(at), accesses },
                Ordering::Less => begin = at + 1,
                Ordering::Greater => end = at,
            }
            let here = (at as f64, f64::from(found));
            let slope = last.replace(here).map_or_else(
                || self.slope_at(at),
                |last: (f64, f64)| (here.1 - last.1) / (here.0 - last.0),
            );
            let error = f64::from(code) - here.1;
            let step = (error / slope).round();
            // At least one entry, away from the one just read.
            let step = if error > 0.0 { step.max(1.0) } else { step.min(-1.0) };
            let next = (here.0 + step).max(0.0) as usize;
            let halve = accesses.is_multiple_of(HALVE_EVERY) || !(begin..end).contains(&next);
            at = if halve { begin + (end - begin) / 2 } else { next };
        }
        Position { index: None, accesses }
    }

    /// Where the function has this value.
    fn first_guess(&self, code: u32) -> usize {
        let [c0, c1, c2] = self.fit;
        let below = c0 - f64::from(code);
        // The root that stays finite as c₂ approaches 0.
        let discriminant = (c1 * c1 - 4.0 * c2 * below).max(0.0);
        let x = -2.0 * below / (c1 + discriminant.sqrt());
        let length = self.codes.len() as f64;
        let last = self.codes.len().saturating_sub(1);
        // A fit that is not a number gives 0.
        ((x * length).round().max(0.0) as usize).min(last)
    }

    /// How much codes grow per entry; at least the least that ascending codes can.
    fn slope_at(&self, index: usize) -> f64 {
        let [_, c1, c2] = self.fit;
        let length = self.codes.len() as f64;
        ((c1 + 2.0 * c2 * index as f64 / length) / length).max(1.0)
    }
}

/// Least squares by the normal equations.
fn fitted(codes: &[u32]) -> [f64; 3] {
    let length = codes.len() as f64;
    // Σ x^i for i = 0 … 4, and Σ y x^i for i = 0 … 2.
    let mut sums = [0.0; 5];
    let mut values = [0.0; 3];
    for (at, &code) in codes.iter().enumerate() {
        let (x, y, mut power) = (at as f64 / length, f64::from(code), 1.0);
        for (degree, sum) in sums.iter_mut().enumerate() {
            *sum += power;
            if let Some(value) = values.get_mut(degree) {
                *value += y * power;
            }
            power *= x;
        }
    }
    solved(sums, values)
}

/// Solves Σ_j s_{i+j} c_j = v_i for i = 0, 1, 2 by elimination. With fewer than three codes there is
/// no unique solution, and 0 does for what is undetermined.
fn solved(sums: [f64; 5], values: [f64; 3]) -> [f64; 3] {
    let mut rows: [[f64; 4]; 3] =
        std::array::from_fn(|i| [sums[i], sums[i + 1], sums[i + 2], values[i]]);
    for column in 0..3 {
        let pivot = rows[column];
        if pivot[column].abs() < 1e-12 {
            continue;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != column) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    std::array::from_fn(|i| {
        let c = rows[i][3] / rows[i][i];
        if rows[i][i].abs() < 1e-12 || !c.is_finite() { 0.0 } else { c }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::GREEDY_CODES;

    fn check(codes: &[u32]) -> (f64, u32) {
        let table = RegressionTable::new(codes);
        let (mut sum, mut most) = (0, 0);
        for (index, &code) in codes.iter().enumerate() {
            let found = table.position(code);
            assert_eq!(found.index, Some(index));
            (sum, most) = (sum + found.accesses, most.max(found.accesses));
            for other in [code - 1, code + 1] {
                assert_eq!(table.position(other).index, codes.binary_search(&other).ok());
            }
        }
        (f64::from(sum) / codes.len() as f64, most)
    }

    #[test]
    fn every_code_is_found_with_few_accesses() {
        let mut rows = vec![];
        for count in [100, 1000, 3000, GREEDY_CODES.len()] {
            let (mean, most) = check(&GREEDY_CODES[..count]);
            // What binary search takes on average.
            let binary = (count as f64).log2() - 1.0;
            println!("{count} codes: {mean:.2} accesses, at most {most}; binary {binary:.1}");
            rows.push((mean, most, binary));
        }
        for (mean, most, binary) in rows {
            assert!(mean < 0.75 * binary && f64::from(most) < 3.0 * binary, "{mean} {most}");
        }
    }

    #[test]
    fn any_table_ends_the_search() {
        for codes in [
            vec![],
            vec![5],
            vec![5, 6],
            vec![5, u32::MAX - 1],
            (1..1000).collect(),
            (1..=500).chain(u32::MAX - 500..=u32::MAX - 1).collect(),
            (1..32).map(|bit| 1 << bit).collect(),
        ] {
            check(&codes);
            let table = RegressionTable::new(&codes);
            for code in [0, 1, 1 << 20, u32::MAX] {
                assert_eq!(table.position(code).index, codes.binary_search(&code).ok());
            }
        }
    }
}
