//! An independent count of what a capture holds: a small parser, and sets.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use acsm::time::Timestamp;
use serde_json::{Value, json};

/// One packet of a capture; flags 0xff and ports 0 where `has_flags` is false.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    pub time: Timestamp,
    pub src: IpAddr,
    pub dst: IpAddr,
    pub src_port: u16,
    pub dst_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub has_flags: bool,
    pub payload_bytes: u32,
    /// Whether TCP's checksum is right if the payload is zeros; `None` if its header is cut.
    pub checksum_is_right: Option<bool>,
}

/// All packets of a pcap file of raw IP or Ethernet, little-endian. Panics if it is not whole.
pub fn records(file: &[u8]) -> Vec<Record> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let nanos_per_unit = match word(0) {
        0xa1b2_c3d4 => 1000,
        0xa1b2_3c4d => 1,
        magic => panic!("magic {magic:x}"),
    };
    let snaplen = word(16);
    let link_bytes = match word(20) {
        1 => 14,
        101 => 0,
        link => panic!("link type {link}"),
    };
    let mut records = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let time = Timestamp::new(word(at).into(), u64::from(word(at + 4)) * nanos_per_unit);
        let (captured, original) = (word(at + 8), word(at + 12));
        assert_eq!(captured, original.min(snaplen));
        let frame = &file[at + 16..at + 16 + captured as usize];
        records.push(record(time, &frame[link_bytes..], original - link_bytes as u32));
        at += 16 + captured as usize;
    }
    records
}

fn record(time: Timestamp, ip: &[u8], ip_bytes: u32) -> Record {
    let half = |at: usize| u16::from_be_bytes([ip[at], ip[at + 1]]);
    let (src, dst, header_bytes) = match ip[0] >> 4 {
        4 => {
            assert_eq!((ip_bytes, ip[9]), (half(2).into(), 6));
            let sum: u32 = (0..20).step_by(2).map(|at| u32::from(half(at))).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "header checksum");
            let address = |at: usize| Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).unwrap());
            (address(12).into(), address(16).into(), 20)
        }
        6 => {
            assert_eq!((ip_bytes, ip[6]), (u32::from(half(4)) + 40, 6));
            let address =
                |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&ip[at..at + 16]).unwrap());
            (IpAddr::from(address(8)), IpAddr::from(address(24)), 40)
        }
        version => panic!("IP version {version}"),
    };
    let tcp = &ip[header_bytes..];
    let half = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
    let has_flags = tcp.len() > 13;
    let offset = if has_flags { u32::from(tcp[12] >> 4) * 4 } else { 20 };
    Record {
        time,
        src,
        dst,
        src_port: half(0),
        dst_port: half(2),
        seq: word(4),
        ack: if has_flags { word(8) } else { 0 },
        flags: if has_flags { tcp[13] } else { 0xff },
        has_flags,
        payload_bytes: ip_bytes - header_bytes as u32 - offset,
        checksum_is_right: (tcp.len() >= offset as usize).then(|| {
            let addresses = if header_bytes == 20 { &ip[12..20] } else { &ip[8..40] };
            let words = addresses.chunks(2).chain(tcp[..offset as usize].chunks(2));
            let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
            (sum + 6 + ip_bytes - header_bytes as u32).is_multiple_of(0xffff)
        }),
    }
}

/// The counts of `acsm inspect --json`, by its definitions.
pub fn facts(records: &[Record]) -> Value {
    let tcp: Vec<&Record> = records.iter().filter(|record| record.has_flags).collect();
    // Per pair, which tests any of its packets passed.
    let mut pairs: HashMap<(IpAddr, IpAddr), [bool; 7]> = HashMap::new();
    let mut five_tuples = HashSet::new();
    for record in &tcp {
        let flags = record.flags;
        let tests = [
            flags & 0x01 != 0,
            flags & 0x04 != 0,
            flags & 0x02 != 0,
            flags & 0x12 != 0x02,
            flags & 0x03 == 0x03,
            flags == 0,
            flags & 0x3f == 0x29,
        ];
        let pair = pairs.entry((record.src, record.dst)).or_default();
        pair.iter_mut().zip(tests).for_each(|(seen, test)| *seen |= test);
        five_tuples.insert((record.src, record.dst, record.src_port, record.dst_port));
    }
    let any = |test: usize| pairs.values().filter(|pair| pair[test]).count();
    let time = |record: Option<&Record>| record.map(|record| record.time.to_string());
    json!({
        "packets": records.len(),
        "tcp_packets": tcp.len(),
        "flows": pairs.len(),
        "flows_fin": any(0),
        "flows_rst": any(1),
        "flows_syn": any(2),
        "flows_syn_only": pairs.len() - any(3),
        "flows_syn_fin": any(4),
        "flows_null": any(5),
        "flows_xmas": any(6),
        "five_tuples": five_tuples.len(),
        "ipv6_tcp_packets": tcp.iter().filter(|record| record.src.is_ipv6()).count(),
        "first_time": time(records.first()),
        "last_time": time(records.last()),
    })
}
