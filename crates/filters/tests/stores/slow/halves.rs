//! Two stores that take turns with the epoch, around any slow store: the active one, and the one
//! that was active in the epoch before.

use super::{Counts, Slow, sum};
use crate::support::Flow;
use acsm_filters::{Lookup, State};

pub struct SlowHalves {
    make: Box<dyn Fn() -> Box<dyn Slow>>,
    active: Box<dyn Slow>,
    frozen: Box<dyn Slow>,
    epoch: i64,
    /// Whether a flow in an unknown state can be written.
    pub writes_unknown: bool,
    /// Counts of halves that are no more.
    past: Counts,
}

impl SlowHalves {
    pub fn new(make: impl Fn() -> Box<dyn Slow> + 'static, start: i64) -> SlowHalves {
        let (active, frozen) = (make(), make());
        let (writes_unknown, past) = (false, Counts::default());
        SlowHalves { make: Box::new(make), active, frozen, epoch: start, writes_unknown, past }
    }

    /// Whether the frozen half answers for this flow.
    fn is_in_frozen(&self, flow: &Flow) -> bool {
        self.active.lookup(flow) == Lookup::Absent && self.frozen.lookup(flow) != Lookup::Absent
    }

    fn can_be_written(&self, old: Lookup) -> bool {
        match old {
            Lookup::Known(_) => true,
            Lookup::DontKnow => self.writes_unknown,
            Lookup::Absent => false,
        }
    }

    /// The next epoch.
    fn turn(&mut self) {
        let active = std::mem::replace(&mut self.active, (self.make)());
        let gone = std::mem::replace(&mut self.frozen, active).counts();
        let aged = gone.aged + gone.occupied;
        self.past = sum(self.past, Counts { occupied: 0, aged, ..gone });
    }
}

impl Slow for SlowHalves {
    fn advance(&mut self, now: i64) {
        for _ in 0..(now - self.epoch).min(2) {
            self.turn();
        }
        self.epoch = now;
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        match self.active.lookup(flow) {
            Lookup::Absent => self.frozen.lookup(flow),
            answer => answer,
        }
    }

    fn touch(&mut self, flow: &Flow, found: Lookup, at: i64) {
        if let Lookup::Known(state) = found
            && at == self.epoch
            && self.is_in_frozen(flow)
        {
            self.active.insert(flow, state, at);
        } else if self.active.lookup(flow) != Lookup::Absent {
            self.active.touch(flow, found, at);
        }
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        match at == self.epoch {
            true => self.active.insert(flow, state, at),
            false => self.frozen.insert(flow, state, at),
        }
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        match (self.is_in_frozen(flow), at == self.epoch) {
            (false, _) => self.active.modify(flow, old, new, at),
            (true, false) => self.frozen.modify(flow, old, new, at),
            (true, true) if self.can_be_written(old) => self.active.insert(flow, new, at),
            (true, true) => {}
        }
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        if !self.can_be_written(old) {
            return;
        }
        if self.is_in_frozen(flow) {
            return self.frozen.delete(flow, old);
        }
        self.active.delete(flow, old);
        let left = self.frozen.lookup(flow);
        self.frozen.delete(flow, left);
    }

    fn counts(&self) -> Counts {
        sum(self.past, sum(self.active.counts(), self.frozen.counts()))
    }
}
