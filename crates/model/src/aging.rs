//! Timer aging (ACSM 2006 §3.2): cells untouched for a phase are emptied. An expired flow whose cell
//! is shared with a live one stays on it, as a *ghost*.
//!
//! A cell gets a = kA/m new flows per second. A flow holds its cells for a time L: its lifetime, and
//! the time until the sweep finds them untouched. If no other flow comes within that time, the
//! cell empties; else the count and code of the expired flow stay. So a cell is in use since the last gap
//! of L between arrivals, and the number of flows that came since, its count, is geometric:
//! P(c = j) = (1 − g) g^j with g = 1 − e^{−aL}. Without ghosts it would be Poisson with mean aL:
//! the chance of an empty cell is the same, the tail is not.

use crate::counts::{CellCounts, FlowCells};
use crate::special::poisson;

/// Flows that arrive, send packets for their lifetime and become idle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals {
    /// A: new flows per second.
    pub per_second: f64,
    /// Seconds from a flow's first packet to its last, on average.
    pub lifetime_seconds: f64,
    /// P: length of a phase, the idle timeout.
    pub phase_seconds: f64,
}

impl Arrivals {
    /// 1 − e^{−kAT/m}: the probability that the cell of an expired flow survives a phase because a new
    /// flow touches it.
    ///
    /// ```
    /// use acsm_model::aging::Arrivals;
    ///
    /// let arrivals = Arrivals { per_second: 1000.0, lifetime_seconds: 5.0, phase_seconds: 60.0 };
    /// let chance = arrivals.outlives_phase(600_000.0, 7);
    /// assert!((chance - (1.0 - (-0.7_f64).exp())).abs() < 1e-15);
    /// ```
    pub fn outlives_phase(&self, cells: f64, hashes: usize) -> f64 {
        -(-self.touches_per_second(cells, hashes) * self.phase_seconds).exp_m1()
    }

    /// The probability that the cell of an expired flow is still in use after this number of phases:
    /// geometric.
    pub fn outlives_phases(&self, cells: f64, hashes: usize, phases: u32) -> f64 {
        self.outlives_phase(cells, hashes).powi(i32::try_from(phases).unwrap_or(i32::MAX))
    }

    /// e^{kAT/m}: phases until the cell of an expired flow empties, on average.
    pub fn phases_until_empty(&self, cells: f64, hashes: usize) -> f64 {
        (self.touches_per_second(cells, hashes) * self.phase_seconds).exp()
    }

    /// kA/m: new flows on one cell per second.
    fn touches_per_second(&self, cells: f64, hashes: usize) -> f64 {
        hashes as f64 * self.per_second / cells
    }

    /// L: a flow holds its cells for its lifetime, the rest of the epoch it ends in (half of one on
    /// average) and one epoch more.
    pub fn held_seconds(&self) -> f64 {
        self.lifetime_seconds + 1.5 * self.phase_seconds
    }

    /// A·L: flows that hold cells at any time, ghosts aside.
    pub fn flows_held(&self) -> f64 {
        self.per_second * self.held_seconds()
    }

    /// The cells of an absent flow, ghosts included.
    pub fn cells_of_absent_flow(&self, cells: f64, hashes: usize) -> FlowCells {
        FlowCells::spread(hashes, self.counts(cells, hashes))
    }

    /// The other flows on the cells of a flow `age_seconds` after its arrival: those that were there,
    /// and those that arrived since.
    pub fn cells_of_flow(&self, cells: f64, hashes: usize, age_seconds: f64) -> FlowCells {
        let since = self.touches_per_second(cells, hashes) * age_seconds;
        let counts = self.counts(cells, hashes).and(&CellCounts::poisson(since));
        FlowCells::spread(hashes, counts)
    }

    fn counts(&self, cells: f64, hashes: usize) -> CellCounts {
        CellCounts::geometric(1.0 - self.empty(cells, hashes))
    }

    /// The probability that a cell is empty: no flow arrived that would still hold it. That is e^{−aL}
    /// averaged over the rest of the epoch, from nothing to one phase.
    pub fn empty(&self, cells: f64, hashes: usize) -> f64 {
        let touches = self.touches_per_second(cells, hashes);
        let in_phase = touches * self.phase_seconds;
        let rest = if in_phase > 0.0 { -(-in_phase).exp_m1() / in_phase } else { 1.0 };
        (-touches * (self.lifetime_seconds + self.phase_seconds)).exp() * rest
    }

    /// Ghosts per cell: expired flows still counted on it, e^{aL} − 1 − aL.
    pub fn ghosts_per_cell(&self, cells: f64, hashes: usize) -> f64 {
        let load = self.touches_per_second(cells, hashes) * self.held_seconds();
        if load < 0.1 {
            // The difference would cancel: the rest of the series instead.
            return (2..20).map(|j| poisson(f64::from(j), load)).sum::<f64>() * load.exp();
        }
        load.exp_m1() - load
    }
}
