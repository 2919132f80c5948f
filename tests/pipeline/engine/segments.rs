//! Captures written segment by segment.

use std::io::Write as _;
use std::net::Ipv4Addr;

use acsm::flow::TcpFlags;
use tempfile::NamedTempFile;

/// A TCP segment over IPv4, with `bytes` bytes of data.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub millis: u64,
    pub from: (Ipv4Addr, u16),
    pub to: (Ipv4Addr, u16),
    pub flags: TcpFlags,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub bytes: u16,
}

pub const ACK: TcpFlags = TcpFlags::ACK;
pub const SYN_ACK: TcpFlags = TcpFlags(TcpFlags::SYN.0 | TcpFlags::ACK.0);

/// A connection between a client and a server, both of which know each other's numbers.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    pub client: (Ipv4Addr, u16),
    pub server: (Ipv4Addr, u16),
    client_next: u32,
    server_next: u32,
}

impl Ends {
    /// The n-th connection of many, each with an own client.
    pub fn new(n: u32) -> Ends {
        let client = Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + n);
        Ends {
            client: (client, 20_000 + (n % 30_000) as u16),
            server: (Ipv4Addr::new(192, 0, 2, 1), 443),
            client_next: n.wrapping_mul(2_654_435_761),
            server_next: n.wrapping_mul(2_246_822_519) ^ 0x5555_5555,
        }
    }

    pub fn client_sends(&mut self, millis: u64, flags: TcpFlags, bytes: u16) -> Segment {
        let (from, to) = (self.client, self.server);
        let (sequence, acknowledgement) = (self.client_next, self.server_next);
        self.client_next = sequence.wrapping_add(advance(flags, bytes));
        Segment { millis, from, to, flags, sequence, acknowledgement, bytes }
    }

    pub fn server_sends(&mut self, millis: u64, flags: TcpFlags, bytes: u16) -> Segment {
        let (from, to) = (self.server, self.client);
        let (sequence, acknowledgement) = (self.server_next, self.client_next);
        self.server_next = sequence.wrapping_add(advance(flags, bytes));
        Segment { millis, from, to, flags, sequence, acknowledgement, bytes }
    }

    /// Three steps, then a request and its answer.
    pub fn open(&mut self, millis: u64) -> Vec<Segment> {
        vec![
            self.client_sends(millis, TcpFlags::SYN, 0),
            self.server_sends(millis + 1, SYN_ACK, 0),
            self.client_sends(millis + 2, ACK, 0),
            self.client_sends(millis + 3, ACK, 300),
            self.server_sends(millis + 4, ACK, 900),
        ]
    }

    /// Another request and its answer.
    pub fn talk(&mut self, millis: u64) -> Vec<Segment> {
        vec![self.client_sends(millis, ACK, 100), self.server_sends(millis + 1, ACK, 100)]
    }
}

fn advance(flags: TcpFlags, bytes: u16) -> u32 {
    u32::from(bytes) + u32::from(flags.has(TcpFlags::SYN) || flags.has(TcpFlags::FIN))
}

/// A capture of these segments, in the order of time.
pub fn capture(mut segments: Vec<Segment>) -> NamedTempFile {
    segments.sort_by_key(|segment| segment.millis);
    let mut pcap = Vec::new();
    for word in [0xa1b2_3c4du32, 4 << 16 | 2, 0, 0, 65_535, 1] {
        pcap.extend(word.to_le_bytes());
    }
    for segment in &segments {
        let frame = frame(segment);
        let seconds = 1_700_000_000 + segment.millis / 1000;
        let nanos = segment.millis % 1000 * 1_000_000;
        let length = frame.len() as u32 + u32::from(segment.bytes);
        for word in [seconds as u32, nanos as u32, frame.len() as u32, length] {
            pcap.extend(word.to_le_bytes());
        }
        pcap.extend(frame);
    }
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&pcap).unwrap();
    file
}

/// Its headers, without its data.
fn frame(segment: &Segment) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0]);
    frame.extend([0x45, 0]);
    frame.extend((40 + segment.bytes).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame.extend(segment.from.0.octets());
    frame.extend(segment.to.0.octets());
    frame.extend(segment.from.1.to_be_bytes());
    frame.extend(segment.to.1.to_be_bytes());
    frame.extend(segment.sequence.to_be_bytes());
    frame.extend(segment.acknowledgement.to_be_bytes());
    frame.extend([0x50, segment.flags.0, 0xff, 0xff, 0, 0, 0, 0]);
    frame
}
