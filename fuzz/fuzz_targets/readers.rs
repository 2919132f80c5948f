//! Any bytes as a capture: no panic, no more bytes returned than there are, and the first part
//! of a file gives the first part of its frames.
#![no_main]

use acsm::capture::{CaptureError, FileSource, PacketSource, TimeWindow};
use acsm_test_support::scratch_file;
use libfuzzer_sys::fuzz_target;

/// A small file can be compressed from a very large one: more is not looked at.
const FRAMES_MAX: usize = 2_000;
const BYTES_MAX: usize = 1 << 20;

/// Time, link type, length on the wire, bytes.
type Seen = (u64, u16, u32, Vec<u8>);

/// What every format begins with that is not compressed.
const PLAIN: [[u8; 4]; 7] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xcd, 0x34],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

fuzz_target!(|capture: &[u8]| {
    let Ok(whole) = frames(capture) else { return };
    if capture.first_chunk().is_some_and(|magic| PLAIN.contains(magic)) {
        let handed_out: usize = whole.iter().map(|(.., bytes)| bytes.len()).sum();
        assert!(handed_out <= capture.len(), "{handed_out} bytes of {}", capture.len());
    }
    for (.., wire_bytes, bytes) in &whole {
        assert!(*wire_bytes as usize >= bytes.len(), "captured more than there was");
    }
    // Where to cut is left to the fuzzer: the last two bytes say.
    let Some(&cut) = capture.last_chunk() else { return };
    let kept = usize::from(u16::from_le_bytes(cut)) % capture.len();
    let part = frames(&capture[..kept]).unwrap_or_default();
    // A decoder that finds damage loses what it decoded in that call: there the cut may give more.
    let is_compressed = !capture.first_chunk().is_some_and(|magic| PLAIN.contains(magic));
    let agrees = whole.starts_with(&part) || is_compressed && part.starts_with(&whole);
    assert!(agrees, "cut at {kept} of {}", capture.len());
});

fn frames(capture: &[u8]) -> Result<Vec<Seen>, CaptureError> {
    scratch_file::with_file(".pcap", capture, |path| {
        let mut source = FileSource::open(&[path.to_owned()], TimeWindow::default())?;
        let (mut frames, mut bytes) = (Vec::new(), 0);
        while let Some(frame) = source.next_frame()? {
            bytes += frame.bytes.len();
            if frames.len() >= FRAMES_MAX || bytes > BYTES_MAX {
                break;
            }
            let time = frame.time.as_nanos();
            frames.push((time, frame.link_type.0, frame.wire_bytes, frame.bytes.to_vec()));
        }
        Ok(frames)
    })
}
