//! A filter of counted cells: all that the structures have in common, around the [`CellRule`] that
//! makes the difference.
//!
//! A flow has k cells. Whatever the rule, one empty cell among them proves that the flow is not
//! there; stale cells are empty in every respect.

use super::aging::{Epoch, Stamp};
use super::cells::{Cells, InLine};
use super::error::StoreError;
use super::layout::{Group, Layout, SLOTS_PER_WORD, Slots};
use super::recent::{Striped, Stripes};
use super::stats::{Insertion, StoreStats};
use super::{Erase, Flow, Store};
use crate::memory::Arena;
use crate::spec::{HASHES_LIMIT, Sizing};
use crate::state::{Lookup, State};

/// What a flow does to one of its cells, and what its cells say together. A cell is a number, 0
/// if it is empty.
pub trait CellRule: Send {
    /// What tells the flows on a cell apart, for rules that need it; else `()`, which costs nothing.
    type Salt;

    /// Whether a flow can be modified and deleted when its old state is not known.
    const WRITES_UNKNOWN: bool;

    /// The salts of the flow with this digest, one for each of its cells.
    fn salts(digest: u64) -> impl Iterator<Item = Self::Salt>;

    /// The cell after a flow with this state came in.
    fn insert(&self, cell: u32, salt: Self::Salt, state: State) -> u32;

    /// The cell, which is not empty, after a flow changed its state. `old` is there unless the
    /// rule can do without.
    fn modify(&self, cell: u32, salt: Self::Salt, old: Option<State>, new: State) -> u32;

    /// The cell, which is not empty, after a flow left. `old` is there unless the rule can do
    /// without.
    fn delete(&self, cell: u32, salt: Self::Salt, old: Option<State>) -> u32;

    /// What the cells of a flow, none of them empty, say of its state.
    fn read(&self, cells: &[u32], salts: impl Iterator<Item = Self::Salt>) -> Lookup;

    /// Whether the count of this cell is at its maximum, where it stays until the cell ages.
    fn is_saturated(&self, cell: u32) -> bool;
}

/// Where the cells of a flow are. In most layouts all of its groups are kept; of those with many,
/// the others are computed when they are needed.
#[derive(Debug, Clone, Copy)]
pub struct CellPlace {
    digest: u64,
    kept: [Group; GROUPS_KEPT],
}

const GROUPS_KEPT: usize = 2;

/// Within one store, the digest says it all.
impl PartialEq for CellPlace {
    #[inline]
    fn eq(&self, other: &CellPlace) -> bool {
        self.digest == other.digest
    }
}

impl CellPlace {
    #[inline(always)]
    fn new(layout: &Layout, digest: u64) -> CellPlace {
        let mut kept = [Group::EMPTY; GROUPS_KEPT];
        for (n, group) in kept.iter_mut().enumerate().take(layout.groups()) {
            *group = layout.group(digest, n);
        }
        CellPlace { digest, kept }
    }

    /// All cells of the flow, line by line, in the order of its hashes.
    #[inline(always)]
    fn lines<'l>(&self, layout: &'l Layout) -> impl Iterator<Item = (usize, Slots<'l>)> {
        (0..layout.groups()).map(move |n| {
            let group = match self.kept.get(n) {
                Some(group) => *group,
                None => self.other(layout, n),
            };
            (group.line(), layout.slots(n, &group))
        })
    }

    #[inline(never)]
    fn other(&self, layout: &Layout, n: usize) -> Group {
        layout.group(self.digest, n)
    }
}

/// One shard of cells of `BITS` bits (8, 16 or 32) under a rule; `TIMED` if they age.
pub struct CellFilter<R, const BITS: u32, const TIMED: bool> {
    rule: R,
    layout: Layout,
    cells: Cells<BITS, TIMED>,
    counts: StoreStats,
    /// The flow looked up last, and when, if all its cells bear that epoch's stamp already and
    /// nothing was written since: to touch it would change nothing.
    fresh: Option<(u64, Epoch)>,
    /// What the cells say of the flow written last.
    written: Option<Lookup>,
    /// The cells of the flow looked up or written last: room that is used again.
    values: [u32; HASHES_LIMIT + SLOTS_PER_WORD],
}

impl<R: CellRule, const BITS: u32, const TIMED: bool> CellFilter<R, BITS, TIMED> {
    /// An empty shard: one of equal parts of what `sizing` allows.
    pub fn new(rule: R, sizing: &Sizing) -> Result<Self, StoreError> {
        Self::new_in(&Arena::default(), rule, sizing)
    }

    /// The same, with its cells beside those of other shards.
    pub fn new_in(arena: &Arena, rule: R, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::new_in(arena, layout.cells())?;
        let (counts, values) = (StoreStats::default(), [0; HASHES_LIMIT + SLOTS_PER_WORD]);
        Ok(CellFilter { rule, layout, cells, counts, fresh: None, written: None, values })
    }

    /// The cells of a flow as the rule sees them.
    pub fn cells_of(
        &self,
        place: &CellPlace,
        now: Epoch,
    ) -> impl Iterator<Item = u32> + use<R, BITS, TIMED> {
        let mut cells = Vec::with_capacity(self.layout.hashes());
        for (line, slots) in place.lines(&self.layout) {
            let line = self.cells.line(line, now);
            cells.extend(slots.map(|slot| line.value(slot)));
        }
        cells.into_iter()
    }

    /// Most packets do not come here: their flow was touched in this epoch before.
    #[inline(never)]
    fn touch_cells(&mut self, place: &CellPlace, stamp: Stamp) {
        for (line, slots) in place.lines(&self.layout) {
            self.cells.line_mut(line, stamp.now()).touch(slots, stamp);
        }
    }

    /// Changes a flow's cells, touches them, and takes note of what they say now.
    #[inline(always)]
    fn write(
        &mut self,
        place: &CellPlace,
        stamp: Stamp,
        mut change: impl FnMut(&R, R::Salt, u32) -> u32,
    ) {
        let CellFilter { rule, layout, cells, values, .. } = self;
        let mut kept = values.iter_mut();
        let (mut salts, mut any_empty) = (R::salts(place.digest), false);
        for (line, slots) in place.lines(layout) {
            cells.line_mut(line, stamp.now()).update(slots, stamp, |old| {
                let (Some(salt), Some(value)) = (salts.next(), kept.next()) else { return old };
                *value = change(rule, salt, old);
                any_empty |= *value == 0;
                *value
            });
        }
        self.fresh = None;
        self.written = (!any_empty).then(|| self.read_values(place));
    }

    /// What the cells that were read or written last say together.
    #[inline(always)]
    fn read_values(&self, place: &CellPlace) -> Lookup {
        let values = self.values.get(..self.layout.hashes()).unwrap_or(&self.values);
        self.rule.read(values, R::salts(place.digest))
    }

    /// The old state as far as a rule gets to see it; `None` if there is nothing to be done.
    fn old_state(old: Lookup) -> Option<Option<State>> {
        match old {
            Lookup::Known(state) => Some(Some(state)),
            Lookup::DontKnow if R::WRITES_UNKNOWN => Some(None),
            _ => None,
        }
    }
}

impl<R: CellRule, const BITS: u32, const TIMED: bool> Store for CellFilter<R, BITS, TIMED> {
    type Place = CellPlace;

    const WRITES_UNKNOWN: bool = R::WRITES_UNKNOWN;

    #[inline]
    fn locate(&self, flow: &Flow) -> CellPlace {
        CellPlace::new(&self.layout, flow.id.position_bits())
    }

    #[inline]
    fn prefetch(&mut self, place: &CellPlace) {
        for (line, _) in place.lines(&self.layout) {
            self.cells.prefetch(line);
        }
    }

    #[inline]
    fn lookup(&mut self, place: &CellPlace, now: Epoch) -> Lookup {
        self.fresh = None;
        let CellFilter { layout, cells, values, .. } = self;
        let (mut kept, mut all_fresh) = (0, true);
        for (line, slots) in place.lines(layout) {
            let Some(room) = values.get_mut(kept..).and_then(<[u32]>::first_chunk_mut) else {
                break;
            };
            let (seen, count) = cells.line(line, now).read(slots, room);
            kept += count;
            if seen == InLine::Missing {
                return Lookup::Absent;
            }
            all_fresh &= seen == InLine::Fresh;
        }
        if all_fresh {
            self.fresh = Some((place.digest, now));
        }
        self.read_values(place)
    }

    #[inline]
    fn touch(&mut self, place: &CellPlace, _found: Lookup, stamp: Stamp) {
        let is_fresh = self.fresh == Some((place.digest, stamp.now()));
        if TIMED && !stamp.half && !is_fresh {
            self.touch_cells(place, stamp);
        }
    }

    fn insert(&mut self, place: &CellPlace, state: State, stamp: Stamp) -> Insertion {
        let (mut shared_cells, mut saturations) = (0, 0);
        self.write(place, stamp, |rule, salt, old| {
            let new = rule.insert(old, salt, state);
            shared_cells += usize::from(old != 0);
            if rule.is_saturated(new) {
                saturations += u64::from(!rule.is_saturated(old));
            }
            new
        });
        self.counts.inserted += 1;
        self.counts.saturations += saturations;
        self.counts.cells_shared += shared_cells as u64;
        self.counts.inserts_of_present += u64::from(shared_cells == self.layout.hashes());
        Insertion::Stored { shared_cells }
    }

    fn modify(&mut self, place: &CellPlace, old: Lookup, new: State, stamp: Stamp) {
        let Some(old) = Self::old_state(old) else {
            self.written = None;
            return self.touch(place, old, stamp);
        };
        let mut absent = false;
        self.write(place, stamp, |rule, salt, cell| {
            absent |= cell == 0;
            if cell == 0 { 0 } else { rule.modify(cell, salt, old, new) }
        });
        self.counts.writes_to_absent += u64::from(absent);
    }

    fn delete(&mut self, place: &CellPlace, old: Lookup, now: Epoch) {
        let Some(old) = Self::old_state(old) else { return };
        (self.fresh, self.written) = (None, None);
        let mut absent = false;
        let mut salts = R::salts(place.digest);
        for (line, slots) in place.lines(&self.layout) {
            self.cells.line_mut(line, now).replace(slots, |cell| {
                absent |= cell == 0;
                match (cell, salts.next()) {
                    (1.., Some(salt)) => self.rule.delete(cell, salt, old),
                    _ => cell,
                }
            });
        }
        self.counts.deleted += 1;
        self.counts.writes_to_absent += u64::from(absent);
    }

    fn sweep(&mut self, now: Epoch, budget_cells: usize) -> usize {
        self.cells.sweep(now, budget_cells)
    }

    fn stats(&self) -> StoreStats {
        self.layout.stats(self.cells.occupied(), self.cells.aged(), self.counts)
    }
}

impl<R: CellRule, const BITS: u32, const TIMED: bool> Striped for CellFilter<R, BITS, TIMED> {
    #[inline]
    fn stripes(&self, place: &CellPlace) -> Stripes {
        let [one, other] = place.kept.map(|group| group.line());
        match self.layout.groups() {
            1 => Stripes::of_lines(one, one),
            2 => Stripes::of_lines(one, other),
            _ => Stripes::WHOLE,
        }
    }

    #[inline]
    fn after_write(&self) -> Option<Lookup> {
        self.written
    }
}

impl<R: CellRule, const BITS: u32> Erase for CellFilter<R, BITS, false> {
    #[inline]
    fn occupied(&self) -> u64 {
        self.cells.occupied()
    }

    fn erase(&mut self) {
        self.fresh = None;
        self.cells.erase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Backend, Budget, SbfRules, StoreSpec};
    use crate::{Sbf, SbfRule};

    /// Two flows, one cell: a touch that lookup thought needless is needed after all when the cell
    /// was emptied and filled in between.
    #[test]
    fn writes_between_lookup_and_touch_are_seen() {
        let spec =
            StoreSpec { flows: 1, budget: Budget::FpRate(0.5), ..StoreSpec::new(Backend::Sbf, 6) };
        let sizing = spec.sizing().unwrap();
        let mut one_cell = Sbf::<8, true>::new(SbfRule::new(SbfRules::Stateful), &sizing).unwrap();
        assert_eq!(one_cell.stats().cells, 1);
        let [a, b] = [1, 2].map(|digest| CellPlace::new(&one_cell.layout, digest));
        let (now, next, state) = (Epoch(7), Epoch(8), State::new(3).unwrap());

        one_cell.insert(&a, state, now.stamp());
        let found = one_cell.lookup(&a, now);
        assert_eq!(found, Lookup::Known(state));
        one_cell.delete(&a, found, now);
        one_cell.insert(&b, state, now.half_stamp());
        one_cell.touch(&a, found, now.stamp());
        assert_eq!(one_cell.lookup(&b, next), Lookup::Known(state));
        assert_eq!(one_cell.lookup(&b, Epoch(9)), Lookup::Absent);
    }
}
