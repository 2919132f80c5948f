//! Captures that are compressed, well and badly.

use std::io::Write;

use acsm::capture::CaptureError;

use crate::build::{plain_pcap, read_bytes};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// `plain_pcap(5)`, compressed by xz 5 at level 9: there is no encoder among our packages.
#[rustfmt::skip]
const FIVE_PACKETS_XZ: [u8; 124] = [
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00,
    0x21, 0x01, 0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0xe0, 0x01, 0x39, 0x00,
    0x3b, 0x5d, 0x00, 0x6a, 0x30, 0xd1, 0xc8, 0x7d, 0x8b, 0xf8, 0x09, 0x9b, 0xad, 0x94,
    0x4b, 0x8a, 0xf3, 0x00, 0x05, 0xcd, 0x67, 0x7f, 0x48, 0xd3, 0x6b, 0x87, 0x20, 0x85,
    0xa3, 0x16, 0xe9, 0xe6, 0x59, 0xe9, 0x65, 0xff, 0x30, 0xcf, 0xf9, 0xbf, 0x05, 0xf3,
    0x93, 0x62, 0x64, 0xae, 0x49, 0xaa, 0x8c, 0xce, 0x95, 0x05, 0x59, 0x0f, 0x22, 0xf9,
    0x2a, 0xdc, 0x72, 0xab, 0x75, 0x00, 0x00, 0x00, 0x97, 0x98, 0x3b, 0x77, 0x59, 0xb8,
    0x85, 0x78, 0x00, 0x01, 0x57, 0xba, 0x02, 0x00, 0x00, 0x00, 0xac, 0x34, 0xa0, 0x22,
    0xb1, 0xc4, 0x67, 0xfb, 0x02, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
];

type Compress = fn(&[u8]) -> Vec<u8>;
const ENCODERS: [(&str, Compress); 3] = [("gzip", gzip), ("zstd", zstd), ("lz4", lz4)];

/// Bytes that do not compress much, in packets: several buffers and blocks of any decoder.
fn large_pcap() -> Vec<u8> {
    let mut capture = plain_pcap(0);
    let mut state = 1_u32;
    for second in 0..2000 {
        let data: Vec<u8> = (0..1000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 28) as u8
            })
            .collect();
        capture.extend(crate::build::Order::Little.pcap_record(second, 0, 1500, &data));
    }
    capture
}

fn not_a_capture(bytes: &[u8]) -> String {
    match read_bytes(bytes) {
        Err(CaptureError::NotACapture { looks_like, .. }) => looks_like,
        other => panic!("{other:?}"),
    }
}

#[test]
fn compressed_captures_read_like_plain_ones() {
    for capture in [plain_pcap(5), large_pcap()] {
        let plain = read_bytes(&capture).unwrap();
        for (name, compress) in ENCODERS {
            let outcome = read_bytes(&compress(&capture)).unwrap();
            assert_eq!(outcome.frames, plain.frames, "{name}");
            assert_eq!(outcome.damages, [], "{name}");
        }
    }
    let plain = read_bytes(&plain_pcap(5)).unwrap();
    assert_eq!(read_bytes(&FIVE_PACKETS_XZ).unwrap().frames, plain.frames);
}

#[test]
fn several_members_are_one_capture() {
    let capture = large_pcap();
    let plain = read_bytes(&capture).unwrap();
    let (front, back) = capture.split_at(capture.len() / 3);
    let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"hello"].concat();
    for (name, compress) in ENCODERS {
        let between = if name == "gzip" { &[][..] } else { &skippable };
        let members = [&compress(front), &compress(b"")[..], between, &compress(back), &[0; 700]];
        let outcome = read_bytes(&members.concat()).unwrap();
        assert_eq!(outcome.frames, plain.frames, "{name}");
        assert_eq!(outcome.damages, [], "{name}");
    }
    let outcome = read_bytes(&[&skippable, &zstd(&capture)[..]].concat()).unwrap();
    assert_eq!(outcome.frames, plain.frames, "a skippable frame in front");
    // the second stream repeats the file: its header is no record, so only the first half counts
    let outcome = read_bytes(&[&FIVE_PACKETS_XZ[..], &FIVE_PACKETS_XZ].concat()).unwrap();
    assert_eq!(outcome.frames.len(), 5);
    assert!(outcome.damages[0].what.contains("claims"), "{:?}", outcome.damages);
}

#[test]
fn compressed_data_that_is_cut_short_gives_the_packets_before() {
    let capture = large_pcap();
    let plain = read_bytes(&capture).unwrap();
    for (name, compress) in ENCODERS {
        let compressed = compress(&capture);
        let kept_bytes = compressed.len() * 3 / 4;
        let outcome = read_bytes(&compressed[..kept_bytes]).unwrap();
        let frames = outcome.frames.len();
        assert!((1200..2000).contains(&frames), "{frames} of 2000 from three quarters of {name}");
        assert_eq!(outcome.frames, plain.frames[..frames], "{name}");
        let [damage] = &outcome.damages[..] else { panic!("{:?}", outcome.damages) };
        assert_eq!(damage.what, format!("the {name} data is cut short"));
        let after_last = 24 + frames as u64 * 1016;
        assert!((after_last..after_last + 1016).contains(&damage.offset), "{name}: {damage}");
    }
}

#[test]
fn a_missing_end_mark_or_checksum_is_noticed() {
    let capture = plain_pcap(5);
    for (name, compress) in ENCODERS {
        let compressed = compress(&capture);
        for missing_bytes in [1, 4] {
            let outcome = read_bytes(&compressed[..compressed.len() - missing_bytes]).unwrap();
            assert_eq!(outcome.frames.len(), 5, "{name} without {missing_bytes} bytes");
            assert_eq!(outcome.damages[0].what, format!("the {name} data is cut short"));
            assert_eq!(outcome.damages[0].offset, capture.len() as u64);
        }
    }
    let mut wrong_sum = zstd(&capture);
    *wrong_sum.last_mut().unwrap() ^= 1;
    let outcome = read_bytes(&wrong_sum).unwrap();
    assert_eq!(outcome.frames.len(), 5);
    assert!(outcome.damages[0].what.contains("checksum"), "{:?}", outcome.damages);
}

#[test]
fn other_data_behind_the_capture_is_damage() {
    for (name, compress) in ENCODERS {
        let outcome = read_bytes(&[&compress(&plain_pcap(5)), &b"tail"[..]].concat()).unwrap();
        assert_eq!(outcome.frames.len(), 5);
        assert!(outcome.damages[0].what.contains("something else follows"), "{name}");
    }
}

#[test]
fn what_is_no_capture_inside_is_named() {
    for (name, compress) in ENCODERS {
        let looks_like = not_a_capture(&compress(b"hello world"));
        assert_eq!(looks_like, format!("text, compressed with {name}"));
        assert_eq!(not_a_capture(&compress(b"")), format!("an empty {name} file"));
        let looks_like = not_a_capture(&compress(&gzip(&plain_pcap(5))));
        assert_eq!(looks_like, format!("gzip inside {name} (decompress it once first)"));
        let cut = &compress(&plain_pcap(5))[..9];
        assert!(matches!(read_bytes(cut), Err(CaptureError::Undecodable { .. })), "{name}");
    }
}

#[test]
fn decoders_that_would_need_too_much_memory_are_refused() {
    let refused = |bytes: &[u8]| match read_bytes(bytes) {
        Err(CaptureError::Undecodable { source, .. }) => source.to_string(),
        other => panic!("{other:?}"),
    };
    // a frame of zstd --long=31: no content size, window descriptor 21 << 3
    let message = refused(&[0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0]);
    assert!(message.contains("window of 2147483648 bytes"), "{message}");

    // the dictionary size of the xz block header raised to 4 GiB, its checksum made right again
    let mut xz = FIVE_PACKETS_XZ;
    let header_end = 12 + (xz[12] as usize + 1) * 4 - 4;
    let dictionary = 12 + xz[12..header_end].windows(2).position(|w| w == [0x21, 1]).unwrap() + 2;
    xz[dictionary] = 40;
    let mut crc = flate2::Crc::new();
    crc.update(&xz[12..header_end]);
    xz[header_end..header_end + 4].copy_from_slice(&crc.sum().to_le_bytes());
    let message = refused(&xz);
    assert!(message.contains("needed memory too big"), "{message}");
}
