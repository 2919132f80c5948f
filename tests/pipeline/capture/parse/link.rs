//! Link layers.

use acsm::capture::LinkType;
use acsm::capture::parse::Skip;

use super::{assert_tcp, assert_tcp_before, parse, parse_closed};
use crate::capture::frames::*;

#[test]
fn ethernet_with_any_stack_of_tags() {
    let link = LinkType::ETHERNET;
    assert_eq!(assert_tcp(link, &ethernet_tcp()).vlan, [0, 0]);
    assert_tcp(link, &ethernet(ETHERTYPE_IPV6, &ipv6_tcp()));
    let one = vlan(7, ETHERTYPE_IPV4, &ipv4_tcp());
    for tpid in [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300] {
        assert_eq!(assert_tcp(link, &ethernet(tpid, &one)).vlan, [7, 0]);
    }
    let two = vlan(5, 0x8100, &one);
    assert_eq!(assert_tcp(link, &ethernet(0x88a8, &two)).vlan, [5, 7]);
    let mut many = one.clone();
    for id in (8..200).rev() {
        many = vlan(id, 0x8100, &many);
    }
    assert_eq!(assert_tcp(link, &ethernet(0x8100, &many)).vlan, [8, 9], "the outermost two");
    for tag in [0x8926, 0x892f] {
        let tagged = concat(&[&[0, 1, 0, 2], &ETHERTYPE_IPV4.to_be_bytes(), &ipv4_tcp()]);
        assert_tcp(link, &ethernet(tag, &tagged));
    }
    assert_tcp(link, &ethernet(0x88e7, &concat(&[&[0, 0, 0, 1], &ethernet_tcp()])));
}

#[test]
fn ethernet_padding_is_no_payload() {
    let padded = concat(&[&ethernet_tcp(), &[0; 9]]);
    assert_tcp_before(LinkType::ETHERNET, &padded, 9);
}

#[test]
fn ieee_802_3_with_llc() {
    let link = LinkType::ETHERNET;
    let length = |llc: &[u8]| ethernet(llc.len() as u16, llc);
    assert_tcp(link, &length(&snap(ETHERTYPE_IPV4, &ipv4_tcp())));
    assert_tcp(link, &length(&concat(&[&[6, 6, 3], &ipv4_tcp()])));
    let bridged = concat(&[&[0xaa, 0xaa, 3, 0, 0, 0xf8, 0x08, 0x00], &ipv4_tcp()]);
    assert_tcp(link, &length(&bridged));
    let numbered = concat(&[&[0xaa, 0xaa, 0, 2, 0, 0, 0, 0x08, 0x00], &ipv4_tcp()]);
    assert_tcp(link, &length(&numbered));
    let llc = snap(ETHERTYPE_IPV4, &ipv4_tcp());
    let tagged = vlan(3, llc.len() as u16, &llc);
    assert_eq!(assert_tcp(link, &ethernet(0x8100, &tagged)).vlan, [3, 0]);

    let spanning_tree = ethernet(38, &[0x42; 38]);
    assert_eq!(parse(link, &spanning_tree), Err(Skip::NotIp));
    assert_eq!(parse(link, &ethernet(0x05f0, &llc)), Err(Skip::NotIp), "neither length nor type");
}

#[test]
fn what_ethernet_carries_besides_ip() {
    let link = LinkType::ETHERNET;
    assert_eq!(parse(link, &ethernet(0x0806, &[0; 28])), Err(Skip::Arp));
    assert_eq!(parse(link, &ethernet(0x88cc, &[0; 28])), Err(Skip::NotIp));
    assert_eq!(parse(link, &[0; 13]), Err(Skip::TruncatedLink));
    assert_eq!(parse(link, &[]), Err(Skip::TruncatedLink));
}

#[test]
fn pppoe_and_mpls_are_link_layer() {
    let link = LinkType::ETHERNET;
    let ppp = concat(&[&[0x00, 0x21], &ipv4_tcp()]);
    let length = (ppp.len() as u16).to_be_bytes();
    let pppoe = concat(&[&[0x11, 0, 0, 1], &length, &ppp]);
    assert_tcp(link, &ethernet(0x8864, &pppoe));
    assert!(parse_closed(link, &ethernet(0x8864, &pppoe)).is_ok());
    assert_tcp(LinkType::PPP_ETHER, &pppoe);

    let labels = |payload: &[u8]| concat(&[&[0, 1, 0, 64, 0, 2, 1, 64], payload]);
    for ethertype in [0x8847, 0x8848] {
        assert_tcp(link, &ethernet(ethertype, &labels(&ipv4_tcp())));
        assert_tcp(link, &ethernet(ethertype, &labels(&ipv6_tcp())));
    }
    let mpls = ethernet(0x8847, &labels(&ethernet_tcp()));
    assert!(parse_closed(link, &mpls).is_ok(), "a pseudowire without control word");
    let with_control_word = labels(&concat(&[&[0; 4], &ethernet_tcp()]));
    assert!(parse_closed(link, &ethernet(0x8847, &with_control_word)).is_ok());
    assert_eq!(parse(link, &ethernet(0x8847, &labels(&[0x10; 60]))), Err(Skip::NotIp));
}

#[test]
fn raw_ip() {
    for link in [LinkType::RAW, LinkType::RAW_BSD, LinkType::RAW_OPENBSD] {
        assert_tcp(link, &ipv4_tcp());
        assert_tcp(link, &ipv6_tcp());
        assert_eq!(parse(link, &[0x55; 60]), Err(Skip::BadIpHeader));
    }
    assert_tcp(LinkType::IPV4, &ipv4_tcp());
    assert_tcp(LinkType::IPV6, &ipv6_tcp());
    assert_eq!(parse(LinkType::IPV4, &ipv6_tcp()), Err(Skip::BadIpHeader));
    assert_eq!(parse(LinkType::IPV6, &ipv4_tcp()), Err(Skip::BadIpHeader));
}

#[test]
fn bsd_loopback_in_either_byte_order() {
    for link in [LinkType::NULL, LinkType::LOOP] {
        for order in [u32::to_be_bytes, u32::to_le_bytes] {
            assert_tcp(link, &concat(&[&order(2), &ipv4_tcp()]));
            for family in [10, 24, 28, 30] {
                assert_tcp(link, &concat(&[&order(family), &ipv6_tcp()]));
            }
            assert_eq!(parse(link, &concat(&[&order(7), &ipv4_tcp()])), Err(Skip::NotIp));
        }
    }
}

#[test]
fn linux_cooked_captures() {
    let sll = |hardware: u16, protocol: u16, payload: &[u8]| {
        let (hardware, protocol) = (hardware.to_be_bytes(), protocol.to_be_bytes());
        concat(&[&[0, 0], &hardware, &[0, 6, 1, 2, 3, 4, 5, 6, 0, 0], &protocol, payload])
    };
    let sll2 = |hardware: u16, protocol: u16, payload: &[u8]| {
        let (hardware, protocol) = (hardware.to_be_bytes(), protocol.to_be_bytes());
        let address = [4, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        concat(&[&protocol, &[0, 0, 0, 0, 0, 2], &hardware, &address, payload])
    };
    let both = |hardware, protocol, payload: &[u8]| {
        [
            (LinkType::LINUX_SLL, sll(hardware, protocol, payload)),
            (LinkType::LINUX_SLL2, sll2(hardware, protocol, payload)),
        ]
    };
    let tagged = vlan(9, ETHERTYPE_IPV4, &ipv4_tcp());
    let frames = [
        both(1, ETHERTYPE_IPV4, &ipv4_tcp()),
        both(512, ETHERTYPE_IPV6, &ipv6_tcp()),
        both(1, 4, &snap(ETHERTYPE_IPV4, &ipv4_tcp())),
        both(801, 0, &wlan(0x08, 0x01, &snap(ETHERTYPE_IPV4, &ipv4_tcp()))),
    ];
    for (link, frame) in frames.iter().flatten() {
        assert_tcp(*link, frame);
    }
    for (link, frame) in both(1, 0x8100, &tagged) {
        assert_eq!(assert_tcp(link, &frame).vlan, [9, 0]);
    }
    for (link, frame) in both(824, 0, &ipv4_tcp()) {
        assert_eq!(parse(link, &frame), Err(Skip::NotIp), "netlink");
    }
}

#[test]
fn ppp_in_all_its_shortened_forms() {
    for link in [LinkType::PPP, LinkType::PPP_HDLC] {
        for prefix in [&[0xff, 0x03, 0x00, 0x21][..], &[0xff, 0x03, 0x21], &[0x00, 0x21], &[0x21]] {
            assert_tcp(link, &concat(&[prefix, &ipv4_tcp()]));
        }
        assert_tcp(link, &concat(&[&[0xff, 0x03, 0x00, 0x57], &ipv6_tcp()]));
        assert_tcp(link, &concat(&[&[0x02, 0x81, 0, 1, 1, 64], &ipv4_tcp()]));
        assert_tcp(link, &concat(&[&[0xff, 0x03, 0x00, 0x31, 0, 1], &ethernet_tcp()]));
        assert_tcp(link, &concat(&[&[0x0f, 0, 0x08, 0x00], &ipv4_tcp()]));
        assert_eq!(parse(link, &[0xff, 0x03, 0xc0, 0x21, 1, 1, 0, 4]), Err(Skip::NotIp));
    }
}

#[test]
fn ppp_behind_a_direction() {
    assert_tcp(LinkType::PPP_PPPD, &concat(&[&[0x01, 0x03, 0x00, 0x21], &ipv4_tcp()]));
    let frame = concat(&[&[0x00, 0xff, 0x03, 0x00, 0x21], &ipv4_tcp()]);
    assert_tcp(LinkType::PPP_WITH_DIR, &frame);
}

#[test]
fn frame_relay() {
    let link = LinkType::FRELAY;
    assert_tcp(link, &concat(&[&[0x18, 0x41, 0x03, 0xcc], &ipv4_tcp()]));
    assert_tcp(link, &concat(&[&[0x18, 0x40, 0x00, 0x41, 0x03, 0x8e], &ipv6_tcp()]));
    let snap = [0x18, 0x41, 0x03, 0x00, 0x80, 0, 0, 0, 0x08, 0x00];
    assert_tcp(link, &concat(&[&snap, &ipv4_tcp()]));
    let bridged = [0x18, 0x41, 0x03, 0x00, 0x80, 0, 0x80, 0xc2, 0, 7];
    assert_tcp(link, &concat(&[&bridged, &ethernet_tcp()]));
    assert_tcp(link, &concat(&[&[0x18, 0x41, 0x08, 0x00], &ipv4_tcp()]));
    assert_eq!(parse(link, &[0x18, 0x41, 0x03, 0xb1, 0x42]), Err(Skip::NotIp));
}

#[test]
fn cisco_hdlc() {
    for address in [0x0f, 0x8f] {
        assert_tcp(LinkType::C_HDLC, &concat(&[&[address, 0, 0x08, 0x00], &ipv4_tcp()]));
    }
    let keep_alive = [0x8f, 0, 0x80, 0x35, 0, 0, 0, 2];
    assert_eq!(parse(LinkType::C_HDLC, &keep_alive), Err(Skip::Arp), "SLARP has RARP's number");
}

#[test]
fn fddi() {
    let llc = snap(ETHERTYPE_IPV4, &ipv4_tcp());
    assert_tcp(LinkType::FDDI, &concat(&[&[0x50], &[1; 12], &llc]));
    assert_tcp(LinkType::FDDI, &concat(&[&[0xd0], &[1; 12], &llc]));
    assert_eq!(parse(LinkType::FDDI, &concat(&[&[0x41], &[1; 12], &llc])), Err(Skip::NotIp));
}

#[test]
fn nflog_in_either_byte_order() {
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let attribute = |kind: u16, value: &[u8]| {
            let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
            concat(&[&order(value.len() as u16 + 4), &order(kind), value, &padding])
        };
        let before = concat(&[&attribute(1, &[8, 0, 1, 0]), &attribute(10, b"prefix\0")]);
        let payload = ipv4_tcp();
        let frame = concat(&[&[2, 0, 0, 5], &before, &attribute(9, &payload)]);
        let padding = payload.len().next_multiple_of(4) - payload.len();
        assert_tcp_before(LinkType::NFLOG, &frame, padding);
        let without = concat(&[&[2, 0, 0, 5], &before]);
        assert_eq!(parse(LinkType::NFLOG, &without), Err(Skip::TruncatedLink));
        let endless = concat(&[&[2, 0, 0, 5], &order(0), &order(3), &[0; 40]]);
        assert_eq!(parse(LinkType::NFLOG, &endless), Err(Skip::NotIp));
    }
}

/// An 802.11 frame with three addresses.
fn wlan(control: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    concat(&[&[control, flags, 0, 0], &[2; 18], &[0x10, 0], payload])
}

#[test]
fn ieee_802_11_data_frames() {
    let link = LinkType::IEEE802_11;
    let llc = snap(ETHERTYPE_IPV4, &ipv4_tcp());
    assert_tcp(link, &wlan(0x08, 0x01, &llc));
    assert_tcp(link, &wlan(0x08, 0x03, &concat(&[&[3; 6], &llc])));
    assert_tcp(link, &wlan(0x88, 0x02, &concat(&[&[0, 0], &llc])));
    assert_tcp(link, &wlan(0x88, 0x82, &concat(&[&[0, 0], &[7; 4], &llc])));
    assert_tcp(link, &wlan(0x88, 0x03, &concat(&[&[3; 6], &[0, 0], &llc])));
    let length = (llc.len() as u16).to_be_bytes();
    let subframe = concat(&[&[4; 12], &length, &llc]);
    assert_tcp(link, &wlan(0x88, 0x02, &concat(&[&[0x80, 0], &subframe])));

    assert_eq!(parse(link, &wlan(0x80, 0, &llc)), Err(Skip::WlanNoData), "a beacon");
    assert_eq!(parse(link, &wlan(0x48, 0x01, &[])), Err(Skip::WlanNoData), "a null frame");
    assert_eq!(parse(link, &wlan(0x08, 0x41, &llc)), Err(Skip::WlanProtected));
    let mut later = wlan(0x08, 0x01, &llc);
    later[22] |= 1;
    assert_eq!(parse(link, &later), Err(Skip::LaterFragment));
}

#[test]
fn radiotap_announces_trailer_and_padding() {
    let link = LinkType::IEEE802_11_RADIOTAP;
    let llc = snap(ETHERTYPE_IPV4, &ipv4_tcp());
    let frame = wlan(0x08, 0x01, &llc);
    // Only the length of the frame determines where this packet ends.
    let unknown = Ipv4 { total_length: Some(0), ..Ipv4::new(TCP) }.build(&tcp());
    let of_unknown_length = wlan(0x08, 0x01, &snap(ETHERTYPE_IPV4, &unknown));
    let flags_only = |flags: u8| vec![0, 0, 9, 0, 2, 0, 0, 0, flags];
    let timer_and_flags = |flags: u8| concat(&[&[0, 0, 17, 0, 3, 0, 0, 0], &[9; 8], &[flags]]);
    let two_words = |flags: u8| {
        let words = [3, 0, 0, 0x80, 0, 0, 0, 0];
        concat(&[&[0, 0, 25, 0], &words, &[0; 4], &[9; 8], &[flags]])
    };
    assert_tcp(link, &concat(&[&[0, 0, 8, 0, 0, 0, 0, 0], &frame]));
    // The bytes of the timer, taken for flags, would announce neither trailer nor padding.
    for header in [flags_only, timer_and_flags as fn(u8) -> Vec<u8>, two_words] {
        assert_tcp(link, &concat(&[&header(0), &frame]));
        let with_fcs = concat(&[&header(0x10), &of_unknown_length, &[0xfc; 4]]);
        assert_tcp_before(link, &with_fcs, 4);
        let padded = wlan(0x88, 0x02, &concat(&[&[0, 0], &[0xee; 2], &llc]));
        assert_tcp(link, &concat(&[&header(0x20), &padded]));
    }
    assert_eq!(parse(link, &[1, 0, 8, 0, 0, 0, 0, 0]), Err(Skip::NotIp), "no such version");
}

#[test]
fn old_radio_headers() {
    let frame = wlan(0x08, 0x01, &snap(ETHERTYPE_IPV4, &ipv4_tcp()));
    let little = concat(&[&[0x44, 0, 0, 0, 144, 0, 0, 0], &[0; 136]]);
    let big = concat(&[&[0, 0, 0, 0x44, 0, 0, 0, 144], &[0; 136]]);
    let avs = concat(&[&[0x80, 0x21, 0x10, 0x01, 0, 0, 0, 64], &[0; 56]]);
    for header in [&little, &big, &avs] {
        assert_tcp(LinkType::IEEE802_11_PRISM, &concat(&[header, &frame]));
    }
    assert_tcp(LinkType::IEEE802_11_AVS, &concat(&[&avs, &frame]));

    let ppi = |link_type: u8| concat(&[&[0, 0, 12, 0, link_type, 0, 0, 0], &[9; 4]]);
    assert_tcp(LinkType::PPI, &concat(&[&ppi(105), &frame]));
    assert_tcp(LinkType::PPI, &concat(&[&ppi(1), &ethernet_tcp()]));
    let endless = [0, 0, 8, 0, 192, 0, 0, 0].repeat(10_000);
    assert_eq!(parse(LinkType::PPI, &endless), Err(Skip::UnsupportedLinkType));
}
