//! Stores that start again empty when they are full, in one phase or two, around any slow store.

use super::{Counts, Slow, sum};
use crate::support::Flow;
use acsm_filters::{Lookup, State};

/// When a store is full.
#[derive(Debug, Clone, Copy)]
pub enum Full {
    /// With more cells in use than this.
    Beyond(u64),
    /// With this many insertions that took an empty cell.
    Insertions(u64),
}

pub struct SlowRecycling {
    make: Box<dyn Fn() -> Box<dyn Slow>>,
    /// One store, or the active and the frozen one.
    stores: Vec<Box<dyn Slow>>,
    full: Full,
    retain: bool,
    insertions: u64,
    recycles: u64,
    /// Counts of stores that are no more.
    past: Counts,
}

impl SlowRecycling {
    pub fn new(
        make: impl Fn() -> Box<dyn Slow> + 'static,
        phases: usize,
        full: Full,
        retain: bool,
    ) -> SlowRecycling {
        let stores = (0..phases).map(|_| make()).collect();
        let past = Counts::default();
        SlowRecycling {
            make: Box::new(make),
            stores,
            full,
            retain,
            insertions: 0,
            recycles: 0,
            past,
        }
    }

    /// Which store has the flow: the active one if none does.
    fn which(&self, flow: &Flow) -> usize {
        self.stores.iter().position(|store| store.lookup(flow) != Lookup::Absent).unwrap_or(0)
    }

    fn occupied(&self) -> u64 {
        self.stores[0].counts().occupied
    }

    fn admit(&mut self, flow: &Flow, state: State, at: i64) {
        let before = self.occupied();
        self.stores[0].insert(flow, state, at);
        self.insertions += u64::from(self.occupied() > before);
    }

    /// Starts a new cycle if the store is full. Returns whether it did.
    fn recycle(&mut self) -> bool {
        let full = match self.full {
            Full::Beyond(cells) => self.occupied() > cells,
            Full::Insertions(most) => self.insertions >= most,
        };
        if full {
            self.recycles += 1;
            self.insertions = 0;
            self.stores.insert(0, (self.make)());
            let gone = self.stores.pop().unwrap().counts();
            self.past = sum(self.past, Counts { occupied: 0, ..gone });
        }
        full
    }
}

impl Slow for SlowRecycling {
    fn advance(&mut self, _now: i64) {}

    fn lookup(&self, flow: &Flow) -> Lookup {
        self.stores[self.which(flow)].lookup(flow)
    }

    fn touch(&mut self, flow: &Flow, found: Lookup, at: i64) {
        if let Lookup::Known(state) = found
            && self.which(flow) == 1
        {
            self.modify(flow, found, state, at);
        }
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        self.admit(flow, state, at);
        if self.recycle() && self.retain && self.stores.len() == 1 {
            self.admit(flow, state, at);
        }
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        match (self.which(flow), old) {
            (1, Lookup::Known(_)) => {
                self.stores[1].delete(flow, old);
                self.admit(flow, new, at);
                self.recycle();
            }
            (1, _) => self.stores[1].modify(flow, old, new, at),
            _ => {
                let before = self.occupied();
                self.stores[0].modify(flow, old, new, at);
                let grown = self.occupied() > before && matches!(self.full, Full::Beyond(_));
                if grown && self.recycle() && self.retain && self.stores.len() == 1 {
                    self.admit(flow, new, at);
                }
            }
        }
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        let which = self.which(flow);
        self.stores[which].delete(flow, old);
    }

    fn counts(&self) -> Counts {
        let all = self.stores.iter().map(|store| store.counts()).fold(self.past, sum);
        Counts { recycles: self.recycles, ..all }
    }
}
