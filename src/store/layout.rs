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
use crate::spec::{BLOCKED_LINES_LIMIT, LayoutKind, Sizing};

/// The digest that a flow's positions are computed from: they are told faster than kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPlace(pub(super) u64);

/// One line of cells, and which of them are a flow's.
#[derive(Debug, Clone)]
pub(super) struct LineSpots {
    pub(super) line: usize,
    pub(super) slots: Slots,
}

/// The slots of a flow in one line, in the order of its hashes: each in its own part of the line.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    hashes: u32,
    taken: u32,
    /// What the digits are taken from, and what is left of it.
    word: u64,
    left: u64,
    /// Cells of the line for each hash, in 65,536ths; where the next part begins, likewise.
    share: u32,
    edge: u32,
}

/// The lines of a flow, in the order of its hashes.
pub(super) struct Lines<'a> {
    layout: &'a Layout,
    /// Sets the slots of a flow's elements apart, where they share its lines.
    salt: Option<u64>,
    state: u64,
    /// What is left for the second of two spread cells.
    half: u32,
    taken: u32,
}

/// Cuts the cells of one shard into parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    hashes: u32,
    cells: usize,
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
        let cells = usize::try_from(sizing.cells / FlowId::SHARDS as u64).unwrap_or(usize::MAX);
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
        Layout { hashes, cells, cut }
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
        StoreStats {
            cells: self.cells() as u64,
            occupied,
            live: -empty.ln() * cells / f64::from(self.hashes),
            live_estimated: true,
            cells_aged,
            ..counts
        }
    }

    /// The lines of the flow with this digest, and its slots there: all its cells.
    #[inline]
    pub(super) fn lines(&self, digest: u64) -> Lines<'_> {
        Lines { layout: self, salt: None, state: digest, half: 0, taken: 0 }
    }

    /// The cells of an element that belongs to a flow: spread they have nothing to do with those
    /// of its other elements, blocked they are in the same lines.
    #[inline]
    pub(super) fn element_lines(&self, digest: u64, element: u64) -> Lines<'_> {
        // Scrambled, so that no element's hashes are another's, shifted.
        let salt = mix(1 + element);
        match &self.cut {
            Cut::Spread { .. } => self.lines(mix(digest ^ salt)),
            Cut::Blocked { .. } => Lines { salt: Some(salt), ..self.lines(digest) },
        }
    }
}

impl Iterator for Lines<'_> {
    type Item = LineSpots;

    #[inline]
    fn next(&mut self) -> Option<LineSpots> {
        let n = self.taken;
        self.taken += 1;
        match &self.layout.cut {
            Cut::Blocked { parts } => {
                let part = parts.get(n as usize).filter(|part| part.hashes > 0)?;
                let (line, rest) = digit(self.next_word(), part.lines.into());
                let word = self.salt.map_or(rest, |salt| mix(rest ^ salt));
                let slots = Slots::new(part.hashes, part.share, word);
                Some(LineSpots { line: (part.first + line) as usize, slots })
            }
            &Cut::Spread { cells_per_part, cells_per_line, lines_per_cell } => {
                if n == self.layout.hashes {
                    return None;
                }
                let bits = if n.is_multiple_of(2) {
                    let word = self.next_word();
                    self.half = (word >> 32) as u32;
                    word as u32
                } else {
                    self.half
                };
                let cell = n * cells_per_part + scale(bits, cells_per_part);
                let (line, _) = digit(lines_per_cell, cell.into());
                let slots = Slots::only(cell - line * cells_per_line);
                Some(LineSpots { line: line as usize, slots })
            }
        }
    }
}

impl Lines<'_> {
    /// The next word of the flow's SplitMix64 stream.
    #[inline]
    fn next_word(&mut self) -> u64 {
        let word = mix(self.state);
        self.state = self.state.wrapping_add(GOLDEN);
        word
    }
}

impl Slots {
    #[inline]
    const fn new(hashes: u32, share: u32, word: u64) -> Slots {
        Slots { hashes, taken: 0, word, left: word, share, edge: 0 }
    }

    /// One slot that is known: a part without width begins there.
    #[inline]
    const fn only(slot: u32) -> Slots {
        Slots { edge: slot << SHARE_BITS, ..Slots::new(1, 0, 0) }
    }
}

impl Iterator for Slots {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.taken == self.hashes {
            return None;
        }
        if self.taken > 0 && self.taken.is_multiple_of(SLOTS_PER_WORD) {
            let jump = u64::from(self.taken).wrapping_mul(GOLDEN);
            self.left = mix(self.word.wrapping_add(jump));
        }
        self.taken += 1;
        let start = self.edge >> SHARE_BITS;
        self.edge += self.share;
        let end = self.edge >> SHARE_BITS;
        let (slot, left) = digit(self.left, (end - start).into());
        self.left = left;
        Some((start + slot) as usize)
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

    fn cells(lines: Lines<'_>) -> impl Iterator<Item = (usize, usize)> {
        lines.flat_map(|LineSpots { line, slots }| slots.map(move |slot| (line, slot)))
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
                let of_flow = layout.lines(digest);
                let [one, other] = [1, 2].map(|element| layout.element_lines(digest, element));
                let mut lines_touched = HashSet::new();
                for lines_of_one in [of_flow, one, other] {
                    let cells: Vec<(usize, usize)> = cells(lines_of_one).collect();
                    let distinct: HashSet<_> = cells.iter().collect();
                    assert_eq!(
                        (cells.len(), distinct.len()),
                        (sizing.hashes, sizing.hashes),
                        "{spec:?}"
                    );
                    let mut per_line = std::collections::HashMap::new();
                    for (line, slot) in cells {
                        assert!(slot < sizing.cells_per_line && line < lines, "{spec:?}");
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
                for (line, slot) in cells(layout.lines(random.next_u64())) {
                    counts[line * sizing.cells_per_line + slot] += 1.0;
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
