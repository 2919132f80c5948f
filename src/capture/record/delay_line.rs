//! Frames on their way to the disk, or not: they wait to see whether their flow raises an alert.
//!
//! Frames leave in the order in which they came, when they have waited long enough or room is
//! needed; by then it is known whether they are wanted. So what is written is in time order, and
//! of an alert's flow there is also what came before the alert, as far back as the line reaches.

use std::collections::{HashSet, VecDeque};

use crate::capture::{Frame, LinkType};
use crate::flow::FlowId;
use crate::time::{NANOS_PER_SEC, Timestamp};

/// The line takes so many bytes at the most…
const LINE_BYTES: usize = 32 << 20;
/// …each for so long at the most.
const WAIT_NANOS: u64 = 60 * NANOS_PER_SEC;
/// Flows remembered as wanted; beyond it the one longest known is forgotten.
const WANTED_FLOWS: usize = 1 << 16;

#[derive(Debug)]
struct Waiting {
    flow: Option<FlowId>,
    time: Timestamp,
    link_type: LinkType,
    wire_bytes: u32,
    captured_bytes: usize,
}

/// Frames that wait, and the flows that are wanted.
#[derive(Debug, Default)]
pub(super) struct DelayLine {
    frames: VecDeque<Waiting>,
    bytes: VecDeque<u8>,
    wanted: HashSet<FlowId>,
    wanted_since: VecDeque<FlowId>,
}

impl DelayLine {
    /// All frames of `flow` that still wait, or are yet to come, are wanted.
    pub fn want(&mut self, flow: FlowId) {
        if self.wanted.insert(flow) {
            self.wanted_since.push_back(flow);
        }
        if self.wanted_since.len() > WANTED_FLOWS {
            self.wanted_since.pop_front().map(|oldest| self.wanted.remove(&oldest));
        }
    }

    /// Lets a frame wait.
    pub fn push(&mut self, frame: &Frame<'_>, flow: Option<FlowId>) {
        self.bytes.extend(frame.bytes);
        self.frames.push_back(Waiting {
            flow,
            time: frame.time,
            link_type: frame.link_type,
            wire_bytes: frame.wire_bytes,
            captured_bytes: frame.bytes.len(),
        });
    }

    /// What the line takes: the frames, and what is known of them.
    fn held_bytes(&self) -> usize {
        self.bytes.len() + self.frames.len() * size_of::<Waiting>()
    }

    /// Gives the wanted ones among the frames whose time is up at `now` to `write`. At the end of
    /// a run, `now` is [`Timestamp::MAX`].
    pub fn release<E>(
        &mut self,
        now: Timestamp,
        mut write: impl FnMut(&Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(first) = self.frames.front() {
            if now.since(first.time) < WAIT_NANOS && self.held_bytes() <= LINE_BYTES {
                break;
            }
            let is_wanted = first.flow.is_some_and(|flow| self.wanted.contains(&flow));
            let Some(first) = self.frames.pop_front() else { break };
            let end = first.captured_bytes.min(self.bytes.len());
            let frame = self.bytes.drain(..end);
            if is_wanted {
                let bytes: Vec<u8> = frame.collect();
                let Waiting { time, link_type, wire_bytes, .. } = first;
                write(&Frame { time, link_type, wire_bytes, bytes: &bytes })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flows_past_is_written_too_and_in_order() {
        let mut line = DelayLine::default();
        let mut written = vec![];
        for secs in 0..100_u64 {
            let bytes = [secs as u8; 10];
            let time = Timestamp::new(secs, 0);
            let link_type = LinkType::ETHERNET;
            let frame = Frame { time, link_type, wire_bytes: 10, bytes: &bytes };
            line.push(&frame, Some(FlowId(u128::from(secs % 3))));
            if secs == 70 {
                line.want(FlowId(1));
            }
            let write = |frame: &Frame<'_>| {
                written.push(frame.bytes[0]);
                Ok::<(), ()>(())
            };
            line.release(time, write).unwrap();
        }
        // At 70 s what came up to 9 s was gone already; at 99 s what came at 40 s still waits.
        assert_eq!(written, (10..=39).step_by(3).collect::<Vec<u8>>());
        let write = |frame: &Frame<'_>| {
            written.push(frame.bytes[0]);
            Ok::<(), ()>(())
        };
        line.release(Timestamp::MAX, write).unwrap();
        assert_eq!(written, (10..100).step_by(3).collect::<Vec<u8>>());
        assert!(line.bytes.is_empty());
    }

    #[test]
    fn room_is_bounded() {
        let mut line = DelayLine::default();
        let bytes = [0; 1000];
        let frame = Frame {
            time: Timestamp::new(1, 0),
            link_type: LinkType::ETHERNET,
            wire_bytes: 1000,
            bytes: &bytes,
        };
        for _ in 0..50_000 {
            line.push(&frame, None);
            line.release(frame.time, |_| Ok::<(), ()>(())).unwrap();
        }
        assert!((LINE_BYTES - 2000..=LINE_BYTES).contains(&line.held_bytes()));
        for flow in 0..100_000 {
            line.want(FlowId(flow));
        }
        assert_eq!((line.wanted.len(), line.wanted_since.len()), (WANTED_FLOWS, WANTED_FLOWS));
    }
}
