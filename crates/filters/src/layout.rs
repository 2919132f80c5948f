//! Layouts: the cells of a flow.
//!
//! *Spread*: the array is divided into k equal parts, and the i-th hash points into the i-th part.
//! So the k cells of a flow are always distinct, which XOR needs (a cell used twice would cancel
//! itself). The false-positive rate is that of free positions up to terms of order 1/m: n flows
//! miss a cell with probability (1 − k/m)^n → e^{−kn/m}.
//!
//! *Blocked*: the lines of the array are divided into G parts, each flow has one line in each, and
//! the cells of the line are divided into as many parts as the flow has cells there. So cells are
//! distinct, and for a given number of flows on a line its cells are independent, as the model
//! assumes. The k cells are spread evenly over the lines (⌈k/G⌉ or ⌊k/G⌋), and the number of lines
//! of a part is in proportion, so that all lines are equally full.
//!
//! Hashes are words of a SplitMix64 stream that starts at the flow's digest: half a word for each
//! spread cell; for each line one word, read as a fraction whose leading digits select the line and
//! then the slots. Double hashing would be cheaper, but two flows that agree in two cells tend to
//! agree in all, which shows at rates near 1e-5.

use crate::digest::FlowId;
use crate::digest::mix;
use crate::line::Usage;
use crate::spec::{BLOCKED_LINES_LIMIT, HASHES_LIMIT, LayoutKind, Sizing};
use crate::stats::StoreStats;
use crate::store::Lines;

/// How many slots take their digits from one word. With cells of 8 bits and more, a line and eight
/// slots take at most 60 of its bits in the largest store.
pub(crate) const SLOTS_PER_WORD: usize = 8;

/// Cells of a flow that are in one line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellGroup {
    line: u32,
    /// The fraction whose digits are its slots; or the one slot, if that is known.
    word: u64,
}

/// How the cells of one array (one per shard, or two in two phases) are divided into parts.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    hashes: u32,
    cells: usize,
    /// How many flows are planned…
    flows_planned: u64,
    /// …and how many cells they occupy.
    cells_planned: u64,
    /// Groups of one flow.
    groups: u32,
    parts: Parts,
    /// Where the cells of each group are in its line.
    slots: [SlotParts; BLOCKED_GROUPS_LIMIT],
}

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // one per shard, read for every packet: no indirection
enum Parts {
    Spread(Spread),
    Blocked([LinePart; BLOCKED_GROUPS_LIMIT]),
}

/// Hashes are divided among lines as evenly as possible, and split where a word ends. A power of
/// two, so that no index needs a check.
const BLOCKED_GROUPS_LIMIT: usize = 8;
const _: () = assert!(
    BLOCKED_LINES_LIMIT * HASHES_LIMIT.div_ceil(BLOCKED_LINES_LIMIT).div_ceil(SLOTS_PER_WORD)
        <= BLOCKED_GROUPS_LIMIT
);

#[derive(Debug, Clone, Copy)]
struct Spread {
    cells_per_part: u32,
    cells_per_line: u32,
    /// ⌈2^64 / cells per line⌉: a cell times this, above 2^64, is the cell's line.
    lines_per_cell: u64,
}

/// A part of the lines: each flow has one of them.
#[derive(Debug, Clone, Copy, Default)]
struct LinePart {
    /// Where in a flow's stream the word is that selects the line.
    stream: u64,
    first: u32,
    lines: u32,
    /// How many of the flow's cells in the line belong to earlier groups.
    before: u32,
}

/// A part of the slots of a line: each flow has one of them.
#[derive(Debug, Clone, Copy, Default)]
struct SlotPart {
    first: u16,
    slots: u16,
}

/// The parts of one group.
#[derive(Debug, Clone, Copy, Default)]
struct SlotParts {
    count: u32,
    parts: [SlotPart; SLOTS_PER_WORD],
}

impl SlotParts {
    /// One slot that is known: the upper bits of the word.
    const KNOWN: SlotParts = SlotParts {
        count: 1,
        parts: [SlotPart { first: 0, slots: 1 << (u64::BITS - KNOWN_SHIFT) }; SLOTS_PER_WORD],
    };
}

/// The position of a known slot in its word.
const KNOWN_SHIFT: u32 = 54;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Layout {
    pub(crate) fn new(sizing: &Sizing) -> Layout {
        let hashes = sizing.hashes.max(1) as u32;
        let per_line = sizing.cells_per_line.max(1);
        let arrays = FlowId::SHARDS as u64 * sizing.phases.max(1);
        let cells = usize::try_from(sizing.cells / arrays).unwrap_or(usize::MAX);
        let (groups, parts, slots) = match sizing.layout {
            LayoutKind::Spread => {
                let spread = Spread {
                    cells_per_part: u32::try_from(cells / hashes as usize).unwrap_or(u32::MAX),
                    cells_per_line: per_line as u32,
                    lines_per_cell: (u64::MAX / per_line as u64).saturating_add(1),
                };
                (hashes, Parts::Spread(spread), [SlotParts::KNOWN; BLOCKED_GROUPS_LIMIT])
            }
            LayoutKind::Blocked(_) => {
                let all_lines = u32::try_from(cells / per_line).unwrap_or(u32::MAX);
                let lines = sizing.layout.lines(sizing.hashes).max(1) as u32;
                blocked(all_lines, lines, hashes, per_line as u32)
            }
        };
        // n flows miss a cell with probability e^{−kn/m}.
        let flows_planned = sizing.flows_per_shard();
        let load = f64::from(hashes) * flows_planned as f64 / cells as f64;
        let cells_planned = (-(-load).exp_m1() * cells as f64).ceil() as u64;
        Layout { hashes, cells, flows_planned, cells_planned, groups, parts, slots }
    }

    /// Whether the cells in use, those of both halves if there are two, are those of fewer flows than
    /// planned.
    #[inline]
    pub(crate) fn has_room(&self, usage: Usage) -> bool {
        usage.occupied < self.cells_planned
            || usage.frozen > 0 && self.flows_in_halves(usage) < self.flows_planned as f64
    }

    pub(crate) const fn hashes(&self) -> usize {
        self.hashes as usize
    }

    pub(crate) const fn cells(&self) -> usize {
        self.cells
    }

    /// `counts`, with what follows from the number of cells in use.
    pub(crate) fn stats(&self, usage: Usage, counts: StoreStats) -> StoreStats {
        let fill = usage.occupied as f64 / self.cells() as f64;
        StoreStats {
            cells: self.cells() as u64,
            occupied: usage.occupied,
            live: self.flows_on(usage.occupied),
            live_estimated: true,
            // Somewhat higher in blocked layouts, whose lines fill unevenly.
            false_positive_chance: fill.powi(self.hashes as i32),
            cells_aged: usage.aged,
            ..counts
        }
    }

    /// The same for two halves of this many cells each.
    pub(crate) fn stats_of_halves(&self, usage: Usage, counts: StoreStats) -> StoreStats {
        let (halves, live) = (usage.halves(), self.flows_in_halves(usage));
        // An absent flow is looked up in both. They have flows in common, and so cells.
        let [in_active, in_frozen] = halves.map(|cells| cells as f64 / self.cells() as f64);
        let in_neither = (-live * f64::from(self.hashes) / self.cells() as f64).exp();
        let in_both =
            (in_active + in_frozen + in_neither - 1.0).clamp(0.0, in_active.min(in_frozen));
        let [active, frozen, both] =
            [in_active, in_frozen, in_both].map(|fill| fill.powi(self.hashes as i32));
        StoreStats {
            cells: 2 * self.cells() as u64,
            live,
            false_positive_chance: active + frozen - both,
            ..self.stats(usage, counts)
        }
    }

    /// An estimate of the flows in two halves, those that are in both counted once.
    fn flows_in_halves(&self, usage: Usage) -> f64 {
        let [active, frozen] = usage.halves().map(|cells| self.flows_on(cells));
        (active + frozen - usage.copies as f64).max(active).max(frozen)
    }

    /// An estimate of how many flows have this number of cells in use.
    fn flows_on(&self, occupied: u64) -> f64 {
        let cells = self.cells() as f64;
        // n flows miss a cell with probability e^{−kn/m}, blocked or not. For a full filter, half a
        // cell is taken to be empty.
        let empty = (cells - occupied as f64).max(0.5) / cells;
        -empty.ln() * cells / f64::from(self.hashes)
    }

    /// Whether all elements of a flow are in the same lines.
    pub(crate) const fn is_blocked(&self) -> bool {
        matches!(self.parts, Parts::Blocked(_))
    }

    /// The number of groups of a flow: one for each of its lines, or more.
    #[inline]
    pub(crate) const fn groups(&self) -> usize {
        self.groups as usize
    }

    /// The n-th group of the flow with this digest.
    #[inline(always)]
    pub(crate) fn group(&self, digest: u64, n: usize) -> CellGroup {
        match &self.parts {
            Parts::Blocked(parts) => parts[n % BLOCKED_GROUPS_LIMIT].group(digest, |word| word),
            Parts::Spread(spread) => spread.group(digest, n as u32),
        }
    }

    /// All groups of one element of a flow. Spread, they are independent of the flow's other elements;
    /// blocked, they are in the same lines.
    #[inline]
    pub(crate) fn groups_of_element(
        &self,
        digest: u64,
        element: u64,
    ) -> impl Iterator<Item = CellGroup> {
        // Mixed, so that the hashes of one element are not those of another, shifted.
        let salt = mix(1 + element);
        let salted = move |word| mix(word ^ salt);
        (0..self.groups()).map(move |n| match &self.parts {
            Parts::Blocked(parts) => parts[n % BLOCKED_GROUPS_LIMIT].group(digest, salted),
            Parts::Spread(spread) => spread.group(salted(digest), n as u32),
        })
    }

    /// The slots of the n-th group, in the order of a flow's hashes.
    #[inline(always)]
    pub(crate) fn slots(&self, n: usize, group: &CellGroup) -> Slots<'_> {
        let SlotParts { count, parts } = &self.slots[n % BLOCKED_GROUPS_LIMIT];
        let parts = parts.get(..*count as usize).unwrap_or(parts);
        Slots { parts: parts.iter(), left: group.word }
    }
}

impl CellGroup {
    /// No cells.
    pub(crate) const EMPTY: CellGroup = CellGroup { line: 0, word: 0 };

    #[inline(always)]
    pub(crate) const fn line(&self) -> usize {
        self.line as usize
    }
}

impl LinePart {
    #[inline(always)]
    fn group(&self, digest: u64, salted: impl FnOnce(u64) -> u64) -> CellGroup {
        let (line, word) = digit(mix(digest.wrapping_add(self.stream)), self.lines.into());
        let word = match self.before {
            0 => salted(word),
            before => word_of(salted(word), before),
        };
        CellGroup { line: self.first + line, word }
    }
}

/// Slots of one line, each from its own part of the line.
pub(crate) struct Slots<'l> {
    parts: std::slice::Iter<'l, SlotPart>,
    left: u64,
}

impl Iterator for Slots<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let part = self.parts.next()?;
        let (slot, left) = digit(self.left, part.slots.into());
        self.left = left;
        Some(usize::from(part.first) + slot as usize)
    }
}

impl Spread {
    #[inline]
    fn group(&self, digest: u64, n: u32) -> CellGroup {
        // Half a word for each.
        let bits = (word_of(digest, n / 2) >> (32 * (n % 2))) as u32;
        let cell = n * self.cells_per_part + scale(bits, self.cells_per_part);
        let (line, _) = digit(self.lines_per_cell, cell.into());
        let slot = cell - line * self.cells_per_line;
        CellGroup { line, word: u64::from(slot) << KNOWN_SHIFT }
    }
}

/// Divides lines and hashes as evenly as possible, lines in proportion to hashes. Returns the number
/// of groups first.
fn blocked(
    all_lines: u32,
    lines: u32,
    hashes: u32,
    cells_per_line: u32,
) -> (u32, Parts, [SlotParts; BLOCKED_GROUPS_LIMIT]) {
    let mut line_parts = [LinePart::default(); BLOCKED_GROUPS_LIMIT];
    let mut slot_parts = [SlotParts::default(); BLOCKED_GROUPS_LIMIT];
    let (mut groups, mut first, mut hashes_before) = (0, 0, 0);
    for number in 0..lines {
        let own = hashes / lines + u32::from(number < hashes % lines);
        hashes_before += own;
        // At least one line for this part and each after it.
        let end = (u64::from(all_lines) * u64::from(hashes_before) / u64::from(hashes)) as u32;
        let end = end.min(all_lines.saturating_sub(lines - number - 1)).max(first + 1);
        let stream = u64::from(number).wrapping_mul(GOLDEN);
        for before in (0..own).step_by(SLOTS_PER_WORD) {
            line_parts[groups] = LinePart { stream, first, lines: end - first, before };
            slot_parts[groups] = slots_of(own, before, cells_per_line);
            groups += 1;
        }
        first = end;
    }
    (groups as u32, Parts::Blocked(line_parts), slot_parts)
}

/// Divides a line for `hashes` hashes, of which `before` belong to earlier groups.
fn slots_of(hashes: u32, before: u32, cells_per_line: u32) -> SlotParts {
    // Cells for each hash, in 65,536ths, rounded up.
    let share = (cells_per_line << 16).div_ceil(hashes);
    let edge = |hash: u32| ((hash * share) >> 16) as u16;
    let part = |n: usize| {
        let hash = before + n as u32;
        SlotPart { first: edge(hash), slots: edge(hash + 1) - edge(hash) }
    };
    let count = (hashes - before).min(SLOTS_PER_WORD as u32);
    SlotParts { count, parts: std::array::from_fn(part) }
}

/// The n-th word of the SplitMix64 stream that starts at `from`.
#[inline]
const fn word_of(from: u64, n: u32) -> u64 {
    mix(from.wrapping_add((n as u64).wrapping_mul(GOLDEN)))
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

/// Where the cells of a flow are. The first groups of cells are stored, which in most layouts are
/// all; others are computed when they are needed.
#[derive(Debug, Clone, Copy)]
pub struct CellPlace {
    digest: u64,
    groups: [CellGroup; GROUPS_STORED],
}

const GROUPS_STORED: usize = 2;

impl CellPlace {
    #[inline(always)]
    pub(crate) fn new(layout: &Layout, digest: u64) -> CellPlace {
        let mut groups = [CellGroup::EMPTY; GROUPS_STORED];
        for (n, group) in groups.iter_mut().enumerate().take(layout.groups()) {
            *group = layout.group(digest, n);
        }
        CellPlace { digest, groups }
    }

    /// All cells of the flow, line by line, in the order of its hashes.
    #[inline(always)]
    pub(crate) fn lines<'l>(&self, layout: &'l Layout) -> impl Iterator<Item = (usize, Slots<'l>)> {
        (0..layout.groups()).map(move |n| {
            let group = match self.groups.get(n) {
                Some(group) => *group,
                None => self.other(layout, n),
            };
            (group.line(), layout.slots(n, &group))
        })
    }

    #[inline(never)]
    fn other(&self, layout: &Layout, n: usize) -> CellGroup {
        layout.group(self.digest, n)
    }

    /// The digest of the flow.
    #[inline(always)]
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// The lines as a cache counts writes to them.
    #[inline]
    pub(crate) fn cache_lines(&self, layout: &Layout) -> Lines {
        let [one, other] = self.groups.map(|group| group.line());
        match layout.groups() {
            1 => Lines::of(one, one),
            2 => Lines::of(one, other),
            _ => Lines::ALL,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::rng::Random;
    use crate::spec::{Backend, Budget, Expire, SpecError, StoreSpec};

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
        let expires = [Expire::Timer, Expire::Stamps, Expire::None];
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
        all.filter_map(|spec| match spec.sizing() {
            // Half a line has room for 7 cells of 32 bits.
            Err(SpecError::HashesInLines { most: 7, .. }) => None,
            sizing => Some((spec, sizing.expect("a store"))),
        })
    }

    /// The line and the slot of each cell.
    fn cells(layout: &Layout, groups: impl Iterator<Item = CellGroup>) -> Vec<[usize; 2]> {
        let cells = groups
            .enumerate()
            .flat_map(|(n, group)| layout.slots(n, &group).map(move |slot| [group.line(), slot]));
        cells.collect()
    }

    fn cells_of_flow(layout: &Layout, digest: u64) -> Vec<[usize; 2]> {
        cells(layout, (0..layout.groups()).map(|n| layout.group(digest, n)))
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
                let of_flow = cells_of_flow(&layout, digest);
                let [one, other] =
                    [1, 2].map(|element| cells(&layout, layout.groups_of_element(digest, element)));
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
                flows: 1600,
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
                for [line, slot] in cells_of_flow(&layout, digest) {
                    counts[line * sizing.cells_per_line + slot] += 1.0;
                }
            }
            let mean = f64::from(flows) * 7.0 / counts.len() as f64;
            for (cell, count) in counts.iter().enumerate() {
                // 30 cells for 7: 4 or 5 each. Few lines cannot be shared out as 4 : 3 quite.
                let unequal = if lines == 1 { 0.2 } else { 0.5 };
                assert!(
                    (count / mean - 1.0_f64).abs() < unequal + 5.0 / mean.sqrt(),
                    "blocked:{lines}, {cell}: {count} of {mean}"
                );
            }
        }
    }
}
