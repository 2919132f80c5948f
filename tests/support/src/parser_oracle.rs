//! Compares acsm's parser with etherparse's lax API, wherever that covers the frame.
//!
//! A plain function, so that a property test and a fuzz target can share it.

use acsm::capture::parse::{ParseOptions, Parser};
use acsm::capture::{Frame, LinkType};
use acsm::flow::{Packet, TcpFlags};
use acsm::time::Timestamp;
use etherparse::err::Layer;
use etherparse::err::ipv6_exts::HeaderError;
use etherparse::err::packet::SliceError;
use etherparse::{
    EtherType, IpNumber, Ipv6ExtensionSlice, LaxIpPayloadSlice, LaxLinkExtSlice, LaxNetSlice,
    LaxSlicedPacket, TransportSlice, ether_type, ip_number,
};

/// What etherparse says about a frame.
#[derive(Debug)]
enum Oracle {
    /// There is a TCP header to count.
    Tcp(Box<Packet>),
    /// There is none.
    NoTcp,
    /// It does not cover the shape, or follows other rules on purpose; the text says which.
    Silent(&'static str),
}

/// Panics unless the fast path, the walker and etherparse agree on the frame. Where etherparse
/// does not apply, returns why.
pub fn check(link_type: LinkType, bytes: &[u8]) -> Option<&'static str> {
    let frame =
        Frame { time: Timestamp::default(), link_type, wire_bytes: bytes.len() as u32, bytes };
    let [open, closed] = [false, true].map(|no_tunnels| {
        let parser = Parser::new(ParseOptions { no_tunnels });
        let parsed = parser.parse(&frame);
        assert_eq!(parsed, parser.walk(&frame), "fast path and walker on {bytes:02x?}");
        parsed
    });
    if let Ok(packet) = closed {
        assert_eq!(open, Ok(packet), "opening tunnels must not hide TCP: {bytes:02x?}");
    }
    match oracle(&frame) {
        Oracle::Tcp(expected) => {
            assert_eq!(closed, Ok(*expected), "etherparse found TCP in {bytes:02x?}");
        }
        Oracle::NoTcp => {
            assert!(closed.is_err(), "etherparse found no TCP in {bytes:02x?}, acsm {closed:?}");
        }
        Oracle::Silent(why) => return Some(why),
    }
    None
}

fn oracle(frame: &Frame<'_>) -> Oracle {
    match frame.link_type {
        LinkType::ETHERNET => match LaxSlicedPacket::from_ethernet(frame.bytes) {
            Ok(sliced) => answer(frame, &sliced),
            Err(_) => Oracle::NoTcp,
        },
        LinkType::RAW => match LaxSlicedPacket::from_ip(frame.bytes) {
            Ok(sliced) => answer(frame, &sliced),
            Err(_) => Oracle::NoTcp,
        },
        _ => Oracle::Silent("a link type that it does not know"),
    }
}

fn answer(frame: &Frame<'_>, sliced: &LaxSlicedPacket<'_>) -> Oracle {
    if sliced.link_exts.iter().any(|ext| matches!(ext, LaxLinkExtSlice::Macsec(_))) {
        return Oracle::Silent("MACsec, which acsm does not open");
    }
    let ethertype = match sliced.link_exts.last() {
        Some(LaxLinkExtSlice::Vlan(vlan)) => Some(vlan.ether_type()),
        _ => sliced.link.as_ref().and_then(|link| link.ether_payload()).map(|p| p.ether_type),
    };
    match &sliced.net {
        None if sliced.stop_err.is_some() => Oracle::NoTcp,
        None => Oracle::Silent("an EtherType it does not know, or more VLAN tags than three"),
        Some(LaxNetSlice::Arp(_)) => Oracle::NoTcp,
        Some(LaxNetSlice::Ipv4(ipv4)) => {
            let header = ipv4.header();
            let header_bytes = header.slice().len();
            if ethertype.is_some_and(|e| e != ether_type::IPV4) {
                return Oracle::Silent("IPv4 behind IPv6's EtherType: acsm believes the EtherType");
            }
            if (1..header_bytes).contains(&usize::from(header.total_len())) {
                return Oracle::Silent("total length within the header: acsm calls it damage");
            }
            if header.fragments_offset().value() != 0 {
                return Oracle::NoTcp;
            }
            if let Some(stopped) = stopped_in_extensions(sliced) {
                return stopped;
            }
            let ends = (header.source_addr().into(), header.destination_addr().into());
            transport(frame, sliced, ends, ipv4.payload())
        }
        Some(LaxNetSlice::Ipv6(ipv6)) => {
            let header = ipv6.header();
            if ethertype.is_some_and(|e: EtherType| e != ether_type::IPV6) {
                return Oracle::Silent("IPv6 behind IPv4's EtherType: acsm believes the EtherType");
            }
            if header.payload_length() == 0 {
                return Oracle::Silent("length 0, which it takes for the rest of the slice");
            }
            // Before its iterator over the headers is asked: after an error that one reads beyond
            // their end (etherparse 0.21).
            if let Some(stopped) = stopped_in_extensions(sliced) {
                return stopped;
            }
            let is_later_fragment = ipv6.extensions().clone().into_iter().any(|ext| match ext {
                Ipv6ExtensionSlice::Fragment(fragment) => fragment.fragment_offset().value() != 0,
                _ => false,
            });
            if is_later_fragment {
                return Oracle::NoTcp;
            }
            let ends = (header.source_addr().into(), header.destination_addr().into());
            transport(frame, sliced, ends, ipv6.payload())
        }
    }
}

/// What an error among the IP extension headers means, if there was one.
fn stopped_in_extensions(sliced: &LaxSlicedPacket<'_>) -> Option<Oracle> {
    match sliced.stop_err.as_ref()? {
        (SliceError::Ipv6Exts(HeaderError::HopByHopNotAtStart), _) => {
            Some(Oracle::Silent("a misplaced hop-by-hop header, which acsm forgives"))
        }
        (SliceError::Ipv6Exts(_) | SliceError::Ipv4Exts(_), _) => {
            Some(Oracle::Silent("an authentication header too short, which acsm forgives"))
        }
        (SliceError::Len(_), layer) if *layer != Layer::TcpHeader => Some(Oracle::NoTcp),
        _ => None,
    }
}

fn transport(
    frame: &Frame<'_>,
    sliced: &LaxSlicedPacket<'_>,
    (src, dst): (std::net::IpAddr, std::net::IpAddr),
    payload: &LaxIpPayloadSlice<'_>,
) -> Oracle {
    const SKIPPED_BY_ACSM_ONLY: [IpNumber; 4] =
        [ip_number::AUTH, ip_number::MOBILITY_HEADER, ip_number::HIP, ip_number::SHIM6];
    if SKIPPED_BY_ACSM_ONLY.contains(&payload.ip_number) {
        return Oracle::Silent("extension headers that it does not skip");
    }
    if payload.ip_number != ip_number::TCP {
        return Oracle::NoTcp;
    }
    // It wants the whole TCP header and no fragment; for the rest its slice is used.
    let Some([s0, s1, d0, d1, .., offset, flags]) = payload.payload.first_chunk::<14>() else {
        return Oracle::NoTcp;
    };
    let header_bytes = usize::from(offset >> 4) * 4;
    if header_bytes < 20 {
        return Oracle::NoTcp;
    }
    let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|n| payload.payload[at + n]));
    let (src_port, dst_port, flags, [sequence, acknowledgement]) = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            let flags = [
                tcp.fin(),
                tcp.syn(),
                tcp.rst(),
                tcp.psh(),
                tcp.ack(),
                tcp.urg(),
                tcp.ece(),
                tcp.cwr(),
            ];
            let flags = flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag));
            let numbers = [tcp.sequence_number(), tcp.acknowledgment_number()];
            (tcp.source_port(), tcp.destination_port(), flags, numbers)
        }
        _ => {
            let ports = [[*s0, *s1], [*d0, *d1]].map(u16::from_be_bytes);
            (ports[0], ports[1], *flags, [word(4), word(8)])
        }
    };
    let captured = payload.payload.len().saturating_sub(header_bytes);
    let ids: Vec<u16> = sliced
        .link_exts
        .iter()
        .filter_map(|ext| match ext {
            LaxLinkExtSlice::Vlan(vlan) => Some(vlan.vlan_identifier().value()),
            LaxLinkExtSlice::Macsec(_) => None,
        })
        .collect();
    let id = |index: usize| ids.get(index).copied().unwrap_or(0);
    Oracle::Tcp(Box::new(Packet {
        time: frame.time,
        src,
        dst,
        src_port,
        dst_port,
        flags: TcpFlags(flags),
        vlan: [id(0), id(1)],
        payload_bytes: match payload.incomplete {
            false => captured as u32,
            true => missing_payload_bytes(sliced, payload, header_bytes),
        },
        wire_bytes: frame.wire_bytes,
        sequence_sum: sequence.wrapping_add(acknowledgement),
    }))
}

/// The payload of a truncated segment: what the IP header promised, less all headers.
fn missing_payload_bytes(
    sliced: &LaxSlicedPacket<'_>,
    payload: &LaxIpPayloadSlice<'_>,
    tcp_header_bytes: usize,
) -> u32 {
    let promised = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ipv4)) => {
            let ip_bytes = ipv4.header().slice().len()
                + ipv4.extensions().auth.map_or(0, |auth| auth.slice().len());
            usize::from(ipv4.header().total_len()).saturating_sub(ip_bytes)
        }
        Some(LaxNetSlice::Ipv6(ipv6)) => {
            let length = usize::from(ipv6.header().payload_length());
            length.saturating_sub(ipv6.extensions().slice().len())
        }
        _ => payload.payload.len(),
    };
    promised.saturating_sub(tcp_header_bytes) as u32
}
