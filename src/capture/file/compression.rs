//! Compressed captures: gzip, zstd, xz and lz4, recognised by their first bytes.
//!
//! A compressed file may hold several gzip members, zstd frames, xz streams or lz4 frames one
//! after the other; they decode to one capture. Zeros after the last one are padding.
//!
//! [`Decoder`] is what others read from. Below it, `Members` goes from one member or frame to the
//! next, and `ZstdFrame` decodes one zstd frame.

use std::error::Error;
use std::fmt;
use std::io::{self, Read};

use flate2::bufread::GzDecoder;
use lz4_flex::frame::FrameDecoder as Lz4Decoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder as ZstdDecoder};

use super::buffer::BlockBuffer;

/// The largest window or dictionary a stream may ask for: the default limit of `zstd -d`, and twice
/// what `xz -9` needs.
const MAX_WINDOW_BYTES: u32 = 128 << 20;

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
    /// The compression that a file's first bytes identify, if any. A skippable frame counts as
    /// zstd, whose tools write them (seekable zstd).
    pub fn detect(bytes: &[u8]) -> Option<Compression> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Compression::Lz4),
            _ => skippable(bytes).then_some(Compression::Zstd),
        }
    }

    /// A reader of the decoded bytes of `input`.
    fn decode(self, input: BlockBuffer) -> Box<dyn Read + Send> {
        match self {
            // handles several streams and their padding itself
            Compression::Xz => {
                let limit_kib = MAX_WINDOW_BYTES / 1024 + 1024;
                Box::new(XzReader::new_mem_limit(input, true, limit_kib))
            }
            _ => Box::new(Members { compression: self, state: State::BetweenMembers(input) }),
        }
    }
}

/// The most bytes that one read of a [`Decoder`] returns.
const READ_BYTES: usize = 64 * 1024;

/// How many bytes a decoder is asked for at a time. Most decoders lose what they decoded in the call
/// that finds damage, so this much of the capture before the damage is lost. (xz itself holds back
/// more: a chunk of LZMA2, up to 64 KiB.)
const STEP_BYTES: usize = 1024;

/// The decoded bytes of a compressed input. Its error messages do not depend on the decoder.
pub(super) struct Decoder {
    compression: Compression,
    inner: Box<dyn Read + Send>,
    step_bytes: usize,
    /// Returned by the next read: bytes that were decoded before the error come first.
    failure: Option<io::Error>,
}

impl Decoder {
    pub fn new(compression: Compression, input: BlockBuffer) -> Self {
        let step_bytes = match compression {
            // Each call costs a copy of its window, and it loses nothing at damage.
            Compression::Zstd => READ_BYTES,
            _ => STEP_BYTES,
        };
        Decoder { compression, inner: compression.decode(input), step_bytes, failure: None }
    }
}

impl Read for Decoder {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let wanted = out.len().min(READ_BYTES);
        let mut filled = 0;
        while filled < wanted {
            let end = wanted.min(filled + self.step_bytes);
            match self.inner.read(out.get_mut(filled..end).unwrap_or_default()) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(describe(self.compression, &error));
                    break;
                }
            }
        }
        match self.failure.take() {
            Some(error) if filled == 0 => Err(error),
            failure => {
                self.failure = failure;
                Ok(filled)
            }
        }
    }
}

/// What is wrong with a compressed stream, in a message that does not depend on the decoder.
fn describe(compression: Compression, error: &io::Error) -> io::Error {
    let what = if ends_early(error) {
        format!("the {compression} data is cut short")
    } else {
        format!("the {compression} data cannot be decoded: {error}")
    };
    io::Error::new(error.kind(), what)
}

fn ends_early(error: &io::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let io_error = error.downcast_ref::<io::Error>();
        if io_error.is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof) {
            return true;
        }
        cause = error.source();
    }
    false
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
    BetweenMembers(BlockBuffer),
    Gzip(GzDecoder<BlockBuffer>),
    Zstd(Box<ZstdFrame>),
    Lz4(Lz4Decoder<Lz4Input>),
    Ended,
}

impl Read for Members {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let decoded = match &mut self.state {
                State::BetweenMembers(_) => 0,
                State::Gzip(decoder) => decoder.read(out)?,
                State::Zstd(decoder) => decoder.read(out)?,
                State::Lz4(decoder) => decoder.read(out)?,
                State::Ended => return Ok(0),
            };
            if decoded > 0 {
                return Ok(decoded);
            }
            self.state = match std::mem::replace(&mut self.state, State::Ended) {
                State::BetweenMembers(input) => self.next_member(input)?,
                State::Gzip(decoder) => State::BetweenMembers(decoder.into_inner()),
                State::Zstd(decoder) => State::BetweenMembers(decoder.into_input()),
                State::Lz4(decoder) => State::BetweenMembers(decoder.into_inner().checked()?),
                State::Ended => State::Ended,
            };
        }
    }
}

impl Members {
    fn next_member(&self, mut input: BlockBuffer) -> io::Result<State> {
        if !input.has(1) {
            return input.into_failure().map_or(Ok(State::Ended), Err);
        }
        input.has(8);
        if self.compression != Compression::Gzip && skippable(input.unread()) {
            let length = input.unread().get(4..).and_then(|rest| rest.first_chunk());
            let length = length.map(|bytes| u32::from_le_bytes(*bytes));
            let skipped = length.is_some_and(|length| input.skip(8 + u64::from(length)));
            return if skipped { Ok(State::BetweenMembers(input)) } else { Err(cut_short()) };
        }
        match Compression::detect(input.unread()) {
            found if found != Some(self.compression) => self.padding(input),
            Some(Compression::Zstd) => {
                ZstdFrame::new(input).map(|frame| State::Zstd(Box::new(frame)))
            }
            Some(Compression::Lz4) => Ok(State::Lz4(Lz4Decoder::new(Lz4Input::new(input)))),
            _ => Ok(State::Gzip(GzDecoder::new(input))),
        }
    }

    /// Tapes and block devices pad with zeros; anything else after the last member is an error.
    fn padding(&self, mut input: BlockBuffer) -> io::Result<State> {
        while input.has(1) {
            if input.unread().iter().any(|&byte| byte != 0) {
                let what = format!("something else follows the {} data", self.compression);
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            input.skip(input.unread().len() as u64);
        }
        input.into_failure().map_or(Ok(State::Ended), Err)
    }
}

/// Input of the lz4 decoder; remembers whether the decoder tried to read past its end.
///
/// lz4_flex takes a file that ends between two blocks for a complete one. It has seen the end mark
/// only if it did not try to read more than there was.
struct Lz4Input {
    input: BlockBuffer,
    read_past_end: bool,
}

impl Lz4Input {
    fn new(input: BlockBuffer) -> Self {
        Lz4Input { input, read_past_end: false }
    }

    fn checked(self) -> io::Result<BlockBuffer> {
        if self.read_past_end { Err(cut_short()) } else { Ok(self.input) }
    }
}

impl Read for Lz4Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        self.read_past_end |= read == 0 && !out.is_empty();
        Ok(read)
    }
}

fn cut_short() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// An empty last block and space for a checksum: ends any zstd frame.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// The decoded content of one zstd frame, complete even where the frame is cut short.
///
/// ruzstd holds back a window of decoded bytes (up to megabytes) until the frame has ended. Where
/// the input fails, this ends the frame with `LAST_BLOCK`, so that no decoded byte is lost.
struct ZstdFrame {
    decoder: ZstdDecoder,
    input: BlockBuffer,
    failure: Option<io::Error>,
}

impl ZstdFrame {
    /// Reads the frame header that `input` begins with.
    fn new(mut input: BlockBuffer) -> io::Result<Self> {
        let mut decoder = ZstdDecoder::new();
        decoder.set_max_window_size(u64::from(MAX_WINDOW_BYTES));
        decoder.init(&mut input).map_err(as_io_error)?;
        Ok(ZstdFrame { decoder, input, failure: None })
    }

    /// The input after the frame.
    fn into_input(self) -> BlockBuffer {
        self.input
    }

    fn fail(&mut self, error: FrameDecoderError) {
        self.failure = Some(as_io_error(error));
        // if even this fails, the decoder has nothing more to give
        let _ = self.decoder.decode_blocks(&LAST_BLOCK[..], BlockDecodingStrategy::UptoBlocks(1));
    }

    fn check_sum(&self) -> io::Result<()> {
        match self.decoder.get_checksum_from_data() {
            Some(sum) if Some(sum) != self.decoder.get_calculated_checksum() => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "checksum does not match"))
            }
            _ => Ok(()),
        }
    }
}

impl Read for ZstdFrame {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let decoded = self.decoder.read(out)?;
            if decoded > 0 || out.is_empty() {
                return Ok(decoded);
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.decoder.is_finished() {
                return self.check_sum().map(|()| 0);
            }
            let one_block = BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.input, one_block) {
                self.fail(error);
            }
        }
    }
}

fn as_io_error(error: FrameDecoderError) -> io::Error {
    match error {
        FrameDecoderError::WindowSizeTooBig { requested, max } => io::Error::other(format!(
            "it needs a window of {requested} bytes, the limit is {max} (see zstd --long)"
        )),
        error => io::Error::other(error),
    }
}
