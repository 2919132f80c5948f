//! Where the cells of a flow lie, and how many are best there.

use std::str::FromStr;

use thiserror::Error;

use super::{Backend, HASHES_LIMIT};

/// Where the cells of a flow lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayoutKind {
    /// Anywhere: each hash has its own part of the array.
    Spread,
    /// In this many lines of 64 bytes, 1 to [`BLOCKED_LINES_LIMIT`]: Bloom-g with cells for bits.
    Blocked(usize),
}

/// The most lines per flow of a blocked layout.
pub const BLOCKED_LINES_LIMIT: usize = 3;

impl LayoutKind {
    /// The layout that measures best: two lines per flow err little more than spread cells, and
    /// take a third less time. Stores without cells have no layout.
    pub const fn best_for(backend: Backend) -> LayoutKind {
        match backend.has_cells() {
            true => LayoutKind::Blocked(2),
            false => LayoutKind::Spread,
        }
    }

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            LayoutKind::Spread => "spread",
            LayoutKind::Blocked(1) => "blocked:1",
            LayoutKind::Blocked(2) => "blocked:2",
            LayoutKind::Blocked(_) => "blocked:3",
        }
    }

    /// How many lines an operation touches at most.
    pub fn lines(self, hashes: usize) -> usize {
        match self {
            LayoutKind::Spread => hashes,
            LayoutKind::Blocked(lines) => lines.min(hashes),
        }
    }

    /// The cells of a flow in each of its lines.
    fn cells_by_line(self, hashes: usize) -> impl Iterator<Item = usize> {
        let lines = self.lines(hashes).max(1);
        (0..lines).map(move |line| hashes / lines + usize::from(line < hashes % lines))
    }
}

/// A text that names no layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no such layout: there are spread, blocked:1, blocked:2 and blocked:3")]
pub struct UnknownLayout;

impl FromStr for LayoutKind {
    type Err = UnknownLayout;

    fn from_str(text: &str) -> Result<LayoutKind, UnknownLayout> {
        match text.strip_prefix("blocked:").map(str::parse) {
            None if text == "spread" => Ok(LayoutKind::Spread),
            Some(Ok(lines @ 1..=BLOCKED_LINES_LIMIT)) => Ok(LayoutKind::Blocked(lines)),
            _ => Err(UnknownLayout),
        }
    }
}

/// The k with the lowest false positive rate.
pub(super) fn best_hashes(
    layout: LayoutKind,
    cells: f64,
    flows: f64,
    cells_per_line: usize,
) -> usize {
    let ideal = cells / flows * std::f64::consts::LN_2;
    let (low, high) = match layout {
        // One of the two whole numbers next to (m/N) ln 2.
        LayoutKind::Spread => (ideal.floor(), ideal.ceil()),
        // Crowded lines punish many cells: the best k is never above the ideal of spread cells.
        LayoutKind::Blocked(_) => (1.0, ideal.ceil()),
    };
    let most = most_hashes(layout, cells_per_line);
    let [low, high] = [low, high].map(|k| (k.max(1.0) as usize).min(most));
    let rate = |k: usize| fp_rate(layout, k, cells / flows, cells_per_line);
    (low..=high).min_by(|&a, &b| rate(a).total_cmp(&rate(b))).unwrap_or(low)
}

/// As many cells as a flow can have.
pub(super) fn most_hashes(layout: LayoutKind, cells_per_line: usize) -> usize {
    match layout {
        LayoutKind::Spread => HASHES_LIMIT,
        LayoutKind::Blocked(lines) => HASHES_LIMIT.min(lines * cells_per_line),
    }
}

/// (1−e^{−kN/m})^k, or that for lines of equal fill, averaged over the fills a line can have.
fn fp_rate(layout: LayoutKind, hashes: usize, cells_per_flow: f64, cells_per_line: usize) -> f64 {
    let load = hashes as f64 / cells_per_flow;
    let spread = |hashes: usize| (-(-load).exp_m1()).powi(hashes as i32);
    if layout == LayoutKind::Spread {
        return spread(hashes);
    }
    let in_line = |own: usize| {
        let share = own as f64 / cells_per_line as f64;
        // Flows that picked the line: Poisson, with this mean.
        let mean = load / share;
        if mean > 500.0 {
            // So many that lines are alike; and e^{−mean} would vanish.
            return spread(own);
        }
        let (mut chance, mut sum) = ((-mean).exp(), 0.0);
        for picks in 0..(mean + 12.0 * mean.sqrt() + 12.0) as i32 {
            let filled = 1.0 - (1.0 - share).powi(picks);
            sum += chance * filled.powi(own as i32);
            chance *= mean / f64::from(picks + 1);
        }
        sum
    };
    layout.cells_by_line(hashes).map(in_line).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_nothing_else_is() {
        let kinds = [1, 2, 3].map(LayoutKind::Blocked);
        for kind in kinds.into_iter().chain([LayoutKind::Spread]) {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        for text in ["", "blocked", "blocked:", "blocked:0", "blocked:4", "blocked:x", "Spread"] {
            assert!(text.parse::<LayoutKind>().is_err(), "{text}");
        }
    }

    #[test]
    fn crowded_lines_take_fewer_hashes() {
        let best = |layout, cells| best_hashes(layout, cells, 1.0, 48);
        for (cells, spread) in [(4.8, 3), (9.6, 7), (14.4, 10)] {
            assert_eq!(best(LayoutKind::Spread, cells), spread);
            let [one, two, three] = [1, 2, 3].map(|lines| best(LayoutKind::Blocked(lines), cells));
            assert!(one <= two && two <= three && three <= spread, "{one} {two} {three}");
        }
        // Beyond all load, and with no load at all, there still is a number.
        for cells in [1e-9, 1e12] {
            for lines in 1..=3 {
                assert!((1..=HASHES_LIMIT).contains(&best(LayoutKind::Blocked(lines), cells)));
            }
        }
    }
}
