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
use crate::capture::{Frame, LinkType, TakeFrame};
use crate::time::{NANOS_PER_SEC, Timestamp};

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const MODIFIED_RECORD_HEADER_BYTES: usize = 24;

/// What the magic number and the file header say about the rest of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    order: ByteOrder,
    nanos_per_fraction: u64,
    record_header_bytes: usize,
    lengths_may_be_turned: bool,
}

/// What the header of a record says.
#[derive(Debug, Clone, Copy)]
struct RecordHeader {
    time: Timestamp,
    captured_bytes: u32,
    wire_bytes: u32,
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
            let lengths_may_be_turned = false;
            Some(Layout { order, nanos_per_fraction, record_header_bytes, lengths_may_be_turned })
        })
    }

    /// What the header of the record that `bytes` begin with says, if it has come so far.
    #[inline(always)]
    fn header(self, bytes: &[u8]) -> Option<RecordHeader> {
        let (words, _) = bytes.first_chunk::<RECORD_HEADER_BYTES>()?.as_chunks();
        let [seconds, fraction, first_length, second_length] =
            self.order.u32s(words.first_chunk()?);
        let (captured_bytes, wire_bytes) = match first_length <= second_length {
            true => (first_length, second_length),
            false => self.lengths_out_of_order(first_length, second_length),
        };
        let nanos =
            u64::from(seconds) * NANOS_PER_SEC + u64::from(fraction) * self.nanos_per_fraction;
        Some(RecordHeader { time: Timestamp::from_nanos(nanos), captured_bytes, wire_bytes })
    }

    /// The bytes captured and on the wire where the first length is the larger: turned, or a wire
    /// length that cannot be right.
    #[cold]
    fn lengths_out_of_order(self, first: u32, second: u32) -> (u32, u32) {
        if self.lengths_may_be_turned { (second, first) } else { (first, first) }
    }
}

/// Finds the records of a pcap stream.
pub(super) struct PcapReader {
    buffer: BlockBuffer,
    layout: Layout,
    /// `None` if the stream ended inside the file header.
    link_type: Option<LinkType>,
    flaw: Option<Flaw>,
}

impl PcapReader {
    /// Reads the file header of a stream that begins with `layout`'s magic.
    pub fn new(mut buffer: BlockBuffer, mut layout: Layout) -> Self {
        let (mut link_type, mut flaw) = (None, None);
        if buffer.has(FILE_HEADER_BYTES) {
            // the bits above the low 16 tell of a frame check sequence
            link_type =
                layout.order.u32_at(buffer.unread(), 20).map(|field| LinkType(field as u16));
            layout.lengths_may_be_turned =
                layout.order.u16_at(buffer.unread(), 6).is_some_and(|minor| minor < 4);
            buffer.skip(FILE_HEADER_BYTES as u64);
        } else {
            flaw = Flaw::of_ended_stream(&buffer, "the file header");
        }
        PcapReader { buffer, layout, link_type, flaw }
    }

    /// The next record, or `None` at the end or at a flaw.
    #[inline(always)]
    pub fn advance(&mut self) -> Option<Record> {
        let link_type = self.link_type?;
        let header_bytes = self.layout.record_header_bytes;
        if !self.buffer.has(header_bytes) {
            return self.end();
        }
        let header = self.layout.header(self.buffer.unread())?;
        if header.captured_bytes > MAX_CAPTURED_BYTES {
            return self.oversized(header.captured_bytes);
        }
        let captured_bytes = header.captured_bytes as usize;
        let record_bytes = header_bytes + captured_bytes;
        if !self.buffer.has(record_bytes) {
            return self.end();
        }
        Some(Record {
            time: header.time,
            link_type,
            wire_bytes: header.wire_bytes,
            bytes: self.buffer.hand_out(header_bytes, captured_bytes, record_bytes),
        })
    }

    /// Gives `taker` at most `most` frames of records that the buffer holds; says how many.
    #[inline(always)] // one loop with what is made of the frames
    pub fn give_buffered(&mut self, most: usize, taker: &mut impl TakeFrame) -> usize {
        let (Some(link_type), layout) = (self.link_type, self.layout) else { return 0 };
        let unread = self.buffer.unread();
        let (mut rest, mut given) = (unread, 0);
        while given < most
            && let Some(header) = layout.header(rest)
            // What claims too much is left for `advance` to find fault with.
            && header.captured_bytes <= MAX_CAPTURED_BYTES
            && let Some((_, body)) = rest.split_at_checked(layout.record_header_bytes)
            && let Some((bytes, next)) = body.split_at_checked(header.captured_bytes as usize)
        {
            let RecordHeader { time, wire_bytes, .. } = header;
            taker.take(&Frame { time, link_type, wire_bytes, bytes });
            (rest, given) = (next, given + 1);
        }
        let read = unread.len() - rest.len();
        self.buffer.consume(read);
        given
    }

    /// Whether the next record, or the rest of it, may be long in coming.
    #[inline]
    pub fn may_wait(&self) -> bool {
        let header = self.layout.header(self.buffer.unread());
        let told = header.map_or(0, |header| header.captured_bytes);
        let captured_bytes = if told <= MAX_CAPTURED_BYTES { told as usize } else { 0 };
        self.buffer.may_wait_for(self.layout.record_header_bytes + captured_bytes)
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
