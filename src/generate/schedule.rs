//! The schedule: all senders of a trace, their packets in time order.
//!
//! Talkers are started in time order and kept only while they have packets: memory is proportional
//! to those active at once, not to the whole trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

use super::attack::Attack;
use super::conversation::Conversation;
use super::long_lived_connection::LongLivedConnection;
use super::one_way::OneWayPair;
use super::segment::{Segment, Step};

/// A sender of packets.
#[derive(Debug)]
pub enum Talker {
    /// Two hosts and their connections.
    Conversation(Conversation),
    /// A connection as long as the trace.
    LongLived(LongLivedConnection),
    /// One direction of a backbone link.
    OneWayPair(OneWayPair),
    /// An attack.
    Attack(Box<Attack>),
}

impl Talker {
    fn step(&mut self, now: u64) -> Step {
        match self {
            Talker::Conversation(conversation) => conversation.step(now),
            Talker::LongLived(connection) => connection.step(now),
            Talker::OneWayPair(pair) => pair.step(now),
            Talker::Attack(attack) => attack.step(now),
        }
    }
}

/// A talker and when it starts.
#[derive(Debug)]
pub struct Start {
    /// When, in nanoseconds since the start.
    pub at_nanos: u64,
    /// The talker.
    pub talker: Talker,
}

/// Runs talkers, which `starts` yields in the order of their starts.
#[derive(Debug)]
pub struct Schedule<I: Iterator<Item = Start>> {
    starts: Peekable<I>,
    /// When the talker of which slot is due: the earliest on top, the lower slot among equals.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    slots: Vec<Option<Talker>>,
    free_slots: Vec<u32>,
}

impl<I: Iterator<Item = Start>> Schedule<I> {
    /// A schedule of the talkers that `starts` yields.
    pub fn new(starts: I) -> Self {
        Schedule {
            starts: starts.peekable(),
            due: BinaryHeap::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
        }
    }

    /// The next packet with its time, and its talker if that was its last packet.
    pub fn next_packet(&mut self) -> Option<(u64, Segment, Option<Talker>)> {
        self.start_due();
        let mut top = self.due.peek_mut()?;
        let Reverse((now, number)) = *top;
        let slot = self.slots.get_mut(number as usize)?;
        let step = slot.as_mut()?.step(now);
        match step.next_nanos {
            Some(next) => {
                *top = Reverse((next, number));
                Some((now, step.segment, None))
            }
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
                self.free_slots.push(number);
                Some((now, step.segment, slot.take()))
            }
        }
    }

    /// Starts all talkers that start before the next packet is due, or then.
    fn start_due(&mut self) {
        loop {
            let due = self.due.peek().map_or(u64::MAX, |Reverse((due, _))| *due);
            let Some(start) = self.starts.next_if(|start| start.at_nanos <= due) else {
                return;
            };
            let number = match self.free_slots.pop() {
                Some(number) => number,
                None => {
                    self.slots.push(None);
                    self.slots.len() as u32 - 1
                }
            };
            self.slots[number as usize] = Some(start.talker);
            self.due.push(Reverse((start.at_nanos, number)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::realistic::{Realistic, RealisticSpec};
    use super::*;

    #[test]
    fn packets_come_in_order_and_only_active_talkers_are_kept() {
        let spec = RealisticSpec {
            flows: 20_000,
            packets: 200_000,
            seed: 1,
            duration_nanos: 300_000_000_000,
            ipv6_share: 0.1,
            well_behaved: false,
            silent_share: None,
        };
        let mut schedule = Schedule::new(Realistic::new(spec));
        let (mut packets, mut last_nanos, mut finished) = (0, 0, 0);
        while let Some((nanos, _, talker)) = schedule.next_packet() {
            assert!(nanos >= last_nanos);
            last_nanos = nanos;
            packets += 1;
            finished += usize::from(talker.is_some());
        }
        assert_eq!(packets, 200_000);
        assert!(last_nanos <= 300_000_000_000);
        let at_once = schedule.slots.len();
        assert!(at_once * 10 < finished, "{at_once} at once of {finished}");
    }
}
