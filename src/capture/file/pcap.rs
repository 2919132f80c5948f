//! The pcap format: a 24-byte file header, then records.
//!
//! ```text
//! file:    magic | major u16 | minor u16 | zone | accuracy | snaplen | link type   (u32 each)
//! record:  seconds | fraction | captured | on the wire  [| 8 bytes, modified]  | the bytes
//! ```
//!
//! The magic number determines the byte order, the unit of `fraction` and the layout. Also read:
//! Alexey Kuznetzov's modified layout, and versions before 2.4, some of which wrote the two lengths
//! in reverse order. The version is not checked otherwise.

use std::io::BufRead as _;
use std::iter;
use std::time::Duration;

use super::buffer::{BlockBuffer, Flaw, MAX_CAPTURED_BYTES, Record};
use crate::capture::{Frame, LinkType, PacketSlots};
use crate::time::{NANOS_PER_SEC, Timestamp};

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const MODIFIED_RECORD_HEADER_BYTES: usize = 24;

/// The layout of a file, from its magic number and file header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    order: ByteOrder,
    nanos_per_fraction: u64,
    record_header_bytes: usize,
    lengths_may_be_reversed: bool,
}

/// The fields of a record header.
#[derive(Debug, Clone, Copy)]
struct RecordHeader {
    time: Timestamp,
    captured_bytes: u32,
    wire_bytes: u32,
}

impl Layout {
    /// The layout for the first four bytes of a file, if they are a pcap magic number.
    pub fn detect(magic: [u8; 4]) -> Option<Layout> {
        [ByteOrder::Little, ByteOrder::Big].into_iter().find_map(|order| {
            let (nanos_per_fraction, record_header_bytes) = match order.u32(magic) {
                0xa1b2_c3d4 => (1000, RECORD_HEADER_BYTES),
                0xa1b2_3c4d => (1, RECORD_HEADER_BYTES),
                0xa1b2_cd34 => (1000, MODIFIED_RECORD_HEADER_BYTES),
                _ => return None,
            };
            let lengths_may_be_reversed = false;
            Some(Layout { order, nanos_per_fraction, record_header_bytes, lengths_may_be_reversed })
        })
    }

    /// The header of the record that `bytes` begin with, if all of it is there.
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

    /// The bytes captured and on the wire where the first length is the larger one: reversed, or a
    /// wire length that cannot be right.
    #[cold]
    fn lengths_out_of_order(self, first: u32, second: u32) -> (u32, u32) {
        if self.lengths_may_be_reversed { (second, first) } else { (first, first) }
    }
}

/// Reads the records of a pcap stream.
pub(super) struct PcapReader {
    buffer: BlockBuffer,
    layout: Layout,
    /// `None` if the stream ended inside the file header.
    link_type: Option<LinkType>,
    flaw: Option<Flaw>,
}

impl PcapReader {
    /// Reads the file header of a stream that begins with the magic number of `layout`.
    pub fn new(mut buffer: BlockBuffer, mut layout: Layout) -> Self {
        let (mut link_type, mut flaw) = (None, None);
        if buffer.has(FILE_HEADER_BYTES) {
            // the upper 16 bits are about a frame check sequence
            link_type =
                layout.order.u32_at(buffer.unread(), 20).map(|field| LinkType(field as u16));
            layout.lengths_may_be_reversed =
                layout.order.u16_at(buffer.unread(), 6).is_some_and(|minor| minor < 4);
            buffer.skip(FILE_HEADER_BYTES as u64);
        } else {
            flaw = Flaw::of_ended_stream(&buffer, "the file header");
        }
        PcapReader { buffer, layout, link_type, flaw }
    }

    /// The next record, or `None` at the end or at a flaw.
    #[inline(always)]
    pub fn next_record(&mut self) -> Option<Record> {
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
            bytes: self.buffer.take_record(header_bytes, captured_bytes, record_bytes),
        })
    }

    /// Parses at most `most` records that are complete in the buffer into `slots`; returns how many.
    /// If none is, [`next_record`](Self::next_record) reads on.
    #[inline(always)] // the parser is inlined here: one loop from record to packet
    pub fn fill(&mut self, most: usize, slots: &mut PacketSlots<'_>) -> usize {
        let (Some(link_type), layout) = (self.link_type, self.layout) else { return 0 };
        let unread = self.buffer.unread();
        let mut rest = unread;
        let records = iter::from_fn(|| {
            let RecordHeader { time, captured_bytes, wire_bytes } = layout.header(rest)?;
            if captured_bytes > MAX_CAPTURED_BYTES {
                return None; // `next_record` reports it
            }
            let (_, body) = rest.split_at_checked(layout.record_header_bytes)?;
            let (bytes, next) = body.split_at_checked(captured_bytes as usize)?;
            rest = next;
            Some(Frame { time, link_type, wire_bytes, bytes })
        });
        let parsed = slots.parse_all(records.take(most));
        let read = unread.len() - rest.len();
        self.buffer.consume(read);
        parsed
    }

    /// The first bytes of the stream; see [`BlockBuffer::first_bytes`].
    pub fn first_bytes(&mut self, most: usize, longest_pause: Option<Duration>) -> &[u8] {
        self.buffer.first_bytes(most, longest_pause)
    }

    /// Whether reading the next record may block.
    #[inline]
    pub fn may_wait(&self) -> bool {
        let header = self.layout.header(self.buffer.unread());
        let claimed = header.map_or(0, |header| header.captured_bytes);
        let captured_bytes = if claimed <= MAX_CAPTURED_BYTES { claimed as usize } else { 0 };
        self.buffer.may_wait_for(self.layout.record_header_bytes + captured_bytes)
    }

    /// The bytes of the record that [`next_record`](Self::next_record) returned last.
    #[inline]
    pub fn bytes(&self, record: &Record) -> &[u8] {
        self.buffer.window(record.bytes.clone())
    }

    /// What ended the records before the end of the file, if something did.
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

/// The byte order in which a capture wrote its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    #[inline]
    pub fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        }
    }

    /// Several 32-bit numbers, with one branch on the byte order for all of them.
    #[inline(always)]
    pub fn u32s<const COUNT: usize>(self, bytes: &[[u8; 4]; COUNT]) -> [u32; COUNT] {
        match self {
            ByteOrder::Little => std::array::from_fn(|n| u32::from_le_bytes(bytes[n])),
            ByteOrder::Big => std::array::from_fn(|n| u32::from_be_bytes(bytes[n])),
        }
    }

    /// The 16-bit number at `offset`, if `bytes` reaches that far.
    #[inline]
    pub fn u16_at(self, bytes: &[u8], offset: usize) -> Option<u16> {
        bytes.get(offset..)?.first_chunk().map(|chunk| self.u16(*chunk))
    }

    /// The 32-bit number at `offset`, if `bytes` reaches that far.
    #[inline]
    pub fn u32_at(self, bytes: &[u8], offset: usize) -> Option<u32> {
        bytes.get(offset..)?.first_chunk().map(|chunk| self.u32(*chunk))
    }
}
