//! The fingerprint cuckoo filter as a bag of (fingerprint, two buckets, state). Nothing here has a
//! slot: whether one more fits is decided for the whole bag, by matching its flows to buckets.

use super::{Counts, Slow};
use crate::support::Flow;
use acsm_filters::digest::mix;
use acsm_filters::{Lookup, State};

pub struct SlowFcf {
    entries: Vec<Entry>,
    buckets: usize,
    fingerprints: u128,
    timed: bool,
    /// Whether the insertion that follows is refused…
    expects_full: bool,
    /// …and whether the last one was: only then it may be without need.
    was_full: bool,
    counts: Counts,
}

#[derive(Clone, Copy)]
struct Entry {
    look: Look,
    state: State,
    touched: i64,
}

/// What the filter sees of a flow: flows with the same look are one.
#[derive(Clone, Copy, PartialEq)]
struct Look {
    fingerprint: u128,
    /// The smaller first.
    buckets: [usize; 2],
}

impl SlowFcf {
    pub fn new(buckets: usize, states: usize, slot_bits: u32, timed: bool) -> SlowFcf {
        let fingerprints = (2u128.pow(slot_bits) - 1) / states as u128;
        let fingerprints = fingerprints.min(u32::MAX.into());
        SlowFcf {
            entries: vec![],
            buckets,
            fingerprints,
            timed,
            expects_full: false,
            was_full: false,
            counts: Counts::default(),
        }
    }

    fn look(&self, flow: &Flow) -> Look {
        let fingerprint = u128::from(flow.id.fingerprint()) * self.fingerprints / (1 << 32);
        let part = |bits: u64| (u128::from(bits) * self.buckets as u128 / (1 << 64)) as usize;
        let first = part(flow.id.position_bits());
        let second = (part(mix(fingerprint as u64)) + self.buckets - first) % self.buckets;
        Look { fingerprint, buckets: [first.min(second), first.max(second)] }
    }

    fn of(&self, flow: &Flow) -> Vec<usize> {
        let look = self.look(flow);
        (0..self.entries.len()).filter(|&i| self.entries[i].look == look).collect()
    }

    /// The one in this state that was touched least recently.
    fn oldest(&mut self, flow: &Flow, state: State) -> Option<usize> {
        let in_state = self.of(flow).into_iter().filter(|&i| self.entries[i].state == state);
        let found = in_state.min_by_key(|&i| self.entries[i].touched);
        self.counts.writes_to_absent += u64::from(found.is_none());
        found
    }

    /// Whether the flows so far and one more can be given to buckets, four to each.
    fn fits(&self, look: Look) -> bool {
        let mut homes: Vec<[usize; 2]> =
            self.entries.iter().map(|entry| entry.look.buckets).collect();
        homes.push(look.buckets);
        let mut given: Vec<Vec<usize>> = vec![vec![]; self.buckets];
        (0..homes.len()).all(|flow| {
            let mut tried = vec![false; self.buckets];
            give(flow, &homes, &mut given, &mut tried)
        })
    }
}

/// Assigns a flow to one of its buckets, moving flows of that bucket to their other one if necessary.
/// Returns whether that was possible.
fn give(flow: usize, homes: &[[usize; 2]], given: &mut [Vec<usize>], tried: &mut [bool]) -> bool {
    for bucket in homes[flow] {
        if std::mem::replace(&mut tried[bucket], true) {
            continue;
        }
        if given[bucket].len() < 4 {
            given[bucket].push(flow);
            return true;
        }
        for place in 0..4 {
            if give(given[bucket][place], homes, given, tried) {
                given[bucket][place] = flow;
                return true;
            }
        }
    }
    false
}

impl Slow for SlowFcf {
    fn advance(&mut self, now: i64) {
        if self.timed {
            let before = self.entries.len();
            self.entries.retain(|entry| entry.touched >= now - 1);
            self.counts.aged += (before - self.entries.len()) as u64;
        }
    }

    fn lookup(&self, flow: &Flow) -> Lookup {
        let states: Vec<State> = self.of(flow).iter().map(|&i| self.entries[i].state).collect();
        match states[..] {
            [] => Lookup::Absent,
            [first, ..] if states.iter().all(|&state| state == first) => Lookup::Known(first),
            _ => Lookup::DontKnow,
        }
    }

    fn touch(&mut self, flow: &Flow, _found: Lookup, at: i64) {
        for i in self.of(flow) {
            let touched = &mut self.entries[i].touched;
            *touched = at.max(*touched);
        }
    }

    fn insert(&mut self, flow: &Flow, state: State, at: i64) {
        let look = self.look(flow);
        self.counts.inserts_of_present += u64::from(!self.of(flow).is_empty());
        let gives_up = std::mem::take(&mut self.expects_full) && self.was_full;
        self.was_full = gives_up || !self.fits(look);
        match self.was_full {
            false => self.entries.push(Entry { look, state, touched: at }),
            true => self.counts.full += 1,
        }
    }

    fn expect_full(&mut self) {
        self.expects_full = true;
    }

    fn modify(&mut self, flow: &Flow, old: Lookup, new: State, at: i64) {
        if let Lookup::Known(old) = old
            && let Some(i) = self.oldest(flow, old)
        {
            self.entries[i].state = new;
        }
        self.touch(flow, old, at);
    }

    fn delete(&mut self, flow: &Flow, old: Lookup) {
        if let Lookup::Known(old) = old
            && let Some(i) = self.oldest(flow, old)
        {
            self.entries.swap_remove(i);
        }
    }

    fn counts(&self) -> Counts {
        Counts { occupied: self.entries.len() as u64, ..self.counts }
    }
}
