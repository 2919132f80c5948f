//! Compressed captures: recognised by their first bytes, decoded as one stream.
//!
//! A compressed file may hold several gzip members, zstd frames, xz streams or lz4 frames one
//! after the other; they decode to one capture. Zeros behind the last are padding.

use std::fmt;
use std::io::{self, Read};

use flate2::bufread::GzDecoder;
use lz4_flex::frame::FrameDecoder as Lz4Decoder;
use lzma_rust2::XzReader;

use super::block_buffer::BlockBuffer;
use super::byte_order::ByteOrder;
use super::zstd_frame::ZstdFrame;

/// The largest window or dictionary a stream may ask for: what `zstd -d` grants unasked, and twice
/// what `xz -9` needs.
pub(super) const MAX_WINDOW_BYTES: u32 = 128 << 20;

/// Skippable frames of zstd and lz4: 16 magic numbers, then a length.
const SKIPPABLE_MAGIC: u32 = 0x184d_2a50;

/// How a capture is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Xz,
    Lz4,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Lz4 => "lz4",
        })
    }
}

impl Compression {
    /// The compression that a file's first bytes name, if any.
    ///
    /// A skippable frame in front counts as zstd: its tools write them (seekable zstd).
    pub fn of(bytes: &[u8]) -> Option<Compression> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Compression::Lz4),
            _ => skippable(bytes).then_some(Compression::Zstd),
        }
    }

    /// The bytes that `input` holds, decoded.
    pub fn decode(self, input: BlockBuffer) -> Box<dyn Read + Send> {
        match self {
            // goes from stream to stream itself, and knows their padding
            Compression::Xz => {
                let limit_kib = MAX_WINDOW_BYTES / 1024 + 1024;
                Box::new(XzReader::new_mem_limit(input, true, limit_kib))
            }
            _ => Box::new(Members { compression: self, state: State::Between(input) }),
        }
    }
}

fn skippable(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|magic| u32::from_le_bytes(*magic) & !0xf == SKIPPABLE_MAGIC)
}

/// Decodes gzip members, zstd frames or lz4 frames, one after the other.
struct Members {
    compression: Compression,
    state: State,
}

enum State {
    Between(BlockBuffer),
    Gzip(GzDecoder<BlockBuffer>),
    Zstd(Box<ZstdFrame>),
    Lz4(Lz4Decoder<WatchedEnd>),
    Over,
}

impl Read for Members {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let decoded = match &mut self.state {
                State::Between(_) => 0,
                State::Gzip(decoder) => decoder.read(room)?,
                State::Zstd(decoder) => decoder.read(room)?,
                State::Lz4(decoder) => decoder.read(room)?,
                State::Over => return Ok(0),
            };
            if decoded > 0 {
                return Ok(decoded);
            }
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::Between(input) => self.next_member(input)?,
                State::Gzip(decoder) => State::Between(decoder.into_inner()),
                State::Zstd(decoder) => State::Between(decoder.into_input()),
                State::Lz4(decoder) => State::Between(decoder.into_inner().checked()?),
                State::Over => State::Over,
            };
        }
    }
}

impl Members {
    fn next_member(&self, mut input: BlockBuffer) -> io::Result<State> {
        if !input.has(1) {
            return input.into_failure().map_or(Ok(State::Over), Err);
        }
        input.has(8);
        if self.compression != Compression::Gzip && skippable(input.unread()) {
            let length = ByteOrder::Little.u32_at(input.unread(), 4);
            let skipped = length.is_some_and(|length| input.skip(8 + u64::from(length)));
            return if skipped { Ok(State::Between(input)) } else { Err(cut_short()) };
        }
        match Compression::of(input.unread()) {
            found if found != Some(self.compression) => self.padding(input),
            Some(Compression::Zstd) => {
                ZstdFrame::new(input).map(|frame| State::Zstd(Box::new(frame)))
            }
            Some(Compression::Lz4) => Ok(State::Lz4(Lz4Decoder::new(WatchedEnd::new(input)))),
            _ => Ok(State::Gzip(GzDecoder::new(input))),
        }
    }

    /// Tapes and block devices pad with zeros; anything else behind the last member is a flaw.
    fn padding(&self, mut input: BlockBuffer) -> io::Result<State> {
        while input.has(1) {
            if input.unread().iter().any(|&byte| byte != 0) {
                let what = format!("something else follows the {} data", self.compression);
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            input.skip(input.unread().len() as u64);
        }
        input.into_failure().map_or(Ok(State::Over), Err)
    }
}

/// Notes whether more is asked of an input than it has.
///
/// lz4_flex takes a file that ends between two blocks for a whole one. Only where it wanted no more
/// than there was has it seen the end mark.
struct WatchedEnd {
    input: BlockBuffer,
    wanted_more: bool,
}

impl WatchedEnd {
    fn new(input: BlockBuffer) -> Self {
        WatchedEnd { input, wanted_more: false }
    }

    fn checked(self) -> io::Result<BlockBuffer> {
        if self.wanted_more { Err(cut_short()) } else { Ok(self.input) }
    }
}

impl Read for WatchedEnd {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(room)?;
        self.wanted_more |= read == 0 && !room.is_empty();
        Ok(read)
    }
}

fn cut_short() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}
