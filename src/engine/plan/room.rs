//! What cells take: whole lines of each shard, and the cells in them.
//!
//! The same arithmetic as `spec`, in floats and without its limits, so that a plan also answers for
//! what no run could build.

use super::shape::Shape;
use crate::flow::FlowId;
use acsm_filters::{Backend, EXACT_FLOW_BYTES, LINE_BYTES, LayoutKind, MEMORY_LIMIT_BYTES};

pub(super) const SHARDS: f64 = FlowId::SHARDS as f64;
const LINE_BITS: f64 = 8.0 * LINE_BYTES as f64;

/// Memory as a store cuts it up: totals over all shards and halves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// Cells that flows can hash to (entries for `exact`, slots for `fcf`).
    pub cells: f64,
    /// Cells per flow (0 for `exact`, the two buckets of `fcf`).
    pub hashes: usize,
    /// Bits of a cell (entry, slot) without its stamp.
    pub cell_bits: u32,
    /// All that is allocated.
    pub bits: f64,
}

impl Room {
    /// So many lines of each shard, filled with cells.
    fn of_lines(shape: Shape, states: usize, lines: f64, hashes: usize) -> Option<Room> {
        let cell_bits = shape.cell_bits(states);
        let halves = shape.expire.phases() as f64;
        let lines_of_half = (lines / halves).floor();
        let per_line = shape.cells_per_line(cell_bits) as f64;
        let in_lines = lines_of_half * per_line;
        let cells = match shape.layout {
            // Each hash has an equal part of a shard: what does not divide is left unused.
            LayoutKind::Spread => in_lines - in_lines % hashes as f64,
            LayoutKind::Blocked(groups) => {
                let groups = groups.min(hashes) as f64;
                let fits = lines_of_half >= groups && hashes as f64 <= groups * per_line;
                if fits { in_lines } else { 0.0 }
            }
        };
        (cells >= 1.0).then_some(Room {
            cells: SHARDS * halves * cells,
            hashes,
            cell_bits,
            bits: SHARDS * halves * lines_of_half * LINE_BITS,
        })
    }

    /// The fewest lines with so many cells.
    pub fn of_cells(shape: Shape, states: usize, cells: f64, hashes: usize) -> Option<Room> {
        let cell_bits = shape.cell_bits(states);
        let halves = shape.expire.phases() as f64;
        let of_half = (cells / (SHARDS * halves)).ceil().max(hashes as f64);
        let whole_parts = match shape.layout {
            LayoutKind::Spread => (of_half / hashes as f64).ceil() * hashes as f64,
            LayoutKind::Blocked(_) => of_half,
        };
        let lines = (whole_parts / shape.cells_per_line(cell_bits) as f64).ceil();
        let least = match shape.layout {
            LayoutKind::Spread => 1.0,
            LayoutKind::Blocked(groups) => groups.min(hashes) as f64,
        };
        Room::of_lines(shape, states, halves * lines.max(least), hashes)
    }

    /// As many cells as fit so many bits.
    pub fn in_bits(shape: Shape, states: usize, bits: f64, hashes: usize) -> Option<Room> {
        Room::of_lines(shape, states, (bits / LINE_BITS / SHARDS).floor(), hashes)
    }

    /// A table for so many flows, 2 of each shard at least.
    pub fn of_entries(flows: f64) -> Room {
        let cells = SHARDS * (flows / SHARDS).ceil().max(2.0);
        let cell_bits = 8 * EXACT_FLOW_BYTES as u32;
        Room { cells, hashes: 0, cell_bits, bits: cells * f64::from(cell_bits) }
    }

    /// The table that fits so many bits.
    pub fn of_entries_in(bits: f64) -> Room {
        Room::of_entries(SHARDS * (bits / 8.0 / SHARDS / EXACT_FLOW_BYTES as f64).floor())
    }

    /// Whether `replay` and `live` could build it: within 64 GiB, and 32 bits to number the cells
    /// of a shard.
    pub fn can_be_built(&self) -> bool {
        self.bits <= 8.0 * MEMORY_LIMIT_BYTES as f64 && self.cells / SHARDS <= f64::from(u32::MAX)
    }

    /// Cache lines that a lookup touches at most.
    pub fn memory_accesses(&self, shape: Shape, states: usize) -> u64 {
        let of_flow = match (shape.backend, shape.layout) {
            // Index and entry; two buckets.
            (Backend::Exact | Backend::Fcf, _) => 2,
            (backend, LayoutKind::Spread) => self.hashes as u64 * tests_of(backend, states),
            // All states of a flow share its lines.
            (_, layout) => layout.lines(self.hashes) as u64,
        };
        of_flow * shape.expire.phases()
    }

    /// Bits of a digest that a lookup uses.
    pub fn hash_bits(&self, shape: Shape, states: usize) -> u64 {
        let hashes = self.hashes as f64;
        let of_half = self.cells / SHARDS / shape.expire.phases() as f64;
        let tests = tests_of(shape.backend, states) as f64;
        let positions = match (shape.backend, shape.layout) {
            (Backend::Exact, _) => (2.0 * of_half).log2().ceil(),
            // A bucket and the fingerprint, which leads to the other.
            (Backend::Fcf, _) => (of_half / 4.0).log2().ceil() + f64::from(self.cell_bits),
            (_, LayoutKind::Spread) => tests * hashes * (of_half / hashes).log2().ceil(),
            (_, LayoutKind::Blocked(lines)) => {
                let per_line = shape.cells_per_line(self.cell_bits) as f64;
                let lines = lines.min(self.hashes) as f64;
                lines * (of_half / per_line).log2().ceil() + tests * hashes * per_line.log2().ceil()
            }
        };
        let salts = if shape.backend == Backend::Bhbf { 4.0 * hashes } else { 0.0 };
        (positions.max(0.0) + salts) as u64
    }
}

/// How often a lookup looks: a direct Bloom filter is asked for each state.
fn tests_of(backend: Backend, states: usize) -> u64 {
    if backend == Backend::Dbf { states as u64 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::{Budget, Expire, StoreSpec};

    /// Plans and runs agree on what memory holds.
    #[test]
    fn it_is_what_a_run_gets() {
        for shape in Shape::all().filter(|shape| shape.has_cells()) {
            for (states, hashes, bytes) in [(6, 3, 100_000), (6, 7, 1 << 14), (11, 10, 12_345_678)]
            {
                let Shape { backend, layout, expire } = shape;
                let (budget, hashes_wished) = (Budget::MemoryBytes(bytes), Some(hashes));
                let wish = StoreSpec { layout, expire, ..StoreSpec::new(backend, states) };
                let spec = StoreSpec { budget, hashes: hashes_wished, ..wish };
                let (sizing, bits) = (spec.sizing().unwrap(), 8.0 * bytes as f64);
                let room = Room::in_bits(shape, states, bits, hashes).unwrap();
                assert_eq!(room.cells, sizing.cells as f64, "{shape:?} {bytes}");
                assert_eq!((room.hashes, room.cell_bits), (hashes, sizing.cell_bits));
                assert!(room.bits >= sizing.bits as f64 && room.bits <= bits);
                // Back from the cells: the same lines.
                let again = Room::of_cells(shape, states, room.cells, hashes).unwrap();
                assert!(again.cells >= room.cells && again.bits <= room.bits);
            }
        }
        let spec = StoreSpec { flows: 12_345, ..StoreSpec::new(Backend::Exact, 6) };
        assert_eq!(Room::of_entries(12_345.0).bits, spec.sizing().unwrap().bits as f64);
    }

    #[test]
    fn blocked_layouts_take_few_lines_and_few_hash_bits() {
        let shape = |layout| Shape { backend: Backend::Kbf, layout, expire: Expire::None };
        let [spread, blocked] = [LayoutKind::Spread, LayoutKind::Blocked(2)].map(shape);
        let bits = 8.0 * (64 << 20) as f64;
        let [room, in_lines] =
            [spread, blocked].map(|shape| Room::in_bits(shape, 6, bits, 8).unwrap());
        assert_eq!((room.memory_accesses(spread, 6), in_lines.memory_accesses(blocked, 6)), (8, 2));
        assert_eq!(room.hash_bits(spread, 6), 8 * 19);
        assert_eq!(in_lines.hash_bits(blocked, 6), 2 * 16 + 8 * 6);
    }
}
