//! Everybody who sends, in the order of time.
//!
//! Talkers begin in the order of their starts and are kept only while they talk: memory follows
//! those under way at once, not all of a trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

use super::attack::Attack;
use super::conversation::Conversation;
use super::one_way::OneWayPair;
use super::segment::Segment;

/// A packet that is sent now, and when its sender sends the next one.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The packet.
    pub segment: Segment,
    /// When the next one is due, in nanoseconds of the trace; `None` after the last one.
    pub next_nanos: Option<u64>,
}

/// Whoever sends packets.
#[derive(Debug)]
pub enum Talker {
    /// Two hosts with their connections.
    Conversation(Conversation),
    /// One direction on a backbone.
    OneWayPair(OneWayPair),
    /// An attack.
    Attack(Box<Attack>),
}

impl Talker {
    fn step(&mut self, now: u64) -> Step {
        match self {
            Talker::Conversation(conversation) => conversation.step(now),
            Talker::OneWayPair(pair) => pair.step(now),
            Talker::Attack(attack) => attack.step(now),
        }
    }
}

/// Someone who begins to talk at a time.
#[derive(Debug)]
pub struct Start {
    /// When, in nanoseconds of the trace.
    pub at_nanos: u64,
    /// Who.
    pub talker: Talker,
}

/// Runs talkers, which `starts` gives in the order of their starts.
#[derive(Debug)]
pub struct Schedule<I: Iterator<Item = Start>> {
    starts: Peekable<I>,
    /// When which place's talker is due; the earliest on top, the lower place among equals.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    places: Vec<Option<Talker>>,
    free_places: Vec<u32>,
}

impl<I: Iterator<Item = Start>> Schedule<I> {
    /// A schedule of all who start.
    pub fn new(starts: I) -> Self {
        Schedule {
            starts: starts.peekable(),
            due: BinaryHeap::new(),
            places: Vec::new(),
            free_places: Vec::new(),
        }
    }

    /// The next packet with its time, and its talker if that was its last packet.
    pub fn next_packet(&mut self) -> Option<(u64, Segment, Option<Talker>)> {
        self.seat_starters();
        let mut top = self.due.peek_mut()?;
        let Reverse((now, place)) = *top;
        let seat = self.places.get_mut(place as usize)?;
        let step = seat.as_mut()?.step(now);
        match step.next_nanos {
            Some(next) => {
                *top = Reverse((next, place));
                Some((now, step.segment, None))
            }
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
                self.free_places.push(place);
                Some((now, step.segment, seat.take()))
            }
        }
    }

    /// Seats all who start before or when the next packet is due.
    fn seat_starters(&mut self) {
        loop {
            let due = self.due.peek().map_or(u64::MAX, |Reverse((due, _))| *due);
            let Some(start) = self.starts.next_if(|start| start.at_nanos <= due) else {
                return;
            };
            let place = match self.free_places.pop() {
                Some(place) => place,
                None => {
                    self.places.push(None);
                    self.places.len() as u32 - 1
                }
            };
            self.places[place as usize] = Some(start.talker);
            self.due.push(Reverse((start.at_nanos, place)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::realistic::{Realistic, RealisticSpec};
    use super::*;

    #[test]
    fn packets_come_in_order_and_only_those_who_talk_are_kept() {
        let spec = RealisticSpec {
            flows: 20_000,
            packets: 200_000,
            seed: 1,
            duration_nanos: 300_000_000_000,
            ipv6_share: 0.1,
            well_behaved: false,
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
        let at_once = schedule.places.len();
        assert!(at_once * 10 < finished, "{at_once} at once of {finished}");
    }
}
