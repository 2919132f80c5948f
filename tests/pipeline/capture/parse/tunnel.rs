//! Tunnels, open and closed.

use acsm::capture::LinkType;
use acsm::capture::parse::Skip;

use super::{assert_tcp, parse, parse_closed};
use crate::capture::frames::*;

const RAW: LinkType = LinkType::RAW;

/// Asserts that an IP payload is parsed as a tunnel around [`tcp`]'s segment, over both versions of
/// IP, and that `--no-tunnels` does not open it.
#[track_caller]
fn assert_tunnel(protocol: u8, payload: &[u8]) {
    let closed = if protocol == UDP { Skip::Udp } else { Skip::Tunnel };
    for frame in [outer_ipv4(protocol, payload), outer_ipv6(protocol, payload)] {
        assert_tcp(RAW, &frame);
        assert_eq!(parse_closed(RAW, &frame), Err(closed));
    }
}

#[test]
fn ip_in_ip() {
    assert_tunnel(4, &ipv4_tcp());
    assert_tunnel(41, &ipv6_tcp());
    assert_tunnel(97, &concat(&[&[0x30, 0], &ethernet_tcp()]));
    assert_tunnel(137, &concat(&[&[0, 1, 1, 64], &ipv4_tcp()]));
}

#[test]
fn the_outermost_tcp_header_is_the_one() {
    let inner = outer_ipv4(TCP, &tcp());
    let frame = ipv4(TCP, &concat(&[&tcp_with(5, FLAGS), &inner]));
    let packet = parse(RAW, &frame).unwrap();
    assert_eq!(packet.src.to_string(), "10.1.1.1");
    assert!(parse_closed(RAW, &frame).is_ok());
}

const GRE: u8 = 47;

fn gre(flags: u16, protocol: u16, options: &[u8], payload: &[u8]) -> Vec<u8> {
    concat(&[&flags.to_be_bytes(), &protocol.to_be_bytes(), options, payload])
}

#[test]
fn gre_with_every_option() {
    assert_tunnel(GRE, &gre(0, ETHERTYPE_IPV4, &[], &ipv4_tcp()));
    assert_tunnel(GRE, &gre(0, ETHERTYPE_IPV6, &[], &ipv6_tcp()));
    for (flags, bytes) in [(0x8000, 4), (0x2000, 4), (0x1000, 4), (0xb000, 12)] {
        assert_tunnel(GRE, &gre(flags, ETHERTYPE_IPV4, &vec![3; bytes], &ipv4_tcp()));
    }
    let routes = [0, 0, 0, 0, 8, 0, 0, 4, 1, 2, 3, 4, 0, 0, 0, 0];
    assert_tunnel(GRE, &gre(0x4000, ETHERTYPE_IPV4, &routes, &ipv4_tcp()));
    assert_tunnel(GRE, &gre(0, 0x6558, &[], &ethernet_tcp()));
    assert_tunnel(GRE, &gre(0, 0x8847, &[0, 1, 1, 64], &ipv4_tcp()));
    assert_tunnel(GRE, &gre(0, 0x883e, &[], &ipv4_tcp()));
    assert_tunnel(GRE, &gre(0, 0x883e, &[0; 4], &ipv4_tcp()));

    let keep_alive = outer_ipv4(GRE, &gre(0, 0, &[], &[]));
    assert_eq!(parse(RAW, &keep_alive), Err(Skip::NotIp));
    let unknown_version = outer_ipv4(GRE, &gre(2, ETHERTYPE_IPV4, &[], &ipv4_tcp()));
    assert_eq!(parse(RAW, &unknown_version), Err(Skip::OtherProtocol));
}

#[test]
fn pptp() {
    let ppp = concat(&[&[0xff, 0x03, 0x00, 0x21], &ipv4_tcp()]);
    let [l0, l1] = (ppp.len() as u16).to_be_bytes();
    assert_tunnel(GRE, &gre(0x2001, 0x880b, &[l0, l1, 0, 7], &ppp));
    assert_tunnel(GRE, &gre(0x3001, 0x880b, &[l0, l1, 0, 7, 0, 0, 0, 1], &ppp));
    assert_tunnel(GRE, &gre(0x3081, 0x880b, &[l0, l1, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1], &ppp));
    let acknowledgement = outer_ipv4(GRE, &gre(0x2081, 0x880b, &[0, 0, 0, 7, 0, 0, 0, 1], &[]));
    assert_eq!(parse(RAW, &acknowledgement), Err(Skip::TruncatedLink), "nothing inside");
}

#[test]
fn erspan() {
    assert_tunnel(GRE, &gre(0, 0x88be, &[], &ethernet_tcp()));
    let header = |version: u8, bytes: usize| concat(&[&[version << 4], &vec![0; bytes - 1]]);
    let two = concat(&[&[0, 0, 0, 1], &header(1, 8)]);
    assert_tunnel(GRE, &gre(0x1000, 0x88be, &two, &ethernet_tcp()));
    let three = concat(&[&[0, 0, 0, 1], &header(2, 12)]);
    assert_tunnel(GRE, &gre(0x1000, 0x22eb, &three, &ethernet_tcp()));
    let mut three_with_platform = concat(&[&[0, 0, 0, 1], &header(2, 20)]);
    three_with_platform[4 + 11] = 1;
    assert_tunnel(GRE, &gre(0x1000, 0x22eb, &three_with_platform, &ethernet_tcp()));
}

#[test]
fn vxlan_at_its_ports() {
    let vxlan = concat(&[&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet_tcp()]);
    assert_tunnel(UDP, &udp(50_000, 4789, &vxlan));
    assert_tunnel(UDP, &udp(50_000, 8472, &vxlan));
    let tagged = vlan(6, ETHERTYPE_IPV4, &ipv4_tcp());
    let tagged = concat(&[&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet(0x8100, &tagged)]);
    let frame = outer_ipv4(UDP, &udp(50_000, 4789, &tagged));
    assert_eq!(assert_tcp(RAW, &frame).vlan, [6, 0]);
    let dns_like = concat(&[&[0; 8], &ethernet_tcp()]);
    let frame = outer_ipv4(UDP, &udp(53, 8472, &dns_like));
    assert_eq!(parse(RAW, &frame), Err(Skip::Udp), "a port alone makes no tunnel");

    for (protocol, payload) in [(1, ipv4_tcp()), (2, ipv6_tcp()), (3, ethernet_tcp())] {
        let header = [0x0c, 0, 0, protocol, 0, 0, 7, 0];
        assert_tunnel(UDP, &udp(50_000, 4790, &concat(&[&header, &payload])));
    }
}

#[test]
fn geneve_with_options() {
    for words in [0, 1, 5] {
        let options = vec![0; 4 * usize::from(words)];
        let header = |p0, p1| concat(&[&[words, 0, p0, p1, 0, 0, 7, 0], &options]);
        let ethernet = concat(&[&header(0x65, 0x58), &ethernet_tcp()]);
        assert_tunnel(UDP, &udp(50_000, 6081, &ethernet));
        assert_tunnel(UDP, &udp(50_000, 6081, &concat(&[&header(0x08, 0x00), &ipv4_tcp()])));
    }
}

#[test]
fn gtp_u_with_extension_headers() {
    let gtp = |flags: u8, message: u8, options: &[u8], payload: &[u8]| {
        let length = ((options.len() + payload.len()) as u16).to_be_bytes();
        udp(2152, 2152, &concat(&[&[flags, message], &length, &[0, 0, 0, 9], options, payload]))
    };
    assert_tunnel(UDP, &gtp(0x30, 255, &[], &ipv4_tcp()));
    assert_tunnel(UDP, &gtp(0x30, 255, &[], &ipv6_tcp()));
    assert_tunnel(UDP, &gtp(0x32, 255, &[0, 1, 0, 0], &ipv4_tcp()));
    assert_tunnel(UDP, &gtp(0x34, 255, &[0, 0, 0, 0x85, 1, 0, 9, 0], &ipv4_tcp()));
    let two = [0, 0, 0, 0xc0, 1, 0, 9, 0x85, 2, 0, 9, 0, 0, 0, 0, 0];
    assert_tunnel(UDP, &gtp(0x36, 255, &two, &ipv4_tcp()));
    let endless = outer_ipv4(UDP, &gtp(0x34, 255, &[0, 0, 0, 0x85, 0, 0, 9, 0x85], &ipv4_tcp()));
    assert_eq!(parse(RAW, &endless), Err(Skip::Udp));
    let echo = outer_ipv4(UDP, &gtp(0x32, 1, &[0, 1, 0, 0], &ipv4_tcp()));
    assert_eq!(parse(RAW, &echo), Err(Skip::Udp));
}

#[test]
fn teredo_from_and_to_its_port() {
    let origin: &[u8] = &[0, 0, 1, 2, 3, 4, 5, 6];
    let authentication: &[u8] = &[0, 1, 2, 3, 9, 9, 8, 8, 8, 1, 1, 1, 1, 1, 1, 1, 1, 0];
    for header in [&[][..], origin, authentication, &concat(&[authentication, origin])] {
        let payload = concat(&[header, &ipv6_tcp()]);
        assert_tunnel(UDP, &udp(50_000, 3544, &payload));
        assert_tunnel(UDP, &udp(3544, 50_000, &payload));
    }
}

#[test]
fn tunnels_nest_but_not_forever() {
    let nested = |depth: usize| {
        let mut packet = ipv4_tcp();
        for _ in 0..depth {
            packet = outer_ipv4(4, &packet);
        }
        packet
    };
    assert_tcp(RAW, &nested(10));
    assert_eq!(parse(RAW, &nested(100)), Err(Skip::TooManyHeaders));
}
