//! What holds for any bytes.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::build::{ORDERS, Order, plain_pcap, read_bytes};

/// A pcapng with all kinds of blocks, in either byte order.
fn mixed_pcapng() -> Vec<u8> {
    let mut capture = Vec::new();
    for order in ORDERS {
        capture.extend(order.section());
        capture.extend(order.interface(1, 64, &order.option(9, &[9])));
        capture.extend(order.interface(101, 0, &order.option(14, &order.u64(9))));
        for ticks in 0..4 {
            capture.extend(order.enhanced(ticks as u32 % 2, ticks, 1500, b"enhanced"));
            capture.extend(order.block(3, &[&order.u32(6)[..], b"simple"].concat()));
            capture.extend(order.block(5, b"statistics"));
        }
    }
    capture
}

fn captures() -> Vec<Vec<u8>> {
    let big_modified = [
        Order::Big.pcap_header(0xa1b2_cd34, 4, 1),
        Order::Big.u32s(&[1, 2, 4, 60, 0, 0, 0x6162_6364]),
    ];
    vec![plain_pcap(12), mixed_pcapng(), big_modified.concat()]
}

#[test]
fn any_prefix_gives_a_prefix_of_the_frames_and_damage() {
    for capture in captures() {
        let whole = read_bytes(&capture).unwrap();
        assert!(whole.damages.is_empty() && !whole.frames.is_empty());
        let mut frames_before = 0;
        for kept_bytes in 4..=capture.len() {
            let outcome = read_bytes(&capture[..kept_bytes]).unwrap();
            let frames = outcome.frames.len();
            assert!(frames >= frames_before, "a longer prefix gives no fewer frames");
            assert_eq!(outcome.frames, whole.frames[..frames]);
            assert!(outcome.damages.len() <= 1);
            // between two cuts of which the first leaves a whole file, there must be damage
            if outcome.damages.is_empty() && kept_bytes < capture.len() {
                let next = read_bytes(&capture[..kept_bytes + 1]).unwrap();
                assert_eq!(next.damages.len(), 1, "one byte more than whole, at {kept_bytes}");
            }
            frames_before = frames;
        }
        assert_eq!(frames_before, whole.frames.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_behind_a_magic_never_panic(
        kind in 0_usize..10,
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let beginnings: [&[u8]; 10] = [
            &[],
            &[0xd4, 0xc3, 0xb2, 0xa1],
            &[0xa1, 0xb2, 0x3c, 0x4d],
            &[0xa1, 0xb2, 0xcd, 0x34],
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
            &[0x1f, 0x8b, 8, 0],
            &[0x28, 0xb5, 0x2f, 0xfd],
            &[0xfd, b'7', b'z', b'X', b'Z', 0],
            &[0x04, 0x22, 0x4d, 0x18],
            &[0x50, 0x2a, 0x4d, 0x18],
        ];
        if let Ok(outcome) = read_bytes(&[beginnings[kind], &bytes].concat()) {
            let captured: usize = outcome.frames.iter().map(|frame| frame.bytes.len()).sum();
            prop_assert!(captured <= bytes.len() || (5..=9).contains(&kind));
        }
    }

    #[test]
    fn mutated_captures_never_panic_nor_invent_bytes(
        which in 0_usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut capture = captures().swap_remove(which);
        for (index, byte) in changes {
            let at = index.index(capture.len());
            capture[at] = byte;
        }
        if let Ok(outcome) = read_bytes(&capture) {
            let captured: usize = outcome.frames.iter().map(|frame| frame.bytes.len()).sum();
            prop_assert!(captured <= capture.len());
            for frame in &outcome.frames {
                prop_assert!(frame.wire_bytes as usize >= frame.bytes.len());
            }
        }
    }
}
