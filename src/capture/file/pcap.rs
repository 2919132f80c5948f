//! The classic format: a 24-byte file header, then records.
//!
//! ```text
//! file:    magic | major u16 | minor u16 | zone | accuracy | snaplen | link type   (u32 each)
//! record:  seconds | fraction | captured | on the wire  [| 8 bytes, modified]  | the bytes
//! ```
//!
//! The magic tells the byte order, the unit of `fraction` and the layout. Read as well: Alexey
//! Kuznetzov's modified layout, and versions before 2.4, which wrote the two lengths in turned
//! order. The version is not checked otherwise: what follows a known magic has one shape.

use std::io::BufRead as _;

use super::block_buffer::BlockBuffer;
use super::byte_order::ByteOrder;
use super::record::{Flaw, MAX_CAPTURED_BYTES, Record};
use crate::capture::{Frame, LinkType};
use crate::time::{NANOS_PER_SEC, Timestamp};

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const MODIFIED_RECORD_HEADER_BYTES: usize = 24;

/// What the magic number says about the rest of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    order: ByteOrder,
    nanos_per_fraction: u64,
    record_header_bytes: usize,
}

impl Layout {
    /// The layout that the first four bytes of a file name, if they are a pcap magic number.
    pub fn of(magic: [u8; 4]) -> Option<Layout> {
        [ByteOrder::Little, ByteOrder::Big].into_iter().find_map(|order| {
            let (nanos_per_fraction, record_header_bytes) = match order.u32(magic) {
                0xa1b2_c3d4 => (1000, RECORD_HEADER_BYTES),
                0xa1b2_3c4d => (1, RECORD_HEADER_BYTES),
                0xa1b2_cd34 => (1000, MODIFIED_RECORD_HEADER_BYTES),
                _ => return None,
            };
            Some(Layout { order, nanos_per_fraction, record_header_bytes })
        })
    }
}

/// Finds the records of a pcap stream.
pub(super) struct PcapReader {
    buffer: BlockBuffer,
    layout: Layout,
    /// `None` if the stream ended inside the file header.
    link_type: Option<LinkType>,
    lengths_may_be_turned: bool,
    flaw: Option<Flaw>,
}

impl PcapReader {
    /// Reads the file header of a stream that begins with `layout`'s magic.
    pub fn new(mut buffer: BlockBuffer, layout: Layout) -> Self {
        let (mut link_type, mut lengths_may_be_turned, mut flaw) = (None, false, None);
        if buffer.has(FILE_HEADER_BYTES) {
            // the bits above the low 16 tell of a frame check sequence
            link_type =
                layout.order.u32_at(buffer.unread(), 20).map(|field| LinkType(field as u16));
            lengths_may_be_turned =
                layout.order.u16_at(buffer.unread(), 6).is_some_and(|minor| minor < 4);
            buffer.skip(FILE_HEADER_BYTES as u64);
        } else {
            flaw = Flaw::of_ended_stream(&buffer, "the file header");
        }
        PcapReader { buffer, layout, link_type, lengths_may_be_turned, flaw }
    }

    /// The next record, or `None` at the end or at a flaw.
    #[inline(always)]
    pub fn advance(&mut self) -> Option<Record> {
        let link_type = self.link_type?;
        let header_bytes = self.layout.record_header_bytes;
        if !self.buffer.has(header_bytes) {
            return self.end();
        }
        let (header, _) = self.buffer.unread().as_chunks();
        let [seconds, fraction, first_length, second_length] =
            self.layout.order.u32s(*header.first_chunk()?);
        let captured = match self.lengths_may_be_turned {
            true => first_length.min(second_length),
            false => first_length,
        };
        if captured > MAX_CAPTURED_BYTES {
            return self.oversized(captured);
        }
        let captured = captured as usize;
        if !self.buffer.has(header_bytes + captured) {
            return self.end();
        }
        let nanos = u64::from(seconds) * NANOS_PER_SEC
            + u64::from(fraction) * self.layout.nanos_per_fraction;
        Some(Record {
            time: Timestamp::from_nanos(nanos),
            link_type,
            wire_bytes: first_length.max(second_length),
            bytes: self.buffer.hand_out(header_bytes, captured, header_bytes + captured),
        })
    }

    /// Gives `take` at most `most` frames of plain records that the buffer holds; says how many.
    #[inline(always)] // one loop with what is made of the frames
    pub fn give_buffered(&mut self, most: usize, mut take: impl FnMut(&Frame<'_>)) -> usize {
        let Some(link_type) = self.link_type.filter(|_| self.is_plain()) else { return 0 };
        let Layout { order, nanos_per_fraction, .. } = self.layout;
        let unread = self.buffer.unread();
        let (mut rest, mut given) = (unread, 0);
        while given < most {
            let Some((header, after)) = rest.split_first_chunk::<RECORD_HEADER_BYTES>() else {
                break;
            };
            let (words, _) = header.as_chunks();
            let Some(&words) = words.first_chunk() else { break };
            let [seconds, fraction, captured, on_wire] = order.u32s(words);
            // What claims too much is left for `advance` to find fault with.
            let body = after.split_at_checked(captured as usize);
            let Some((bytes, next)) = body.filter(|_| captured <= MAX_CAPTURED_BYTES) else {
                break;
            };
            let nanos =
                u64::from(seconds) * NANOS_PER_SEC + u64::from(fraction) * nanos_per_fraction;
            let (time, wire_bytes) = (Timestamp::from_nanos(nanos), captured.max(on_wire));
            take(&Frame { time, link_type, wire_bytes, bytes });
            (rest, given) = (next, given + 1);
        }
        let read = unread.len() - rest.len();
        self.buffer.consume(read);
        given
    }

    /// Whether records have the usual header, its lengths in the usual order.
    fn is_plain(&self) -> bool {
        !self.lengths_may_be_turned && self.layout.record_header_bytes == RECORD_HEADER_BYTES
    }

    /// Whether the next record, or the rest of it, may be long in coming.
    #[inline]
    pub fn may_wait(&self) -> bool {
        let length_at = |offset| self.layout.order.u32_at(self.buffer.unread(), offset);
        let captured = match self.lengths_may_be_turned {
            true => length_at(8).min(length_at(12)),
            false => length_at(8),
        };
        let captured = captured.filter(|&bytes| bytes <= MAX_CAPTURED_BYTES).unwrap_or(0) as usize;
        self.buffer.may_wait_for(self.layout.record_header_bytes + captured)
    }

    /// The bytes of the record that [`advance`](Self::advance) gave last.
    #[inline]
    pub fn bytes(&self, record: &Record) -> &[u8] {
        self.buffer.window(record.bytes.clone())
    }

    /// What ended the records, if it was not the end of the file.
    pub fn flaw(&self) -> Option<&Flaw> {
        self.flaw.as_ref()
    }

    /// The link type that the file header declares.
    pub fn link_type(&self) -> Option<LinkType> {
        self.link_type
    }

    #[cold]
    #[inline(never)]
    fn end(&mut self) -> Option<Record> {
        self.flaw = Flaw::of_ended_stream(&self.buffer, "a packet");
        None
    }

    #[cold]
    #[inline(never)]
    fn oversized(&mut self, captured: u32) -> Option<Record> {
        let what = format!("packet record claims {captured} bytes");
        self.flaw = Some(Flaw { offset: self.buffer.offset(), what });
        None
    }
}
