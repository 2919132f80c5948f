//! What can be planned: one structure, in one layout, with one way to expire; and what a lookup in
//! it costs.

use crate::flow::FlowId;
use acsm_filters::{
    Backend, CellFormat, Expire, Footprint, LayoutKind, MEMORY_LIMIT_BYTES, StoreSpec,
};

const SHARDS: f64 = FlowId::SHARDS as f64;
/// Layouts, each similar to the one before.
const LAYOUTS: [LayoutKind; 4] =
    [LayoutKind::Spread, LayoutKind::Blocked(3), LayoutKind::Blocked(2), LayoutKind::Blocked(1)];

/// A kind of store before its size is decided: a structure, a layout and a way to expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Which structure.
    pub backend: Backend,
    /// Where the cells of a flow lie.
    pub layout: LayoutKind,
    /// How idle flows leave.
    pub expire: Expire,
}

impl Shape {
    /// Ways to expire.
    pub const EXPIRES: [Expire; 5] =
        [Expire::None, Expire::Timer, Expire::Stamps, Expire::Recycle, Expire::TwoPhase];

    /// Every valid combination: only stores of cells have layouts, stamps that differ from the timer,
    /// and recycle.
    pub fn all() -> impl Iterator<Item = Shape> {
        let shapes = Backend::ALL.into_iter().flat_map(|backend| {
            LAYOUTS.into_iter().flat_map(move |layout| {
                Shape::EXPIRES.into_iter().map(move |expire| Shape { backend, layout, expire })
            })
        });
        shapes.filter(|shape| {
            let plain = shape.layout == LayoutKind::Spread
                && matches!(shape.expire, Expire::Timer | Expire::None);
            plain || shape.has_cells()
        })
    }

    /// The shape of a specified store.
    pub const fn of(spec: &StoreSpec) -> Shape {
        Shape { backend: spec.backend, layout: spec.layout, expire: spec.expire }
    }

    /// Whether a flow has k cells in it.
    pub const fn has_cells(self) -> bool {
        self.backend.has_cells()
    }

    /// The narrowest cells for this many states, k of them per flow.
    pub fn cell_format(self, states: usize, hashes: usize) -> CellFormat {
        let cell_bits = self.backend.narrowest_cell_bits(states, self.expire == Expire::Timer);
        CellFormat { cell_bits, hashes, layout: self.layout, expire: self.expire }
    }

    /// Cache lines that a lookup touches at most.
    pub fn memory_accesses(self, states: usize, footprint: &Footprint) -> u64 {
        let of_flow = match (self.backend, self.layout) {
            // Index and entry; two windows.
            (Backend::Exact | Backend::Fcf, _) => 2,
            (_, LayoutKind::Spread) => footprint.hashes as u64 * self.tests_per_lookup(states),
            // All states of a flow share its lines.
            (_, layout) => layout.lines(footprint.hashes) as u64,
        };
        of_flow * self.expire.phases()
    }

    /// Bits of a digest that a lookup uses.
    pub fn hash_bits(self, states: usize, footprint: &Footprint) -> u64 {
        let hashes = footprint.hashes as f64;
        let of_array = footprint.cells / SHARDS / self.expire.phases() as f64;
        let tests = self.tests_per_lookup(states) as f64;
        let positions = match (self.backend, self.layout) {
            (Backend::Exact, _) => (2.0 * of_array).log2().ceil(),
            // A window, and the fingerprint, which gives the other window.
            (Backend::Fcf, _) => of_array.log2().ceil() + f64::from(footprint.cell_bits),
            (_, LayoutKind::Spread) => tests * hashes * (of_array / hashes).log2().ceil(),
            (_, LayoutKind::Blocked(_)) => {
                let format = self.cell_format(states, footprint.hashes);
                let per_line = format.cells_per_line() as f64;
                let lines = self.layout.lines(footprint.hashes) as f64;
                lines * (of_array / per_line).log2().ceil()
                    + tests * hashes * per_line.log2().ceil()
            }
        };
        let salts = if self.backend == Backend::Bhbf { 4.0 * hashes } else { 0.0 };
        (positions.max(0.0) + salts) as u64
    }

    /// A direct Bloom filter is tested for each state.
    fn tests_per_lookup(self, states: usize) -> u64 {
        if self.backend == Backend::Dbf { states as u64 } else { 1 }
    }

    /// For a total order of shapes.
    pub(super) const fn names(self) -> [&'static str; 3] {
        [self.backend.name(), self.layout.name(), self.expire.name()]
    }
}

/// Whether a run could build it: within the memory limit, and 32 bits to number the cells of a
/// shard.
pub(super) fn is_buildable(footprint: &Footprint) -> bool {
    footprint.bits <= 8.0 * MEMORY_LIMIT_BYTES as f64
        && footprint.cells / SHARDS <= f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::Budget;

    /// A plan and a run divide memory in the same way.
    #[test]
    fn planned_memory_is_what_a_run_gets() {
        for shape in Shape::all().filter(|shape| shape.has_cells()) {
            for (states, hashes, bytes) in [(6, 3, 100_000), (6, 7, 1 << 14), (11, 10, 12_345_678)]
            {
                let Shape { backend, layout, expire } = shape;
                let budget = Budget::MemoryBytes(bytes);
                let spec = StoreSpec { layout, expire, ..StoreSpec::new(backend, states) };
                let spec = StoreSpec { budget, hashes: Some(hashes), ..spec };
                let (sizing, bits) = (spec.sizing().unwrap(), 8.0 * bytes as f64);
                let format = shape.cell_format(states, hashes);
                let footprint = format.in_bits(bits).unwrap();
                assert_eq!(footprint.cells, sizing.cells as f64, "{shape:?} {bytes}");
                assert_eq!((footprint.hashes, footprint.cell_bits), (hashes, sizing.cell_bits));
                assert!(footprint.bits >= sizing.bits as f64 && footprint.bits <= bits);
                // Back from the cells: the same lines.
                let again = format.filling_lines_of(footprint.cells).unwrap();
                assert!(again.cells >= footprint.cells && again.bits <= footprint.bits);
            }
        }
        let spec = StoreSpec { flows: 12_345, ..StoreSpec::new(Backend::Exact, 6) };
        let bits = spec.sizing().unwrap().bits as f64;
        assert_eq!(Footprint::of_entries(12_345.0).bits, bits);
    }

    #[test]
    fn blocked_layouts_take_few_lines_and_few_hash_bits() {
        let shape = |layout| Shape { backend: Backend::Kbf, layout, expire: Expire::None };
        let [spread, blocked] = [LayoutKind::Spread, LayoutKind::Blocked(2)].map(shape);
        let bits = 8.0 * (64 << 20) as f64;
        let in_bits = |shape: Shape| shape.cell_format(6, 8).in_bits(bits).unwrap();
        let [all, in_lines] = [spread, blocked].map(in_bits);
        let accesses = (spread.memory_accesses(6, &all), blocked.memory_accesses(6, &in_lines));
        assert_eq!(accesses, (8, 2));
        assert_eq!(spread.hash_bits(6, &all), 8 * 19);
        assert_eq!(blocked.hash_bits(6, &in_lines), 2 * 16 + 8 * 6);
    }
}
