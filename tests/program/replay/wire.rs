//! Captures built packet by packet.

use std::net::Ipv4Addr;

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const ACK: u8 = 0x10;

/// A multiple of every idle timeout that tests use, so that epochs begin with it.
pub const START_SECS: u64 = 1_700_006_400;

/// A pcap file with nanoseconds and bare IPv4 packets.
pub struct Wire(Vec<u8>);

impl Wire {
    pub fn new() -> Wire {
        let mut header = Vec::new();
        header.extend(0xa1b2_3c4d_u32.to_le_bytes());
        header.extend([2, 0, 4, 0]);
        header.extend([0; 8]);
        header.extend(65_535_u32.to_le_bytes());
        header.extend(101_u32.to_le_bytes());
        Wire(header)
    }

    /// A packet from host `src` to host `dst` of 192.0.2.0/24, with these ports,
    /// `millis` milliseconds after the start.
    pub fn packet(self, millis: u64, ends: (u8, u8), ports: (u16, u16), flags: u8) -> Wire {
        let (src, dst) = ends;
        let host = |host| Ipv4Addr::new(192, 0, 2, host);
        self.between(millis, (host(src), host(dst)), ports, flags)
    }

    /// The same between any two addresses.
    pub fn between(
        self,
        millis: u64,
        ends: (Ipv4Addr, Ipv4Addr),
        ports: (u16, u16),
        flags: u8,
    ) -> Wire {
        self.segment(millis, ends, ports, (flags, 0))
    }

    /// The same with so many bytes of data, at most 200, of which none is captured.
    pub fn segment(
        mut self,
        millis: u64,
        (src, dst): (Ipv4Addr, Ipv4Addr),
        (src_port, dst_port): (u16, u16),
        (flags, data): (u8, u8),
    ) -> Wire {
        let mut packet = vec![0x45, 0, 0, 40 + data, 0, 0, 0, 0, 64, 6, 0, 0];
        packet.extend(src.octets());
        packet.extend(dst.octets());
        packet.extend(src_port.to_be_bytes());
        packet.extend(dst_port.to_be_bytes());
        packet.extend([0; 8]);
        packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        let secs = u32::try_from(START_SECS + millis / 1000).unwrap();
        let nanos = u32::try_from(millis % 1000 * 1_000_000).unwrap();
        let bytes = u32::try_from(packet.len()).unwrap();
        for word in [secs, nanos, bytes, bytes + u32::from(data)] {
            self.0.extend(word.to_le_bytes());
        }
        self.0.extend(packet);
        self
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Cuts a little-endian pcap file into files of at most `records` records, each with the header.
pub fn split(pcap: &[u8], records: usize) -> Vec<Vec<u8>> {
    let (header, mut rest) = pcap.split_at(24);
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let mut part = header.to_vec();
        for _ in 0..records {
            let Some(length) = rest.get(8..12) else { break };
            let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
            let (record, behind) = rest.split_at(16 + length);
            part.extend_from_slice(record);
            rest = behind;
        }
        parts.push(part);
    }
    parts
}
