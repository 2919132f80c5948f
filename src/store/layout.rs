//! Which cells a flow has.
//!
//! *Spread*: the array is cut into k equal parts, and the i-th hash points into the i-th part. So
//! the k cells of a flow are always different ones, which XOR needs (a cell met twice would cancel
//! itself), with the false-positive rate of free positions but for terms of order 1/m: each cell
//! of a part is missed by n flows with (1 − k/m)^n → e^{−kn/m}.
//!
//! The hashes are the halves of the words of a SplitMix64 stream that starts at the flow's digest.
//! Double hashing would be cheaper, but two flows that agree in two of its cells tend to agree in
//! all, which shows at rates near 1e-5.

use super::stats::StoreStats;
use crate::random::mix;
use crate::spec::{HASHES_LIMIT, Sizing};

/// The digest that a flow's positions are computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPlace(pub(super) u64);

/// The cells of one flow, computed once for all that is done with them.
#[derive(Debug, Clone, Copy)]
pub struct Spots {
    cells: [u32; HASHES_LIMIT],
    hashes: u32,
    digest: u64,
}

impl Spots {
    /// The cells, in the order of the flow's hashes.
    #[inline]
    pub(super) fn cells(&self) -> impl Iterator<Item = usize> {
        let cells = self.cells.get(..self.hashes as usize).unwrap_or(&self.cells);
        cells.iter().map(|&cell| cell as usize)
    }

    /// What the cells were computed from: the same digest, the same cells.
    #[inline]
    pub(super) const fn digest(&self) -> u64 {
        self.digest
    }
}

/// Cuts the cells of one shard into parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    hashes: u32,
    cells_per_part: u32,
}

/// The cells of one flow, in the order of its hashes.
#[derive(Debug, Clone)]
pub(super) struct Positions {
    layout: Layout,
    digest: u64,
    word: u64,
    next: u32,
    part_start: usize,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Layout {
    pub(super) fn new(sizing: &Sizing) -> Layout {
        let hashes = sizing.hashes.max(1);
        let parts = hashes as u64 * crate::flow::FlowId::SHARDS as u64;
        let cells_per_part = u32::try_from(sizing.cells / parts).unwrap_or(u32::MAX);
        Layout { hashes: hashes as u32, cells_per_part }
    }

    pub(super) const fn hashes(self) -> usize {
        self.hashes as usize
    }

    pub(super) const fn cells(self) -> usize {
        self.hashes as usize * self.cells_per_part as usize
    }

    /// `counts`, with what can be said from the number of cells in use.
    pub(super) fn stats(self, occupied: u64, cells_aged: u64, counts: StoreStats) -> StoreStats {
        let cells = self.cells() as f64;
        // n flows miss a cell with e^{−kn/m}. A full filter is taken to be all but full.
        let empty = (cells - occupied as f64).max(0.5) / cells;
        let fill = occupied as f64 / cells;
        StoreStats {
            cells: self.cells() as u64,
            occupied,
            live: -empty.ln() * cells / f64::from(self.hashes),
            live_estimated: true,
            false_positive_chance: fill.powi(self.hashes as i32),
            cells_aged,
            ..counts
        }
    }

    /// The cells of the flow with this digest, all at once.
    #[inline]
    pub(super) fn spots(self, digest: u64) -> Spots {
        let mut spots = Spots { cells: [0; HASHES_LIMIT], hashes: self.hashes, digest };
        let part = self.cells_per_part;
        let (mut state, mut part_start) = (digest, 0);
        for pair in spots.cells.chunks_exact_mut(2).take(self.hashes.div_ceil(2) as usize) {
            let word = mix(state);
            state = state.wrapping_add(GOLDEN);
            pair[0] = part_start + scale(word as u32, part);
            pair[1] = part_start + part + scale((word >> 32) as u32, part);
            part_start += 2 * part;
        }
        spots
    }

    /// The cells of the flow with this digest.
    #[inline]
    pub(super) const fn positions(self, digest: u64) -> Positions {
        Positions { layout: self, digest, word: 0, next: 0, part_start: 0 }
    }
}

impl Iterator for Positions {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.next == self.layout.hashes {
            return None;
        }
        if self.next.is_multiple_of(2) {
            self.word = mix(self.digest);
            self.digest = self.digest.wrapping_add(GOLDEN);
        } else {
            self.word >>= 32;
        }
        let part = self.layout.cells_per_part;
        let position = self.part_start + scale(self.word as u32, part) as usize;
        self.part_start += part as usize;
        self.next += 1;
        Some(position)
    }
}

/// Scales 32 random bits to a number below `part` without a division.
#[inline]
const fn scale(bits: u32, part: u32) -> u32 {
    ((bits as u64 * part as u64) >> 32) as u32
}
