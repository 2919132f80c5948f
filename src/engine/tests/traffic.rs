//! Random events of flows that share lines, for comparisons of two loops.

use std::collections::HashMap;

use super::super::batch::{Event, Marks};
use super::super::clock::Tick;
use super::flows::TRAINS;
use super::{event, random_flags};
use crate::flow::{Direction, Packet};
use crate::machine::{Machine, Next};
use acsm_filters::{Epoch, FlowId, Lookup, Random, State};

/// Events of trains of flows, with the time that passes.
pub struct Traffic<'a> {
    pub flows: &'a [(FlowId, Packet)],
    pub random: Random,
    pub tick: Tick,
    pub made: u64,
    /// The states of flows by a machine that never errs or ages.
    pub truth: HashMap<FlowId, State>,
}

impl Traffic<'_> {
    fn flow(&mut self) -> (FlowId, Packet) {
        let count = self.flows.len() as u64;
        let flow = match self.random.below(8) {
            0 => self.random.below(count),
            _ => self.made / 40 + self.random.below(TRAINS),
        };
        self.flows[(flow % count) as usize]
    }

    /// The next event, with its packet.
    pub fn event(&mut self, index: usize) -> (Event, Packet) {
        self.made += 1;
        match self.random.below(600) {
            0 => self.tick = Tick { epoch: Epoch(self.tick.epoch.0 + 1), is_late: false },
            1 => {
                let epochs = self.random.below(5) as u32;
                self.tick = Tick { epoch: Epoch(self.tick.epoch.0 + epochs), is_late: false };
            }
            2..6 => self.tick.is_late = true,
            _ => {}
        }
        let (id, packet) = self.flow();
        let flags = random_flags(&mut self.random);
        let event = Event { id, flags, ..event(&packet, index, self.tick) };
        let way = [Direction::Forward, Direction::Backward][self.random.below(2) as usize];
        let marks = event.marks.with(Marks::BACKWARD, way == Direction::Backward);
        let marks = marks.with(Marks::HAS_DATA, self.random.below(2) == 0);
        (Event { marks, ..event }, packet)
    }

    /// The true answer for an event, now and then a wrong one.
    pub fn given(&mut self, machine: &Machine, event: &Event) -> Lookup {
        let truth = self.truth.get(&event.id).map_or(Lookup::Absent, |&s| Lookup::Known(s));
        match event.step(machine, truth).next {
            Next::Keep => {}
            Next::Go(state) => {
                self.truth.insert(event.id, state);
            }
            Next::Delete => {
                self.truth.remove(&event.id);
            }
        }
        match self.random.below(20) {
            0 => Lookup::Absent,
            1 => Lookup::DontKnow,
            2 => {
                let states = machine.states().len() as u64;
                Lookup::Known(State::new(self.random.below(states) as usize).unwrap())
            }
            _ => truth,
        }
    }
}
