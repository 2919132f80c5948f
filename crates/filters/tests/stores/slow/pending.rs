//! The pending table as a list of flows per line, the flow used last in front: whole epochs, whole
//! numbers, no slots of any width.

use std::collections::VecDeque;

use acsm_filters::pending::End;
use acsm_filters::{FlowId, State};

const SLOTS_PER_LINE: usize = 12;
const TAGS: u64 = 1 << 22;
/// Where a slot has two states.
const DIRECTED_TAGS: u64 = 1 << 17;
const SUMS: i64 = 4096;
const BYTES_PER_UNIT: u32 = 1 << 20;

/// A packet, as far as evidence is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    Syn,
    /// Sequence and acknowledgement number.
    SynAck([u32; 2]),
    Plain(End, [u32; 2]),
    Reset,
}

/// The ends that were heard, and the numbers of the last segment that had both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heard {
    pub forward: bool,
    pub backward: bool,
    numbers: Option<[u32; 2]>,
}

/// A flow that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub state: State,
    pub heard: Heard,
}

/// What a slot has: one flow, or both directions of a connection.
#[derive(Debug, Clone, Copy)]
struct Slot {
    tag: u64,
    /// By whether it is the second direction.
    flows: [Option<Waiting>; 2],
    used: i64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub used: u64,
    pub inserted: u64,
    pub admitted: u64,
    pub retired: u64,
    pub lost: u64,
}

pub struct SlowPending {
    lines: Vec<VecDeque<Slot>>,
    is_directed: bool,
    counts: Counts,
}

/// Whether both segments can be of one connection: their sums are at most two units apart, either
/// way around.
fn agree(one: Option<[u32; 2]>, other: [u32; 2]) -> bool {
    let sum = |numbers: [u32; 2]| i64::from(numbers[0].wrapping_add(numbers[1]) / BYTES_PER_UNIT);
    one.is_some_and(|one| {
        let apart = (sum(one) - sum(other)).abs();
        apart.min(SUMS - apart) <= 2
    })
}

impl Heard {
    pub fn both(self) -> bool {
        self.forward && self.backward
    }

    pub fn hear(&mut self, packet: Packet) {
        match packet {
            Packet::Syn => *self = Heard::default(),
            Packet::SynAck(numbers) => {
                if !agree(self.numbers, numbers) {
                    (self.forward, self.backward) = (false, false);
                }
                self.numbers = Some(numbers);
            }
            Packet::Plain(end, numbers) if !self.both() => {
                if !agree(self.numbers, numbers) {
                    (self.forward, self.backward) = (false, false);
                }
                match end {
                    End::Forward => self.forward = true,
                    End::Backward => self.backward = true,
                }
                self.numbers = Some(numbers);
            }
            Packet::Plain(..) | Packet::Reset => {}
        }
    }

    pub fn reversed(self) -> Heard {
        Heard { forward: self.backward, backward: self.forward, ..self }
    }
}

impl SlowPending {
    pub fn new(lines: usize, is_directed: bool) -> SlowPending {
        SlowPending { lines: vec![VecDeque::new(); lines], is_directed, counts: Counts::default() }
    }

    pub fn advance(&mut self, now: i64) {
        let before = self.used();
        for line in &mut self.lines {
            line.retain(|slot| slot.used >= now - 1);
        }
        self.counts.retired += before - self.used();
    }

    pub fn find(&self, id: FlowId) -> Option<Waiting> {
        let (line, tag, side) = self.look(id);
        self.lines[line].iter().find(|slot| slot.tag == tag).and_then(|slot| slot.flows[side])
    }

    /// A packet leaves its flow like this, and its reverse has heard the same.
    pub fn put(&mut self, id: FlowId, state: State, heard: Heard, now: i64) {
        let (line, tag, side) = self.look(id);
        let mut flows = self.take(id).map_or([None; 2], |slot| slot.flows);
        if flows == [None; 2] {
            self.counts.inserted += 1;
        }
        flows[side] = Some(Waiting { state, heard });
        if let Some(reverse) = &mut flows[1 - side] {
            reverse.heard = heard.reversed();
        }
        self.lines[line].push_front(Slot { tag, flows, used: now });
        if self.lines[line].len() > SLOTS_PER_LINE {
            self.lines[line].pop_back();
            self.counts.lost += 1;
        }
    }

    /// The flow enters the store; what its reverse has heard is that of the flow.
    pub fn admit(&mut self, id: FlowId, heard: Heard, now: i64) {
        let (line, _, side) = self.look(id);
        let Some(mut slot) = self.take(id) else { return };
        slot.flows[side] = None;
        match &mut slot.flows[1 - side] {
            None => self.counts.admitted += 1,
            Some(reverse) => {
                reverse.heard = heard.reversed();
                slot.used = now;
                self.lines[line].push_front(slot);
            }
        }
    }

    /// The flow is deleted.
    pub fn delete(&mut self, id: FlowId) {
        let (line, tag, side) = self.look(id);
        let Some(slot) = self.lines[line].iter_mut().find(|slot| slot.tag == tag) else { return };
        slot.flows[side] = None;
        if slot.flows == [None; 2] {
            self.take(id);
            self.counts.retired += 1;
        }
    }

    pub fn counts(&self) -> Counts {
        Counts { used: self.used(), ..self.counts }
    }

    fn used(&self) -> u64 {
        self.lines.iter().map(|line| line.len() as u64).sum()
    }

    fn take(&mut self, id: FlowId) -> Option<Slot> {
        let (line, tag, _) = self.look(id);
        let at = self.lines[line].iter().position(|slot| slot.tag == tag)?;
        self.lines[line].remove(at)
    }

    /// The line and the tag of a flow, which flows that look alike have in common, and which direction
    /// of its connection it is.
    fn look(&self, id: FlowId) -> (usize, u64, usize) {
        let line = id.salt() as usize * self.lines.len() / (1 << 28);
        if !self.is_directed {
            return (line, id.position_bits() % TAGS, 0);
        }
        let is_second = id.fingerprint() >> 31 == 1;
        let first = if is_second { id.reverse() } else { id };
        (line, first.position_bits() % DIRECTED_TAGS, usize::from(is_second))
    }
}
