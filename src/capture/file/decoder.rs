//! A decoder that fails in words of ours.

use std::error::Error;
use std::io::{self, Read};

use super::block_buffer::BlockBuffer;
use super::compression::Compression;

/// How much a decoder is asked for at a time: some lose what they decoded in the call that fails,
/// and each call costs them a copy of their window.
const READ_BYTES: usize = 64 * 1024;

/// The decoded bytes of a compressed input.
pub(super) struct Decoder {
    compression: Compression,
    inner: Box<dyn Read + Send>,
}

impl Decoder {
    pub fn new(compression: Compression, input: BlockBuffer) -> Self {
        Decoder { compression, inner: compression.decode(input) }
    }
}

impl Read for Decoder {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let wanted = room.len().min(READ_BYTES);
        match self.inner.read(room.get_mut(..wanted).unwrap_or_default()) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(describe(self.compression, &error))
            }
            result => result,
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
