//! Bytes read on a thread of their own: waiting for a pipe, or a decoder's work, beside ours.
//!
//! Blocks are handed over whole, with room before their bytes for what is left of the block before
//! them: nothing is copied twice. And whoever waits for a pipe can give up waiting.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

/// What one read may bring: stays in a second-level cache between the copy and our look at it.
const BLOCK_BYTES: usize = 256 << 10;

/// Room before the bytes of a block.
pub(super) const HEADROOM_BYTES: usize = 64 << 10;

/// Blocks on their way, full or empty.
const BLOCKS: usize = 4;

/// How often somebody who waits looks whether to go on waiting.
const PATIENCE: Duration = Duration::from_millis(50);

/// What one read brought: `bytes[HEADROOM_BYTES..end]`.
pub(super) struct Block {
    pub bytes: Vec<u8>,
    pub end: usize,
}

/// The blocks of an input. They end when it does, or when `stop` is set while waiting for one.
///
/// A thread that waits for a pipe ends with the pipe's next bytes, or with the process.
pub(super) struct ReadAhead {
    full: Receiver<io::Result<Block>>,
    empty: Sender<Vec<u8>>,
    stop: Arc<AtomicBool>,
    over: bool,
}

impl ReadAhead {
    /// Reads `input` ahead.
    pub fn spawn(input: Box<dyn Read + Send>, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let (full_sender, full) = bounded(BLOCKS);
        let (empty, empty_receiver) = bounded(BLOCKS);
        for _ in 0..BLOCKS - 1 {
            // the channel is empty and holds one more than this
            let _ = empty.try_send(vec![0; HEADROOM_BYTES + BLOCK_BYTES]);
        }
        thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || read_blocks(input, &full_sender, &empty_receiver))?;
        Ok(ReadAhead { full, empty, stop, over: false })
    }

    /// The next block, or `None` at the end.
    pub fn next_block(&mut self) -> io::Result<Option<Block>> {
        while !self.over {
            let block = match self.full.recv_timeout(PATIENCE) {
                Ok(block) => block,
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => break,
                Err(RecvTimeoutError::Timeout) => continue,
                // it ended without a word: whatever it read from panicked
                Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("reading failed")),
            };
            match block {
                Ok(block) if block.end > HEADROOM_BYTES => return Ok(Some(block)),
                Ok(_) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Whether no block is waiting to be taken.
    pub fn is_dry(&self) -> bool {
        self.full.is_empty() && !self.over
    }

    /// Gives the bytes of a block back, to be filled again.
    pub fn recycle(&self, mut bytes: Vec<u8>) {
        if bytes.len() != HEADROOM_BYTES + BLOCK_BYTES {
            bytes = vec![0; HEADROOM_BYTES + BLOCK_BYTES];
        }
        let _ = self.empty.try_send(bytes); // fails once the thread has ended
    }
}

/// Fills blocks, each by one read, until the input ends or nobody wants them; an empty one is the
/// end.
fn read_blocks(
    mut input: Box<dyn Read + Send>,
    full: &Sender<io::Result<Block>>,
    empty: &Receiver<Vec<u8>>,
) {
    while let Ok(mut bytes) = empty.recv() {
        let result = loop {
            match input.read(bytes.get_mut(HEADROOM_BYTES..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let over = !matches!(result, Ok(1..));
        let block = result.map(|read| Block { bytes, end: HEADROOM_BYTES + read });
        if full.send(block).is_err() || over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives some bytes, then keeps its reader waiting for as long as the test lasts.
    struct Stuck(Option<Vec<u8>>);

    impl Read for Stuck {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            match self.0.take() {
                Some(bytes) => bytes.as_slice().read(room),
                None => loop {
                    thread::park();
                },
            }
        }
    }

    fn bytes_of(block: &Block) -> &[u8] {
        &block.bytes[HEADROOM_BYTES..block.end]
    }

    #[test]
    fn hands_on_every_byte() {
        let bytes: Vec<u8> = (0..5_000_000u32).map(|n| (n % 251) as u8).collect();
        let input = Box::new(io::Cursor::new(bytes.clone()));
        let mut ahead = ReadAhead::spawn(input, Arc::default()).unwrap();
        let mut read = Vec::new();
        while let Some(block) = ahead.next_block().unwrap() {
            read.extend_from_slice(bytes_of(&block));
            ahead.recycle(block.bytes);
        }
        assert!(read == bytes);
        assert!(ahead.next_block().unwrap().is_none(), "over is over");
    }

    #[test]
    fn waiting_ends_when_it_is_told_to() {
        let stop = Arc::new(AtomicBool::new(false));
        let input = Box::new(Stuck(Some(vec![7; 100])));
        let mut ahead = ReadAhead::spawn(input, Arc::clone(&stop)).unwrap();
        assert_eq!(bytes_of(&ahead.next_block().unwrap().unwrap()), [7; 100]);
        stop.store(true, Ordering::Relaxed);
        assert!(ahead.next_block().unwrap().is_none());
    }
}
