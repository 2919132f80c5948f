//! One TCP segment and its bytes on the wire.
//!
//! Payloads are zeros, so the TCP checksum of a packet follows from its headers alone and is right
//! even where a short snaplen cuts the payload off.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::capture::LinkType;
use crate::flow::TcpFlags;

/// A TCP segment to be written. Both addresses are of the same family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named as RFC 9293 names them
pub struct Segment {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub src_port: u16,
    pub dst_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: TcpFlags,
    pub payload_bytes: u16,
    pub bad_checksum: bool,
}

/// A packet that is sent now, and when its sender sends the next one.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The packet.
    pub segment: Segment,
    /// When the next one is due, in nanoseconds since the start; `None` after the last one.
    pub next_nanos: Option<u64>,
}

/// The link-layer header of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// None: frames begin with the IP header, as in CAIDA's traces.
    Raw,
    /// An Ethernet header.
    Ethernet,
}

impl Link {
    /// The length of the header.
    pub const fn header_bytes(self) -> usize {
        match self {
            Link::Raw => 0,
            Link::Ethernet => 14,
        }
    }

    /// The link type of a file with such frames.
    pub const fn link_type(self) -> LinkType {
        match self {
            Link::Raw => LinkType::RAW,
            Link::Ethernet => LinkType::ETHERNET,
        }
    }
}

/// The longest headers: Ethernet, IPv6, TCP with the options of a SYN.
pub const MAX_HEADER_BYTES: usize = 14 + 40 + 20 + SYN_OPTIONS.len();

/// The offset of the flags byte in a TCP header.
pub const TCP_FLAGS_OFFSET: usize = 13;

/// Maximum segment size 1460, window scale 7, selective acknowledgements permitted.
const SYN_OPTIONS: [u8; 12] = [2, 4, 0x05, 0xb4, 1, 3, 3, 7, 1, 1, 4, 2];

const HOP_LIMIT: u8 = 64;
const PROTOCOL_TCP: u8 = 6;

/// The headers of a frame, and its length with the payload.
#[derive(Debug, Clone, Copy)]
pub struct Headers {
    /// The headers, then zeros.
    pub bytes: [u8; MAX_HEADER_BYTES],
    /// How many of `bytes` are headers.
    pub header_bytes: usize,
    /// Headers and payload.
    pub wire_bytes: usize,
}

impl Segment {
    /// The headers of this segment's frame on `link`.
    pub fn headers(&self, link: Link) -> Headers {
        let mut out = Cursor { bytes: [0; MAX_HEADER_BYTES], at: 0 };
        if link == Link::Ethernet {
            out.put(&mac_of(self.dst));
            out.put(&mac_of(self.src));
            out.put(if self.src.is_ipv4() { &[0x08, 0x00] } else { &[0x86, 0xdd] });
        }
        let options: &[u8] = if self.flags.has(TcpFlags::SYN) { &SYN_OPTIONS } else { &[] };
        let tcp_bytes = 20 + options.len() + usize::from(self.payload_bytes);
        let pseudo_sum = match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => self.put_ipv4(&mut out, src, dst, tcp_bytes),
            (src, dst) => put_ipv6(&mut out, mapped(src), mapped(dst), tcp_bytes),
        };
        let tcp = self.tcp_header(options.len());
        let sum = pseudo_sum + sum_words(&tcp) + sum_words(options);
        let checksum = fold(sum) ^ u16::from(self.bad_checksum);
        out.put(&tcp[..16]);
        out.put(&checksum.to_be_bytes());
        out.put(&[0, 0]);
        out.put(options);
        Headers {
            bytes: out.bytes,
            header_bytes: out.at,
            wire_bytes: out.at + usize::from(self.payload_bytes),
        }
    }

    fn tcp_header(&self, options_bytes: usize) -> [u8; 20] {
        let mut tcp = [0; 20];
        tcp[0..2].copy_from_slice(&self.src_port.to_be_bytes());
        tcp[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        tcp[4..8].copy_from_slice(&self.seq.to_be_bytes());
        tcp[8..12].copy_from_slice(&self.ack.to_be_bytes());
        tcp[12] = ((20 + options_bytes) as u8 / 4) << 4;
        tcp[TCP_FLAGS_OFFSET] = self.flags.0;
        let window: u16 = if self.flags.has(TcpFlags::RST) { 0 } else { 64_240 };
        tcp[14..16].copy_from_slice(&window.to_be_bytes());
        tcp
    }

    /// Appends the IPv4 header; returns the sum of TCP's pseudo-header.
    fn put_ipv4(&self, out: &mut Cursor, src: Ipv4Addr, dst: Ipv4Addr, tcp_bytes: usize) -> u32 {
        let mut ip = [0; 20];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&(20 + tcp_bytes as u16).to_be_bytes());
        // Any identification is valid for packets that may not be fragmented (RFC 6864).
        let id = self.seq.wrapping_add(self.ack.rotate_left(16)).wrapping_mul(0x9e37_79b9) >> 16;
        ip[4..6].copy_from_slice(&(id as u16).to_be_bytes());
        ip[6] = 0x40; // don't fragment
        ip[8] = HOP_LIMIT;
        ip[9] = PROTOCOL_TCP;
        ip[12..16].copy_from_slice(&src.octets());
        ip[16..20].copy_from_slice(&dst.octets());
        let checksum = fold(sum_words(&ip));
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        out.put(&ip);
        sum_words(&ip[12..20]) + u32::from(PROTOCOL_TCP) + tcp_bytes as u32
    }
}

/// Appends the IPv6 header; returns the sum of TCP's pseudo-header.
fn put_ipv6(out: &mut Cursor, src: Ipv6Addr, dst: Ipv6Addr, tcp_bytes: usize) -> u32 {
    let mut ip = [0; 40];
    ip[0] = 0x60;
    ip[4..6].copy_from_slice(&(tcp_bytes as u16).to_be_bytes());
    ip[6] = PROTOCOL_TCP;
    ip[7] = HOP_LIMIT;
    ip[8..24].copy_from_slice(&src.octets());
    ip[24..40].copy_from_slice(&dst.octets());
    out.put(&ip);
    sum_words(&ip[8..40]) + u32::from(PROTOCOL_TCP) + tcp_bytes as u32
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// A locally administered MAC address derived from the IP address.
fn mac_of(address: IpAddr) -> [u8; 6] {
    let [a, b, c, d] = match address {
        IpAddr::V4(v4) => v4.octets(),
        IpAddr::V6(v6) => (v6.to_bits() as u32).to_be_bytes(),
    };
    [0x02, if address.is_ipv4() { 4 } else { 6 }, a, b, c, d]
}

/// The sum of big-endian 16-bit words (RFC 1071), not folded yet.
fn sum_words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum()
}

/// The checksum of a sum: folded to 16 bits and complemented.
fn fold(sum: u32) -> u16 {
    let sum = (sum >> 16) + (sum & 0xffff);
    !(((sum >> 16) + (sum & 0xffff)) as u16)
}

struct Cursor {
    bytes: [u8; MAX_HEADER_BYTES],
    at: usize,
}

impl Cursor {
    fn put(&mut self, part: &[u8]) {
        self.bytes[self.at..self.at + part.len()].copy_from_slice(part);
        self.at += part.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{SlicedPacket, TransportSlice};

    fn segment(src: &str, dst: &str, flags: TcpFlags, payload_bytes: u16) -> Segment {
        Segment {
            src: src.parse().unwrap(),
            dst: dst.parse().unwrap(),
            src_port: 50_000,
            dst_port: 443,
            seq: 0xfedc_ba98,
            ack: 0x89ab_cdef,
            flags,
            payload_bytes,
            bad_checksum: false,
        }
    }

    #[test]
    fn etherparse_finds_what_was_put_in_and_right_checksums() {
        for (src, dst) in [("10.0.0.1", "172.16.255.254"), ("2001:db8::1", "2001:db8:ffff::2")] {
            for (flags, payload) in [(TcpFlags::SYN, 0), (TcpFlags::ACK, 1460), (TcpFlags(0xff), 1)]
            {
                let segment = segment(src, dst, flags, payload);
                let headers = segment.headers(Link::Ethernet);
                let mut frame = headers.bytes[..headers.header_bytes].to_vec();
                frame.resize(headers.wire_bytes, 0);
                let sliced = SlicedPacket::from_ethernet(&frame).unwrap();
                let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else {
                    panic!("no TCP in {segment:?}");
                };
                assert_eq!(tcp.slice()[TCP_FLAGS_OFFSET], flags.0);
                assert_eq!((tcp.source_port(), tcp.destination_port()), (50_000, 443));
                assert_eq!(
                    (tcp.sequence_number(), tcp.acknowledgment_number()),
                    (segment.seq, segment.ack)
                );
                assert_eq!(tcp.payload().len(), usize::from(payload));
                let expected = match sliced.net.as_ref().unwrap() {
                    etherparse::NetSlice::Ipv4(ip) => {
                        let header = ip.header().to_header();
                        assert_eq!(header.calc_header_checksum(), header.header_checksum);
                        let ip = ip.header();
                        tcp.calc_checksum_ipv4(ip.source(), ip.destination()).unwrap()
                    }
                    etherparse::NetSlice::Ipv6(ip) => {
                        let ip = ip.header();
                        tcp.calc_checksum_ipv6(ip.source(), ip.destination()).unwrap()
                    }
                    other => panic!("{other:?}"),
                };
                assert_eq!(tcp.checksum(), expected);
            }
        }
    }

    #[test]
    fn a_bad_checksum_is_the_only_difference() {
        let right = segment("10.0.0.1", "10.0.0.2", TcpFlags::ACK, 0);
        let wrong = Segment { bad_checksum: true, ..right };
        let bytes = |segment: Segment| segment.headers(Link::Raw).bytes;
        let differ: Vec<usize> = bytes(right)
            .iter()
            .zip(bytes(wrong))
            .enumerate()
            .filter(|(_, (a, b))| **a != *b)
            .map(|(at, _)| at)
            .collect();
        assert_eq!(differ, [37], "in the checksum of TCP after an IPv4 header");
    }

    #[test]
    fn raw_frames_begin_with_the_ip_header() {
        let headers = segment("10.0.0.1", "10.0.0.2", TcpFlags::ACK, 1000).headers(Link::Raw);
        assert_eq!((headers.bytes[0], headers.header_bytes, headers.wire_bytes), (0x45, 40, 1040));
    }
}
