//! The stateful Bloom filter, by its table.

use super::{Counts, Grid, Shape, Slow};
use crate::support::Flow;
use acsm_filters::{Lookup, State};

pub struct SlowSbf {
    grid: Grid<Cell>,
    count_max: u32,
    rules: SlowRules,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowRules {
    Stateful,
    /// A cell remembers what all of its flows but one have in common, and is repaired.
    Lasting,
    PaperKbf,
    /// A cell does not know how many flows it has.
    NoCounters,
}

#[derive(Clone, Copy)]
struct Cell {
    count: u32,
    value: Value,
}

/// The states of the flows on a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    All(State),
    AllButOne(State),
    DontKnow,
}

impl SlowSbf {
    pub fn new(shape: Shape, count_max: u32, rules: SlowRules) -> SlowSbf {
        SlowSbf { grid: Grid::new(shape), count_max, rules }
    }

    /// Several flows in this state, and one in another.
    fn all_but_one(&self, rest: State) -> Value {
        // 32 values: 16 states, don't know, and all but one of 15 states.
        match self.rules == SlowRules::Lasting && rest.index() < 15 {
            true => Value::AllButOne(rest),
            false => Value::DontKnow,
        }
    }

    fn inserted(&self, value: Value, new: State) -> Value {
        match value {
            Value::All(state) if state == new && self.rules != SlowRules::PaperKbf => value,
            Value::All(state) => self.all_but_one(state),
            Value::AllButOne(rest) if rest == new => value,
            _ => Value::DontKnow,
        }
    }

    fn modified(&self, cell: Cell, old: Lookup, new: State) -> Value {
        let is_apart = |rest: State| match old {
            Lookup::Known(old) => Some(old != rest),
            _ => None,
        };
        match cell.value {
            _ if cell.count == 1 && self.rules == SlowRules::Lasting => Value::All(new),
            Value::All(_) if cell.count == 1 && self.rules != SlowRules::NoCounters => {
                Value::All(new)
            }
            Value::All(state) if state == new && self.rules != SlowRules::PaperKbf => cell.value,
            Value::All(state) => self.all_but_one(state),
            Value::AllButOne(rest) => match (is_apart(rest), new == rest) {
                (Some(true), true) => Value::All(rest),
                (Some(true), false) | (Some(false), true) => cell.value,
                (Some(false), false) | (None, _) => Value::DontKnow,
            },
            Value::DontKnow => Value::DontKnow,
        }
    }

    fn after_deletion(cell: Cell, old: Lookup) -> Value {
        match (cell.value, old) {
            (Value::AllButOne(rest), Lookup::Known(old)) if old != rest => Value::All(rest),
            (Value::AllButOne(_), Lookup::Known(_)) if cell.count > 2 => cell.value,
            (Value::AllButOne(_), _) => Value::DontKnow,
            _ => cell.value,
        }
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
        let states = cells.filter_map(|(cell, _)| match cell.value {
            Value::All(state) => Some(state),
            _ => None,
        });
        match states.collect::<Vec<_>>()[..] {
            [] => Lookup::DontKnow,
            [first, ref others @ ..] if others.iter().all(|&other| other == first) => {
                Lookup::Known(first)
            }
            _ => Lookup::Absent,
        }
    }

    fn touch(&mut self, flow: &Flow, found: Lookup, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        if let (Lookup::Known(state), Lookup::Known(_)) = (found, self.lookup(flow))
            && self.rules == SlowRules::Lasting
        {
            for &i in &positions {
                if let Some((Cell { count: 1, value }, _)) = &mut self.grid.cells[i]
                    && *value == Value::DontKnow
                {
                    *value = Value::All(state);
                }
            }
        }
        self.grid.touch(&positions, at);
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        let positions = self.grid.positions(flow.id.position_bits());
        self.grid.counts.inserts_of_present += u64::from(self.grid.all_used(&positions));
        for i in positions {
            self.grid.cells[i] = Some(match self.grid.cells[i] {
                None => (Cell { count: 1, value: Value::All(state) }, at),
                Some((cell, touched)) if self.rules == SlowRules::NoCounters => {
                    let value = self.inserted(cell.value, state);
                    (Cell { value, ..cell }, touched.max(at))
                }
                Some((cell, touched)) => {
                    self.grid.counts.saturations += u64::from(cell.count + 1 == self.count_max);
                    let value = self.inserted(cell.value, state);
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
                if let Some((cell, touched)) = self.grid.cells[i] {
                    let value = self.modified(cell, old, new);
                    self.grid.cells[i] = Some((Cell { value, ..cell }, touched));
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
                _ if self.rules == SlowRules::NoCounters => {}
                None => {}
                Some((Cell { count: 1, .. }, _)) => self.grid.cells[i] = None,
                Some((cell, _)) if cell.count == count_max => {}
                Some((cell, _)) => {
                    *cell = Cell { count: cell.count - 1, value: Self::after_deletion(*cell, old) };
                }
            }
        }
    }

    fn counts(&self) -> Counts {
        self.grid.counts()
    }
}
