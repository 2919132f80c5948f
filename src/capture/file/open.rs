//! Opens an input and recognises by its content what it holds.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::block_buffer::BlockBuffer;
use super::compression::Compression;
use super::decoder::Decoder;
use super::looks_like::looks_like;
use super::pcap::{self, PcapReader};
use super::pcapng::{self, PcapngReader};
use super::progress::{Counted, ReadProgress};
use super::read_ahead::ReadAhead;
use super::record::{Flaw, Record};
use crate::capture::{CaptureError, LinkType, TakeFrame};

/// Enough to know every format by, and what the shortest captures have: more must not be waited
/// for, the next bytes of a live pipe may come late.
const RECOGNISED_BYTES: usize = 12;

/// What a stranger is judged by.
const LOOKED_AT_BYTES: usize = 512;

/// Read at a time to know a file by its first packet.
const SNIFFED_BYTES: usize = 64 << 10;

/// Read at a time otherwise: stays in a second-level cache between the copy and our look at it.
const READ_BYTES: usize = 64 << 10;

/// Where bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    File(PathBuf),
    StandardInput,
}

impl Place {
    /// What messages call it.
    pub fn name(&self) -> &Path {
        match self {
            Place::File(path) => path,
            Place::StandardInput => Path::new("standard input"),
        }
    }

    /// Whether its bytes come when somebody sends them: a pipe, a terminal, a device.
    pub fn is_paced_by_others(&self) -> bool {
        match self {
            Place::StandardInput => true,
            Place::File(path) => path.metadata().is_ok_and(|metadata| !metadata.is_file()),
        }
    }

    fn open(&self) -> Result<Box<dyn Read + Send>, CaptureError> {
        match self {
            Place::StandardInput if io::stdin().is_terminal() => {
                Err(self.not_a_capture("a terminal".to_owned()))
            }
            Place::StandardInput => Ok(Box::new(io::stdin())),
            Place::File(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(file)),
                Err(error) => Err(self.unreadable(error)),
            },
        }
    }

    pub fn unreadable(&self, source: io::Error) -> CaptureError {
        CaptureError::Io { path: self.name().to_owned(), source }
    }

    fn not_a_capture(&self, looks_like: String) -> CaptureError {
        CaptureError::NotACapture { path: self.name().to_owned(), looks_like }
    }
}

/// Why an input is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// For its first packet only.
    Sniff,
    /// To read all of it.
    Read,
}

/// How the bytes of an input come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// At once: the kernel has them, and its copy costs less than handing it to another core.
    AtOnce,
    /// When somebody has sent or decoded them: better on a thread of its own.
    InTime,
}

impl Purpose {
    /// A buffer of what `input` gives. Waiting for it ends when `stop` is set.
    fn buffer(
        self,
        input: Box<dyn Read + Send>,
        pace: Pace,
        stop: Arc<AtomicBool>,
    ) -> io::Result<BlockBuffer> {
        match (self, pace) {
            (Purpose::Sniff, _) => Ok(BlockBuffer::direct(input, SNIFFED_BYTES)),
            (Purpose::Read, Pace::AtOnce) => Ok(BlockBuffer::direct(input, READ_BYTES)),
            (Purpose::Read, Pace::InTime) => ReadAhead::spawn(input, stop).map(BlockBuffer::ahead),
        }
    }
}

/// A capture of either format.
pub(super) enum CaptureReader {
    Pcap(PcapReader),
    Pcapng(PcapngReader),
}

impl CaptureReader {
    /// Opens the capture at `place`, undoing one layer of compression.
    pub fn open(
        place: &Place,
        purpose: Purpose,
        progress: Arc<ReadProgress>,
    ) -> Result<CaptureReader, CaptureError> {
        let stop = progress.stop_flag();
        let input = Counted::new(place.open()?, progress);
        let pace = if place.is_paced_by_others() { Pace::InTime } else { Pace::AtOnce };
        let stored = purpose
            .buffer(Box::new(input), pace, Arc::clone(&stop))
            .map_err(|error| place.unreadable(error))?;
        let mut stored = match recognise(stored) {
            Ok(reader) => return Ok(reader),
            Err(buffer) => buffer,
        };
        let Some(compression) = Compression::of(stored.unread()) else {
            stored.has(LOOKED_AT_BYTES);
            let looks_like = looks_like(stored.unread());
            let failure = stored.into_failure();
            return Err(match failure {
                Some(error) => place.unreadable(error),
                None => place.not_a_capture(looks_like),
            });
        };
        let decoder = Decoder::new(compression, stored);
        let decoded = purpose
            .buffer(Box::new(decoder), Pace::InTime, stop)
            .map_err(|error| place.unreadable(error))?;
        recognise(decoded).map_err(|buffer| no_capture_inside(place, compression, buffer))
    }

    /// The next record, or `None` at the end or at a flaw.
    #[inline(always)]
    pub fn advance(&mut self) -> Option<Record> {
        match self {
            CaptureReader::Pcap(reader) => reader.advance(),
            CaptureReader::Pcapng(reader) => reader.advance(),
        }
    }

    /// Gives `taker` at most `most` frames of those whose records are in the buffer; says how many.
    /// None may mean that [`advance`](Self::advance) is needed to find the next.
    #[inline(always)]
    pub fn give_buffered(&mut self, most: usize, taker: &mut impl TakeFrame) -> usize {
        match self {
            CaptureReader::Pcap(reader) => reader.give_buffered(most, taker),
            CaptureReader::Pcapng(_) => 0,
        }
    }

    /// Whether the next record may be long in coming.
    #[inline]
    pub fn may_wait(&self) -> bool {
        match self {
            CaptureReader::Pcap(reader) => reader.may_wait(),
            CaptureReader::Pcapng(reader) => reader.may_wait(),
        }
    }

    /// The bytes of the record that [`advance`](Self::advance) gave last.
    #[inline]
    pub fn bytes(&self, record: &Record) -> &[u8] {
        match self {
            CaptureReader::Pcap(reader) => reader.bytes(record),
            CaptureReader::Pcapng(reader) => reader.bytes(record),
        }
    }

    /// What ended the records, if it was not the end of the file.
    pub fn flaw(&self) -> Option<&Flaw> {
        match self {
            CaptureReader::Pcap(reader) => reader.flaw(),
            CaptureReader::Pcapng(reader) => reader.flaw(),
        }
    }

    /// The link types declared so far.
    pub fn link_types(&self) -> Vec<LinkType> {
        match self {
            CaptureReader::Pcap(reader) => reader.link_type().into_iter().collect(),
            CaptureReader::Pcapng(reader) => reader.link_types().iter().copied().collect(),
        }
    }
}

/// The reader for what the buffer holds, or the buffer back if it is no capture.
fn recognise(mut buffer: BlockBuffer) -> Result<CaptureReader, BlockBuffer> {
    let whole = buffer.has(RECOGNISED_BYTES);
    let Some(&magic) = buffer.unread().first_chunk() else { return Err(buffer) };
    if let Some(layout) = pcap::Layout::of(magic) {
        return Ok(CaptureReader::Pcap(PcapReader::new(buffer, layout)));
    }
    let is_section = u32::from_be_bytes(magic) == pcapng::SECTION_HEADER;
    // a section header that is cut short is a damaged capture rather than none
    if is_section && (!whole || pcapng::section_order(buffer.unread()).is_some()) {
        return Ok(CaptureReader::Pcapng(PcapngReader::new(buffer)));
    }
    Err(buffer)
}

fn no_capture_inside(
    place: &Place,
    compression: Compression,
    mut decoded: BlockBuffer,
) -> CaptureError {
    decoded.has(LOOKED_AT_BYTES);
    let looks_like = match Compression::of(decoded.unread()) {
        Some(inner) => format!("{inner} inside {compression} (decompress it once first)"),
        None if decoded.unread().is_empty() => format!("an empty {compression} file"),
        None => format!("{}, compressed with {compression}", looks_like(decoded.unread())),
    };
    match decoded.into_failure() {
        Some(source) => CaptureError::Undecodable { path: place.name().to_owned(), source },
        None => place.not_a_capture(looks_like),
    }
}
