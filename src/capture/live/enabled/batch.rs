//! Frames on their way from a capture thread: many at once, in memory that goes back and forth.

use super::taps::Captured;
use crate::capture::{Frame, LinkType};
use crate::time::Timestamp;

/// A batch is full with so many frames, or so many bytes.
const FRAMES: usize = 1024;
const BYTES: usize = 256 << 10;

/// Frames in the order of their times; none stand for silence.
#[derive(Debug, Default)]
pub(super) struct Batch {
    records: Vec<Record>,
    bytes: Vec<u8>,
    /// What the thread that filled it hands over later is not from before.
    pub up_to: Timestamp,
}

#[derive(Debug)]
struct Record {
    time: Timestamp,
    link_type: LinkType,
    wire_bytes: u32,
    interface: usize,
    /// Where its bytes end.
    end: usize,
}

impl Batch {
    /// An empty one that takes its memory now.
    pub fn with_room() -> Batch {
        let (records, bytes) = (Vec::with_capacity(FRAMES), Vec::with_capacity(BYTES));
        Batch { records, bytes, up_to: Timestamp::default() }
    }

    pub fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.records.len() >= FRAMES || self.bytes.len() >= BYTES
    }

    #[inline]
    pub fn push(&mut self, captured: &Captured<'_>) {
        let Frame { time, link_type, wire_bytes, bytes } = captured.frame;
        self.bytes.extend_from_slice(bytes);
        let (interface, end) = (captured.interface, self.bytes.len());
        self.records.push(Record { time, link_type, wire_bytes, interface, end });
        self.up_to = self.up_to.max(time);
    }

    /// When frame number `at` was captured, if there are so many.
    #[inline]
    pub fn time(&self, at: usize) -> Option<Timestamp> {
        self.records.get(at).map(|record| record.time)
    }

    /// Frame number `at`, if there are so many.
    #[inline]
    pub fn get(&self, at: usize) -> Option<Captured<'_>> {
        let Record { time, link_type, wire_bytes, interface, end } = *self.records.get(at)?;
        let before = at.checked_sub(1).and_then(|before| self.records.get(before));
        let start = before.map_or(0, |record| record.end);
        let bytes = self.bytes.get(start..end)?;
        Some(Captured { interface, frame: Frame { time, link_type, wire_bytes, bytes } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let frames = [(7, &b"one"[..]), (9, b""), (8, b"three")];
        let mut batch = Batch::with_room();
        for round in 1..3 {
            batch.clear();
            assert!(batch.is_empty() && batch.get(0).is_none());
            for (nanos, bytes) in frames {
                let time = Timestamp::from_nanos(nanos * round);
                let frame = Frame { time, link_type: LinkType::ETHERNET, wire_bytes: 99, bytes };
                batch.push(&Captured { interface: 3, frame });
            }
            for (at, (nanos, bytes)) in frames.into_iter().enumerate() {
                let Captured { interface, frame } = batch.get(at).unwrap();
                assert_eq!((interface, frame.bytes, frame.wire_bytes), (3, bytes, 99));
                assert_eq!(batch.time(at), Some(Timestamp::from_nanos(nanos * round)));
            }
            assert!(batch.get(3).is_none() && !batch.is_full());
            assert_eq!(batch.up_to, Timestamp::from_nanos(9 * round));
        }
    }
}
