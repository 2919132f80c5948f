//! From frames to packets, and what is counted on the way.

use super::parse::Parser;
use super::{Frame, FrameTally, TakeFrame};
use crate::flow::Packet;

/// Makes packets of as many frames as it has places for, and counts both. Places that are there
/// already need no calls for more room, across which all that is known of a frame would have to be
/// kept somewhere.
pub struct Intake<'a> {
    parser: &'a Parser,
    places: &'a mut [Packet],
    filled: usize,
    tally: &'a mut FrameTally,
}

impl<'a> Intake<'a> {
    /// Puts what `parser` finds in `places`, and adds what is to be counted to `tally`.
    #[inline]
    pub fn new(
        parser: &'a Parser,
        places: &'a mut [Packet],
        tally: &'a mut FrameTally,
    ) -> Intake<'a> {
        Intake { parser, places, filled: 0, tally }
    }

    /// The packets that were found.
    #[inline]
    pub fn finish(self) -> &'a [Packet] {
        let packets = self.places.get(..self.filled).unwrap_or_default();
        self.tally.add_packets(packets);
        packets
    }
}

impl TakeFrame for Intake<'_> {
    #[inline(always)] // where frames are found: nothing of one goes through memory
    fn take(&mut self, frame: &Frame<'_>) {
        let Some(place) = self.places.get_mut(self.filled) else { return };
        match self.parser.parse_with(frame, |packet| *place = packet) {
            Ok(()) => self.filled += 1,
            Err(skip) => self.tally.add(frame.time, Err(skip)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FileSource, Source as _, TimeWindow};
    use super::*;

    #[test]
    fn counts_as_one_by_one() {
        let open = || FileSource::open(&["traces/mixed.pcap".into()], TimeWindow::default());
        let (parser, mut source) = (Parser::default(), open().unwrap());
        let (mut packets, mut tally) = (Vec::new(), FrameTally::default());
        while let Some(frame) = source.next_frame().unwrap() {
            let parsed = parser.parse(&frame);
            tally.add(frame.time, parsed.map(|packet| packet.wire_bytes));
            packets.extend(parsed);
        }
        let (mut taken, mut counted) = (Vec::new(), FrameTally::default());
        let (mut source, mut places) = (open().unwrap(), [Packet::UNSPECIFIED; 5]);
        loop {
            let mut intake = Intake::new(&parser, &mut places, &mut counted);
            let more = source.next_frames(5, &mut intake).unwrap();
            taken.extend_from_slice(intake.finish());
            if !more {
                break;
            }
        }
        assert_eq!(taken, packets);
        assert!(tally.skipped.total() > 0 && !packets.is_empty());
        assert_eq!(format!("{counted:?}"), format!("{tally:?}"));
    }
}
