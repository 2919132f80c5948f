//! Compressed captures, valid and damaged.

use std::io::Write;

use acsm::capture::CaptureError;
use lz4_flex::frame::{BlockSize, FrameInfo};

use super::build::{plain_pcap, read_bytes};

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
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// `plain_pcap(5)` as two streams with padding between them, the first of 100 bytes, made by xz 5 at
/// level 9: none of our dependencies has an encoder.
#[rustfmt::skip]
const FIVE_PACKETS_XZ: [u8; 200] = [
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00,
    0x21, 0x01, 0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0xe0, 0x00, 0x63, 0x00,
    0x22, 0x5d, 0x00, 0x6a, 0x30, 0xd1, 0xc8, 0x7d, 0x8b, 0xf8, 0x09, 0x9b, 0xad, 0x94,
    0x4b, 0x8a, 0xf3, 0x00, 0x05, 0xcd, 0x67, 0x7f, 0x48, 0xd3, 0x6b, 0x87, 0x20, 0x85,
    0xa3, 0x16, 0xe9, 0xe6, 0x55, 0xcd, 0x19, 0x38, 0x00, 0x00, 0x00, 0x00, 0x4c, 0x13,
    0x29, 0x7e, 0x0a, 0xa2, 0x65, 0x5a, 0x00, 0x01, 0x3e, 0x64, 0x17, 0x0b, 0x9c, 0x2b,
    0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a, 0x00, 0x00,
    0x00, 0x00, 0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46,
    0x02, 0x00, 0x21, 0x01, 0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0xe0, 0x00,
    0xd5, 0x00, 0x23, 0x5d, 0x00, 0x00, 0xee, 0x20, 0x49, 0x70, 0x77, 0x52, 0x9d, 0x18,
    0x9b, 0xd7, 0x08, 0x8e, 0x5a, 0x8d, 0x9f, 0x3d, 0xbf, 0x7d, 0x19, 0xe2, 0xf5, 0x3c,
    0xa0, 0x6e, 0xaf, 0xd1, 0x8b, 0x39, 0x02, 0xcc, 0x60, 0xe1, 0x11, 0x40, 0x00, 0x00,
    0xbb, 0xde, 0x6d, 0xb7, 0xd5, 0x52, 0xcb, 0x0f, 0x00, 0x01, 0x3f, 0xd6, 0x01, 0x00,
    0x00, 0x00, 0x39, 0x8c, 0x70, 0x88, 0xb1, 0xc4, 0x67, 0xfb, 0x02, 0x00, 0x00, 0x00,
    0x00, 0x04, 0x59, 0x5a,
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
        capture.extend(super::build::Order::Little.pcap_record(second, 0, 1500, &data));
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
    let outcome = read_bytes(&FIVE_PACKETS_XZ).unwrap();
    assert_eq!((outcome.frames, outcome.damages), (plain.frames, vec![]));
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
        // 8 bytes: the sums of gzip, the end mark and the sum of lz4, but a block of zstd
        for missing_bytes in if name == "zstd" { [1, 4] } else { [4, 8] } {
            let outcome = read_bytes(&compressed[..compressed.len() - missing_bytes]).unwrap();
            assert_eq!(outcome.frames.len(), 5, "{name} without {missing_bytes} bytes");
            assert_eq!(outcome.damages.len(), 1, "{name} without {missing_bytes} bytes");
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
