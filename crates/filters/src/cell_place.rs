//! Where the cells of a flow are: what is computed once per packet.

use crate::layout::{CellGroup, Layout, Slots};
use crate::store::Lines;

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
