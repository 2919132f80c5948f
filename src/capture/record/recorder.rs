//! Which frames are written.

use std::io;
use std::path::PathBuf;

use super::delay_line::DelayLine;
use super::pcap_ring::PcapRing;
use crate::capture::Frame;
use crate::capture::parse::Parser;
use crate::flow::{FlowId, Keyer};
use crate::time::Timestamp;

/// Which frames are written.
#[derive(Debug)]
pub enum Wanted {
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
    wanted: Wanted,
    line: DelayLine,
    failure: Option<(PathBuf, io::Error)>,
}

impl Recorder {
    /// Writes what is `wanted` to `ring`.
    pub fn new(ring: PcapRing, wanted: Wanted) -> Recorder {
        Recorder { ring, wanted, line: DelayLine::default(), failure: None }
    }

    /// Takes in a frame.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        if self.failure.is_some() {
            return;
        }
        let Recorder { ring, wanted, line, .. } = self;
        let result = match wanted {
            Wanted::All => ring.write(frame),
            Wanted::Alerts { keyer, parser } => {
                let packet = parser.parse(frame).ok();
                let flow = packet.map(|packet| keyer.id(&keyer.key(&packet).0));
                line.push(frame, flow);
                line.release(frame.time, |frame| ring.write(frame))
            }
        };
        self.note(result);
    }

    /// Takes in that a flow raised an alert.
    pub fn alert(&mut self, flow: FlowId) {
        if matches!(self.wanted, Wanted::Alerts { .. }) {
            self.line.want(flow);
        }
    }

    /// Silence up to `now`: time to bring everything to the disk.
    pub fn idle(&mut self, now: Timestamp) {
        if self.failure.is_none() {
            let Recorder { ring, line, .. } = self;
            let result = line.release(now, |frame| ring.write(frame)).and_then(|()| ring.flush());
            self.note(result);
        }
    }

    /// Writes what still waits.
    pub fn finish(&mut self) {
        self.idle(Timestamp::MAX);
    }

    /// Which file could not be written, and why: nothing has been written since.
    pub fn failure(&self) -> Option<&(PathBuf, io::Error)> {
        self.failure.as_ref()
    }

    /// The same, for good.
    pub fn take_failure(&mut self) -> Option<(PathBuf, io::Error)> {
        self.failure.take()
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure = Some((self.ring.path().to_owned(), error));
        }
    }
}
