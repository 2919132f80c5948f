//! Distributions of the number of flows on a cell, and on all cells of one flow.
//!
//! The errors of every filter are sums of probabilities that *all* cells of a flow are of some kind.
//! [`FlowCells`] computes these for any layout, so that each store's model is written once: spread
//! cells are identically distributed and independent; cells of one line depend on its fill.

use crate::special::{binomial, poisson, power, reach};

/// The largest count that is distinguished: it stands for itself and all above.
pub const COUNT_MAX: usize = 15;

/// With more flows on a line than this, lines differ too little to matter.
const PICKS_MAX: f64 = 1e5;

/// Fills of lines with a lower probability are neglected.
const RAREST_LINE: f64 = 1e-18;

/// Probabilities of the number of flows on a cell: 0, 1, … 14, and 15 or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellCounts {
    exactly: [f64; COUNT_MAX + 1],
    /// Summed from the small end.
    at_least: [f64; COUNT_MAX + 1],
}

impl CellCounts {
    fn from_chances(chance: impl Fn(usize) -> f64) -> CellCounts {
        let mut counts = [0.0; COUNT_MAX + 1];
        for (count, slot) in counts.iter_mut().enumerate().take(COUNT_MAX) {
            *slot = chance(count);
        }
        let below: f64 = counts.iter().sum();
        if let Some(last) = counts.last_mut() {
            *last = (1.0 - below).max(0.0);
        }
        let mut at_least = counts;
        let mut sum = 0.0;
        for slot in at_least.iter_mut().rev() {
            sum += *slot;
            *slot = sum;
        }
        CellCounts { exactly: counts, at_least }
    }

    /// Flows placed at random, `load` per cell: the limit of P(c = j) of the kBF papers.
    pub fn poisson(load: f64) -> CellCounts {
        CellCounts::from_chances(|count| poisson(count as f64, load))
    }

    /// `flows` flows, each on this cell with probability `p`: P(c = j) of the kBF papers with
    /// `flows` = nk and `p` = 1/m.
    pub fn binomial(flows: f64, p: f64) -> CellCounts {
        CellCounts::from_chances(|count| binomial(count as f64, flows, p))
    }

    /// Each count is `ratio` times as likely as the one before: cells under timer aging, see
    /// [`aging`](super::aging).
    pub fn geometric(ratio: f64) -> CellCounts {
        CellCounts::from_chances(|count| (1.0 - ratio) * power(ratio, count))
    }

    /// The sum of two independent counts.
    pub fn and(&self, other: &CellCounts) -> CellCounts {
        CellCounts::from_chances(|count| {
            (0..=count).map(|part| self.exactly(part) * other.exactly(count - part)).sum()
        })
    }

    /// The probability of exactly `count` flows (of 15: or more).
    pub fn exactly(&self, count: usize) -> f64 {
        self.exactly.get(count).copied().unwrap_or(0.0)
    }

    /// The probability of `count` flows or more.
    pub fn at_least(&self, count: usize) -> f64 {
        self.at_least.get(count).copied().unwrap_or(0.0)
    }

    /// All chances, 0 first.
    pub fn chances(&self) -> &[f64] {
        &self.exactly
    }
}

/// Cells that share a line: how many, and the fills the line can have.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    cells: usize,
    fills: Vec<(f64, CellCounts)>,
}

/// The k cells of a flow, seen before the flow itself is on them.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowCells {
    lines: Vec<Line>,
}

/// The fills of a line, each with its probability, where each flow that picks the line takes this
/// share of it.
fn fills(load: f64, share: f64, counts: impl Fn(f64, f64) -> CellCounts) -> Vec<(f64, CellCounts)> {
    let picks = load / share;
    if picks.is_nan() || picks > PICKS_MAX {
        return vec![(1.0, CellCounts::poisson(load))];
    }
    // Sums of bell curves are insensitive to steps below their width: with every third term at a
    // standard deviation of 4 they are right to ten digits.
    let step = (0.75 * picks.sqrt()).floor().max(1.0);
    let first = (2.0 * picks - reach(picks)).max(0.0) as u64;
    (first..=reach(picks) as u64)
        .step_by(step as usize)
        .map(|flows| (flows as f64, step * poisson(flows as f64, picks)))
        .filter(|(_, chance)| *chance > RAREST_LINE)
        .map(|(flows, chance)| (chance, counts(flows, share)))
        .collect()
}

impl FlowCells {
    /// k independent cells.
    pub fn spread(hashes: usize, counts: CellCounts) -> FlowCells {
        FlowCells { lines: vec![Line { cells: hashes, fills: vec![(1.0, counts)] }] }
    }

    /// k cells spread over the array, at kn/m flows per cell.
    ///
    /// ```
    /// use acsm_model::counts::FlowCells;
    ///
    /// let cells = FlowCells::at_load(7, std::f64::consts::LN_2);
    /// assert!((cells.all(|counts| counts.at_least(1)) - 0.5_f64.powi(7)).abs() < 1e-15);
    /// ```
    pub fn at_load(hashes: usize, load: f64) -> FlowCells {
        FlowCells::spread(hashes, CellCounts::poisson(load))
    }

    /// `blocked:G`: k distinct cells spread evenly over `lines` lines of `cells_per_line`.
    ///
    /// Each line is one of a part of the array, as large as its share k' = ⌈k/G⌉ or ⌊k/G⌋ of the k
    /// cells. A line that X flows have picked (Poisson with mean λ `cells_per_line` / k') has on
    /// each cell each of them with chance k' / `cells_per_line`. A flow has one cell in each of k'
    /// parts of the line, so its cells are independent once X is given. (Bloom-g takes bits with
    /// replacement and calls them independent, which they are not quite.) Where k' does not divide
    /// the line its parts differ by a cell: taken for equal.
    pub fn blocked(hashes: usize, load: f64, lines: usize, cells_per_line: usize) -> FlowCells {
        FlowCells::on_lines(hashes, load, lines, cells_per_line, CellCounts::binomial)
    }

    /// The same with other counts on the cells of a line, given the flows that have picked it and
    /// the chance with which each is on a cell.
    pub fn on_lines(
        hashes: usize,
        load: f64,
        lines: usize,
        cells_per_line: usize,
        counts: impl Fn(f64, f64) -> CellCounts,
    ) -> FlowCells {
        let lines = lines.clamp(1, hashes.max(1));
        let cells_of = |line: usize| hashes / lines + usize::from(line < hashes % lines);
        let line = |line: usize| {
            let cells = cells_of(line);
            let share = (cells as f64 / cells_per_line.max(1) as f64).min(1.0);
            Line { cells, fills: fills(load, share, &counts) }
        };
        FlowCells { lines: (0..lines).map(line).collect() }
    }

    /// k.
    pub fn hashes(&self) -> usize {
        self.lines.iter().map(|line| line.cells).sum()
    }

    /// The probability that all cells are of a kind, where `chance` is that of one cell with the given
    /// counts.
    pub fn all(&self, chance: impl Fn(&CellCounts) -> f64) -> f64 {
        let of_line = |line: &Line| -> f64 {
            line.fills.iter().map(|(odds, fill)| odds * power(chance(fill), line.cells)).sum()
        };
        // Lines with the same number of cells have the same probability.
        let (mut all, mut before) = (1.0, None);
        for line in &self.lines {
            let chance = match before {
                Some((cells, chance)) if cells == line.cells => chance,
                _ => of_line(line),
            };
            before = Some((line.cells, chance));
            all *= chance;
        }
        all
    }

    /// The probability that all cells but one are of a kind, and that one of another.
    pub fn all_but_one(
        &self,
        chance: impl Fn(&CellCounts) -> f64,
        other: impl Fn(&CellCounts) -> f64,
    ) -> f64 {
        let all = |line: &Line| -> f64 {
            line.fills.iter().map(|(odds, fill)| odds * power(chance(fill), line.cells)).sum()
        };
        let but_one = |line: &Line| -> f64 {
            let one = |fill: &CellCounts| {
                let rest = power(chance(fill), line.cells.saturating_sub(1));
                line.cells as f64 * other(fill) * rest
            };
            line.fills.iter().map(|(odds, fill)| odds * one(fill)).sum()
        };
        let with_one_in = |at: usize| -> f64 {
            let part = |(index, line)| if index == at { but_one(line) } else { all(line) };
            self.lines.iter().enumerate().map(part).product()
        };
        (0..self.lines.len()).map(with_one_in).sum()
    }

    /// Passes `start` through the cells one by one: each replaces it by `step` of it, and lines
    /// average over their fills.
    pub fn fold<const N: usize>(
        &self,
        start: [f64; N],
        step: impl Fn(&CellCounts, [f64; N]) -> [f64; N],
    ) -> [f64; N] {
        self.lines.iter().fold(start, |state, line| {
            let mut mean = [0.0; N];
            for (odds, fill) in &line.fills {
                let end = (0..line.cells).fold(state, |state, _| step(fill, state));
                mean.iter_mut().zip(end).for_each(|(mean, end)| *mean += odds * end);
            }
            mean
        })
    }
}
