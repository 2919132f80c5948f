//! Every link type, network header and tunnel, with handmade frames.

mod link;
mod network;
mod tunnel;

use acsm::capture::parse::{ParseOptions, Parser, Skip};
use acsm::capture::{Frame, LinkType};
use acsm::flow::{Packet, TcpFlags};
use acsm::time::Timestamp;

use crate::capture::frames;

const OPEN: ParseOptions = ParseOptions { no_tunnels: false };
const CLOSED: ParseOptions = ParseOptions { no_tunnels: true };

/// Parses the first `captured` bytes of a frame, by the fast path and by the walker.
fn parse_cut(
    options: ParseOptions,
    link_type: LinkType,
    bytes: &[u8],
    captured: usize,
) -> Result<Packet, Skip> {
    let frame = Frame {
        time: Timestamp::from_nanos(5),
        link_type,
        wire_bytes: bytes.len() as u32,
        bytes: &bytes[..captured],
    };
    let parser = Parser::new(options);
    let parsed = parser.parse(&frame);
    assert_eq!(parsed, parser.walk(&frame), "fast path and walker, {captured} bytes captured");
    parsed
}

fn parse(link_type: LinkType, bytes: &[u8]) -> Result<Packet, Skip> {
    parse_cut(OPEN, link_type, bytes, bytes.len())
}

fn parse_closed(link_type: LinkType, bytes: &[u8]) -> Result<Packet, Skip> {
    parse_cut(CLOSED, link_type, bytes, bytes.len())
}

/// Asserts that a frame ending with [`frames::tcp`]'s segment is parsed as that segment: whole, and cut
/// anywhere after the flags byte, but not if cut before.
#[track_caller]
fn assert_tcp(link_type: LinkType, bytes: &[u8]) -> Packet {
    assert_tcp_before(link_type, bytes, 0)
}

/// The same for a frame with `trailer_bytes` behind the segment.
#[track_caller]
fn assert_tcp_before(link_type: LinkType, bytes: &[u8], trailer_bytes: usize) -> Packet {
    let packet = parse(link_type, bytes).unwrap_or_else(|skip| panic!("{}", skip.name()));
    let (src, dst) = match packet.src.is_ipv4() {
        true => ("10.1.1.1", "10.2.2.2"),
        false => ("fd00::1", "fd00::2"),
    };
    let expected = Packet {
        time: Timestamp::from_nanos(5),
        src: src.parse().unwrap(),
        dst: dst.parse().unwrap(),
        src_port: frames::SRC_PORT,
        dst_port: frames::DST_PORT,
        flags: TcpFlags(frames::FLAGS),
        vlan: packet.vlan,
        payload_bytes: frames::PAYLOAD.len() as u32,
        wire_bytes: bytes.len() as u32,
        sequence_sum: frames::SEQUENCE.wrapping_add(frames::ACKNOWLEDGEMENT),
    };
    assert_eq!(packet, expected);
    let flags_at = bytes.len() - trailer_bytes - frames::FLAGS_FROM_END;
    for captured in 0..bytes.len() {
        let parsed = parse_cut(OPEN, link_type, bytes, captured);
        assert_eq!(parsed.ok(), (captured > flags_at).then_some(expected), "{captured} captured");
    }
    packet
}

#[test]
fn link_types_without_a_parser_are_named() {
    assert_eq!(parse(LinkType(147), &frames::ethernet_tcp()), Err(Skip::UnsupportedLinkType));
}
