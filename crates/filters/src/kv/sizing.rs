//! How many cells a key-value Bloom filter takes: its errors as functions of its load.
//!
//! The number of keys on a cell is Poisson distributed with mean λ = kn/m, its load. Salted codes of
//! other keys are independent and uniform, whatever the values; without salt this holds for values that
//! are all equally frequent. `acsm-model` has the same errors derived independently.

use super::decode::{Decoding, ENUMERATED_MAX};

/// What decides the errors, beside the load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) decoding: Decoding,
    /// V: the number of codes in use.
    pub(super) values: f64,
    /// C(V, 2) / 2^P: the part of all words that is the sum of two codes.
    pub(super) pair_sums: f64,
}

/// Upper bounds of the two rates that sizing keeps low.
#[derive(Debug, Clone, Copy)]
struct Errors {
    /// An absent key is not `Absent`.
    false_positive: f64,
    /// A key that is there is not `Found`.
    undecided: f64,
}

/// The most cells per key that sizing considers.
const HASHES_MAX: usize = 24;

impl Shape {
    /// The number of cells per key that takes the least memory for this error rate, and the load at
    /// which the rate is reached.
    pub(super) fn best(&self, rate: f64) -> (usize, f64) {
        let loads = (1..=HASHES_MAX).map(|hashes| (hashes, self.load_for(hashes, rate)));
        let cells = |(hashes, load): &(usize, f64)| *hashes as f64 / load;
        let best = loads.min_by(|a, b| cells(a).total_cmp(&cells(b)));
        best.unwrap_or((1, f64::MIN_POSITIVE)) // the range is not empty
    }

    /// The largest load at which neither error exceeds the rate: both grow with the load.
    pub(super) fn load_for(&self, hashes: usize, rate: f64) -> f64 {
        let (mut low, mut high) = (0.0, 16.0);
        for _ in 0..40 {
            let load = (low + high) / 2.0;
            let errors = self.errors(hashes, load);
            let holds = errors.false_positive <= rate && errors.undecided <= rate;
            (low, high) = if holds { (load, high) } else { (low, load) };
        }
        low
    }

    fn errors(&self, hashes: usize, load: f64) -> Errors {
        let cells = CellOdds::new(hashes, load);
        let in_use = 1.0 - cells.count[0];
        let bloom = in_use.powi(cells.hashes);
        let shared = in_use - cells.count[1];
        let all_shared = shared.powi(cells.hashes);
        let one_pair = hashes as f64 * cells.count[1] * shared.powi(cells.hashes - 1);
        let undecided = match self.decoding {
            Decoding::Option1 => all_shared + one_pair,
            Decoding::Option2 | Decoding::Literal => all_shared + one_pair * self.pair_sums,
            Decoding::Joint => self.joint_undecided(&cells),
        };
        let false_positive = match self.decoding {
            Decoding::Joint => bloom.min(self.joint_false_positive(&cells)),
            _ => bloom,
        };
        Errors { false_positive, undecided }
    }

    /// A wrong value survives. Beside this key's code a cell has those of others: one other code gives
    /// one wrong value (none, if both are equal); of two others each wrong value survives with a
    /// probability of about C(V, 2) / 2^P + 5 / V; three or more say nothing.
    fn joint_undecided(&self, cells: &CellOdds) -> f64 {
        let values = self.values;
        let [_, one, two, _] = cells.count;
        let of_two = (self.pair_sums + 5.0 / values).min(1.0);
        let silent = cells.more_than(2) + one / values;
        let no_pair = self.survivors(cells.hashes, two, of_two, silent, values - 1.0);
        let wrong = (values - 1.0).max(1.0);
        let rest = silent + two * of_two;
        no_pair + wrong * ((one / wrong + rest).powi(cells.hashes) - rest.powi(cells.hashes))
    }

    /// Some value survives on cells that are all in use by other keys.
    fn joint_false_positive(&self, cells: &CellOdds) -> f64 {
        let values = self.values;
        let [_, one, two, three] = cells.count;
        let of_three = (self.pair_sums + 6.0 / values).min(1.0);
        let silent = cells.more_than(3) + two / values;
        let no_pair = self.survivors(cells.hashes, three, of_three, silent, values);
        let rest = silent + three * of_three;
        let with = (one + 2.0 * two) / values + rest;
        no_pair + values * (with.powi(cells.hashes) - rest.powi(cells.hashes))
    }

    /// The probability that all cells are silent or ambiguous, and one of `candidates` survives all
    /// ambiguous ones, each with probability `survives`.
    fn survivors(
        &self,
        hashes: i32,
        ambiguous: f64,
        survives: f64,
        silent: f64,
        candidates: f64,
    ) -> f64 {
        let mut ways = 1.0; // to choose the ambiguous cells
        (0..=hashes)
            .map(|chosen| {
                let cells = ways * ambiguous.powi(chosen) * silent.powi(hashes - chosen);
                ways *= f64::from(hashes - chosen) / f64::from(chosen + 1);
                let none = (candidates * (-survives.powi(chosen)).ln_1p()).exp();
                let is_enumerated = self.values <= ENUMERATED_MAX as f64;
                if is_enumerated { cells * (1.0 - none) } else { cells }
            })
            .sum()
    }
}

/// How many keys are on a random cell; or how many others on the cell of a key.
struct CellOdds {
    hashes: i32,
    /// The probabilities of none to three.
    count: [f64; 4],
    load: f64,
}

impl CellOdds {
    fn new(hashes: usize, load: f64) -> CellOdds {
        let none = (-load).exp();
        let count = [none, none * load, none * load * load / 2.0, none * load.powi(3) / 6.0];
        CellOdds { hashes: hashes as i32, count, load }
    }

    /// The probability of more than this number, summed from the other end, where nothing cancels.
    fn more_than(&self, keys: i32) -> f64 {
        let mut term = self.count[0];
        let mut sum = 0.0;
        for n in 1..=keys + 40 {
            term *= self.load / f64::from(n);
            sum += if n > keys { term } else { 0.0 };
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(decoding: Decoding, values: f64, bits: i32) -> Shape {
        let pair_sums = values * (values - 1.0) / 2.0 / 2_f64.powi(bits);
        Shape { decoding, values, pair_sums }
    }

    /// Cells per key, in the papers' example: 14.4 by their formula.
    #[test]
    fn joint_decoding_takes_a_third_of_the_cells() {
        let cells = |decoding, rate: f64| {
            let (hashes, load) = shape(decoding, 3000.0, 28).best(rate);
            hashes as f64 / load
        };
        for option in [Decoding::Option1, Decoding::Option2, Decoding::Literal] {
            assert!((cells(option, 1e-3) - 14.4).abs() < 0.2);
        }
        assert!((4.2..4.3).contains(&cells(Decoding::Joint, 1e-3)));
        assert!((7.3..7.4).contains(&cells(Decoding::Joint, 1e-6)));
    }

    /// The papers' experiment: m and m/2 cells at p = 1e-3, k = 10.
    #[test]
    fn the_papers_options_have_their_known_errors() {
        let errors = |decoding, rho: f64| {
            shape(decoding, 3000.0, 28).errors(10, rho * std::f64::consts::LN_2)
        };
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.1;
        assert!(near(errors(Decoding::Option1, 1.0).undecided, 1.8e-7));
        assert!(near(errors(Decoding::Option2, 1.0).undecided, 1.1e-8));
        assert!(near(errors(Decoding::Option1, 2.0).undecided, 1.1e-3));
        assert!(near(errors(Decoding::Option2, 2.0).undecided, 1.33e-4));
        assert!(near(errors(Decoding::Option2, 2.0).false_positive, 5.7e-2));
    }

    #[test]
    fn loads_are_finite_however_odd_the_wish() {
        for values in [128.0, 1e4, 1e7] {
            for rate in [1e-12, 1e-3, 0.5] {
                for decoding in [Decoding::Option1, Decoding::Literal, Decoding::Joint] {
                    let (hashes, load) = shape(decoding, values, 28).best(rate);
                    assert!((1..=HASHES_MAX).contains(&hashes), "{values} {rate}");
                    assert!(load > 1e-4 && load < 16.1, "{values} {rate}: {load}");
                }
            }
        }
    }
}
