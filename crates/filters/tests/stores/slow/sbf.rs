//! The stateful Bloom filter, by its table.

use super::{Counts, Grid, Shape, Slow};
use crate::support::Flow;
use acsm_filters::{Lookup, State};

pub struct SlowSbf {
    grid: Grid<Cell>,
    count_max: u32,
    paper_kbf: bool,
}

/// `None` is "don't know".
#[derive(Clone, Copy)]
struct Cell {
    count: u32,
    value: Option<State>,
}

impl SlowSbf {
    pub fn new(shape: Shape, count_max: u32, paper_kbf: bool) -> SlowSbf {
        SlowSbf { grid: Grid::new(shape), count_max, paper_kbf }
    }
}

impl Slow for SlowSbf {
    fn advance(&mut self, now: i64) {
        self.grid.advance(now);
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        let positions = self.grid.positions(flow.id.position_bits());
        if !self.grid.all_used(&positions) {
            return Lookup::Absent;
        }
        let cells = positions.iter().filter_map(|&i| self.grid.cells[i]);
        let mut values: Vec<State> = cells.filter_map(|(cell, _)| cell.value).collect();
        values.dedup();
        match values[..] {
            [] => Lookup::DontKnow,
            [state] => Lookup::Known(state),
            [first, ..] if values.iter().all(|&value| value == first) => Lookup::Known(first),
            _ => Lookup::Absent,
        }
    }

    fn touch(&mut self, flow: &Flow, _found: Lookup, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        self.grid.touch(&positions, at);
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        self.grid.counts.inserts_of_present += u64::from(self.grid.all_used(&positions));
        for i in positions {
            let slot = &mut self.grid.cells[i];
            *slot = Some(match *slot {
                None => (Cell { count: 1, value: Some(state) }, at),
                Some((cell, touched)) => {
                    self.grid.counts.saturations += u64::from(cell.count + 1 == self.count_max);
                    let same = cell.value == Some(state) && !self.paper_kbf;
                    let value = if same { cell.value } else { None };
                    let count = (cell.count + 1).min(self.count_max);
                    (Cell { count, value }, touched.max(at))
                }
            });
        }
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        if old != Lookup::Absent {
            self.grid.counts.writes_to_absent += u64::from(!self.grid.all_used(&positions));
            for &i in &positions {
                let Some((cell, _)) = &mut self.grid.cells[i] else { continue };
                if cell.value.is_none() {
                    continue;
                }
                if cell.count == 1 {
                    cell.value = Some(new);
                } else if cell.value != Some(new) || self.paper_kbf {
                    cell.value = None;
                }
            }
        }
        self.grid.touch(&positions, at);
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        if old == Lookup::Absent {
            return;
        }
        let positions = self.grid.positions(flow.id.position_bits());
        self.grid.counts.writes_to_absent += u64::from(!self.grid.all_used(&positions));
        for i in positions {
            let count_max = self.count_max;
            match &mut self.grid.cells[i] {
                None => {}
                Some((cell, _)) if cell.count == count_max => {}
                Some((Cell { count: 1, .. }, _)) => self.grid.cells[i] = None,
                Some((cell, _)) => cell.count -= 1,
            }
        }
    }

    fn counts(&self) -> Counts {
        self.grid.counts()
    }
}
