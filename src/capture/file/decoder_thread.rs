//! Decompression beside the reading thread.

use std::error::Error;
use std::io::{self, Read};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::block_buffer::BlockBuffer;
use super::compression::Compression;

/// How much a decoder is asked for at a time: some lose what they decoded in the call that fails,
/// and each call costs them a copy of their window.
const READ_BYTES: usize = 64 * 1024;

/// Buffers on their way, full or empty.
const BUFFERS: usize = 4;

/// What the thread hands over: a filled buffer, or why there are no more.
type Decoded = Result<Vec<u8>, io::Error>;

/// The decoded bytes of a compressed input.
///
/// A thread decodes ahead into a few recycled buffers; dropping this stops it.
pub(super) struct DecoderThread {
    compression: Compression,
    full: Receiver<Decoded>,
    empty: Sender<Vec<u8>>,
    current: Vec<u8>,
    taken: usize,
    over: bool,
}

impl DecoderThread {
    /// Decodes `input` into buffers of about `buffer_bytes`.
    pub fn spawn(
        compression: Compression,
        input: BlockBuffer,
        buffer_bytes: usize,
    ) -> io::Result<Self> {
        let (full_sender, full) = bounded(BUFFERS);
        let (empty, empty_receiver) = bounded(BUFFERS);
        for _ in 0..BUFFERS - 1 {
            // the channel is empty and holds one more than this
            let _ = empty.try_send(Vec::with_capacity(buffer_bytes));
        }
        thread::Builder::new()
            .name(format!("{compression} decoder"))
            .spawn(move || decode(compression, input, &full_sender, &empty_receiver))?;
        Ok(DecoderThread { compression, full, empty, current: Vec::new(), taken: 0, over: false })
    }

    /// Gets the next buffer; false at the end.
    fn next_buffer(&mut self) -> io::Result<bool> {
        self.taken = 0;
        let mut used = std::mem::take(&mut self.current);
        used.clear();
        if used.capacity() > 0 {
            let _ = self.empty.try_send(used); // fails once the thread has ended
        }
        match self.full.recv() {
            Ok(Ok(buffer)) if buffer.is_empty() => self.over = true,
            Ok(Ok(buffer)) => self.current = buffer,
            Ok(Err(error)) => {
                self.over = true;
                return Err(describe(self.compression, &error));
            }
            // the thread ended without a word: its decoder panicked
            Err(_) => {
                self.over = true;
                return Err(io::Error::other(format!("the {} decoder failed", self.compression)));
            }
        }
        Ok(!self.over)
    }
}

impl Read for DecoderThread {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.over || (self.taken == self.current.len() && !self.next_buffer()?) {
            return Ok(0);
        }
        let mut rest = self.current.get(self.taken..).unwrap_or_default();
        let read = rest.read(room)?;
        self.taken += read;
        Ok(read)
    }
}

/// Fills buffers until the input ends or nobody wants them; an empty one is the end.
fn decode(
    compression: Compression,
    input: BlockBuffer,
    full: &Sender<Decoded>,
    empty: &Receiver<Vec<u8>>,
) {
    let mut decoder = compression.decode(input);
    while let Ok(mut buffer) = empty.recv() {
        let result = fill(&mut buffer, &mut decoder);
        let over = buffer.is_empty() || result.is_err();
        if (result.is_ok() || !buffer.is_empty()) && full.send(Ok(buffer)).is_err() {
            return;
        }
        if let Err(error) = result {
            let _ = full.send(Err(error));
        }
        if over {
            return;
        }
    }
}

/// Fills `buffer` as far as it has room; what was decoded before an error stays in it.
fn fill(buffer: &mut Vec<u8>, decoder: &mut dyn Read) -> io::Result<()> {
    let room = buffer.capacity();
    while buffer.len() < room {
        let filled = buffer.len();
        buffer.resize(room.min(filled + READ_BYTES), 0);
        let result = decoder.read(buffer.get_mut(filled..).unwrap_or_default());
        buffer.truncate(filled + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
    Ok(())
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
