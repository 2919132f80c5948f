//! What can be planned: one structure, in one layout, with one way to expire.

use acsm_filters::{self as spec, Backend, Expire, LayoutKind, StoreSpec};

/// Structures, by what they need.
const BACKENDS: [Backend; 6] =
    [Backend::Exact, Backend::Dbf, Backend::Sbf, Backend::Kbf, Backend::Bhbf, Backend::Fcf];
/// Layouts, each near the one before.
const LAYOUTS: [LayoutKind; 4] =
    [LayoutKind::Spread, LayoutKind::Blocked(3), LayoutKind::Blocked(2), LayoutKind::Blocked(1)];

/// One structure, in one layout, with one way to expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Which structure.
    pub backend: Backend,
    /// Where the cells of a flow lie.
    pub layout: LayoutKind,
    /// How silent flows leave.
    pub expire: Expire,
}

impl Shape {
    /// Ways to expire.
    pub const EXPIRES: [Expire; 4] =
        [Expire::None, Expire::Timer, Expire::Recycle, Expire::TwoPhase];

    /// Every combination that makes sense: layouts are for cells, and what is no filter forgets
    /// flow by flow or not at all.
    pub fn all() -> impl Iterator<Item = Shape> {
        let shapes = BACKENDS.into_iter().flat_map(|backend| {
            LAYOUTS.into_iter().flat_map(move |layout| {
                Shape::EXPIRES.into_iter().map(move |expire| Shape { backend, layout, expire })
            })
        });
        shapes.filter(|shape| {
            let plain = shape.layout == LayoutKind::Spread && !shape.expire.recycles();
            plain || shape.has_cells()
        })
    }

    /// The shape of a store as a run asks for it.
    pub const fn of(spec: &StoreSpec) -> Shape {
        Shape { backend: spec.backend, layout: spec.layout, expire: spec.expire }
    }

    /// Whether a flow has k cells in it.
    pub const fn has_cells(self) -> bool {
        self.backend.has_cells()
    }

    /// Bits of a cell without its stamp, for a machine of so many states.
    pub const fn cell_bits(self, states: usize) -> u32 {
        match self.backend {
            Backend::Exact | Backend::Fcf => 0,
            Backend::Dbf => 2,
            Backend::Sbf => 8,
            Backend::Kbf if 3 + spec::kbf_code_bits(states) <= 8 => 8,
            Backend::Kbf | Backend::Bhbf => 16,
        }
    }

    /// How many cells fit a line, stamps included.
    pub const fn cells_per_line(self, cell_bits: u32) -> u64 {
        spec::cells_per_line(cell_bits, self.expire) as u64
    }

    /// For an order that is always the same.
    pub(super) const fn names(self) -> [&'static str; 3] {
        [self.backend.name(), self.layout.name(), self.expire.name()]
    }
}
