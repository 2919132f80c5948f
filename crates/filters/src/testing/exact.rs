//! The slow model of an exact table: a plain list, the longest idle first.

use super::{Counts, Flow, SlowStore};

use crate::state::{Lookup, State};

/// A table of flows and states as a plain list.
#[derive(Debug)]
pub struct SlowExact {
    flows: Vec<Entry>,
    cap: Option<usize>,
    timed: bool,
    counts: Counts,
}

#[derive(Debug)]
struct Entry {
    key: u32,
    state: State,
    touched: i64,
}

impl SlowExact {
    /// An empty one: of at most `cap` flows, the longest idle of which is evicted for a new one; `timed` if flows
    /// age.
    pub fn new(cap: Option<usize>, timed: bool) -> SlowExact {
        SlowExact { flows: vec![], cap, timed, counts: Counts::default() }
    }

    fn position(&self, flow: &Flow) -> Option<usize> {
        self.flows.iter().position(|entry| entry.key == flow.key)
    }

    /// Puts an entry behind all that were touched before it or are stamped older.
    fn put(&mut self, entry: Entry) {
        let behind = self.flows.iter().rposition(|other| other.touched <= entry.touched);
        self.flows.insert(behind.map_or(0, |i| i + 1), entry);
    }
}

impl SlowStore for SlowExact {
    fn advance(&mut self, now: i64) {
        if self.timed {
            let before = self.flows.len();
            self.flows.retain(|entry| entry.touched >= now - 1);
            self.counts.aged += (before - self.flows.len()) as u64;
        }
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        self.position(flow).map_or(Lookup::Absent, |i| Lookup::Known(self.flows[i].state))
    }

    fn touch(&mut self, flow: &Flow, _found: Lookup, at: i64) {
        if let Some(i) = self.position(flow) {
            let mut entry = self.flows.remove(i);
            entry.touched = if self.timed { entry.touched.max(at) } else { 0 };
            self.put(entry);
        }
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        if let Some(i) = self.position(flow) {
            self.counts.inserts_of_present += 1;
            self.flows.remove(i);
        }
        if self.cap == Some(self.flows.len()) {
            self.flows.remove(0);
            self.counts.evicted += 1;
        }
        self.put(Entry { key: flow.key, state, touched: if self.timed { at } else { 0 } });
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        match self.position(flow) {
            Some(i) => self.flows[i].state = new,
            None => self.counts.writes_to_absent += 1,
        }
        self.touch(flow, old, at);
    }

    fn delete(&mut self, flow: &Flow, _old: Lookup) {
        match self.position(flow) {
            Some(i) => drop(self.flows.remove(i)),
            None => self.counts.writes_to_absent += 1,
        }
    }

    fn counts(&self) -> Counts {
        Counts { occupied: self.flows.len() as u64, ..self.counts }
    }
}
