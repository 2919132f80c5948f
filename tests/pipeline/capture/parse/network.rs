//! IPv4, IPv6, TCP and ICMP.

use acsm::capture::LinkType;
use acsm::capture::parse::Skip;
use acsm::flow::TcpFlags;

use super::{OPEN, assert_tcp, assert_tcp_before, parse, parse_cut};
use crate::capture::frames::*;

const RAW: LinkType = LinkType::RAW;

#[test]
fn ipv4_options_are_skipped() {
    for words in 0..=10 {
        let header = Ipv4 { options: vec![1; 4 * words], ..Ipv4::new(TCP) };
        assert_tcp(RAW, &header.build(&tcp()));
    }
    let mut short = ipv4_tcp();
    short[0] = 0x44;
    assert_eq!(parse(RAW, &short), Err(Skip::BadIpHeader));
}

#[test]
fn ipv4_total_length_rules() {
    let of_length = |length| Ipv4 { total_length: Some(length), ..Ipv4::new(TCP) }.build(&tcp());
    assert_tcp(RAW, &of_length(0));
    assert_eq!(parse(RAW, &of_length(19)), Err(Skip::BadIpHeader));
    assert_eq!(parse(RAW, &of_length(20)), Err(Skip::TruncatedTcp));
    assert_eq!(parse(RAW, &of_length(33)), Err(Skip::TruncatedTcp));
    assert_eq!(parse(RAW, &of_length(34)).unwrap().payload_bytes, 0, "saturates");
    assert_eq!(parse(RAW, &of_length(1500)).unwrap().payload_bytes, 1460, "truncated before us");
}

#[test]
fn only_the_first_fragment_counts() {
    let fragment = |fragment| Ipv4 { fragment, ..Ipv4::new(TCP) }.build(&tcp());
    assert_tcp(RAW, &fragment(0x4000));
    assert_tcp(RAW, &fragment(0x2000));
    for later in [0x0001, 0x2001, 0x1fff] {
        assert_eq!(parse(RAW, &fragment(later)), Err(Skip::LaterFragment));
    }
    assert_tcp(RAW, &ipv6(44, &fragment_header(TCP, 0, &tcp())));
    assert_tcp(RAW, &ipv6(44, &fragment_header(TCP, 1, &tcp())));
    let later = ipv6(44, &fragment_header(TCP, 8, &tcp()));
    assert_eq!(parse(RAW, &later), Err(Skip::LaterFragment));
}

#[test]
fn authentication_headers_are_skipped() {
    assert_tcp(RAW, &ipv4(51, &authentication(TCP, &tcp())));
    assert_tcp(RAW, &ipv4(51, &authentication(51, &authentication(TCP, &tcp()))));
    assert_tcp(RAW, &ipv6(51, &authentication(TCP, &tcp())));
}

#[test]
fn every_extension_header_is_skipped() {
    let headers = [0, 43, 60, 135, 139, 140];
    for (header, words) in headers.into_iter().zip(0..) {
        assert_tcp(RAW, &ipv6(header, &extension(TCP, words, &tcp())));
    }
    let mut chain = (TCP, tcp());
    for header in headers.into_iter().rev() {
        chain = (header, extension(chain.0, 1, &chain.1));
    }
    let chain = fragment_header(chain.0, 0, &chain.1);
    assert_tcp(RAW, &ipv6(51, &authentication(44, &chain)));
    assert_eq!(parse(RAW, &ipv6(59, &tcp())), Err(Skip::OtherProtocol), "no next header");
    assert_eq!(parse(RAW, &ipv6(50, &tcp())), Err(Skip::Esp));
}

#[test]
fn ipv6_length_rules() {
    let option = [TCP, 0, 0xc2, 4, 0, 1, 0x11, 0x70];
    let jumbogram = ipv6_of_length(0, 0, &concat(&[&option, &tcp()]));
    assert_eq!(parse(RAW, &jumbogram).unwrap().payload_bytes, 0x0001_1170 - 8 - 20);
    assert_eq!(parse(RAW, &ipv6_of_length(TCP, 0, &tcp())), Err(Skip::TruncatedTcp));
    let large = ipv6_of_length(TCP, 0, &concat(&[&tcp(), &vec![0; 70_000]]));
    let parsed = parse_cut(OPEN, RAW, &large, 64).unwrap();
    assert_eq!(parsed.payload_bytes as usize, PAYLOAD.len() + 70_000, "an uncut large segment");
    let padded = concat(&[&ipv6_tcp(), &[0; 5]]);
    assert_tcp_before(RAW, &padded, 5);
}

#[test]
fn tcp_counts_from_data_offset_five_on() {
    for offset in 0..16 {
        let parsed = parse(RAW, &ipv4(TCP, &tcp_with(offset, 0x29)));
        match offset {
            0..5 => assert_eq!(parsed, Err(Skip::BadTcpHeader)),
            _ => {
                let packet = parsed.unwrap();
                assert_eq!(packet.flags, TcpFlags(0x29));
                assert_eq!(packet.payload_bytes as usize, PAYLOAD.len());
            }
        }
    }
    let mut beyond = ipv4_tcp();
    beyond[20 + 12] = 0xf0;
    assert_eq!(parse(RAW, &beyond).unwrap().payload_bytes, 0);
}

#[test]
fn icmp_is_never_counted() {
    let icmp = |kind: u8, quoted: &[u8]| concat(&[&[kind, 0, 0, 0, 0, 0, 0, 0], quoted]);
    for kind in [3, 4, 5, 11, 12] {
        assert_eq!(parse(RAW, &ipv4(1, &icmp(kind, &ipv4_tcp()))), Err(Skip::TcpInIcmp));
    }
    assert_eq!(parse(RAW, &ipv4(1, &icmp(8, &ipv4_tcp()))), Err(Skip::Icmp), "an echo");
    assert_eq!(parse(RAW, &ipv4(1, &icmp(3, &ipv4(UDP, &[0; 8])))), Err(Skip::Icmp));
    for kind in 1..=4 {
        assert_eq!(parse(RAW, &ipv6(58, &icmp(kind, &ipv6_tcp()))), Err(Skip::TcpInIcmp));
    }
    assert_eq!(parse(RAW, &ipv6(58, &icmp(135, &ipv6_tcp()))), Err(Skip::Icmp));
}

#[test]
fn other_protocols_are_distinguished() {
    assert_eq!(parse(RAW, &ipv4(UDP, &udp(53, 5353, &tcp()))), Err(Skip::Udp));
    assert_eq!(parse(RAW, &ipv4(132, &tcp())), Err(Skip::OtherProtocol));
    assert_eq!(parse(RAW, &ipv4(50, &tcp())), Err(Skip::Esp));
}
