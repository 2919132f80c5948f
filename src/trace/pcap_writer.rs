//! Writes classic pcap files: little-endian, microseconds or nanoseconds.

use std::io::{self, Write};

use super::segment::{Link, Segment};
use crate::capture::LinkType;
use crate::time::{NANOS_PER_SEC, Timestamp};

/// The resolution of time stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Microseconds, which every tool reads.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl Precision {
    /// `time` as a file of this precision can tell it.
    pub const fn round_down(self, time: Timestamp) -> Timestamp {
        match self {
            Precision::Micros => Timestamp::from_nanos(time.as_nanos() / 1000 * 1000),
            Precision::Nanos => time,
        }
    }
}

/// How packets are put into the file.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// What frames begin with.
    pub link: Link,
    /// How many bytes of a frame are kept at the most.
    pub snaplen: u32,
    /// The resolution of time stamps.
    pub precision: Precision,
}

impl Link {
    /// The link type that a file with such frames declares.
    pub const fn link_type(self) -> LinkType {
        match self {
            Link::Raw => LinkType::RAW,
            Link::Ethernet => LinkType::ETHERNET,
        }
    }
}

const BUFFER_BYTES: usize = 1 << 20;
const RECORD_HEADER_BYTES: usize = 16;

/// Writes segments as a pcap file, through one large buffer.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    out: W,
    format: Format,
    buffer: Vec<u8>,
    written_bytes: u64,
}

impl<W: Write> PcapWriter<W> {
    /// A writer to `out`, which needs no buffer of its own.
    pub fn new(out: W, format: Format) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + (1 << 16));
        let magic: u32 = match format.precision {
            Precision::Micros => 0xa1b2_c3d4,
            Precision::Nanos => 0xa1b2_3c4d,
        };
        buffer.extend_from_slice(&magic.to_le_bytes());
        buffer.extend_from_slice(&2u16.to_le_bytes());
        buffer.extend_from_slice(&4u16.to_le_bytes());
        buffer.extend_from_slice(&[0; 8]); // time zone and accuracy: unused by everyone
        buffer.extend_from_slice(&format.snaplen.to_le_bytes());
        buffer.extend_from_slice(&u32::from(format.link.link_type().0).to_le_bytes());
        PcapWriter { out, format, buffer, written_bytes: 0 }
    }

    /// Appends a packet.
    #[inline]
    pub fn write(&mut self, time: Timestamp, segment: &Segment) -> io::Result<()> {
        let headers = segment.headers(self.format.link);
        let captured_bytes = headers.wire_bytes.min(self.format.snaplen as usize);
        let nanos = time.as_nanos();
        let fraction = match self.format.precision {
            Precision::Micros => nanos % NANOS_PER_SEC / 1000,
            Precision::Nanos => nanos % NANOS_PER_SEC,
        };
        let mut record = [0; RECORD_HEADER_BYTES];
        record[0..4].copy_from_slice(&((nanos / NANOS_PER_SEC) as u32).to_le_bytes());
        record[4..8].copy_from_slice(&(fraction as u32).to_le_bytes());
        record[8..12].copy_from_slice(&(captured_bytes as u32).to_le_bytes());
        record[12..16].copy_from_slice(&(headers.wire_bytes as u32).to_le_bytes());
        self.buffer.extend_from_slice(&record);
        let frame_start = self.buffer.len();
        self.buffer.extend_from_slice(&headers.bytes[..headers.header_bytes.min(captured_bytes)]);
        self.buffer.resize(frame_start + captured_bytes, 0);
        if self.buffer.len() >= BUFFER_BYTES { self.write_out() } else { Ok(()) }
    }

    /// Writes what is still buffered; returns the size of the whole file.
    pub fn finish(mut self) -> io::Result<u64> {
        self.write_out()?;
        self.out.flush()?;
        Ok(self.written_bytes)
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.written_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::TcpFlags;

    #[test]
    fn a_record_tells_time_captured_and_original_length() {
        let segment = Segment {
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
            src_port: 1,
            dst_port: 2,
            seq: 3,
            ack: 4,
            flags: TcpFlags::ACK,
            payload_bytes: 1000,
        };
        for (precision, magic, fraction) in [
            (Precision::Micros, 0xa1b2_c3d4u32, 999_999u32),
            (Precision::Nanos, 0xa1b2_3c4d, 999_999_999),
        ] {
            let mut file = Vec::new();
            let mut writer =
                PcapWriter::new(&mut file, Format { link: Link::Raw, snaplen: 64, precision });
            writer.write(Timestamp::new(7, 999_999_999), &segment).unwrap();
            assert_eq!(writer.finish().unwrap(), 24 + 16 + 64);
            let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
            assert_eq!([word(0), word(16), word(20)], [magic, 64, 101]);
            assert_eq!([word(24), word(28), word(32), word(36)], [7, fraction, 64, 1040]);
            assert_eq!((file[40], file.len()), (0x45, 104));
        }
    }
}
