//! The fingerprint cuckoo filter as a bag of (fingerprint, two windows, state). Nothing here has a
//! slot: whether one more fits is decided for the whole bag, by matching its flows to slots.

use super::{Counts, Slow};
use crate::support::Flow;
use acsm_filters::digest::mix;
use acsm_filters::{Lookup, State};

pub struct SlowFcf {
    entries: Vec<Entry>,
    lines: usize,
    slots_per_line: usize,
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
    /// The line and the first slot of each; the smaller first.
    windows: [(usize, usize); 2],
}

impl SlowFcf {
    pub fn new(slots: usize, states: usize, slot_bits: u32, timed: bool) -> SlowFcf {
        let fingerprints = (2u128.pow(slot_bits) - 1) / (2 * states as u128);
        let fingerprints = fingerprints.min(u32::MAX.into());
        // With the timer a line has 12 bits for its mark, and each slot one for its stamp.
        let slots_per_line = match timed {
            true => 500 / (slot_bits as usize + 1),
            false => 512 / slot_bits as usize,
        };
        let lines = slots / slots_per_line;
        assert_eq!(lines * slots_per_line, slots);
        SlowFcf {
            entries: vec![],
            lines,
            slots_per_line,
            fingerprints,
            timed,
            expects_full: false,
            was_full: false,
            counts: Counts::default(),
        }
    }

    fn look(&self, flow: &Flow) -> Look {
        let fingerprint = u128::from(flow.id.fingerprint()) * self.fingerprints / (1 << 32);
        let window = |bits: u64| {
            let number = u128::from(bits) * (self.lines * self.slots_per_line) as u128 / (1 << 64);
            (number as usize / self.slots_per_line, number as usize % self.slots_per_line)
        };
        let (first, sum) = (window(flow.id.position_bits()), window(mix(fingerprint as u64)));
        let second = (
            (sum.0 + self.lines - first.0) % self.lines,
            (sum.1 + self.slots_per_line - first.1) % self.slots_per_line,
        );
        Look { fingerprint, windows: [first.min(second), first.max(second)] }
    }

    /// The numbers of the four slots that a flow can be in.
    fn slots(&self, look: Look) -> [usize; 4] {
        let slot =
            |(line, first), n| line * self.slots_per_line + (first + n) % self.slots_per_line;
        let [one, other] = look.windows;
        [slot(one, 0), slot(one, 1), slot(other, 0), slot(other, 1)]
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

    /// Whether the flows so far and one more can be given a slot each.
    fn fits(&self, look: Look) -> bool {
        let looks = self.entries.iter().map(|entry| entry.look).chain([look]);
        let choices: Vec<[usize; 4]> = looks.map(|look| self.slots(look)).collect();
        let slots = self.lines * self.slots_per_line;
        let mut given: Vec<Option<usize>> = vec![None; slots];
        (0..choices.len()).all(|flow| give(flow, &choices, &mut given, &mut vec![false; slots]))
    }
}

/// Assigns a flow to one of its slots, moving the flow in that slot to another of its own if
/// necessary. Returns whether that was possible.
fn give(
    flow: usize,
    choices: &[[usize; 4]],
    given: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    choices[flow].into_iter().any(|slot| {
        if std::mem::replace(&mut tried[slot], true) {
            return false;
        }
        let is_free = given[slot].is_none_or(|other| give(other, choices, given, tried));
        if is_free {
            given[slot] = Some(flow);
        }
        is_free
    })
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
