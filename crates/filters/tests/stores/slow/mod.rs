//! Stores written straight from the rules, slowly: plain structs, epochs as whole numbers, and the
//! paper's global reset (whatever is stale is cleared when an epoch begins). They share nothing
//! with the crate but its vocabulary.

pub mod bhbf;
pub mod bloom_g;
pub mod cap;
pub mod dbf;
pub mod exact;
pub mod fcf;
pub mod halves;
pub mod kbf;
pub mod pending;
pub mod recycling;
pub mod sbf;

use acsm_filters::LayoutKind;
use acsm_filters::digest::mix;
pub use acsm_filters::testing::{Counts, SlowStore as Slow};

/// The counts of two stores together.
pub fn sum(a: Counts, b: Counts) -> Counts {
    Counts {
        occupied: a.occupied + b.occupied,
        aged: a.aged + b.aged,
        evicted: a.evicted + b.evicted,
        full: a.full + b.full,
        inserts_of_present: a.inserts_of_present + b.inserts_of_present,
        writes_to_absent: a.writes_to_absent + b.writes_to_absent,
        saturations: a.saturations + b.saturations,
        recycles: a.recycles + b.recycles,
    }
}

/// How many cells there are, and how they are shared out.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub layout: LayoutKind,
    pub hashes: usize,
    pub cells: usize,
    pub cells_per_line: usize,
    pub timed: bool,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Cells of any content, each with the epoch of its last touch.
pub struct Grid<C> {
    pub shape: Shape,
    pub cells: Vec<Option<(C, i64)>>,
    pub counts: Counts,
}

impl<C> Grid<C> {
    pub fn new(shape: Shape) -> Grid<C> {
        let cells = (0..shape.cells).map(|_| None).collect();
        Grid { shape, cells, counts: Counts::default() }
    }

    /// The cells of a flow.
    pub fn positions(&self, digest: u64) -> Vec<usize> {
        match self.shape.layout {
            LayoutKind::Spread => self.spread(digest),
            LayoutKind::Blocked(lines) => self.blocked(lines, digest, |rest| rest),
        }
    }

    /// The cells of one of a flow's elements: in blocked layouts, in the flow's lines.
    pub fn element_positions(&self, digest: u64, element: u64) -> Vec<usize> {
        let salt = mix(element + 1);
        match self.shape.layout {
            LayoutKind::Spread => self.spread(mix(digest ^ salt)),
            LayoutKind::Blocked(lines) => self.blocked(lines, digest, |rest| mix(rest ^ salt)),
        }
    }

    /// The i-th of k parts, at the i-th half word of SplitMix64 from the digest, scaled.
    fn spread(&self, digest: u64) -> Vec<usize> {
        let Shape { hashes, cells, .. } = self.shape;
        let cells_per_part = cells / hashes;
        let position = |i: usize| {
            let word = mix(digest.wrapping_add(GOLDEN.wrapping_mul(i as u64 / 2)));
            let half = if i.is_multiple_of(2) { word & 0xffff_ffff } else { word >> 32 };
            i * cells_per_part + (half as f64 / 4294967296.0 * cells_per_part as f64) as usize
        };
        (0..hashes).map(position).collect()
    }

    /// The i-th word is the digits of a line among the i-th part of them, and of slots, one in each
    /// of as many parts of the line as a flow has cells there.
    fn blocked(&self, lines: usize, digest: u64, slots: impl Fn(u64) -> u64) -> Vec<usize> {
        let Shape { hashes, cells, cells_per_line, .. } = self.shape;
        let (all_lines, lines) = (cells / cells_per_line, lines.min(hashes));
        let own = |part: usize| (hashes + lines - 1 - part) / lines;
        let edge = |part: usize| {
            let share = all_lines * (0..part).map(own).sum::<usize>() / hashes;
            // Each part has at least one.
            share.max(part).min(all_lines - (lines - part))
        };
        let mut found = vec![];
        for part in 0..lines {
            let word = mix(digest.wrapping_add(GOLDEN.wrapping_mul(part as u64)));
            let product = u128::from(word) * (edge(part + 1) - edge(part)) as u128;
            let line = edge(part) + (product >> 64) as usize;
            let rest = slots(product as u64);
            let mut left = rest;
            for n in 0..own(part) {
                if n > 0 && n % 8 == 0 {
                    left = mix(rest.wrapping_add(GOLDEN.wrapping_mul(n as u64)));
                }
                let start = n * cells_per_line / own(part);
                let end = (n + 1) * cells_per_line / own(part);
                let product = u128::from(left) * (end - start) as u128;
                found.push(line * cells_per_line + start + (product >> 64) as usize);
                left = product as u64;
            }
        }
        found
    }

    pub fn advance(&mut self, now: i64) {
        for cell in &mut self.cells {
            let stale = matches!(cell, Some((_, touched)) if *touched < now - 1);
            if self.shape.timed && stale {
                *cell = None;
                self.counts.aged += 1;
            }
        }
    }

    pub fn touch(&mut self, positions: &[usize], at: i64) {
        for &position in positions {
            if let Some((_, touched)) = &mut self.cells[position] {
                *touched = at.max(*touched);
            }
        }
    }

    /// Whether all of these cells are in use.
    pub fn all_used(&self, positions: &[usize]) -> bool {
        positions.iter().all(|&position| self.cells[position].is_some())
    }

    pub fn counts(&self) -> Counts {
        Counts { occupied: self.cells.iter().flatten().count() as u64, ..self.counts }
    }
}
