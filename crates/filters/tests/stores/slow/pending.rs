//! The pending table as a list of flows per line, the flow used last in front: whole epochs, whole
//! numbers, no slots of any width.

use std::collections::VecDeque;

use acsm_filters::pending::End;
use acsm_filters::{FlowId, State};

const SLOTS_PER_LINE: usize = 12;
const TAGS: u64 = 1 << 22;
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
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    tag: u64,
    pub state: State,
    pub heard: Heard,
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
    lines: Vec<VecDeque<Waiting>>,
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
    pub fn new(lines: usize) -> SlowPending {
        SlowPending { lines: vec![VecDeque::new(); lines], counts: Counts::default() }
    }

    pub fn advance(&mut self, now: i64) {
        let before = self.used();
        for line in &mut self.lines {
            line.retain(|flow| flow.used >= now - 1);
        }
        self.counts.retired += before - self.used();
    }

    pub fn find(&self, id: FlowId) -> Option<Waiting> {
        let (line, tag) = self.look(id);
        self.lines[line].iter().find(|flow| flow.tag == tag).copied()
    }

    /// A packet leaves its flow like this.
    pub fn put(&mut self, id: FlowId, state: State, heard: Heard, now: i64) {
        let (line, tag) = self.look(id);
        if self.take(id).is_none() {
            self.counts.inserted += 1;
        }
        self.lines[line].push_front(Waiting { tag, state, heard, used: now });
        if self.lines[line].len() > SLOTS_PER_LINE {
            self.lines[line].pop_back();
            self.counts.lost += 1;
        }
    }

    pub fn admit(&mut self, id: FlowId) {
        self.counts.admitted += u64::from(self.take(id).is_some());
    }

    pub fn delete(&mut self, id: FlowId) {
        self.counts.retired += u64::from(self.take(id).is_some());
    }

    /// Both directions of a connection have heard the same.
    pub fn tell(&mut self, id: FlowId, heard: Heard) {
        let (line, tag) = self.look(id);
        if let Some(flow) = self.lines[line].iter_mut().find(|flow| flow.tag == tag) {
            flow.heard = heard;
        }
    }

    pub fn counts(&self) -> Counts {
        Counts { used: self.used(), ..self.counts }
    }

    fn used(&self) -> u64 {
        self.lines.iter().map(|line| line.len() as u64).sum()
    }

    fn take(&mut self, id: FlowId) -> Option<Waiting> {
        let (line, tag) = self.look(id);
        let at = self.lines[line].iter().position(|flow| flow.tag == tag)?;
        self.lines[line].remove(at)
    }

    /// The line and the tag of a flow: flows that have both in common are one.
    fn look(&self, id: FlowId) -> (usize, u64) {
        let line = id.salt() as usize * self.lines.len() / (1 << 28);
        (line, id.position_bits() % TAGS)
    }
}
