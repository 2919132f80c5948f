//! The bhbf: what can be in a cell by trying every choice of codes.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::{Counts, Grid, Shape, Slow};
use crate::support::Flow;
use acsm_filters::digest::mix;
use acsm_filters::{Lookup, State};

const CODES: [u32; 16] =
    [1, 2159, 3891, 3680, 1548, 210, 448, 601, 3766, 3534, 697, 1000, 1262, 1089, 1929, 865];

/// By count and sum: the codes, by number, that are in some choice of `count` codes with that sum.
type InSums = HashMap<Cell, HashSet<usize>>;

/// All choices of up to five codes; of six and more, any could be there.
static IN_SUMS: LazyLock<InSums> = LazyLock::new(|| {
    let mut found = HashMap::new();
    choose(&mut vec![], 0, 5, &mut found);
    found
});

pub struct SlowBhbf {
    grid: Grid<Cell>,
    states: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Cell {
    count: u32,
    sum: u32,
}

/// Notes every choice of up to `left` more codes, none before `first`.
fn choose(chosen: &mut Vec<usize>, first: usize, left: u32, found: &mut InSums) {
    if !chosen.is_empty() {
        let sum = chosen.iter().map(|&i| CODES[i]).sum::<u32>() % 4095;
        found.entry(Cell { count: chosen.len() as u32, sum }).or_default().extend(&*chosen);
    }
    if left > 0 {
        for next in first..16 {
            chosen.push(next);
            choose(chosen, next, left - 1, found);
            chosen.pop();
        }
    }
}

impl SlowBhbf {
    pub fn new(shape: Shape, states: usize) -> SlowBhbf {
        SlowBhbf { grid: Grid::new(shape), states }
    }

    /// Each cell of the flow, with the salt that the flow has there.
    fn salted(&self, flow: &Flow) -> Vec<(usize, usize)> {
        let digest = flow.id.position_bits();
        let salt = |i: usize| {
            let steps = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(1 + i as u64 / 16);
            let word = mix((digest ^ 0x6a09_e667_f3bc_c908).wrapping_add(steps));
            (word >> (4 * (i % 16))) as usize & 15
        };
        self.grid
            .positions(digest)
            .into_iter()
            .enumerate()
            .map(|(i, cell)| (cell, salt(i)))
            .collect()
    }

    fn code(state: State, salt: usize) -> u32 {
        CODES[(state.index() + salt) % 16]
    }

    fn can_be(cell: Cell, number: usize) -> bool {
        cell.count > 5 || IN_SUMS.get(&cell).is_some_and(|codes| codes.contains(&number))
    }

    /// Replaces the flow's codes; empty cells and full ones stay as they are.
    fn change(&mut self, flow: &Flow, change: impl Fn(Cell, usize) -> Cell) {
        let cells = self.salted(flow);
        let absent = cells.iter().any(|&(i, _)| self.grid.cells[i].is_none());
        self.grid.counts.writes_to_absent += u64::from(absent);
        for (i, salt) in cells {
            if let Some((cell, touched)) = self.grid.cells[i].filter(|(cell, _)| cell.count < 15) {
                let new = change(cell, salt);
                self.grid.cells[i] = (new.count > 0).then_some((new, touched));
            }
        }
    }
}

impl Slow for SlowBhbf {
    fn advance(&mut self, now: i64) {
        self.grid.advance(now);
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        let cells = self.salted(flow);
        let is_possible = |state: &State| {
            cells.iter().all(|&(i, salt)| match self.grid.cells[i] {
                Some((cell, _)) => Self::can_be(cell, (state.index() + salt) % 16),
                None => false,
            })
        };
        let states = (0..self.states).map(|i| State::new(i).unwrap());
        match states.filter(is_possible).collect::<Vec<_>>()[..] {
            [] => Lookup::Absent,
            [state] => Lookup::Known(state),
            _ => Lookup::DontKnow,
        }
    }

    fn touch(&mut self, flow: &Flow, _found: Lookup, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        self.grid.touch(&positions, at);
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        let cells = self.salted(flow);
        let present = cells.iter().all(|&(i, _)| self.grid.cells[i].is_some());
        self.grid.counts.inserts_of_present += u64::from(present);
        for (i, salt) in cells {
            let (cell, touched) = self.grid.cells[i].unwrap_or((Cell { count: 0, sum: 0 }, at));
            self.grid.counts.saturations += u64::from(cell.count == 14);
            let sum = (cell.sum + Self::code(state, salt)) % 4095;
            let count = (cell.count + 1).min(15);
            self.grid.cells[i] = Some((Cell { count, sum }, touched.max(at)));
        }
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        if let Lookup::Known(old) = old {
            self.change(flow, |cell, salt| {
                let sum = cell.sum + 4095 - Self::code(old, salt) + Self::code(new, salt);
                Cell { sum: sum % 4095, ..cell }
            });
        }
        self.touch(flow, old, at);
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        if let Lookup::Known(old) = old {
            self.change(flow, |cell, salt| Cell {
                count: cell.count - 1,
                sum: (cell.sum + 4095 - Self::code(old, salt)) % 4095,
            });
        }
    }

    fn counts(&self) -> Counts {
        self.grid.counts()
    }
}
