//! Recording frames as they are read: to a ring of pcap files, all frames or those of flows that
//! raised an alert.
//!
//! A full disk ends the recording, not the run: [`Recorder::failure`] says so.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::PathBuf;

use super::error::CaptureError;
use super::frame::{Frame, LinkType};
use super::parse::Parser;
use super::pcap_writer::PcapRing;
use super::source::PacketSource;
use crate::flow::{FlowId, Keyer};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// Which frames are written.
#[derive(Debug)]
pub enum FrameSelection {
    /// All.
    All,
    /// Those of flows that raised an alert.
    Alerts {
        /// How packets become flows.
        keyer: Keyer,
        /// How frames become packets.
        parser: Parser,
    },
}

/// Writes frames to a ring of files.
#[derive(Debug)]
pub struct Recorder {
    ring: PcapRing,
    selection: FrameSelection,
    pending: PendingFrames,
    failure: Option<(PathBuf, io::Error)>,
}

impl Recorder {
    /// Writes the frames of `selection` to `ring`.
    pub fn new(ring: PcapRing, selection: FrameSelection) -> Recorder {
        Recorder { ring, selection, pending: PendingFrames::default(), failure: None }
    }

    /// Records a frame, if it is selected.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        if self.failure.is_some() {
            return;
        }
        let Recorder { ring, selection, pending, .. } = self;
        let result = match selection {
            FrameSelection::All => ring.write(frame),
            FrameSelection::Alerts { keyer, parser } => {
                let packet = parser.parse(frame).ok();
                let flow = packet.map(|packet| keyer.id(&keyer.key(&packet).0));
                pending.push(frame, flow);
                pending.release(frame.time, |frame| ring.write(frame))
            }
        };
        self.note(result);
    }

    /// A flow raised an alert: its frames are selected.
    pub fn alert(&mut self, flow: FlowId) {
        if matches!(self.selection, FrameSelection::Alerts { .. }) {
            self.pending.select(flow);
        }
    }

    /// There are no frames up to `now`: writes everything that is due to the disk.
    pub fn idle(&mut self, now: Timestamp) {
        if self.failure.is_none() {
            let Recorder { ring, pending, .. } = self;
            let released = pending.release(now, |frame| ring.write(frame));
            let result = released.and_then(|()| ring.flush());
            self.note(result);
        }
    }

    /// Writes the selected frames that are still pending.
    pub fn finish(&mut self) {
        self.idle(Timestamp::MAX);
    }

    /// The file that could not be written, and why; nothing has been written since.
    pub fn failure(&self) -> Option<&(PathBuf, io::Error)> {
        self.failure.as_ref()
    }

    /// The same, by value.
    pub fn take_failure(&mut self) -> Option<(PathBuf, io::Error)> {
        self.failure.take()
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure = Some((self.ring.path().to_owned(), error));
        }
    }
}

/// A source whose frames are recorded as they are read. The recorder is shared with the sink that
/// reports alerts to it, in the same thread.
pub struct RecordingSource<'r, S> {
    source: S,
    recorder: Option<&'r RefCell<Recorder>>,
}

impl<'r, S> RecordingSource<'r, S> {
    /// The frames of `source`, recorded by `recorder` if there is one.
    pub fn new(source: S, recorder: Option<&'r RefCell<Recorder>>) -> Self {
        RecordingSource { source, recorder }
    }
}

impl<S: PacketSource> PacketSource for RecordingSource<'_, S> {
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let frame = self.source.next_frame()?;
        if let (Some(recorder), Some(frame)) = (self.recorder, &frame) {
            recorder.borrow_mut().frame(frame);
        }
        Ok(frame)
    }

    #[inline]
    fn may_wait(&self) -> bool {
        self.source.may_wait()
    }

    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        let silence = self.source.wait()?;
        if let (Some(recorder), Some(now)) = (self.recorder, silence) {
            recorder.borrow_mut().idle(now);
        }
        Ok(silence)
    }

    #[inline]
    fn lost_frames(&self) -> u64 {
        self.source.lost_frames()
    }
}

/// The most memory that pending frames take.
const PENDING_BYTES: usize = 32 << 20;
/// The longest time that a frame is pending.
const PENDING_NANOS: u64 = 60 * NANOS_PER_SEC;
/// The most selected flows that are remembered; beyond it the oldest is forgotten.
const SELECTED_FLOWS: usize = 1 << 16;

#[derive(Debug)]
struct PendingFrame {
    flow: Option<FlowId>,
    time: Timestamp,
    link_type: LinkType,
    wire_bytes: u32,
    captured_bytes: usize,
}

/// Frames that are held back until it is known whether their flow raises an alert.
///
/// Frames leave in the order in which they came: after [`PENDING_NANOS`], or when memory is needed.
/// By then it is known whether they are selected. So what is written is in time order, and contains
/// frames of a flow from before its alert.
#[derive(Debug, Default)]
struct PendingFrames {
    frames: VecDeque<PendingFrame>,
    bytes: VecDeque<u8>,
    selected: HashSet<FlowId>,
    /// The same flows, oldest first.
    selected_order: VecDeque<FlowId>,
}

impl PendingFrames {
    /// Selects all frames of `flow`, pending or yet to come.
    fn select(&mut self, flow: FlowId) {
        if self.selected.insert(flow) {
            self.selected_order.push_back(flow);
        }
        if self.selected_order.len() > SELECTED_FLOWS {
            self.selected_order.pop_front().map(|oldest| self.selected.remove(&oldest));
        }
    }

    /// Adds a frame.
    fn push(&mut self, frame: &Frame<'_>, flow: Option<FlowId>) {
        self.bytes.extend(frame.bytes);
        self.frames.push_back(PendingFrame {
            flow,
            time: frame.time,
            link_type: frame.link_type,
            wire_bytes: frame.wire_bytes,
            captured_bytes: frame.bytes.len(),
        });
    }

    /// Memory taken by the frames.
    fn held_bytes(&self) -> usize {
        self.bytes.len() + self.frames.len() * size_of::<PendingFrame>()
    }

    /// Removes the frames that are due at `now` and passes the selected ones to `write`. At the end
    /// of a run, `now` is [`Timestamp::MAX`].
    fn release<E>(
        &mut self,
        now: Timestamp,
        mut write: impl FnMut(&Frame<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(first) = self.frames.front() {
            if now.since(first.time) < PENDING_NANOS && self.held_bytes() <= PENDING_BYTES {
                break;
            }
            let is_selected = first.flow.is_some_and(|flow| self.selected.contains(&flow));
            let Some(first) = self.frames.pop_front() else { break };
            let end = first.captured_bytes.min(self.bytes.len());
            let frame = self.bytes.drain(..end);
            if is_selected {
                let bytes: Vec<u8> = frame.collect();
                let PendingFrame { time, link_type, wire_bytes, .. } = first;
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
    fn frames_from_before_the_alert_are_written_in_order() {
        let mut pending = PendingFrames::default();
        let mut written = vec![];
        for secs in 0..100_u64 {
            let bytes = [secs as u8; 10];
            let time = Timestamp::new(secs, 0);
            let link_type = LinkType::ETHERNET;
            let frame = Frame { time, link_type, wire_bytes: 10, bytes: &bytes };
            pending.push(&frame, Some(FlowId(u128::from(secs % 3))));
            if secs == 70 {
                pending.select(FlowId(1));
            }
            let write = |frame: &Frame<'_>| {
                written.push(frame.bytes[0]);
                Ok::<(), ()>(())
            };
            pending.release(time, write).unwrap();
        }
        // At 70 s the frames up to 9 s were gone already; at 99 s the frame of 40 s is still pending.
        assert_eq!(written, (10..=39).step_by(3).collect::<Vec<u8>>());
        let write = |frame: &Frame<'_>| {
            written.push(frame.bytes[0]);
            Ok::<(), ()>(())
        };
        pending.release(Timestamp::MAX, write).unwrap();
        assert_eq!(written, (10..100).step_by(3).collect::<Vec<u8>>());
        assert!(pending.bytes.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut pending = PendingFrames::default();
        let bytes = [0; 1000];
        let frame = Frame {
            time: Timestamp::new(1, 0),
            link_type: LinkType::ETHERNET,
            wire_bytes: 1000,
            bytes: &bytes,
        };
        for _ in 0..50_000 {
            pending.push(&frame, None);
            pending.release(frame.time, |_| Ok::<(), ()>(())).unwrap();
        }
        assert!((PENDING_BYTES - 2000..=PENDING_BYTES).contains(&pending.held_bytes()));
        for flow in 0..100_000 {
            pending.select(FlowId(flow));
        }
        assert_eq!(
            (pending.selected.len(), pending.selected_order.len()),
            (SELECTED_FLOWS, SELECTED_FLOWS)
        );
    }
}
