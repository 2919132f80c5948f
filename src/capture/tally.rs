//! What is counted about the frames of a run, whatever is done with them.

use super::parse::{Skip, SkipCounts};
use crate::flow::Packet;
use crate::time::Timestamp;

/// Counts of frames: every one is a TCP packet or has a reason why not.
#[derive(Debug, Clone, Default)]
pub struct FrameTally {
    /// Frames of any kind.
    pub packets: u64,
    /// Frames with a TCP header that counts.
    pub tcp_packets: u64,
    /// Bytes on the wire of those.
    pub tcp_bytes: u64,
    /// Frames without one, by reason.
    pub skipped: SkipCounts,
    /// The earliest and the latest time of any frame.
    pub span: Option<(Timestamp, Timestamp)>,
}

impl FrameTally {
    /// Counts one frame: the bytes on the wire of a TCP packet, or why it is none.
    #[inline]
    pub fn add(&mut self, time: Timestamp, parsed: Result<u32, Skip>) {
        self.packets += 1;
        self.add_time(time);
        match parsed {
            Ok(wire_bytes) => {
                self.tcp_packets += 1;
                self.tcp_bytes += u64::from(wire_bytes);
            }
            Err(skip) => self.skipped.add(skip),
        }
    }

    /// Counts frames that all were TCP packets; says the latest of their times.
    #[inline]
    pub fn add_packets(&mut self, packets: &[Packet]) -> Option<Timestamp> {
        self.packets += packets.len() as u64;
        self.tcp_packets += packets.len() as u64;
        let (mut bytes, mut earliest, mut latest) = (0, Timestamp::MAX, Timestamp::default());
        for packet in packets {
            bytes += u64::from(packet.wire_bytes);
            earliest = earliest.min(packet.time);
            latest = latest.max(packet.time);
        }
        self.tcp_bytes += bytes;
        if earliest > latest {
            return None;
        }
        self.add_time(earliest);
        self.add_time(latest);
        Some(latest)
    }

    #[inline]
    fn add_time(&mut self, time: Timestamp) {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
    }
}
