//! A decoder that fails in words of ours.

use std::error::Error;
use std::io::{self, Read};

use super::block_buffer::BlockBuffer;
use super::compression::Compression;

/// What a read gives at the most.
const READ_BYTES: usize = 64 * 1024;

/// How much a decoder is asked for at a time. Most lose what they decoded in the call that meets
/// damage, so they are asked for little: that much of the capture before the damage is lost. (xz
/// holds more back on its own: a chunk of LZMA2, up to 64 KiB.)
const STEP_BYTES: usize = 1024;

/// The decoded bytes of a compressed input.
pub(super) struct Decoder {
    compression: Compression,
    inner: Box<dyn Read + Send>,
    step_bytes: usize,
    /// What the next read will say: bytes that were decoded before it come first.
    failure: Option<io::Error>,
}

impl Decoder {
    pub fn new(compression: Compression, input: BlockBuffer) -> Self {
        let step_bytes = match compression {
            // Each call costs it a copy of its window, and it loses nothing.
            Compression::Zstd => READ_BYTES,
            _ => STEP_BYTES,
        };
        Decoder { compression, inner: compression.decode(input), step_bytes, failure: None }
    }
}

impl Read for Decoder {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let wanted = room.len().min(READ_BYTES);
        let mut filled = 0;
        while filled < wanted {
            let end = wanted.min(filled + self.step_bytes);
            match self.inner.read(room.get_mut(filled..end).unwrap_or_default()) {
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

/// Says what is wrong with a compressed stream, in words that do not depend on its decoder.
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
