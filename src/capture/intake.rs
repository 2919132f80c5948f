//! From frames to packets, and what is counted on the way.

use super::parse::Parser;
use super::{Frame, FrameTally, TakeFrame};
use crate::flow::Packet;

/// Makes packets of as many frames as it has places for, and counts the frames that are none.
/// Places that are there already need no calls for more room, across which all that is known of a
/// frame would have to be kept somewhere.
pub struct Intake<'a> {
    parser: &'a Parser,
    free: &'a mut [Packet],
    tally: &'a mut FrameTally,
}

impl<'a> Intake<'a> {
    /// Puts what `parser` finds in `places`, from the first on.
    #[inline]
    pub fn new(
        parser: &'a Parser,
        places: &'a mut [Packet],
        tally: &'a mut FrameTally,
    ) -> Intake<'a> {
        Intake { parser, free: places, tally }
    }

    /// How many places no packet was put in.
    #[inline]
    pub fn free_places(&self) -> usize {
        self.free.len()
    }
}

impl TakeFrame for Intake<'_> {
    #[inline(always)] // where frames are found: nothing of one goes through memory
    fn take(&mut self, frame: &Frame<'_>) {
        let put = |packet| {
            if let Some(place) = self.free.split_off_first_mut() {
                *place = packet;
            }
        };
        if let Err(skip) = self.parser.parse_with(frame, put) {
            self.tally.add(frame.time, Err(skip));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FileSource, LinkType, Source as _, TimeWindow};
    use super::*;

    #[test]
    fn finds_and_counts_as_one_by_one() {
        let (parser, path) = (Parser::default(), "traces/mixed.pcap".into());
        let mut source = FileSource::open(&[path], TimeWindow::default()).unwrap();
        let (mut packets, mut tally) = (Vec::new(), FrameTally::default());
        let (mut places, mut counted) = ([Packet::UNSPECIFIED; 700], FrameTally::default());
        let mut intake = Intake::new(&parser, &mut places, &mut counted);
        for n in 0.. {
            let Some(mut frame) = source.next_frame().unwrap() else { break };
            if n % 3 == 0 {
                frame.link_type = LinkType(u16::MAX); // none that there is
            }
            intake.take(&frame);
            let parsed = parser.parse(&frame);
            tally.add(frame.time, parsed.map(|packet| packet.wire_bytes));
            packets.extend(parsed);
        }
        let found = 700 - intake.free_places();
        counted.add_packets(&places[..found]);
        assert_eq!(places[..found], packets);
        assert_eq!((found, tally.skipped.total()), (430, 215));
        assert_eq!(format!("{counted:?}"), format!("{tally:?}"));
    }
}
