//! Figures 2, 3 and 18: codes of values, their search, their inverse, and the tables of decoding.

use std::collections::HashMap;
use std::mem::size_of;

use acsm_filters::codes::{
    Collisions, DEGREES, GREEDY_CODES, GreedyCodes, RegressionTable, greedy_search,
};

use super::filter::{RATES, Sizing, VALUES};
use crate::reproduce::{Answer, Axis, Check, Context, Failure, Outcome, Panel, Verdict};
use crate::units::scientific;

/// Figure 2: bits against the number of codes: greedy, algebraic and the bound.
pub fn bits(context: &Context<'_>) -> Result<Outcome, Failure> {
    let axis = Axis::log("codes");
    let mut panel = Panel::new("Bits of a code", axis, Axis::linear("bits"));
    // The search itself is run again, as far as the scale allows.
    let (wanted, limit) = context.pick((300, 1 << 21), (4096, 1 << 29), (1 << 14, 1 << 30));
    let found = greedy_search(wanted, limit, Collisions::Exact)?;
    context.done(0.9)?;
    let counts = |most: usize| (1..15).map(|power| 1usize << power).take_while(move |n| *n <= most);
    let steps = counts(found.len()).chain([found.len()]);
    for count in steps {
        let widest = found.get(count - 1).copied().unwrap_or(0);
        panel.measured("greedy (Algorithm 1)", count as f64, f64::from(widest.ilog2() + 1), 1);
    }
    for degree in DEGREES.filter(|degree| *degree <= 14) {
        let codes = f64::from((1u32 << degree) - 1);
        panel.measured("algebraic (x, x³)", codes, f64::from(2 * degree), 1);
    }
    for count in counts(1 << 14) {
        panel.computed("bound, 2^P ≥ n(n − 1)/2 + n", count as f64, f64::from(bound_bits(count)));
    }
    let agree = found.iter().zip(&GREEDY_CODES).all(|(found, known)| found == known);
    let last = found.last().copied().unwrap_or(0);
    let exponent = growth(&found);
    let needed = f64::from(last).log2() + exponent * ((1 << 14) as f64 / found.len() as f64).log2();
    let verdict = Verdict::new(
        if needed.ceil() <= 30.0 { Answer::Reproduced } else { Answer::Differs },
        "2^14 codes in P = 30 bits by the greedy search; bound 28",
        format!(
            "{} codes take {} bits; they grow as n^{exponent:.2}, so 2^14 take about {:.0}; bound {}",
            found.len(),
            last.ilog2() + 1,
            needed.ceil(),
            bound_bits(1 << 14)
        ),
        "the bound is right; greedy codes grow faster than quadratically, and a Bloom filter in step 9 can \
         only reject more candidates. 16,383 algebraic codes take 28 bits",
    );
    let notes = vec![
        format!(
            "The exact search found {} codes below 2^{}; {}",
            found.len(),
            limit.ilog2(),
            if agree { "they are those that the program uses." } else { "they are NOT those in use." }
        ),
        "A candidate is not tested in constant time, as the paper has it: one XOR is looked up per code \
         found so far."
            .to_owned(),
    ];
    Ok(Outcome { panels: vec![panel], notes, verdict })
}

/// The fewest bits that count(count + 1)/2 different words have.
fn bound_bits(count: usize) -> u32 {
    let words = (count * (count + 1) / 2) as u64;
    u64::BITS - (words - 1).leading_zeros()
}

/// The exponent of n at the upper end: from a quarter of the codes to all of them.
fn growth(codes: &[u32]) -> f64 {
    let (first, last) = (codes.len() / 4, codes.len());
    let at = |n: usize| codes.get(n.wrapping_sub(1)).map_or(f64::NAN, |code| f64::from(*code));
    (at(last) / at(first)).ln() / (last as f64 / first as f64).ln()
}

/// After as many accesses the printed look-up is taken to go on for ever.
const ACCESSES_MAX: u32 = 10_000;

/// Figure 3: codes against their index, and the look-up by regression.
pub fn index_of_codes(context: &Context<'_>) -> Result<Outcome, Failure> {
    let count = context.pick(1000, VALUES as usize, VALUES as usize);
    let codes = &GREEDY_CODES[..count];
    let fit = Quadratic::fitted(codes);
    let mut panel = Panel::new("Codes by index", Axis::linear("index"), Axis::linear("code"));
    for (index, code) in codes.iter().enumerate().step_by(count / 60) {
        panel.measured("greedy codes", index as f64, f64::from(*code), 1);
        panel.computed("quadratic, by least squares", index as f64, fit.at(index as f64));
    }
    let table = RegressionTable::new(codes);
    let (mut ours, mut printed, mut endless) = (vec![], vec![], 0);
    for &code in codes {
        ours.push(f64::from(table.position(code).accesses));
        match printed_look_up(codes, &fit, code) {
            Some(accesses) => printed.push(f64::from(accesses)),
            None => endless += 1,
        }
    }
    context.done(0.9)?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let binary: Vec<f64> = codes.iter().map(|code| binary_accesses(codes, *code)).collect();
    let mut accesses =
        Panel::new("Accesses per look-up", Axis::linear("codes"), Axis::linear("accesses"))
            .as_table();
    for (series, values) in [
        ("regression within a bracket", &ours),
        ("as printed, those that end", &printed),
        ("binary search", &binary),
    ] {
        accesses.measured(format!("{series}, mean"), count as f64, mean(values), 1);
        accesses.measured(format!("{series}, most"), count as f64, most(values), 1);
    }
    let checks = [
        Check::new(
            "the look-up as printed ends for every code",
            endless == 0,
            format!("it does not end for {endless} of {count} codes"),
        ),
        Check::new(
            "it takes fewer accesses than binary search, in the mean",
            mean(&printed) < mean(&binary),
            format!(
                "{:.1} accesses where it ends, binary {:.1}; within a bracket {:.1}, at most {:.0}",
                mean(&printed),
                mean(&binary),
                mean(&ours),
                most(&ours)
            ),
        ),
    ];
    let error = codes.iter().enumerate().map(|(at, code)| (fit.index_of(*code) - at as f64).abs());
    let errors: Vec<f64> = error.collect();
    let notes = vec![format!(
        "The codes grow as n^{:.2} and not quadratically: the fitted index errs by {:.0} in the mean, at most \
         {:.0}. “Error divided by the average step” then jumps from one side of the code to the other. \
         The two codes of the paper's example, 237525822 and 237551267, are not greedy codes.",
        growth(codes),
        mean(&errors),
        most(&errors)
    )];
    let verdict = Verdict::of_checks("three accesses in the example, constant time", &checks);
    Ok(Outcome { panels: vec![panel, accesses], notes, verdict })
}

/// Accesses of a binary search that ends where the code is found.
fn binary_accesses(codes: &[u32], code: u32) -> f64 {
    let (mut begin, mut end, mut accesses) = (0, codes.len(), 0.0);
    while begin < end {
        let middle = begin + (end - begin) / 2;
        accesses += 1.0;
        match codes[middle].cmp(&code) {
            std::cmp::Ordering::Equal => break,
            std::cmp::Ordering::Less => begin = middle + 1,
            std::cmp::Ordering::Greater => end = middle,
        }
    }
    accesses
}

/// The look-up of §3.6: the index by the inverse function, then steps of the error divided by the average
/// step, of one entry at least. `None` if it comes back to where it was.
fn printed_look_up(codes: &[u32], fit: &Quadratic, code: u32) -> Option<u32> {
    let last = codes.len() - 1;
    let step = f64::from(codes[last] - codes[0]) / last as f64;
    let mut at = (fit.index_of(code).max(0.0) as usize).min(last);
    for accesses in 1..=ACCESSES_MAX {
        let error = f64::from(code) - f64::from(codes[at]);
        if error == 0.0 {
            return Some(accesses);
        }
        let steps = (error.abs() / step).round().max(1.0) * error.signum();
        at = ((at as f64 + steps).max(0.0) as usize).min(last);
    }
    None
}

/// c₀ + c₁ x + c₂ x², by least squares; x is the index.
struct Quadratic([f64; 3]);

impl Quadratic {
    fn fitted(codes: &[u32]) -> Quadratic {
        // Orthogonal polynomials on 0 … n − 1: 1, x − x̄, (x − x̄)² − mean − …
        let n = codes.len() as f64;
        let middle = (n - 1.0) / 2.0;
        let second = (n * n - 1.0) / 12.0; // the mean of (x − x̄)²
        let (mut c, mut norms) = ([0.0; 3], [0.0; 3]);
        for (x, &code) in codes.iter().enumerate() {
            let z = x as f64 - middle;
            for (degree, base) in [1.0, z, z * z - second].into_iter().enumerate() {
                c[degree] += base * f64::from(code);
                norms[degree] += base * base;
            }
        }
        let [a, b, q] = [0, 1, 2].map(|degree| c[degree] / norms[degree]);
        // From powers of x − x̄ to powers of x.
        Quadratic([a - b * middle + q * (middle * middle - second), b - 2.0 * q * middle, q])
    }

    fn at(&self, x: f64) -> f64 {
        let [c0, c1, c2] = self.0;
        c0 + x * (c1 + x * c2)
    }

    /// The larger root: the curve rises there.
    fn index_of(&self, code: u32) -> f64 {
        let [c0, c1, c2] = self.0;
        let under = (c1 * c1 - 4.0 * c2 * (c0 - f64::from(code))).max(0.0);
        (-c1 + under.sqrt()) / (2.0 * c2)
    }
}

/// Figure 18: memory of the two options: the filter of m/2 cells, and what decoding takes.
pub fn memory_of_options(context: &Context<'_>) -> Result<Outcome, Failure> {
    let pairs = 10_000_000;
    let values = VALUES as usize;
    context.check()?;
    let mut panel = Panel::new(
        format!("Memory for {pairs} pairs in m/2 cells, {values} values"),
        Axis::log("p, for which the filter was made"),
        Axis::linear("MB"),
    );
    let mains: Vec<f64> = RATES
        .iter()
        .map(|&rate| Sizing { pairs, rate, part_of_m: 0.5 }.cells() * size_of::<u32>() as f64)
        .collect();
    let sums = values * (values - 1) / 2;
    let table = table_of_sums(values)?;
    // A classic Bloom filter at 1 %, as in the paper's Algorithm 7.
    let bloom = sums as f64 * 9.585 / 8.0;
    let options = [
        ("first option", 0.0),
        ("second: Bloom filter of the pair sums", bloom),
        ("second: hash table of the pair sums", table),
        ("second: algebraic codes", 0.0),
    ];
    for (series, extra) in options {
        for (&rate, main) in RATES.iter().zip(&mains) {
            panel.measured(series, rate, (main + extra) / 1e6, 1);
        }
    }
    let share = |extra: f64| 100.0 * mains.iter().map(|main| extra / main).sum::<f64>() / 4.0;
    let tables = GreedyCodes::new(values).table_bytes();
    let verdict = Verdict::new(
        if (20.5..21.5).contains(&share(bloom)) { Answer::Reproduced } else { Answer::Differs },
        "21 % more memory on average",
        format!(
            "Bloom filter of the pair sums {:.1} %, hash table {:.1} %, algebraic codes 0 %",
            share(bloom),
            share(table)
        ),
        format!(
            "the text says Bloom filters; 21 % is what {} B per pair sum take, so that it was probably a hash \
             table",
            scientific(0.21 * 4.0 / mains.iter().map(|main| sums as f64 / main).sum::<f64>())
        ),
    );
    let notes = vec![format!(
        "{sums} pair sums. The program's own tables for greedy codes take {} kB: a pair is found by trying \
         each code, one Bloom probe each.",
        tables / 1000
    )];
    Ok(Outcome { panels: vec![panel], notes, verdict })
}

/// Bytes of a hash table from each pair sum to its two codes, as it was allocated.
fn table_of_sums(values: usize) -> Result<f64, Failure> {
    let mut table: HashMap<u32, [u16; 2]> = HashMap::new();
    let codes = GREEDY_CODES.get(..values).unwrap_or(&GREEDY_CODES);
    for (a, x) in codes.iter().enumerate() {
        for (b, y) in codes.iter().enumerate().take(a) {
            table.insert(x ^ y, [a as u16, b as u16]);
        }
    }
    // A power of two of buckets, seven of eight in use at most, with one byte of metadata each.
    let buckets = (table.capacity() * 8 / 7).next_power_of_two();
    Ok((buckets * (size_of::<(u32, [u16; 2])>() + 1)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_and_the_fit_are_right() {
        assert_eq!([2, 3, 100, 1 << 14].map(bound_bits), [2, 3, 13, 28]);
        let codes: Vec<u32> = (0..50).map(|x| 3 + 2 * x + 5 * x * x).collect();
        let fit = Quadratic::fitted(&codes);
        assert!(
            fit.0.iter().zip([3.0, 2.0, 5.0]).all(|(a, b)| (a - b).abs() < 1e-6),
            "{:?}",
            fit.0
        );
        assert!((fit.index_of(codes[17]) - 17.0).abs() < 1e-6);
        assert_eq!(printed_look_up(&codes, &fit, codes[49]), Some(1));
    }
}
