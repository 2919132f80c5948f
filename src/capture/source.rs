//! Where packets come from: the trait that files and interfaces implement, and what is counted.

use std::mem;

use super::error::CaptureError;
use super::frame::Frame;
use super::parse::{Parser, Skip, SkipCounts};
use crate::flow::Packet;
use crate::time::Timestamp;

/// A source of captured frames, in the order in which they were captured.
///
/// [`next_frame`](Self::next_frame) is all that a source must implement.
/// [`fill`](Self::fill) reads and parses many frames in one call: it is the only call per batch of
/// packets, so a source can be used as `&mut dyn PacketSource`.
pub trait PacketSource {
    /// The next frame, or `None` at the end. An error ends the source. Damage inside a file is not
    /// an error: the source remembers it and continues with the next input.
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError>;

    /// Reads frames and parses them into `slots`: at most as many frames as there are free slots,
    /// and no more than can be read without waiting, except for the first. Returns whether more
    /// frames may follow. What was parsed before an error is in `slots`.
    #[inline]
    fn fill(&mut self, slots: &mut PacketSlots<'_>) -> Result<bool, CaptureError> {
        for n in 0..slots.free() {
            if n > 0 && self.may_wait() {
                break;
            }
            let Some(frame) = self.next_frame()? else { return Ok(false) };
            slots.parse(&frame);
        }
        Ok(true)
    }

    /// Whether reading the next frame may block: the caller first finishes the work it has.
    #[inline]
    fn may_wait(&self) -> bool {
        false
    }

    /// Waits for the next frame, for a fraction of a second at most. If none came, returns the time
    /// up to which it is certain that there is none, so that flows age on an idle link.
    fn wait(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        Ok(None)
    }

    /// Frames dropped so far by the kernel or the interface.
    #[inline]
    fn lost_frames(&self) -> u64 {
        0
    }
}

/// Free slots for packets. [`PacketSource::fill`] parses frames into them, from the first on.
///
/// Slots that exist already are faster than pushing to a vector: nothing in the loop can allocate,
/// so the fields of a frame stay in registers.
pub struct PacketSlots<'a> {
    parser: &'a Parser,
    free: &'a mut [Packet],
    counts: &'a mut FrameCounts,
}

impl<'a> PacketSlots<'a> {
    /// Slots for the packets that `parser` finds. Frames without a TCP header are added to `counts`;
    /// the packets are for the caller to add ([`FrameCounts::add_packets`]).
    #[inline]
    pub fn new(
        parser: &'a Parser,
        slots: &'a mut [Packet],
        counts: &'a mut FrameCounts,
    ) -> PacketSlots<'a> {
        PacketSlots { parser, free: slots, counts }
    }

    /// How many slots are still free.
    #[inline]
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Parses frames into the next free slots, or counts why they are skipped; returns how many
    /// frames there were.
    #[inline(always)] // one loop from record to packet: no field of a frame goes through memory
    pub fn parse_all<'f>(&mut self, frames: impl Iterator<Item = Frame<'f>>) -> usize {
        // Local during the loop: `self` would have to be updated in memory for each packet.
        let (parser, mut free, mut parsed) = (*self.parser, mem::take(&mut self.free), 0);
        for frame in frames {
            let put = |packet| {
                if let Some(slot) = free.split_off_first_mut() {
                    *slot = packet;
                }
            };
            if let Err(skip) = parser.parse_with(&frame, put) {
                self.counts.add(frame.time, Err(skip));
            }
            parsed += 1;
        }
        self.free = free;
        parsed
    }

    /// Parses one frame into the next free slot, or counts why it is skipped.
    #[inline]
    pub fn parse(&mut self, frame: &Frame<'_>) {
        self.parse_all(std::iter::once(*frame));
    }
}

/// Counts of frames: each is a TCP packet or has a reason why it was skipped.
#[derive(Debug, Clone, Default)]
pub struct FrameCounts {
    /// All frames.
    pub packets: u64,
    /// Frames with a TCP header.
    pub tcp_packets: u64,
    /// Bytes on the wire of frames with a TCP header.
    pub tcp_bytes: u64,
    /// Frames without a TCP header, by reason.
    pub skipped: SkipCounts,
    /// The earliest and the latest time of all frames.
    pub span: Option<(Timestamp, Timestamp)>,
}

impl FrameCounts {
    /// Adds one frame: the bytes on the wire of a TCP packet, or why it was skipped.
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

    /// Adds the frames of these TCP packets; returns their latest time.
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

#[cfg(test)]
mod tests {
    use super::super::{FileSource, LinkType, TimeWindow};
    use super::*;

    #[test]
    fn slots_and_single_frames_give_the_same_packets_and_counts() {
        let (parser, path) = (Parser::default(), "traces/mixed.pcap".into());
        let mut source = FileSource::open(&[path], TimeWindow::default()).unwrap();
        let (mut packets, mut counts) = (Vec::new(), FrameCounts::default());
        let (mut storage, mut slot_counts) = ([Packet::UNSPECIFIED; 700], FrameCounts::default());
        let mut slots = PacketSlots::new(&parser, &mut storage, &mut slot_counts);
        for n in 0.. {
            let Some(mut frame) = source.next_frame().unwrap() else { break };
            if n % 3 == 0 {
                frame.link_type = LinkType(u16::MAX); // not a link type
            }
            slots.parse(&frame);
            let parsed = parser.parse(&frame);
            counts.add(frame.time, parsed.map(|packet| packet.wire_bytes));
            packets.extend(parsed);
        }
        let found = 700 - slots.free();
        slot_counts.add_packets(&storage[..found]);
        assert_eq!(storage[..found], packets);
        assert_eq!((found, counts.skipped.total()), (430, 215));
        assert_eq!(format!("{slot_counts:?}"), format!("{counts:?}"));
    }
}
