//! The parser: frames into packets, in slots that the caller provides, and what is counted.
//!
//! The fast path parses the common headers without walking layer by layer: Ethernet with at most one
//! VLAN tag, or raw IP; IPv4 without options or IPv6 without extension headers, unfragmented; TCP.
//! Everything else (other headers, truncated or malformed ones) is left to `walk`; a property test
//! checks that both give the same result.

use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::link::ethertype;
use super::skip::{Skip, SkipCounts};
use super::walk::walk;
use super::{ParseOptions, tcp};
use crate::capture::{Frame, LinkType};
use crate::flow::{Packet, TcpFlags};
use crate::time::Timestamp;

/// Finds the TCP header in frames of any known link type.
#[derive(Debug, Default, Clone, Copy)]
pub struct Parser {
    options: ParseOptions,
}

impl Parser {
    /// A parser with these options.
    pub fn new(options: ParseOptions) -> Self {
        Self { options }
    }

    /// The TCP packet in `frame`, or why it is skipped.
    #[inline(always)]
    pub fn parse(&self, frame: &Frame<'_>) -> Result<Packet, Skip> {
        self.parse_with(frame, |packet| packet)
    }

    /// Parses `frame` and passes the packet to `take`, which is inlined into the fast path for each
    /// kind of header, so that the packet is built where it is stored.
    #[inline(always)]
    pub fn parse_with<T>(
        &self,
        frame: &Frame<'_>,
        mut take: impl FnMut(Packet) -> T,
    ) -> Result<T, Skip> {
        match fast(frame, &mut take) {
            Some(taken) => Ok(taken),
            // A copy, so that the frame itself can stay in registers on the fast path.
            None => walk(&{ *frame }, self.options).map(take),
        }
    }

    /// The same result as [`Parser::parse`] without the fast path: the reference of its tests.
    pub fn walk(&self, frame: &Frame<'_>) -> Result<Packet, Skip> {
        walk(frame, self.options)
    }
}

/// Free slots for packets. [`PacketSource::fill`](crate::capture::PacketSource::fill) parses frames into them, from the first on.
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

/// Version 4, and a header of five words.
const IPV4_WITHOUT_OPTIONS: u8 = 0x45;
/// In bytes 6 to 9 of an IPv4 header: "more fragments" and the fragment offset; the protocol.
const FRAGMENT_AND_PROTOCOL: u32 = 0x3fff_00ff;

/// A header is parsed only if all of it was captured, so its length is checked once.
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const TCP_HEADER_BYTES: usize = 20;

/// Passes the packet to `take`, if the frame is one for the fast path.
#[inline(always)] // into the loop that reads records
fn fast<T>(frame: &Frame<'_>, take: impl FnOnce(Packet) -> T) -> Option<T> {
    match frame.link_type {
        LinkType::ETHERNET => {
            let (header, rest) = frame.bytes.split_first_chunk::<14>()?;
            let (number, rest, vlan_id) = match u16_at(header, 12) {
                ethertype::VLAN => {
                    let (tag, rest) = rest.split_first_chunk::<4>()?;
                    (u16_at(tag, 2), rest, u16_at(tag, 0) & 0x0fff)
                }
                number => (number, rest, 0),
            };
            match number {
                ethertype::IPV4 => ipv4(frame, rest, vlan_id).map(take),
                ethertype::IPV6 => ipv6(frame, rest, vlan_id).map(take),
                _ => None,
            }
        }
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => {
            match ipv4(frame, frame.bytes, 0) {
                Some(packet) => Some(take(packet)),
                None => ipv6(frame, frame.bytes, 0).map(take),
            }
        }
        _ => None,
    }
}

#[inline(always)]
fn ipv4(frame: &Frame<'_>, bytes: &[u8], vlan_id: u16) -> Option<Packet> {
    let headers = bytes.first_chunk::<{ IPV4_HEADER_BYTES + TCP_HEADER_BYTES }>()?;
    let (header, tcp) = headers.split_first_chunk::<IPV4_HEADER_BYTES>()?;
    if header[0] != IPV4_WITHOUT_OPTIONS
        || u32_at(header, 6) & FRAGMENT_AND_PROTOCOL != u32::from(tcp::PROTOCOL)
    {
        return None;
    }
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
    let src = IpAddr::V4(Ipv4Addr::new(s0, s1, s2, s3));
    let dst = IpAddr::V4(Ipv4Addr::new(d0, d1, d2, d3));
    let lengths = Lengths { header_bytes: IPV4_HEADER_BYTES, field: u16_at(header, 2) };
    segment(frame, tcp.first_chunk()?, lengths, (src, dst), vlan_id)
}

#[inline]
fn ipv6(frame: &Frame<'_>, bytes: &[u8], vlan_id: u16) -> Option<Packet> {
    let headers = bytes.first_chunk::<{ IPV6_HEADER_BYTES + TCP_HEADER_BYTES }>()?;
    let (header, tcp) = headers.split_first_chunk::<IPV6_HEADER_BYTES>()?;
    if header[0] >> 4 != 6 || header[6] != tcp::PROTOCOL {
        return None;
    }
    let src: [u8; 16] = *header.get(8..)?.first_chunk()?;
    let dst: [u8; 16] = *header.get(24..)?.first_chunk()?;
    let ends = (IpAddr::V6(Ipv6Addr::from(src)), IpAddr::V6(Ipv6Addr::from(dst)));
    let lengths = Lengths { header_bytes: 0, field: u16_at(header, 4) };
    segment(frame, tcp.first_chunk()?, lengths, ends, vlan_id)
}

/// The length field of an IP header, and how much of the header it includes.
struct Lengths {
    /// Bytes of the IP header that `field` includes.
    header_bytes: usize,
    field: u16,
}

/// The packet of a TCP segment whose headers fit the length of the IP packet.
#[inline(always)]
fn segment(
    frame: &Frame<'_>,
    header: &[u8; TCP_HEADER_BYTES],
    lengths: Lengths,
    (src, dst): (IpAddr, IpAddr),
    vlan_id: u16,
) -> Option<Packet> {
    let data_offset = header[12] >> 4;
    if data_offset < tcp::MIN_DATA_OFFSET {
        return None;
    }
    let headers_bytes = lengths.header_bytes as u32 + 4 * u32::from(data_offset);
    Some(Packet {
        time: frame.time,
        src,
        dst,
        src_port: u16_at(header, 0),
        dst_port: u16_at(header, 2),
        flags: TcpFlags(header[13]),
        vlan: [vlan_id, 0],
        payload_bytes: u32::from(lengths.field).checked_sub(headers_bytes)?,
        wire_bytes: frame.wire_bytes,
        sequence_sum: u32_at(header, 4).wrapping_add(u32_at(header, 8)),
    })
}

/// The big-endian number at a constant offset of a header.
#[inline]
fn u16_at<const N: usize>(header: &[u8; N], offset: usize) -> u16 {
    u16::from_be_bytes([header[offset], header[offset + 1]])
}

/// The same, of four bytes.
#[inline]
fn u32_at<const N: usize>(header: &[u8; N], offset: usize) -> u32 {
    u32::from(u16_at(header, offset)) << 16 | u32::from(u16_at(header, offset + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{FileSource, LinkType, PacketSource as _, TimeWindow};

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
