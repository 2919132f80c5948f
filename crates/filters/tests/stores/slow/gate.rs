//! The gate in front of any slow store, which flows pass with their second packet.

use std::collections::{BTreeSet, HashSet};

use super::{Counts, Grid, Shape, Slow};
use crate::support::Flow;
use acsm_filters::digest::mix;
use acsm_filters::{Lookup, State};

pub struct SlowGate {
    store: Box<dyn Slow>,
    /// Whether the store can do without the old state.
    pub writes_unknown: bool,
    /// Only to say where the bits of an element are.
    grid: Grid<()>,
    /// The bits that are set: in one array, or in the active and the frozen half.
    halves: Vec<HashSet<usize>>,
    /// Full with more bits than this.
    sigma: usize,
    states: BTreeSet<usize>,
    now: i64,
    counts: Counts,
}

const ADMITTED: usize = 15;

impl SlowGate {
    pub fn new(
        store: Box<dyn Slow>,
        shape: Shape,
        halves: usize,
        sigma: usize,
        now: i64,
    ) -> SlowGate {
        SlowGate {
            store,
            writes_unknown: false,
            grid: Grid::new(shape),
            halves: vec![HashSet::new(); halves],
            sigma,
            states: BTreeSet::new(),
            now,
            counts: Counts::default(),
        }
    }

    fn bits(&self, flow: &Flow, element: usize) -> Vec<usize> {
        let digest = mix(flow.id.position_bits() ^ u64::from_be_bytes(*b"gatekeep"));
        self.grid.element_positions(digest, element as u64)
    }

    fn has(&self, flow: &Flow, element: usize) -> bool {
        let bits = self.bits(flow, element);
        self.halves.iter().any(|half| bits.iter().all(|bit| half.contains(bit)))
    }

    fn add(&mut self, flow: &Flow, element: usize) {
        let bits = self.bits(flow, element);
        self.halves[0].extend(&bits);
        if self.halves[0].len() > self.sigma {
            self.counts.gate_recycles += 1;
            self.swap_halves();
            if self.halves.len() == 1 {
                self.halves[0].extend(bits);
            }
        }
    }

    fn swap_halves(&mut self) {
        self.halves.insert(0, HashSet::new());
        self.halves.pop();
    }

    fn is_in_store(&self, flow: &Flow) -> bool {
        self.store.lookup(flow) != Lookup::Absent
    }

    fn pass(&mut self, flow: &Flow, state: State, at: i64) {
        self.counts.gate_passed += 1;
        self.add(flow, ADMITTED);
        self.store.insert(flow, state, at);
    }
}

impl Slow for SlowGate {
    fn advance(&mut self, now: i64) {
        self.store.advance(now);
        if self.halves.len() == 2 {
            (self.now..now).take(2).for_each(|_| self.swap_halves());
        }
        self.now = now;
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        if self.is_in_store(flow) {
            return self.store.lookup(flow);
        }
        if self.has(flow, ADMITTED) {
            return Lookup::Absent;
        }
        let hits: Vec<usize> =
            self.states.iter().copied().filter(|&state| self.has(flow, state)).collect();
        match hits[..] {
            [] => Lookup::Absent,
            [state] => Lookup::Known(State::new(state).unwrap()),
            _ => Lookup::DontKnow,
        }
    }

    fn touch(&mut self, flow: &Flow, found: Lookup, at: i64) {
        match found {
            _ if self.is_in_store(flow) => self.store.touch(flow, found, at),
            Lookup::Absent => self.store.touch(flow, found, at),
            Lookup::Known(state) => self.pass(flow, state, at),
            Lookup::DontKnow => self.counts.gate_dont_know += 1,
        }
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        if self.is_in_store(flow) || self.has(flow, ADMITTED) || state.index() == ADMITTED {
            return self.store.insert(flow, state, at);
        }
        self.counts.gate_held += 1;
        self.states.insert(state.index());
        self.add(flow, state.index());
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        if self.is_in_store(flow) || old == Lookup::Absent {
            return self.store.modify(flow, old, new, at);
        }
        self.counts.gate_dont_know += u64::from(old == Lookup::DontKnow);
        if old != Lookup::DontKnow || self.writes_unknown {
            self.pass(flow, new, at);
        }
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        if self.is_in_store(flow) || old == Lookup::Absent {
            return self.store.delete(flow, old);
        }
        if old != Lookup::DontKnow || self.writes_unknown {
            self.add(flow, ADMITTED);
        }
    }

    fn expect_full(&mut self) {
        self.store.expect_full();
    }

    fn counts(&self) -> Counts {
        Counts {
            gate_held: self.counts.gate_held,
            gate_passed: self.counts.gate_passed,
            gate_dont_know: self.counts.gate_dont_know,
            gate_recycles: self.counts.gate_recycles,
            ..self.store.counts()
        }
    }
}
