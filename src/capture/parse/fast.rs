//! The common shapes in one go: Ethernet with at most one VLAN tag, or no link header at all,
//! then IPv4 or IPv6 without extension headers, unfragmented, then TCP.
//!
//! Whatever is not exactly that, or looks odd, is left to the walker; a property test holds the
//! two to the same answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::{Frame, LinkType};
use super::ethertype::number;
use super::tcp;
use crate::flow::{Packet, TcpFlags};

/// "More fragments" and the fragment offset.
const IS_FRAGMENT: u16 = 0x3fff;

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
            match frame.bytes.first()? >> 4 {
                4 => ipv4(frame, frame.bytes, 0).map(take),
                6 => ipv6(frame, frame.bytes, 0).map(take),
                _ => None,
            }
        }
        _ => None,
    }
}

#[inline(always)]
fn ipv4(frame: &Frame<'_>, bytes: &[u8], vlan_id: u16) -> Option<Packet> {
    let header = bytes.first_chunk::<20>()?;
    let header_bytes = 4 * usize::from(header[0] & 0x0f);
    let is_plain = header[0] >> 4 == 4
        && header_bytes >= 20
        && header[9] == tcp::PROTOCOL
        && u16_at(header, 6) & IS_FRAGMENT == 0;
    let segment_bytes = usize::from(u16_at(header, 2)).checked_sub(header_bytes)?;
    if !is_plain {
        return None;
    }
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
    let src = IpAddr::V4(Ipv4Addr::new(s0, s1, s2, s3));
    let dst = IpAddr::V4(Ipv4Addr::new(d0, d1, d2, d3));
    segment(frame, bytes.get(header_bytes..)?, segment_bytes, (src, dst), vlan_id)
}

#[inline]
fn ipv6(frame: &Frame<'_>, bytes: &[u8], vlan_id: u16) -> Option<Packet> {
    let (header, rest) = bytes.split_first_chunk::<40>()?;
    if header[0] >> 4 != 6 || header[6] != tcp::PROTOCOL {
        return None;
    }
    let segment_bytes = usize::from(u16_at(header, 4));
    let src: [u8; 16] = *header.get(8..)?.first_chunk()?;
    let dst: [u8; 16] = *header.get(24..)?.first_chunk()?;
    let ends = (IpAddr::V6(Ipv6Addr::from(src)), IpAddr::V6(Ipv6Addr::from(dst)));
    segment(frame, rest, segment_bytes, ends, vlan_id)
}

/// The packet of a TCP segment whose length is known and reaches beyond the flags.
#[inline(always)]
fn segment(
    frame: &Frame<'_>,
    bytes: &[u8],
    segment_bytes: usize,
    (src, dst): (IpAddr, IpAddr),
    vlan_id: u16,
) -> Option<Packet> {
    let header = bytes.first_chunk::<14>()?;
    let data_offset = header[12] >> 4;
    if segment_bytes < header.len() || data_offset < tcp::MIN_DATA_OFFSET {
        return None;
    }
    let payload_bytes = segment_bytes.saturating_sub(4 * usize::from(data_offset));
    Some(Packet {
        time: frame.time,
        src,
        dst,
        src_port: u16_at(header, 0),
        dst_port: u16_at(header, 2),
        flags: TcpFlags(header[13]),
        vlan: [vlan_id, 0],
        payload_bytes: payload_bytes as u32, // at most 65535
        wire_bytes: frame.wire_bytes,
    })
}

/// The big-endian number at a constant offset of a header.
#[inline]
fn u16_at<const N: usize>(header: &[u8; N], offset: usize) -> u16 {
    u16::from_be_bytes([header[offset], header[offset + 1]])
}
