//! Every variant of both formats.

use super::build::{ORDERS, Order, read_bytes, seen};

#[test]
fn pcap_of_either_order_in_micro_and_nanoseconds() {
    for order in ORDERS {
        for (magic, nanos_per_fraction) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let capture = [
                order.pcap_header(magic, 4, 1),
                order.pcap_record(1_700_000_000, 999_999, 1500, b"abcd"),
                order.pcap_record(u32::MAX, 0, 0, b""),
            ]
            .concat();
            let outcome = read_bytes(&capture).unwrap();
            let first = 1_700_000_000_000_000_000 + 999_999 * nanos_per_fraction;
            assert_eq!(
                outcome.frames,
                [seen(first, 1, 1500, b"abcd"), seen(4_294_967_295_000_000_000, 1, 0, b"")]
            );
            assert!(outcome.damages.is_empty());
            assert_eq!(outcome.link_types.iter().map(|link| link.0).collect::<Vec<_>>(), [1]);
        }
    }
}

#[test]
fn modified_pcap_has_longer_record_headers() {
    for order in ORDERS {
        let mut record = order.pcap_record(1, 2, 60, b"");
        record[if order == Order::Little { 8 } else { 11 }] = 4;
        record.extend([0xee; 8]);
        record.extend(b"abcd");
        let capture = [order.pcap_header(0xa1b2_cd34, 4, 113), record.clone(), record].concat();
        let outcome = read_bytes(&capture).unwrap();
        assert_eq!(outcome.frames, vec![seen(1_000_002_000, 113, 60, b"abcd"); 2]);
    }
}

#[test]
fn pcap_link_types_are_the_low_16_bits() {
    let order = Order::Big;
    // four bytes of frame check sequence, declared in the bits above
    let capture =
        [order.pcap_header(0xa1b2_c3d4, 4, 0x4400_0001), order.pcap_record(0, 0, 1, b"x")];
    assert_eq!(read_bytes(&capture.concat()).unwrap().frames, [seen(0, 1, 1, b"x")]);
}

#[test]
fn pcap_oddities_stay_sane() {
    let order = Order::Little;
    let capture = [
        order.pcap_header(0xa1b2_c3d4, 4, 1),
        order.pcap_record(10, 2_500_000, 4, b"abcd"), // 2.5 s in the fraction
        order.pcap_record(10, 0, 2, b"abcd"),         // more captured than there was
    ];
    let frames = read_bytes(&capture.concat()).unwrap().frames;
    assert_eq!(frames, [seen(12_500_000_000, 1, 4, b"abcd"), seen(10_000_000_000, 1, 4, b"abcd")]);
}

#[test]
fn old_pcap_versions_turned_the_two_lengths() {
    let order = Order::Big;
    let header = order.u32s(&[1, 0, 1500, 4]); // first the length on the wire
    let capture = [order.pcap_header(0xa1b2_c3d4, 2, 1), header, b"abcd".to_vec()].concat();
    assert_eq!(read_bytes(&capture).unwrap().frames, [seen(1_000_000_000, 1, 1500, b"abcd")]);
}

#[test]
fn captures_without_packets_are_captures() {
    for order in ORDERS {
        for capture in [order.pcap_header(0xa1b2_c3d4, 4, 101), order.section()] {
            let outcome = read_bytes(&capture).unwrap();
            assert!(outcome.frames.is_empty() && outcome.damages.is_empty());
        }
    }
}

#[test]
fn pcapng_sections_have_their_own_order_and_interfaces() {
    let (big, little) = (Order::Big, Order::Little);
    let nanoseconds = big.option(9, &[9]);
    let offset = little.option(14, &little.u64(100));
    let binary = little.option(9, &[0x80 | 1]);
    let capture = [
        big.section(),
        big.interface(1, 0, &nanoseconds),
        big.interface(101, 65_535, b""),
        big.enhanced(1, 5, 60, b"abcde"),
        big.enhanced(0, 6 << 32, 6, b"abcdef"),
        little.section(),
        little.interface(113, 0, &[offset, binary].concat()),
        little.enhanced(0, 3, 1, b"x"),
    ];
    let outcome = read_bytes(&capture.concat()).unwrap();
    assert_eq!(
        outcome.frames,
        [
            seen(5000, 101, 60, b"abcde"),
            seen(6 << 32, 1, 6, b"abcdef"),
            seen(101_500_000_000, 113, 1, b"x"),
        ]
    );
    assert!(outcome.damages.is_empty());
    assert_eq!(outcome.link_types.iter().map(|link| link.0).collect::<Vec<_>>(), [1, 101, 113]);
}

#[test]
fn pcapng_simple_and_obsolete_packets() {
    for order in ORDERS {
        let simple =
            |wire_bytes, data: &[u8]| order.block(3, &[&order.u32(wire_bytes)[..], data].concat());
        let drops = [order.u16(0), order.u16(7)].concat();
        let fields = order.u32s(&[0, 9, 2, 60]);
        let capture = [
            order.section(),
            order.interface(1, 6, b""),
            simple(3, b"abc"),
            order.block(2, &[&drops[..], &fields, b"ab"].concat()),
            simple(1500, b"abcdef"), // cut to the interface's snaplen
        ];
        let outcome = read_bytes(&capture.concat()).unwrap();
        assert_eq!(
            outcome.frames,
            [seen(0, 1, 3, b"abc"), seen(9000, 1, 60, b"ab"), seen(9000, 1, 1500, b"abcdef")]
        );
        assert!(outcome.damages.is_empty());
    }
}

#[test]
fn pcapng_blocks_of_other_kinds_are_skipped() {
    let order = Order::Little;
    let capture = [
        order.section(),
        order.block(0xbad, &vec![0xff; 3 << 20]), // longer than any buffer
        order.interface(1, 0, b""),
        order.block(4, b"names"),
        order.enhanced(0, 1, 1, b"x"),
        order.block(5, b""),
    ];
    let outcome = read_bytes(&capture.concat()).unwrap();
    assert_eq!(outcome.frames, [seen(1000, 1, 1, b"x")]);
    assert!(outcome.damages.is_empty());
}

#[test]
fn pcapng_lengths_may_forget_their_padding() {
    let order = Order::Little;
    let fields = order.u32s(&[0, 0, 1, 5, 5]);
    let length = order.u32(8 + 20 + 5 + 4);
    let unpadded = [&order.u32(6)[..], &length, &fields, b"abcde\0\0\0", &length].concat();
    let capture =
        [order.section(), order.interface(1, 0, b""), unpadded, order.enhanced(0, 2, 1, b"x")];
    let outcome = read_bytes(&capture.concat()).unwrap();
    assert_eq!(outcome.frames, [seen(1000, 1, 5, b"abcde"), seen(2000, 1, 1, b"x")]);
}
