//! What is damaged, where, and what was still read.

use acsm::capture::file::MAX_CAPTURED_BYTES;

use super::build::{Order, plain_pcap, read_bytes};

/// Reads a capture with one damage and checks how many frames came before it.
fn damage_of(capture: &[u8], frames_before: usize) -> (u64, String) {
    let outcome = read_bytes(capture).unwrap();
    assert_eq!(outcome.frames.len(), frames_before);
    let [damage] = &outcome.damages[..] else { panic!("one damage, not {:?}", outcome.damages) };
    (damage.offset, damage.what.clone())
}

fn pcapng_with(tail: &[u8]) -> (Vec<u8>, u64) {
    let order = Order::Little;
    let whole =
        [order.section(), order.interface(1, 0, b""), order.enhanced(0, 1, 60, b"abcd")].concat();
    let offset = whole.len() as u64;
    ([&whole, tail].concat(), offset)
}

#[test]
fn pcap_cut_short_in_header_and_body() {
    let whole = plain_pcap(3);
    let last_record = (whole.len() - 16 - 42) as u64;
    for cut_bytes in [1, 41, 42, 50, 57] {
        let (offset, what) = damage_of(&whole[..whole.len() - cut_bytes], 2);
        assert_eq!((offset, &what[..]), (last_record, "cut short in the middle of a packet"));
    }
    let (offset, what) = damage_of(&whole[..20], 0);
    assert_eq!((offset, &what[..]), (0, "cut short in the middle of the file header"));
}

#[test]
fn records_that_claim_too_much_are_damage_and_no_allocation() {
    let order = Order::Little;
    let whole = plain_pcap(2);
    let claims = order.u32s(&[2, 0, 1 << 31, 60]);
    let (offset, what) = damage_of(&[&whole[..], &claims, &[0; 500]].concat(), 2);
    assert_eq!(offset, whole.len() as u64);
    assert_eq!(what, "packet record claims 2147483648 bytes");

    let huge_block = order.u32s(&[6, 1 << 31, 0, 0, 0, 1 << 30]);
    let (capture, offset) = pcapng_with(&huge_block);
    assert_eq!(damage_of(&capture, 1), (offset, "a packet block claims 2147483648 bytes".into()));

    let huge_packet = order.block(6, &order.u32s(&[0, 0, 0, 1 << 30, 60, 1, 2, 3]));
    let (capture, offset) = pcapng_with(&huge_packet);
    let what = "packet record claims 1073741824 bytes in a block of 44";
    assert_eq!(damage_of(&capture, 1), (offset, what.into()));
}

#[test]
fn the_largest_record_is_read_and_one_byte_more_is_not() {
    let order = Order::Little;
    let header = order.pcap_header(0xa1b2_c3d4, 4, 1);
    let largest = order.pcap_record(0, 0, 0, &vec![7; MAX_CAPTURED_BYTES as usize]);
    let outcome = read_bytes(&[&header[..], &largest, &largest].concat()).unwrap();
    assert_eq!(outcome.frames.len(), 2);
    assert!(outcome.damages.is_empty());
    let larger = order.pcap_record(0, 0, 0, &vec![7; MAX_CAPTURED_BYTES as usize + 1]);
    damage_of(&[header, larger].concat(), 0);
}

#[test]
fn pcapng_blocks_that_make_no_sense() {
    let order = Order::Little;
    let mut ends_otherwise = order.enhanced(0, 1, 60, b"abcd");
    let trailer = ends_otherwise.len() - 4;
    ends_otherwise[trailer] ^= 8;
    let mut other_version = order.section();
    other_version[12] = 2;
    let mut no_magic = order.section();
    no_magic[8] ^= 1;
    let cases: [(Vec<u8>, &str); 9] = [
        (order.block(6, b"abcd"), "a packet block of 16 bytes, too short to hold one"),
        (ends_otherwise, "a block of 52 bytes that ends as one of 60"),
        (order.enhanced(1, 1, 60, b"abcd"), "an interface that is not among the 1 described"),
        (order.block(3, &[&order.u32(100)[..], b"abcd"].concat()), "claims 100 bytes"),
        (order.u32s(&[0xbad, 8, 8]), "a block claims 8 bytes"),
        (order.block(1, b"abcd"), "an interface description that is too short"),
        (other_version, "pcapng version 2, which is unknown"),
        (no_magic, "a section header without a byte-order magic"),
        (order.u32s(&[0xbad, 4_000_000_000, 8]), "cut short in the middle of a block"),
    ];
    for (tail, expected) in cases {
        let (capture, expected_offset) = pcapng_with(&tail);
        let (offset, what) = damage_of(&capture, 1);
        assert_eq!(offset, expected_offset, "{what}");
        assert!(what.contains(expected), "{what} for {expected}");
    }
}

#[test]
fn pcapng_cut_short_anywhere_in_its_last_block() {
    let order = Order::Little;
    for last in [order.enhanced(0, 1, 60, b"abcd"), order.block(4, b"some names"), order.section()]
    {
        for kept_bytes in 1..last.len() {
            let (capture, offset) = pcapng_with(&last[..kept_bytes]);
            let (found, what) = damage_of(&capture, 1);
            assert_eq!(found, offset, "{what}, {kept_bytes} kept");
            assert!(what.starts_with("cut short in the middle of"), "{what}");
        }
    }
}
