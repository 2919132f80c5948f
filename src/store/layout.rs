//! Which cells a flow has.
//!
//! *Spread*: the array is cut into k equal parts, and the i-th hash points into the i-th part. So
//! the k cells of a flow are always different ones, which XOR needs (a cell met twice would cancel
//! itself), with the false-positive rate of free positions but for terms of order 1/m: each cell
//! of a part is missed by n flows with (1 − k/m)^n → e^{−kn/m}.
//!
//! *Blocked*: the lines of the array are cut into G parts, each flow has one line in each, and the
//! line's cells are cut once more, into as many parts as the flow has cells there. So cells differ
//! by construction, and given how many flows picked a line its cells are independent, as the model
//! has it. k is spread evenly over the lines (⌈k/G⌉ or ⌊k/G⌋), and a part has lines in proportion,
//! so that all are equally full.
//!
//! Hashes come from words of a SplitMix64 stream that starts at the flow's digest: a half word for
//! each spread cell; for each line one word as a fraction, of which the line and then the slots
//! take their digits. Double hashing would be cheaper, but two flows that agree in two of its
//! cells tend to agree in all, which shows at rates near 1e-5.

use super::stats::StoreStats;
use crate::flow::FlowId;
use crate::random::mix;
use crate::spec::{BLOCKED_LINES_LIMIT, HASHES_LIMIT, LayoutKind, Sizing, slot_bits};

/// The digest that a flow's positions are computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPlace(pub(super) u64);

/// Where a cell is: its line, and in the low bits its slot there. How many bits a slot takes
/// depends on the width of cells alone, so that taking it apart costs a shift and a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellAt(pub(super) u32);

/// The cells of one flow, computed once for all that is done with them.
#[derive(Debug, Clone, Copy)]
pub struct Spots {
    cells: [u32; HASHES_LIMIT],
    hashes: u32,
    digest: u64,
}

impl Spots {
    /// The cells, in the order of the flow's hashes; those of one line follow each other.
    #[inline]
    pub(super) fn cells(&self) -> impl Iterator<Item = CellAt> {
        let cells = self.cells.get(..self.hashes as usize).unwrap_or(&self.cells);
        cells.iter().map(|&cell| CellAt(cell))
    }

    /// What the cells were computed from: the same digest, the same cells.
    #[inline]
    pub(super) const fn digest(&self) -> u64 {
        self.digest
    }
}

impl PartialEq for Spots {
    #[inline]
    fn eq(&self, other: &Spots) -> bool {
        self.digest == other.digest
    }
}

/// Cuts the cells of one shard (in two phases: of half a shard) into parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    hashes: u32,
    cells: usize,
    slot_bits: u32,
    cut: Cut,
}

#[derive(Debug, Clone, Copy)]
enum Cut {
    Spread {
        cells_per_part: u32,
        cells_per_line: u32,
        /// ⌈2^64 / cells per line⌉: a cell times this, above 2^64, is the cell's line.
        lines_per_cell: u64,
    },
    Blocked {
        parts: [LinePart; BLOCKED_LINES_LIMIT],
    },
}

/// The lines among which a flow has one.
#[derive(Debug, Clone, Copy, Default)]
struct LinePart {
    first: u32,
    lines: u32,
    /// Cells of a flow in its line: 0 if the flow has fewer cells than lines.
    hashes: u32,
    /// Cells of the line for each of them, in 65,536ths, rounded up.
    share: u32,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const SHARE_BITS: u32 = 16;
/// So many slots take their digits from one word. With cells of 8 bits and more, a line and eight
/// slots take at most 60 of its bits in the largest store there can be.
const SLOTS_PER_WORD: u32 = 8;

impl Layout {
    pub(super) fn new(sizing: &Sizing) -> Layout {
        let hashes = sizing.hashes.max(1) as u32;
        let per_line = sizing.cells_per_line.max(1);
        let arrays = FlowId::SHARDS as u64 * sizing.phases.max(1);
        let cells = usize::try_from(sizing.cells / arrays).unwrap_or(usize::MAX);
        let cut = match sizing.layout {
            LayoutKind::Spread => Cut::Spread {
                cells_per_part: u32::try_from(cells / hashes as usize).unwrap_or(u32::MAX),
                cells_per_line: per_line as u32,
                lines_per_cell: (u64::MAX / per_line as u64).saturating_add(1),
            },
            LayoutKind::Blocked(lines) => {
                let all_lines = u32::try_from(cells / per_line).unwrap_or(u32::MAX);
                Cut::Blocked { parts: line_parts(all_lines, lines as u32, hashes, per_line as u32) }
            }
        };
        Layout { hashes, cells, slot_bits: slot_bits(per_line), cut }
    }

    pub(super) const fn hashes(self) -> usize {
        self.hashes as usize
    }

    pub(super) const fn cells(self) -> usize {
        self.cells
    }

    /// `counts`, with what can be said from the number of cells in use.
    pub(super) fn stats(self, occupied: u64, cells_aged: u64, counts: StoreStats) -> StoreStats {
        let cells = self.cells() as f64;
        // n flows miss a cell with e^{−kn/m}, blocked or not. A full filter is taken to be all but
        // full.
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
    pub(super) fn spots(&self, digest: u64) -> Spots {
        let mut spots = Spots { cells: [0; HASHES_LIMIT], hashes: self.hashes, digest };
        match &self.cut {
            Cut::Spread { .. } => self.spread(&mut spots),
            Cut::Blocked { parts } => self.blocked(parts, &mut spots, |rest| rest),
        }
        spots
    }

    /// The cells of an element that belongs to a flow: spread they have nothing to do with those
    /// of its other elements, blocked they are in the same lines.
    #[inline]
    pub(super) fn element_spots(&self, digest: u64, element: u64) -> Spots {
        // Scrambled, so that no element's hashes are another's, shifted.
        let salt = mix(1 + element);
        match &self.cut {
            Cut::Spread { .. } => self.spots(mix(digest ^ salt)),
            Cut::Blocked { parts } => {
                let mut spots = Spots { cells: [0; HASHES_LIMIT], hashes: self.hashes, digest };
                self.blocked(parts, &mut spots, |rest| mix(rest ^ salt));
                spots
            }
        }
    }

    #[inline]
    fn spread(&self, spots: &mut Spots) {
        let Cut::Spread { cells_per_part: part, cells_per_line, lines_per_cell } = self.cut else {
            return;
        };
        let at = |cell: u32| {
            let (line, _) = digit(lines_per_cell, cell.into());
            line << self.slot_bits | (cell - line * cells_per_line)
        };
        let (mut state, mut part_start) = (spots.digest, 0);
        for pair in spots.cells.chunks_exact_mut(2).take(self.hashes.div_ceil(2) as usize) {
            let word = mix(state);
            state = state.wrapping_add(GOLDEN);
            pair[0] = at(part_start + scale(word as u32, part));
            // With odd k the last of these is nobody's.
            let second = part_start.wrapping_add(part);
            pair[1] = at(second.wrapping_add(scale((word >> 32) as u32, part)));
            part_start = second.wrapping_add(part);
        }
    }

    /// `slots_from` makes of what the line left of its word what the slots are taken from.
    #[inline]
    fn blocked(
        &self,
        parts: &[LinePart; BLOCKED_LINES_LIMIT],
        spots: &mut Spots,
        slots_from: impl Fn(u64) -> u64,
    ) {
        let mut cells = spots.cells.iter_mut();
        let mut state = spots.digest;
        for part in parts.iter().take_while(|part| part.hashes > 0) {
            let (line, rest) = digit(mix(state), part.lines.into());
            state = state.wrapping_add(GOLDEN);
            let line_start = (part.first + line) << self.slot_bits;
            let mut left = slots_from(rest);
            let (mut edge, mut start) = (0, 0);
            for (n, cell) in (0..part.hashes).zip(&mut cells) {
                if n > 0 && n.is_multiple_of(SLOTS_PER_WORD) {
                    left = mix(slots_from(rest).wrapping_add(u64::from(n).wrapping_mul(GOLDEN)));
                }
                edge += part.share;
                let end = edge >> SHARE_BITS;
                let slot;
                (slot, left) = digit(left, (end - start).into());
                *cell = line_start | (start + slot);
                start = end;
            }
        }
    }
}

/// Shares lines and hashes out: as even as can be, lines in proportion to hashes.
fn line_parts(
    lines: u32,
    parts: u32,
    hashes: u32,
    cells_per_line: u32,
) -> [LinePart; BLOCKED_LINES_LIMIT] {
    let parts = parts.clamp(1, hashes.min(BLOCKED_LINES_LIMIT as u32));
    let mut cut = [LinePart::default(); BLOCKED_LINES_LIMIT];
    let (mut first, mut hashes_before) = (0, 0);
    for (n, part) in (0..parts).zip(&mut cut) {
        let own = hashes / parts + u32::from(n < hashes % parts);
        hashes_before += own;
        // At least one line for this part and each after it.
        let end = (u64::from(lines) * u64::from(hashes_before) / u64::from(hashes)) as u32;
        let end = end.min(lines.saturating_sub(parts - n - 1)).max(first + 1);
        let share = (cells_per_line << SHARE_BITS).div_ceil(own);
        *part = LinePart { first, lines: end - first, hashes: own, share };
        first = end;
    }
    cut
}

/// Takes a number below `base` from a fraction of 2^64, and leaves the fraction below it.
#[inline]
const fn digit(fraction: u64, base: u64) -> (u32, u64) {
    let product = fraction as u128 * base as u128;
    ((product >> 64) as u32, product as u64)
}

/// Scales 32 random bits to a number below `part` without a division.
#[inline]
const fn scale(bits: u32, part: u32) -> u32 {
    ((bits as u64 * part as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::random::Random;
    use crate::spec::{Backend, Budget, Expire, StoreSpec};

    fn layouts() -> impl Iterator<Item = (StoreSpec, Sizing)> {
        let kinds = [
            LayoutKind::Spread,
            LayoutKind::Blocked(1),
            LayoutKind::Blocked(2),
            LayoutKind::Blocked(3),
        ];
        let stores = [
            (Backend::Dbf, None),
            (Backend::Sbf, None),
            (Backend::Kbf, Some(16)),
            (Backend::Kbf, Some(32)),
        ];
        let expires = [Expire::Timer, Expire::None];
        let all = kinds.into_iter().flat_map(move |layout| {
            stores.into_iter().flat_map(move |(backend, cell_bits)| {
                expires.into_iter().flat_map(move |expire| {
                    [1, 2, 3, 7, 10, 14].into_iter().flat_map(move |hashes| {
                        [10, 100_000].map(|flows| StoreSpec {
                            layout,
                            cell_bits,
                            expire,
                            hashes: Some(hashes),
                            flows,
                            budget: Budget::FpRate(0.01),
                            ..StoreSpec::new(backend, 6)
                        })
                    })
                })
            })
        });
        all.map(|spec| (spec.clone(), spec.sizing().expect("a store")))
    }

    /// XOR needs distinct cells; `blocked:G` promises G lines, and even shares.
    #[test]
    fn cells_of_a_flow_are_distinct_and_in_few_lines() {
        for (spec, sizing) in layouts() {
            let layout = Layout::new(&sizing);
            let lines = layout.cells().div_ceil(sizing.cells_per_line);
            let mut random = Random::new(5);
            for _ in 0..200 {
                let digest = random.next_u64();
                let of_flow = layout.spots(digest);
                let elements = [1, 2].map(|element| layout.element_spots(digest, element));
                let mut lines_touched = HashSet::new();
                for spots in [of_flow, elements[0], elements[1]] {
                    let cells: Vec<u32> = spots.cells().map(|cell| cell.0).collect();
                    let distinct: HashSet<_> = cells.iter().collect();
                    assert_eq!(
                        (cells.len(), distinct.len()),
                        (sizing.hashes, sizing.hashes),
                        "{spec:?}"
                    );
                    let mut per_line = std::collections::HashMap::new();
                    for cell in cells {
                        let (line, slot) =
                            (cell >> layout.slot_bits, cell & ((1 << layout.slot_bits) - 1));
                        assert!(
                            (slot as usize) < sizing.cells_per_line && (line as usize) < lines,
                            "{spec:?}"
                        );
                        *per_line.entry(line).or_insert(0) += 1;
                        lines_touched.insert(line);
                    }
                    if let LayoutKind::Blocked(most) = spec.layout {
                        let used = most.min(sizing.hashes);
                        assert_eq!(per_line.len(), used, "{spec:?}");
                        let even = sizing.hashes / used..=sizing.hashes.div_ceil(used);
                        assert!(per_line.values().all(|count| even.contains(count)), "{spec:?}");
                    }
                }
                if let LayoutKind::Blocked(most) = spec.layout {
                    assert!(lines_touched.len() <= most, "{spec:?}: all elements of a flow");
                }
            }
        }
    }

    /// Each cell of a line is as likely as any other, but for parts that cannot be equal.
    #[test]
    fn blocked_cells_are_used_evenly() {
        for lines in 1..=3 {
            let spec = StoreSpec {
                layout: LayoutKind::Blocked(lines),
                flows: 160,
                hashes: Some(7),
                ..StoreSpec::new(Backend::Kbf, 6)
            };
            let sizing = spec.sizing().expect("a store");
            let layout = Layout::new(&sizing);
            let mut counts = vec![0.0; layout.cells()];
            let mut random = Random::new(9);
            let flows = 100_000;
            for _ in 0..flows {
                for cell in layout.spots(random.next_u64()).cells() {
                    let (line, slot) =
                        (cell.0 >> layout.slot_bits, cell.0 & ((1 << layout.slot_bits) - 1));
                    counts[line as usize * sizing.cells_per_line + slot as usize] += 1.0;
                }
            }
            let mean = f64::from(flows) * 7.0 / counts.len() as f64;
            for (cell, count) in counts.iter().enumerate() {
                // 48 cells for 7: 6 or 7 each. Few lines cannot be shared out as 4 : 3 quite.
                let unequal = if lines == 1 { 0.15 } else { 0.5 };
                assert!(
                    (count / mean - 1.0_f64).abs() < unequal + 5.0 / mean.sqrt(),
                    "blocked:{lines}, {cell}: {count} of {mean}"
                );
            }
        }
    }
}
