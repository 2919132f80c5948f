//! The common shapes in one go: Ethernet with at most one VLAN tag, or no link header at all,
//! then IPv4 without options or IPv6 without extension headers, unfragmented, then TCP.
//!
//! Whatever is not exactly that, is cut short, or looks odd, is left to the walker; a property
//! test holds the two to the same answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::{Frame, LinkType};
use super::ethertype::number;
use super::tcp;
use crate::flow::{Packet, TcpFlags};

/// Version 4, and a header of five words.
const IPV4_WITHOUT_OPTIONS: u8 = 0x45;
/// In bytes 6 to 9 of an IPv4 header: "more fragments" and the fragment offset; the protocol.
const FRAGMENT_AND_PROTOCOL: u32 = 0x3fff_00ff;

/// A header is looked at only if all of it is there; so its length is asked for once.
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const TCP_HEADER_BYTES: usize = 20;

/// Gives the packet to `take`, if the frame has one of the common shapes.
#[inline(always)] // into the reading loop: each shape makes its packet where it is wanted
pub(super) fn parse<T>(frame: &Frame<'_>, take: impl FnOnce(Packet) -> T) -> Option<T> {
    match frame.link_type {
        LinkType::ETHERNET => {
            let (header, rest) = frame.bytes.split_first_chunk::<14>()?;
            let (ethertype, rest, vlan_id) = match u16_at(header, 12) {
                number::VLAN => {
                    let (tag, rest) = rest.split_first_chunk::<4>()?;
                    (u16_at(tag, 2), rest, u16_at(tag, 0) & 0x0fff)
                }
                ethertype => (ethertype, rest, 0),
            };
            match ethertype {
                number::IPV4 => ipv4(frame, rest, vlan_id).map(take),
                number::IPV6 => ipv6(frame, rest, vlan_id).map(take),
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
    let lengths = Lengths { before: IPV4_HEADER_BYTES, whole: u16_at(header, 2) };
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
    let lengths = Lengths { before: 0, whole: u16_at(header, 4) };
    segment(frame, tcp.first_chunk()?, lengths, ends, vlan_id)
}

/// What an IP header says of the length of itself and its payload.
struct Lengths {
    /// Bytes of it that come before the payload.
    before: usize,
    whole: u16,
}

/// The packet of a TCP segment that is at least as long as its header says.
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
    let headers_bytes = lengths.before as u32 + 4 * u32::from(data_offset);
    Some(Packet {
        time: frame.time,
        src,
        dst,
        src_port: u16_at(header, 0),
        dst_port: u16_at(header, 2),
        flags: TcpFlags(header[13]),
        vlan: [vlan_id, 0],
        payload_bytes: u32::from(lengths.whole).checked_sub(headers_bytes)?,
        wire_bytes: frame.wire_bytes,
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
