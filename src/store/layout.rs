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

/// The slots of a flow in one line, in the order of its hashes: each in its own part of the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    hashes: u32,
    /// Cells of the line for each hash, in 65,536ths; where the first part begins, likewise.
    share: u32,
    edge: u32,
    /// What the digits are taken from.
    word: u64,
}

/// Cuts the cells of one shard (in two phases: of half a shard) into parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    hashes: u32,
    cells: usize,
    /// Of one flow, if no two of its cells are in the same by chance.
    lines: u32,
    cut: Cut,
}

#[derive(Debug, Clone, Copy)]
enum Cut {
    Spread(Spread),
    Blocked([LinePart; BLOCKED_LINES_LIMIT]),
}

#[derive(Debug, Clone, Copy)]
struct Spread {
    cells_per_part: u32,
    cells_per_line: u32,
    /// ⌈2^64 / cells per line⌉: a cell times this, above 2^64, is the cell's line.
    lines_per_cell: u64,
}

/// The lines among which a flow has one.
#[derive(Debug, Clone, Copy, Default)]
struct LinePart {
    first: u32,
    lines: u32,
    /// Cells of a flow in its line.
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
        let lines = sizing.layout.lines(sizing.hashes).max(1) as u32;
        let cut = match sizing.layout {
            LayoutKind::Spread => Cut::Spread(Spread {
                cells_per_part: u32::try_from(cells / hashes as usize).unwrap_or(u32::MAX),
                cells_per_line: per_line as u32,
                lines_per_cell: (u64::MAX / per_line as u64).saturating_add(1),
            }),
            LayoutKind::Blocked(_) => {
                let all_lines = u32::try_from(cells / per_line).unwrap_or(u32::MAX);
                Cut::Blocked(line_parts(all_lines, lines, hashes, per_line as u32))
            }
        };
        Layout { hashes, cells, lines, cut }
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
            // Blocked lines fill unevenly, so that the chance is somewhat higher there.
            false_positive_chance: fill.powi(self.hashes as i32),
            cells_aged,
            ..counts
        }
    }

    /// The lines of the flow with this digest, and its slots there: all its cells, in the order of
    /// its hashes.
    #[inline]
    pub(super) fn lines(&self, digest: u64) -> impl Iterator<Item = (usize, Slots)> {
        (0..self.lines).map(move |n| match &self.cut {
            Cut::Blocked(parts) => blocked_line(parts, digest, n),
            Cut::Spread(spread) => spread.line(digest, n),
        })
    }

    /// The same for an element that belongs to a flow: spread, its cells have nothing to do with
    /// those of its other elements, blocked they are in the same lines.
    #[inline]
    pub(super) fn lines_of_element(
        &self,
        digest: u64,
        element: u64,
    ) -> impl Iterator<Item = (usize, Slots)> {
        // Scrambled, so that no element's hashes are another's, shifted.
        let salt = mix(1 + element);
        let (digest, salt) = match &self.cut {
            Cut::Blocked(_) => (digest, Some(salt)),
            Cut::Spread(_) => (mix(digest ^ salt), None),
        };
        self.lines(digest).map(move |(line, slots)| match salt {
            Some(salt) => (line, slots.salted(salt)),
            None => (line, slots),
        })
    }
}

/// The n-th word of a flow's SplitMix64 stream.
#[inline]
const fn word(digest: u64, n: u32) -> u64 {
    mix(digest.wrapping_add((n as u64).wrapping_mul(GOLDEN)))
}

#[inline]
fn blocked_line(parts: &[LinePart; BLOCKED_LINES_LIMIT], digest: u64, n: u32) -> (usize, Slots) {
    let part = &parts[n as usize];
    let (line, rest) = digit(word(digest, n), part.lines.into());
    ((part.first + line) as usize, Slots::new(part.hashes, part.share, rest))
}

impl Spread {
    #[inline]
    fn line(&self, digest: u64, n: u32) -> (usize, Slots) {
        // Half a word for each.
        let bits = (word(digest, n / 2) >> (32 * (n % 2))) as u32;
        let cell = n * self.cells_per_part + scale(bits, self.cells_per_part);
        let (line, _) = digit(self.lines_per_cell, cell.into());
        (line as usize, Slots::only(cell - line * self.cells_per_line))
    }
}

impl Slots {
    #[inline]
    const fn new(hashes: u32, share: u32, word: u64) -> Slots {
        Slots { hashes, share, edge: 0, word }
    }

    /// Other slots of the same line.
    #[inline]
    const fn salted(self, salt: u64) -> Slots {
        Slots::new(self.hashes, self.share, mix(self.word ^ salt))
    }

    /// One slot that is known: a part without width begins there.
    #[inline]
    const fn only(slot: u32) -> Slots {
        Slots { edge: slot << SHARE_BITS, ..Slots::new(1, 0, 0) }
    }

    /// Gives each slot to `visit`. Every packet comes through here a few times: no iterator is as
    /// quick as two plain loops.
    #[inline(always)]
    pub(super) fn for_each(self, mut visit: impl FnMut(usize)) {
        let (mut taken, mut left, mut edge) = (0, self.word, self.edge);
        loop {
            let of_this_word = self.hashes.min(taken + SLOTS_PER_WORD);
            while taken < of_this_word {
                let start = edge >> SHARE_BITS;
                edge += self.share;
                let (slot, rest) = digit(left, ((edge >> SHARE_BITS) - start).into());
                visit((start + slot) as usize);
                left = rest;
                taken += 1;
            }
            if taken == self.hashes {
                return;
            }
            left = mix(self.word.wrapping_add(u64::from(taken).wrapping_mul(GOLDEN)));
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

    /// The line and the slot of each cell.
    fn cells(lines: impl Iterator<Item = (usize, Slots)>) -> Vec<[usize; 2]> {
        let mut cells = Vec::new();
        for (line, slots) in lines {
            slots.for_each(|slot| cells.push([line, slot]));
        }
        cells
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
                let of_flow = cells(layout.lines(digest));
                let [one, other] =
                    [1, 2].map(|element| cells(layout.lines_of_element(digest, element)));
                let mut lines_touched = HashSet::new();
                for cells in [of_flow, one, other] {
                    let distinct: HashSet<_> = cells.iter().collect();
                    assert_eq!(
                        (cells.len(), distinct.len()),
                        (sizing.hashes, sizing.hashes),
                        "{spec:?}"
                    );
                    let mut per_line = std::collections::HashMap::new();
                    for [line, slot] in cells {
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
                let digest = random.next_u64();
                for [line, slot] in cells(layout.lines(digest)) {
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
