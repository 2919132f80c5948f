//! Writing pcap files: one file ([`PcapWriter`]), or a ring of files limited in size ([`PcapRing`]).

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::frame::{Frame, LinkType};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// What is buffered before it is written to the file.
const BUFFER_BYTES: usize = 1 << 18;
/// The longest record that fits after an almost full buffer without allocating.
const RESERVED_RECORD_BYTES: usize = 1 << 16;
const FILE_HEADER_BYTES: u64 = 24;
const RECORD_HEADER_BYTES: usize = 16;

/// The resolution of timestamps in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Microseconds, which every tool reads.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl Precision {
    /// `time` rounded down to this resolution.
    pub const fn round_down(self, time: Timestamp) -> Timestamp {
        match self {
            Precision::Micros => Timestamp::from_nanos(time.as_nanos() / 1000 * 1000),
            Precision::Nanos => time,
        }
    }
}

/// The fields of a pcap file header.
#[derive(Debug, Clone, Copy)]
pub struct PcapHeader {
    /// The header that frames begin with.
    pub link_type: LinkType,
    /// The most bytes of a frame that are in the file.
    pub snaplen_bytes: u32,
    /// The resolution of timestamps.
    pub precision: Precision,
}

/// Writes a pcap file (little-endian, version 2.4) through a large buffer.
///
/// Dropping the writer writes what is buffered; [`flush`](Self::flush) does so and reports errors.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    out: W,
    precision: Precision,
    buffer: Vec<u8>,
    written_bytes: u64,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file on `out`, which need not be buffered.
    pub fn new(out: W, header: PcapHeader) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + RESERVED_RECORD_BYTES);
        let magic: u32 = match header.precision {
            Precision::Micros => 0xa1b2_c3d4,
            Precision::Nanos => 0xa1b2_3c4d,
        };
        buffer.extend_from_slice(&magic.to_le_bytes());
        buffer.extend_from_slice(&2u16.to_le_bytes());
        buffer.extend_from_slice(&4u16.to_le_bytes());
        buffer.extend_from_slice(&[0; 8]); // time zone and accuracy, unused
        buffer.extend_from_slice(&header.snaplen_bytes.to_le_bytes());
        buffer.extend_from_slice(&u32::from(header.link_type.0).to_le_bytes());
        PcapWriter { out, precision: header.precision, buffer, written_bytes: 0 }
    }

    /// Appends a record of `captured_bytes`: `bytes`, then zeros if they are fewer.
    #[inline]
    pub fn write(
        &mut self,
        time: Timestamp,
        wire_bytes: u32,
        captured_bytes: u32,
        bytes: &[u8],
    ) -> io::Result<()> {
        let nanos = time.as_nanos();
        let fraction = match self.precision {
            Precision::Micros => nanos % NANOS_PER_SEC / 1000,
            Precision::Nanos => nanos % NANOS_PER_SEC,
        };
        let mut header = [0; RECORD_HEADER_BYTES];
        header[0..4].copy_from_slice(&((nanos / NANOS_PER_SEC) as u32).to_le_bytes());
        header[4..8].copy_from_slice(&(fraction as u32).to_le_bytes());
        header[8..12].copy_from_slice(&captured_bytes.to_le_bytes());
        header[12..16].copy_from_slice(&wire_bytes.to_le_bytes());
        self.buffer.extend_from_slice(&header);
        let start = self.buffer.len();
        let captured_bytes = captured_bytes as usize;
        self.buffer.extend_from_slice(bytes.get(..captured_bytes).unwrap_or(bytes));
        self.buffer.resize(start + captured_bytes, 0);
        if self.buffer.len() >= BUFFER_BYTES { self.write_buffer() } else { Ok(()) }
    }

    /// The size of the file, with what is still buffered.
    pub fn file_bytes(&self) -> u64 {
        self.written_bytes + self.buffer.len() as u64
    }

    /// Writes what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_buffer()?;
        self.out.flush()
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        let result = self.out.write_all(&self.buffer);
        self.written_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        result
    }
}

impl<W: Write> Drop for PcapWriter<W> {
    fn drop(&mut self) {
        let _ = self.flush(); // a caller that needs the error has called `flush`
    }
}

/// The files of a [`PcapRing`].
#[derive(Debug, Clone)]
pub struct RingOptions {
    /// The file; in a ring, each file has a number before its extension.
    pub path: PathBuf,
    /// The header that frames begin with.
    pub link_type: LinkType,
    /// The most bytes that are captured of a frame.
    pub snaplen_bytes: u32,
    /// A new file is begun before one grows beyond this; `None` means one file without limit.
    pub file_bytes: Option<u64>,
    /// How many files are kept, the latest ones; 0 means all.
    pub files: usize,
}

/// Writes frames to a ring of pcap files with nanosecond timestamps.
#[derive(Debug)]
pub struct PcapRing {
    options: RingOptions,
    current: PcapWriter<File>,
    number: u64,
    kept: VecDeque<PathBuf>,
}

impl PcapRing {
    /// Creates the first file.
    pub fn create(options: RingOptions) -> io::Result<PcapRing> {
        let path = path_of(&options, 1);
        let current = create_file(&path, &options)?;
        let kept = VecDeque::from([path]);
        Ok(PcapRing { options, current, number: 1, kept })
    }

    /// Appends a frame; frames of another link type than that of the file are left out.
    pub fn write(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        if frame.link_type != self.options.link_type {
            return Ok(());
        }
        let file_bytes = self.current.file_bytes();
        let record_bytes = (RECORD_HEADER_BYTES + frame.bytes.len()) as u64;
        let fits = |limit| file_bytes + record_bytes <= limit;
        if file_bytes > FILE_HEADER_BYTES && !self.options.file_bytes.is_none_or(fits) {
            self.begin_next_file()?;
        }
        let captured_bytes = frame.bytes.len() as u32;
        self.current.write(frame.time, frame.wire_bytes, captured_bytes, frame.bytes)
    }

    /// Writes what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.current.flush()
    }

    /// The current file.
    pub fn path(&self) -> &Path {
        self.kept.back().map_or(&self.options.path, PathBuf::as_path)
    }

    fn begin_next_file(&mut self) -> io::Result<()> {
        self.current.flush()?;
        self.number += 1;
        let path = path_of(&self.options, self.number);
        self.current = create_file(&path, &self.options)?;
        self.kept.push_back(path);
        if self.options.files > 0 && self.kept.len() > self.options.files {
            // It does not matter if the file has been removed already.
            let _ = self.kept.pop_front().map(fs::remove_file);
        }
        Ok(())
    }
}

/// `trace.pcap`, or in a ring `trace-00001.pcap`.
fn path_of(options: &RingOptions, number: u64) -> PathBuf {
    if options.file_bytes.is_none() {
        return options.path.clone();
    }
    let mut name = options.path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{number:05}"));
    if let Some(extension) = options.path.extension() {
        name.push(".");
        name.push(extension);
    }
    options.path.with_file_name(name)
}

fn create_file(path: &Path, options: &RingOptions) -> io::Result<PcapWriter<File>> {
    let &RingOptions { link_type, snaplen_bytes, .. } = options;
    let header = PcapHeader { link_type, snaplen_bytes, precision: Precision::Nanos };
    Ok(PcapWriter::new(File::create(path)?, header))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{FileSource, PacketSource as _, TimeWindow};

    #[test]
    fn a_record_has_time_lengths_bytes_and_zeros() {
        for (precision, magic, fraction) in [
            (Precision::Micros, 0xa1b2_c3d4u32, 999_999u32),
            (Precision::Nanos, 0xa1b2_3c4d, 999_999_999),
        ] {
            let mut file = Vec::new();
            let header = PcapHeader { link_type: LinkType::RAW, snaplen_bytes: 64, precision };
            let mut writer = PcapWriter::new(&mut file, header);
            writer.write(Timestamp::new(7, 999_999_999), 1040, 64, &[0x45; 40]).unwrap();
            writer.write(Timestamp::new(8, 0), 1040, 2, &[0x45; 40]).unwrap();
            writer.flush().unwrap();
            assert_eq!(writer.file_bytes(), 24 + 16 + 64 + 16 + 2);
            drop(writer);
            let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
            assert_eq!([word(0), word(16), word(20)], [magic, 64, 101]);
            assert_eq!([word(24), word(28), word(32), word(36)], [7, fraction, 64, 1040]);
            assert_eq!((file[40], file[79], file[80], file[103]), (0x45, 0x45, 0, 0));
            assert_eq!((word(104), word(112), file.len()), (8, 2, 122));
        }
    }

    fn ring(folder: &Path, file_bytes: Option<u64>, files: usize) -> PcapRing {
        let path = folder.join("a.b.pcap");
        let link_type = LinkType::ETHERNET;
        PcapRing::create(RingOptions { path, link_type, snaplen_bytes: 256, file_bytes, files })
            .unwrap()
    }

    fn write(ring: &mut PcapRing, frames: u64) {
        for n in 0..frames {
            let bytes = [n as u8; 84];
            let time = Timestamp::new(100, n);
            let link_type = LinkType::ETHERNET;
            ring.write(&Frame { time, link_type, wire_bytes: 1000, bytes: &bytes }).unwrap();
        }
        ring.flush().unwrap();
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        write(&mut ring(folder.path(), None, 0), 5);
        let path = folder.path().join("a.b.pcap");
        let mut source = FileSource::open(&[path], TimeWindow::default()).unwrap();
        for n in 0..5 {
            let frame = source.next_frame().unwrap().unwrap();
            assert_eq!((frame.time, frame.wire_bytes), (Timestamp::new(100, n), 1000));
            assert_eq!(frame.bytes, [n as u8; 84]);
        }
        assert!(source.next_frame().unwrap().is_none() && source.damages().is_empty());
    }

    #[test]
    fn a_ring_keeps_its_last_files_complete() {
        let folder = tempfile::tempdir().unwrap();
        // Three records of 100 bytes fit a file.
        write(&mut ring(folder.path(), Some(24 + 300), 2), 10);
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["a.b-00003.pcap", "a.b-00004.pcap"]);
        let source = FileSource::open(&[folder.path().to_owned()], TimeWindow::default());
        let mut source = source.unwrap();
        let mut times = vec![];
        while let Some(frame) = source.next_frame().unwrap() {
            times.push(frame.time.as_nanos() % 1000);
        }
        assert_eq!(times, [6, 7, 8, 9]);
    }

    #[test]
    fn a_frame_larger_than_a_file_gets_one_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        write(&mut ring(folder.path(), Some(1), 0), 3);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
