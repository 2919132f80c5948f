//! Opening an input: pcap or pcapng, plain or compressed, recognised by its first bytes.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::buffer::{BlockBuffer, Flaw, Record};
use super::compression::{Compression, Decoder};
use super::pcap::{self, PcapReader};
use super::pcapng::{self, PcapngReader};
use super::read_ahead::{CountedInput, ReadAhead, ReadProgress};
use super::unknown_format::looks_like;
use crate::capture::{CaptureError, LinkType};

/// Bytes needed to recognise every format. No more than the shortest captures have: the next bytes
/// of a live pipe may come late.
const MAGIC_BYTES: usize = 12;

/// Bytes of an unknown format that the error message is based on.
const UNKNOWN_FORMAT_BYTES: usize = 512;

/// Size of one read: the bytes are still in the second-level cache when they are parsed.
const READ_BYTES: usize = 64 << 10;

/// One input to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    File(PathBuf),
    StandardInput,
}

impl Input {
    /// Its name in messages.
    pub fn name(&self) -> &Path {
        match self {
            Input::File(path) => path,
            Input::StandardInput => Path::new("standard input"),
        }
    }

    /// Whether reading it may block until bytes arrive: a pipe, a terminal, a device.
    pub fn may_block(&self) -> bool {
        match self {
            Input::StandardInput => true,
            Input::File(path) => path.metadata().is_ok_and(|metadata| !metadata.is_file()),
        }
    }

    fn open(&self) -> Result<Box<dyn Read + Send>, CaptureError> {
        match self {
            Input::StandardInput if io::stdin().is_terminal() => {
                Err(self.not_a_capture("a terminal".to_owned()))
            }
            Input::StandardInput => Ok(Box::new(io::stdin())),
            Input::File(path) => match File::open(path) {
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
    /// To recognise it and read its first packet.
    FirstPacket,
    /// To read all of it.
    AllPackets,
}

/// Which thread reads the bytes of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadOn {
    /// The caller's: for plain files. A read costs less than passing the bytes to another core.
    ThisThread,
    /// A separate one: where bytes have to be waited for or decoded.
    OwnThread,
}

impl Purpose {
    /// A buffer of the bytes of `input`. Waiting for them ends when `stop` is set.
    fn buffer(
        self,
        input: Box<dyn Read + Send>,
        thread: ReadOn,
        stop: Arc<AtomicBool>,
    ) -> io::Result<BlockBuffer> {
        match (self, thread) {
            (Purpose::FirstPacket, _) | (Purpose::AllPackets, ReadOn::ThisThread) => {
                Ok(BlockBuffer::direct(input, READ_BYTES))
            }
            (Purpose::AllPackets, ReadOn::OwnThread) => {
                ReadAhead::spawn(input, stop).map(BlockBuffer::ahead)
            }
        }
    }
}

/// The reader of an open capture, of either format.
pub(super) enum CaptureReader {
    Pcap(PcapReader),
    Pcapng(PcapngReader),
}

impl CaptureReader {
    /// Opens `input`, through one layer of compression if there is one.
    pub fn open(
        input: &Input,
        purpose: Purpose,
        progress: Arc<ReadProgress>,
    ) -> Result<CaptureReader, CaptureError> {
        let stop = progress.stop_flag();
        let bytes = CountedInput::new(input.open()?, progress);
        let thread = if input.may_block() { ReadOn::OwnThread } else { ReadOn::ThisThread };
        let stored = purpose
            .buffer(Box::new(bytes), thread, Arc::clone(&stop))
            .map_err(|error| input.unreadable(error))?;
        let mut stored = match recognise(stored) {
            Ok(reader) => return Ok(reader),
            Err(buffer) => buffer,
        };
        let Some(compression) = Compression::detect(stored.unread()) else {
            stored.has(UNKNOWN_FORMAT_BYTES);
            let looks_like = looks_like(stored.unread());
            let failure = stored.into_failure();
            return Err(match failure {
                Some(error) => input.unreadable(error),
                None => input.not_a_capture(looks_like),
            });
        };
        let decoder = Decoder::new(compression, stored);
        let decoded = purpose
            .buffer(Box::new(decoder), ReadOn::OwnThread, stop)
            .map_err(|error| input.unreadable(error))?;
        recognise(decoded).map_err(|buffer| no_capture_inside(input, compression, buffer))
    }

    /// Opens `input` to recognise it or to read its first bytes.
    pub fn first_look(input: &Input) -> Result<CaptureReader, CaptureError> {
        CaptureReader::open(input, Purpose::FirstPacket, Arc::new(ReadProgress::default()))
    }

    /// The first `most` decoded bytes. Fewer if there are no more, or if they pause for longer than
    /// `longest_pause`. To be called before the first record is read.
    pub fn first_bytes(&mut self, most: usize, longest_pause: Option<Duration>) -> &[u8] {
        match self {
            CaptureReader::Pcap(reader) => reader.first_bytes(most, longest_pause),
            CaptureReader::Pcapng(reader) => reader.first_bytes(most, longest_pause),
        }
    }

    /// The next record, or `None` at the end or at a flaw.
    #[inline(always)]
    pub fn next_record(&mut self) -> Option<Record> {
        match self {
            CaptureReader::Pcap(reader) => reader.next_record(),
            CaptureReader::Pcapng(reader) => reader.next_record(),
        }
    }

    /// Whether reading the next record may block.
    #[inline]
    pub fn may_wait(&self) -> bool {
        match self {
            CaptureReader::Pcap(reader) => reader.may_wait(),
            CaptureReader::Pcapng(reader) => reader.may_wait(),
        }
    }

    /// The bytes of the record that [`next_record`](Self::next_record) returned last.
    #[inline]
    pub fn bytes(&self, record: &Record) -> &[u8] {
        match self {
            CaptureReader::Pcap(reader) => reader.bytes(record),
            CaptureReader::Pcapng(reader) => reader.bytes(record),
        }
    }

    /// What ended the records before the end of the file, if something did.
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

/// The reader for the bytes in the buffer, or the buffer if they are not a capture.
fn recognise(mut buffer: BlockBuffer) -> Result<CaptureReader, BlockBuffer> {
    let whole = buffer.has(MAGIC_BYTES);
    let Some(&magic) = buffer.unread().first_chunk() else { return Err(buffer) };
    if let Some(layout) = pcap::Layout::detect(magic) {
        return Ok(CaptureReader::Pcap(PcapReader::new(buffer, layout)));
    }
    let is_section = u32::from_be_bytes(magic) == pcapng::SECTION_HEADER;
    // a section header that is cut short is a damaged capture, not another format
    if is_section && (!whole || pcapng::section_order(buffer.unread()).is_some()) {
        return Ok(CaptureReader::Pcapng(PcapngReader::new(buffer)));
    }
    Err(buffer)
}

fn no_capture_inside(
    input: &Input,
    compression: Compression,
    mut decoded: BlockBuffer,
) -> CaptureError {
    decoded.has(UNKNOWN_FORMAT_BYTES);
    let looks_like = match Compression::detect(decoded.unread()) {
        Some(inner) => format!("{inner} inside {compression} (decompress it once first)"),
        None if decoded.unread().is_empty() => format!("an empty {compression} file"),
        None => format!("{}, compressed with {compression}", looks_like(decoded.unread())),
    };
    match decoded.into_failure() {
        Some(source) => CaptureError::Undecodable { path: input.name().to_owned(), source },
        None => input.not_a_capture(looks_like),
    }
}
