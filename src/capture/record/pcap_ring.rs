//! Pcap files with nanoseconds, one after the other, of which the last few are kept.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::capture::{Frame, LinkType};
use crate::time::NANOS_PER_SEC;

const BUFFER_BYTES: usize = 1 << 18;
const FILE_HEADER_BYTES: u64 = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// Little-endian, version 2.4, nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;

/// Where frames go, and how much of them is kept.
#[derive(Debug, Clone)]
pub struct RingOptions {
    /// The file; in a ring, each file has a number before its extension.
    pub path: PathBuf,
    /// How frames begin.
    pub link_type: LinkType,
    /// The most that is captured of a frame.
    pub snaplen_bytes: u32,
    /// A new file is begun before one grows beyond this.
    pub file_bytes: Option<u64>,
    /// So many files are kept, the latest ones; 0 means all.
    pub files: usize,
}

/// Writes frames to a ring of files.
#[derive(Debug)]
pub struct PcapRing {
    options: RingOptions,
    file: BufWriter<File>,
    written_bytes: u64,
    number: u64,
    kept: VecDeque<PathBuf>,
}

impl PcapRing {
    /// Begins the first file.
    pub fn create(options: RingOptions) -> io::Result<PcapRing> {
        let path = path_of(&options, 1);
        let file = begin(&path, &options)?;
        let kept = VecDeque::from([path]);
        Ok(PcapRing { options, file, written_bytes: FILE_HEADER_BYTES, number: 1, kept })
    }

    /// Appends a frame; one of another link type than the file's is left out.
    pub fn write(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        if frame.link_type != self.options.link_type {
            return Ok(());
        }
        let record_bytes = (RECORD_HEADER_BYTES + frame.bytes.len()) as u64;
        let fits = |limit| self.written_bytes + record_bytes <= limit;
        if self.written_bytes > FILE_HEADER_BYTES && !self.options.file_bytes.is_none_or(fits) {
            self.turn()?;
        }
        let nanos = frame.time.as_nanos();
        let words = [
            (nanos / NANOS_PER_SEC) as u32,
            (nanos % NANOS_PER_SEC) as u32,
            frame.bytes.len() as u32,
            frame.wire_bytes,
        ];
        for word in words {
            self.file.write_all(&word.to_le_bytes())?;
        }
        self.file.write_all(frame.bytes)?;
        self.written_bytes += record_bytes;
        Ok(())
    }

    /// Writes what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// The file that failed, if one did.
    pub fn path(&self) -> &Path {
        self.kept.back().map_or(&self.options.path, PathBuf::as_path)
    }

    fn turn(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.number += 1;
        let path = path_of(&self.options, self.number);
        self.file = begin(&path, &self.options)?;
        self.written_bytes = FILE_HEADER_BYTES;
        self.kept.push_back(path);
        if self.options.files > 0 && self.kept.len() > self.options.files {
            // Somebody else may have removed it: that is what we want too.
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

fn begin(path: &Path, options: &RingOptions) -> io::Result<BufWriter<File>> {
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
    file.write_all(&MAGIC.to_le_bytes())?;
    file.write_all(&2_u16.to_le_bytes())?;
    file.write_all(&4_u16.to_le_bytes())?;
    file.write_all(&[0; 8])?; // time zone and accuracy: unused by everyone
    file.write_all(&options.snaplen_bytes.to_le_bytes())?;
    file.write_all(&u32::from(options.link_type.0).to_le_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{FileSource, Source as _, TimeWindow};
    use crate::time::Timestamp;

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
    fn a_ring_keeps_its_last_files_whole() {
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
