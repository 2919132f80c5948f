//! Captures built byte by byte, and what reading them gives.

use std::fs;
use std::path::{Path, PathBuf};

use acsm::capture::parse::Parser;
use acsm::capture::{
    CaptureError, Damage, FileSource, Frame, FrameCounts, LinkType, PacketSlots, PacketSource,
    TimeWindow,
};
use acsm::flow::Packet;

/// A frame as a test expects it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub nanos: u64,
    pub link_type: u16,
    pub wire_bytes: u32,
    pub bytes: Vec<u8>,
}

pub fn seen(nanos: u64, link_type: u16, wire_bytes: u32, bytes: &[u8]) -> Seen {
    Seen { nanos, link_type, wire_bytes, bytes: bytes.to_vec() }
}

/// Everything that a source returned.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub frames: Vec<Seen>,
    pub damages: Vec<Damage>,
    pub link_types: Vec<LinkType>,
}

/// What reading gives: the same packets one by one and several at a time.
pub fn read_paths(paths: &[PathBuf], window: TimeWindow) -> Result<Outcome, CaptureError> {
    let mut source = FileSource::open(paths, window)?;
    let (mut frames, mut packets, mut counts) = (Vec::new(), Vec::new(), FrameCounts::default());
    while let Some(frame) = source.next_frame()? {
        frames.push(seen_of(&frame));
        let parsed = Parser::default().parse(&frame);
        counts.add(frame.time, parsed.map(|packet| packet.wire_bytes));
        packets.extend(parsed);
    }
    assert!(source.next_frame()?.is_none(), "the end stays the end");
    let one_by_one = (packets, format!("{counts:?}"), outcome(Vec::new(), &source));
    for most in [1, 3, 1000] {
        assert_eq!(one_by_one, read_batches(paths, window, most)?, "{most} at a time");
    }
    Ok(outcome(frames, &source))
}

/// The packets and counts of reading `most` frames at a time, as text.
fn read_batches(
    paths: &[PathBuf],
    window: TimeWindow,
    most: usize,
) -> Result<(Vec<Packet>, String, Outcome), CaptureError> {
    let mut source = FileSource::open(paths, window)?;
    let (mut packets, mut counts) = (Vec::new(), FrameCounts::default());
    let mut more = true;
    while more {
        let before = counts.packets;
        more = fill(&mut source, most, &mut packets, &mut counts)?;
        let read = counts.packets - before;
        assert!(read <= most as u64, "no more than asked for");
        assert!(!more || read == most as u64, "a file never blocks");
    }
    assert!(!fill(&mut source, most, &mut packets, &mut counts)?, "the end stays the end");
    Ok((packets, format!("{counts:?}"), outcome(Vec::new(), &source)))
}

fn fill(
    source: &mut FileSource,
    most: usize,
    packets: &mut Vec<Packet>,
    counts: &mut FrameCounts,
) -> Result<bool, CaptureError> {
    let (parser, mut storage) = (Parser::default(), vec![Packet::UNSPECIFIED; most]);
    let mut slots = PacketSlots::new(&parser, &mut storage, counts);
    let more = source.fill(&mut slots)?;
    let found = most - slots.free();
    counts.add_packets(&storage[..found]);
    packets.extend(&storage[..found]);
    Ok(more)
}

fn seen_of(frame: &Frame<'_>) -> Seen {
    seen(frame.time.as_nanos(), frame.link_type.0, frame.wire_bytes, frame.bytes)
}

fn outcome(frames: Vec<Seen>, source: &FileSource) -> Outcome {
    Outcome { frames, damages: source.damages().to_vec(), link_types: source.link_types() }
}

/// Reads `bytes` as one file.
pub fn read_bytes(bytes: &[u8]) -> Result<Outcome, CaptureError> {
    let directory = tempfile::tempdir().unwrap();
    read_paths(&[write(directory.path(), "capture", bytes)], TimeWindow::default())
}

pub fn write(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// The byte order of what is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub const ORDERS: [Order; 2] = [Order::Little, Order::Big];

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u32s(self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| self.u32(*value)).collect()
    }

    pub fn pcap_header(self, magic: u32, minor: u16, link_field: u32) -> Vec<u8> {
        let version = [self.u16(2), self.u16(minor)].concat();
        [self.u32(magic).to_vec(), version, self.u32s(&[0, 0, 65_535, link_field])].concat()
    }

    pub fn pcap_record(self, seconds: u32, fraction: u32, wire_bytes: u32, data: &[u8]) -> Vec<u8> {
        let header = self.u32s(&[seconds, fraction, data.len() as u32, wire_bytes]);
        [header, data.to_vec()].concat()
    }

    pub fn block(self, block_type: u32, body: &[u8]) -> Vec<u8> {
        let padded = pad(body);
        let length = self.u32(padded.len() as u32 + 12);
        [&self.u32(block_type)[..], &length, &padded, &length].concat()
    }

    pub fn section(self) -> Vec<u8> {
        let version = [self.u16(1), self.u16(0)].concat();
        let body = [self.u32(0x1a2b_3c4d).to_vec(), version, self.u64(u64::MAX).to_vec()].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn interface(self, link_type: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
        let body = [&self.u16(link_type)[..], &[0, 0], &self.u32(snaplen), options].concat();
        self.block(1, &body)
    }

    pub fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        [&self.u16(code)[..], &self.u16(value.len() as u16), &pad(value)].concat()
    }

    pub fn enhanced(self, interface: u32, ticks: u64, wire_bytes: u32, data: &[u8]) -> Vec<u8> {
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let fields = self.u32s(&[interface, high, low, data.len() as u32, wire_bytes]);
        self.block(6, &[fields, pad(data), self.option(1, b"a comment")].concat())
    }
}

fn pad(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    padded
}

/// A small capture of `packets` packets that differ in length, a second apart.
pub fn plain_pcap(packets: u32) -> Vec<u8> {
    let mut capture = Order::Little.pcap_header(0xa1b2_c3d4, 4, 1);
    for second in 0..packets {
        let data = vec![second as u8; 40 + second as usize % 60];
        capture.extend(Order::Little.pcap_record(second, 0, 1500, &data));
    }
    capture
}
