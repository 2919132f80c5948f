//! The direct Bloom filter of (flow, state).

use super::{Counts, Grid, Shape, Slow};
use crate::support::Flow;
use acsm_filters::{Lookup, State};

pub struct SlowDbf {
    grid: Grid<u32>,
    states: usize,
    /// 3 or 15 with counters, 1 without.
    count_max: u32,
}

impl SlowDbf {
    pub fn new(shape: Shape, states: usize, count_max: u32) -> SlowDbf {
        SlowDbf { grid: Grid::new(shape), states, count_max }
    }

    fn element(&self, flow: &Flow, state: State) -> Vec<usize> {
        self.grid.element_positions(flow.id.position_bits(), state.index() as u64)
    }

    fn hits(&self, flow: &Flow) -> Vec<State> {
        let states = (0..self.states).map(|i| State::new(i).unwrap());
        states.filter(|&state| self.grid.all_used(&self.element(flow, state))).collect()
    }

    fn add(&mut self, flow: &Flow, state: State, at: i64) {
        for i in self.element(flow, state) {
            let (count, touched) = self.grid.cells[i].unwrap_or((0, at));
            let saturates = count + 1 == self.count_max && self.count_max > 1;
            self.grid.counts.saturations += u64::from(saturates);
            self.grid.cells[i] = Some(((count + 1).min(self.count_max), touched.max(at)));
        }
    }

    fn take(&mut self, flow: &Flow, state: State) {
        let positions = self.element(flow, state);
        self.grid.counts.writes_to_absent += u64::from(!self.grid.all_used(&positions));
        for i in positions {
            match self.grid.cells[i] {
                Some((count, _)) if count == self.count_max => {}
                Some((1, _)) => self.grid.cells[i] = None,
                Some((count, touched)) => self.grid.cells[i] = Some((count - 1, touched)),
                None => {}
            }
        }
    }
}

impl Slow for SlowDbf {
    fn advance(&mut self, now: i64) {
        self.grid.advance(now);
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        match self.hits(flow)[..] {
            [] => Lookup::Absent,
            [state] => Lookup::Known(state),
            _ => Lookup::DontKnow,
        }
    }

    fn touch(&mut self, flow: &Flow, found: Lookup, at: i64) {
        let states = match found {
            Lookup::Known(state) => vec![state],
            Lookup::DontKnow => self.hits(flow),
            Lookup::Absent => (0..self.states).map(|i| State::new(i).unwrap()).collect(),
        };
        for state in states {
            let positions = self.element(flow, state);
            self.grid.touch(&positions, at);
        }
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        let present = self.grid.all_used(&self.element(flow, state));
        self.grid.counts.inserts_of_present += u64::from(present);
        self.add(flow, state, at);
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        match old {
            Lookup::Known(old) if old != new => {
                self.take(flow, old);
                self.add(flow, new, at);
            }
            _ => self.touch(flow, old, at),
        }
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        if let Lookup::Known(old) = old {
            self.take(flow, old);
        }
    }

    fn counts(&self) -> Counts {
        self.grid.counts()
    }
}
