//! The pcapng format: sections of blocks, each block with its length at its beginning and end.
//!
//! ```text
//! block:     type | total length | body, padded to 4 bytes | total length          (u32 each)
//! section:   byte-order magic | major u16 | minor u16 | section length u64 | options
//! interface: link type u16 | reserved u16 | snaplen | options
//! enhanced:  interface | ticks, high | ticks, low | captured | on the wire | the bytes | options
//! obsolete:  interface u16 | drops u16 | ticks, high | ticks, low | captured | on the wire | …
//! simple:    on the wire | the bytes                                 (interface 0, no time)
//! ```
//!
//! Each section has its own byte order and its own list of interfaces. A section's length is not
//! used (many writers leave it open); blocks of other types are skipped by their length. A file is
//! damaged where tshark calls it damaged, with one exception: malformed options of an interface are
//! ignored, because its packets can be read without them.

use std::collections::BTreeSet;
use std::time::Duration;

use super::buffer::{BlockBuffer, Flaw, MAX_CAPTURED_BYTES, Record};
use super::pcap::ByteOrder;
use super::pcapng_interface::Interface;
use crate::capture::LinkType;
use crate::time::Timestamp;

/// The type of a section header: the same in either byte order.
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Type and length before the body, length after it.
const BODY_OFFSET: usize = 8;
const TRAILER_BYTES: usize = 4;
const MIN_BLOCK_BYTES: u32 = 12;
const MIN_SECTION_BYTES: u32 = 28;
const MIN_PACKET_BYTES: usize = 32;

/// The largest packet and a megabyte of comments on it.
const MAX_BUFFERED_BLOCK_BYTES: u32 = MAX_CAPTURED_BYTES + (1 << 20);

/// Far more than any real capture has; bounds the memory for a file of interfaces only.
const MAX_INTERFACES: usize = 65_536;

/// The byte order that the first 12 bytes of a section header declare.
pub(super) fn section_order(header: &[u8]) -> Option<ByteOrder> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find(|order| order.u32_at(header, 8) == Some(BYTE_ORDER_MAGIC))
}

/// Reads the packet blocks of a pcapng stream.
pub(super) struct PcapngReader {
    buffer: BlockBuffer,
    order: ByteOrder,
    interfaces: Vec<Interface>,
    link_types: BTreeSet<LinkType>,
    /// The time given to a packet without one (simple packet block).
    last_time: Timestamp,
    flaw: Option<Flaw>,
}

/// The fields of a packet block of any type.
struct PacketFields {
    time: Timestamp,
    link_type: LinkType,
    captured: u32,
    wire_bytes: u32,
    /// Bytes of the block before those of the packet.
    header_bytes: usize,
}

impl PcapngReader {
    /// A reader of a stream that begins with a section header.
    pub fn new(buffer: BlockBuffer) -> Self {
        PcapngReader {
            buffer,
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            link_types: BTreeSet::new(),
            last_time: Timestamp::default(),
            flaw: None,
        }
    }

    /// The next packet, or `None` at the end or at a flaw.
    #[inline(never)]
    pub fn next_record(&mut self) -> Option<Record> {
        while self.flaw.is_none() {
            if !self.buffer.has(MIN_BLOCK_BYTES as usize) {
                return self.cut_short("a block");
            }
            let block_type = self.order.u32_at(self.buffer.unread(), 0)?;
            if matches!(block_type, ENHANCED_PACKET | SIMPLE_PACKET | OBSOLETE_PACKET) {
                return self.packet(block_type);
            }
            self.other_block(block_type)?;
        }
        None
    }

    /// The first bytes of the stream; see [`BlockBuffer::first_bytes`].
    pub fn first_bytes(&mut self, most: usize, longest_pause: Option<Duration>) -> &[u8] {
        self.buffer.first_bytes(most, longest_pause)
    }

    /// Whether reading the next block may block.
    #[inline]
    pub fn may_wait(&self) -> bool {
        let claimed = self.order.u32_at(self.buffer.unread(), 4).unwrap_or(0);
        let block_bytes = claimed.clamp(MIN_BLOCK_BYTES, MAX_BUFFERED_BLOCK_BYTES);
        self.buffer.may_wait_for(block_bytes as usize)
    }

    /// The bytes of the record that [`next_record`](Self::next_record) returned last.
    #[inline]
    pub fn bytes(&self, record: &Record) -> &[u8] {
        self.buffer.window(record.bytes.clone())
    }

    /// What ended the packets before the end of the file, if something did.
    pub fn flaw(&self) -> Option<&Flaw> {
        self.flaw.as_ref()
    }

    /// The link types of all interfaces described so far.
    pub fn link_types(&self) -> &BTreeSet<LinkType> {
        &self.link_types
    }

    #[inline]
    fn packet(&mut self, block_type: u32) -> Option<Record> {
        let block_bytes = self.buffered_block("a packet")?;
        let Some(fields) = self.packet_fields(block_type, block_bytes) else {
            return self.bad_packet(block_type, block_bytes);
        };
        let captured = fields.captured as usize;
        if fields.captured > MAX_CAPTURED_BYTES
            || fields.header_bytes + captured + TRAILER_BYTES > block_bytes
        {
            return self.bad_packet(block_type, block_bytes);
        }
        self.last_time = fields.time;
        Some(Record {
            time: fields.time,
            link_type: fields.link_type,
            wire_bytes: fields.wire_bytes.max(fields.captured),
            bytes: self.buffer.take_record(fields.header_bytes, captured, block_bytes),
        })
    }

    /// The fields of the packet; `None` if the block is too short or its interface unknown.
    #[inline]
    fn packet_fields(&self, block_type: u32, block_bytes: usize) -> Option<PacketFields> {
        if block_type == SIMPLE_PACKET {
            return self.simple_packet_fields();
        }
        let (fields, _) = self.buffer.unread().get(BODY_OFFSET..block_bytes)?.as_chunks();
        let fields: &[[u8; 4]; 5] = fields.first_chunk()?;
        let [mut interface, high, low, captured, wire_bytes] = self.order.u32s(fields);
        if block_type == OBSOLETE_PACKET {
            interface = self.order.u16_at(fields.as_flattened(), 0)?.into();
        }
        let interface = self.interfaces.get(interface as usize)?;
        Some(PacketFields {
            time: interface.clock.time(u64::from(high) << 32 | u64::from(low)),
            link_type: interface.link_type,
            captured,
            wire_bytes,
            header_bytes: BODY_OFFSET + 20,
        })
    }

    fn simple_packet_fields(&self) -> Option<PacketFields> {
        let interface = self.interfaces.first()?;
        let wire_bytes = self.order.u32_at(self.buffer.unread(), BODY_OFFSET)?;
        let captured = match interface.snaplen {
            0 => wire_bytes,
            snaplen => wire_bytes.min(snaplen),
        };
        Some(PacketFields {
            time: self.last_time,
            link_type: interface.link_type,
            captured,
            wire_bytes,
            header_bytes: BODY_OFFSET + 4,
        })
    }

    /// The length of the current block, once all of it is in the buffer and both its lengths agree.
    #[inline]
    fn buffered_block(&mut self, what: &str) -> Option<usize> {
        let block_bytes = self.block_bytes()?;
        if block_bytes > MAX_BUFFERED_BLOCK_BYTES {
            return self.bad_length(what, block_bytes);
        }
        let block_bytes = block_bytes as usize;
        if !self.buffer.has(block_bytes) {
            return self.cut_short(what);
        }
        let trailer = self.order.u32_at(self.buffer.unread(), block_bytes - TRAILER_BYTES)?;
        if trailer.checked_next_multiple_of(4) != Some(block_bytes as u32) {
            let offset = self.buffer.offset();
            return self.lengths_disagree(offset, block_bytes as u32, trailer);
        }
        Some(block_bytes)
    }

    /// The length at the beginning of the current block. Some writers forget to count the padding.
    #[inline]
    fn block_bytes(&mut self) -> Option<u32> {
        let claimed = self.order.u32_at(self.buffer.unread(), 4)?;
        match claimed.checked_next_multiple_of(4) {
            Some(block_bytes) if block_bytes >= MIN_BLOCK_BYTES => Some(block_bytes),
            _ => self.bad_length("a", claimed),
        }
    }

    #[cold]
    #[inline(never)]
    fn other_block(&mut self, block_type: u32) -> Option<()> {
        match block_type {
            SECTION_HEADER => self.section_header(),
            INTERFACE_DESCRIPTION => self.interface_description(),
            _ => self.skip_block(),
        }
    }

    fn section_header(&mut self) -> Option<()> {
        let Some(order) = section_order(self.buffer.unread()) else {
            return self.fail("a section header without a byte-order magic".to_owned());
        };
        self.order = order;
        self.interfaces.clear();
        if self.block_bytes()? < MIN_SECTION_BYTES {
            return self.fail("a section header that is too short".to_owned());
        }
        if !self.buffer.has(MIN_SECTION_BYTES as usize) {
            return self.cut_short("a section header");
        }
        let major = order.u16_at(self.buffer.unread(), 12)?;
        if major != 1 {
            return self.fail(format!("a section of pcapng version {major}, which is unknown"));
        }
        self.skip_block()
    }

    fn interface_description(&mut self) -> Option<()> {
        let block_bytes = self.buffered_block("an interface description")?;
        let body = self.buffer.unread().get(BODY_OFFSET..block_bytes - TRAILER_BYTES)?;
        let Some(interface) = Interface::parse(body, self.order) else {
            return self.fail("an interface description that is too short".to_owned());
        };
        if self.interfaces.len() == MAX_INTERFACES {
            return self.fail(format!("a section with more than {MAX_INTERFACES} interfaces"));
        }
        self.interfaces.push(interface);
        self.link_types.insert(interface.link_type);
        self.buffer.skip(block_bytes as u64);
        Some(())
    }

    /// Skips the current block without buffering it, whatever its length.
    fn skip_block(&mut self) -> Option<()> {
        let block_bytes = self.block_bytes()?;
        let offset = self.buffer.offset();
        let before_trailer = u64::from(block_bytes) - TRAILER_BYTES as u64;
        if !self.buffer.skip(before_trailer) || !self.buffer.has(TRAILER_BYTES) {
            self.flaw = Some(Flaw::cut_short(&self.buffer, offset, "a block"));
            return None;
        }
        let trailer = self.order.u32_at(self.buffer.unread(), 0)?;
        if trailer.checked_next_multiple_of(4) != Some(block_bytes) {
            return self.lengths_disagree(offset, block_bytes, trailer);
        }
        self.buffer.skip(TRAILER_BYTES as u64);
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn bad_packet(&mut self, block_type: u32, block_bytes: usize) -> Option<Record> {
        let what = match self.packet_fields(block_type, block_bytes) {
            Some(fields) => format!(
                "packet record claims {} bytes in a block of {block_bytes}",
                fields.captured
            ),
            None if block_bytes < MIN_PACKET_BYTES => {
                format!("a packet block of {block_bytes} bytes, too short to hold one")
            }
            None => format!(
                "a packet of an interface that is not among the {} described",
                self.interfaces.len()
            ),
        };
        self.fail(what)
    }

    #[cold]
    #[inline(never)]
    fn bad_length<T>(&mut self, what: &str, claimed: u32) -> Option<T> {
        self.fail(format!("{what} block claims {claimed} bytes"))
    }

    #[cold]
    #[inline(never)]
    fn lengths_disagree<T>(&mut self, offset: u64, before: u32, after: u32) -> Option<T> {
        let what = format!("a block of {before} bytes that ends as one of {after}");
        self.flaw = Some(Flaw { offset, what });
        None
    }

    #[cold]
    #[inline(never)]
    fn cut_short<T>(&mut self, inside: &str) -> Option<T> {
        self.flaw = Flaw::of_ended_stream(&self.buffer, inside);
        None
    }

    #[cold]
    #[inline(never)]
    fn fail<T>(&mut self, what: String) -> Option<T> {
        self.flaw = Some(Flaw { offset: self.buffer.offset(), what });
        None
    }
}
