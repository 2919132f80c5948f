//! One zstd frame, decoded to its last byte even where it is cut short.

use std::io::{self, Read};

use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::block_buffer::BlockBuffer;
use super::compression::MAX_WINDOW_BYTES;

/// An empty last block and a place for a checksum: ends any frame.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Reads the content of one frame from its input.
///
/// ruzstd keeps a window of decoded bytes (up to megabytes) back until its frame has ended. Where
/// the input fails, this ends the frame by hand, so that nothing that was decoded is lost.
pub(super) struct ZstdFrame {
    decoder: FrameDecoder,
    input: BlockBuffer,
    failure: Option<io::Error>,
}

impl ZstdFrame {
    /// Starts on an input that begins with a frame.
    pub fn new(mut input: BlockBuffer) -> io::Result<Self> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(u64::from(MAX_WINDOW_BYTES));
        decoder.init(&mut input).map_err(as_io_error)?;
        Ok(ZstdFrame { decoder, input, failure: None })
    }

    /// What follows the frame.
    pub fn into_input(self) -> BlockBuffer {
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
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let decoded = self.decoder.read(room)?;
            if decoded > 0 || room.is_empty() {
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
