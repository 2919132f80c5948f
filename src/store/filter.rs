//! A filter of counted cells: all that the structures have in common, around the [`CellRule`] that
//! makes the difference.
//!
//! A flow has k cells. Whatever the rule, one empty cell among them proves that the flow is not
//! there; stale cells are empty in every respect.

use super::aging::{Epoch, Stamp};
use super::cells::Cells;
use super::error::StoreError;
use super::layout::{CellPlace, Layout};
use super::stats::{Insertion, StoreStats};
use super::{Erase, Flow, Store};
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

/// One shard of cells of `BITS` bits (8, 16 or 32) under a rule; `TIMED` if they age.
pub struct CellFilter<R, const BITS: u32, const TIMED: bool> {
    rule: R,
    layout: Layout,
    cells: Cells<BITS, TIMED>,
    counts: StoreStats,
    /// The flow looked up last, and when, if all its cells bear that epoch's stamp already and
    /// nothing was written since: to touch it would change nothing…
    fresh: Option<(CellPlace, Epoch)>,
    /// …and to look it up again, as packets come in bursts, would say this.
    answer: Lookup,
    /// The cells of the flow looked up last: room that is used again.
    values: [u32; HASHES_LIMIT],
}

impl<R: CellRule, const BITS: u32, const TIMED: bool> CellFilter<R, BITS, TIMED> {
    /// An empty shard: one of equal parts of what `sizing` allows.
    pub fn new(rule: R, sizing: &Sizing) -> Result<Self, StoreError> {
        let layout = Layout::new(sizing);
        let cells = Cells::new(layout.cells())?;
        let (counts, values) = (StoreStats::default(), [0; HASHES_LIMIT]);
        let (fresh, answer) = (None, Lookup::Absent);
        Ok(CellFilter { rule, layout, cells, counts, fresh, answer, values })
    }

    /// The cells of a flow as the rule sees them.
    pub fn cells_of(
        &self,
        place: &CellPlace,
        now: Epoch,
    ) -> impl Iterator<Item = u32> + use<R, BITS, TIMED> {
        let mut cells = Vec::with_capacity(self.layout.hashes());
        for (line, slots) in self.layout.lines(place.0) {
            let line = self.cells.line(line, now);
            slots.for_each(|slot| cells.push(line.read(slot)));
        }
        cells.into_iter()
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
        CellPlace(flow.id.position_bits())
    }

    #[inline]
    fn prefetch(&self, place: &CellPlace) {
        for (line, _) in self.layout.lines(place.0) {
            self.cells.prefetch(line);
        }
    }

    #[inline]
    fn lookup(&mut self, place: &CellPlace, now: Epoch) -> Lookup {
        if self.fresh == Some((*place, now)) {
            return self.answer;
        }
        self.fresh = None;
        let CellFilter { layout, cells, values, .. } = self;
        let (mut kept, mut ages) = (0, 0);
        for (line, slots) in layout.lines(place.0) {
            let line = cells.line(line, now);
            let mut all_in_use = true;
            // No exit half-way: to read them all is quicker than to ask after each.
            slots.for_each(|slot| {
                let (value, age) = line.read_aged(slot);
                values[kept % HASHES_LIMIT] = value;
                kept += 1;
                ages |= age;
                all_in_use &= value != 0;
            });
            if !all_in_use || ages > 1 {
                return Lookup::Absent;
            }
        }
        if ages == 0 {
            self.fresh = Some((*place, now));
        }
        let values = self.values.get(..self.layout.hashes()).unwrap_or(&self.values);
        self.answer = self.rule.read(values, R::salts(place.0));
        self.answer
    }

    #[inline]
    fn touch(&mut self, place: &CellPlace, _found: Lookup, stamp: Stamp) {
        if !TIMED || stamp.half || self.fresh == Some((*place, stamp.now())) {
            return;
        }
        for (line, slots) in self.layout.lines(place.0) {
            let mut line = self.cells.line_mut(line, stamp.now());
            slots.for_each(|slot| line.touch(slot, stamp));
        }
    }

    fn insert(&mut self, place: &CellPlace, state: State, stamp: Stamp) -> Insertion {
        self.fresh = None;
        let (mut shared_cells, mut saturations) = (0, 0);
        let mut salts = R::salts(place.0);
        for (line, slots) in self.layout.lines(place.0) {
            let mut line = self.cells.line_mut(line, stamp.now());
            slots.for_each(|slot| {
                let Some(salt) = salts.next() else { return };
                let insert = |cell| self.rule.insert(cell, salt, state);
                let (old, new) = line.update(slot, stamp, insert);
                shared_cells += usize::from(old != 0);
                let saturates = self.rule.is_saturated(new) && !self.rule.is_saturated(old);
                saturations += u64::from(saturates);
            });
        }
        self.counts.inserted += 1;
        self.counts.saturations += saturations;
        self.counts.cells_shared += shared_cells as u64;
        self.counts.inserts_of_present += u64::from(shared_cells == self.layout.hashes());
        Insertion::Stored { shared_cells }
    }

    fn modify(&mut self, place: &CellPlace, old: Lookup, new: State, stamp: Stamp) {
        let Some(old) = Self::old_state(old) else { return self.touch(place, old, stamp) };
        self.fresh = None;
        let mut absent = false;
        let mut salts = R::salts(place.0);
        for (line, slots) in self.layout.lines(place.0) {
            let mut line = self.cells.line_mut(line, stamp.now());
            slots.for_each(|slot| {
                let Some(salt) = salts.next() else { return };
                let (before, _) = line.update(slot, stamp, |cell| match cell {
                    0 => 0,
                    _ => self.rule.modify(cell, salt, old, new),
                });
                absent |= before == 0;
            });
        }
        self.counts.writes_to_absent += u64::from(absent);
    }

    fn delete(&mut self, place: &CellPlace, old: Lookup, now: Epoch) {
        let Some(old) = Self::old_state(old) else { return };
        self.fresh = None;
        let mut absent = false;
        let mut salts = R::salts(place.0);
        for (line, slots) in self.layout.lines(place.0) {
            let mut line = self.cells.line_mut(line, now);
            slots.for_each(|slot| {
                let Some(salt) = salts.next() else { return };
                let (before, _) = line.replace(slot, |cell| match cell {
                    0 => 0,
                    _ => self.rule.delete(cell, salt, old),
                });
                absent |= before == 0;
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
    use crate::store::{Sbf, SbfRule};

    /// Two flows, one cell: a touch that lookup thought needless is needed after all when the cell
    /// was emptied and filled in between.
    #[test]
    fn writes_between_lookup_and_touch_are_seen() {
        let spec =
            StoreSpec { flows: 1, budget: Budget::FpRate(0.5), ..StoreSpec::new(Backend::Sbf, 6) };
        let sizing = spec.sizing().unwrap();
        let mut one_cell = Sbf::<8, true>::new(SbfRule::new(SbfRules::Stateful), &sizing).unwrap();
        assert_eq!(one_cell.stats().cells, 1);
        let [a, b] = [1, 2].map(CellPlace);
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
