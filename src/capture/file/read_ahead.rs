//! Reading an input: on a separate thread, counted, and stoppable.
//!
//! Pipes and compressed files are read ahead: the thread waits for the pipe, or decodes, while the
//! caller parses. Blocks are passed on without copying, with headroom in front for the unread tail of
//! the block before.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Select, Sender, bounded};

/// Size of one read: the bytes are still in the second-level cache when they are parsed.
const BLOCK_BYTES: usize = 256 << 10;

/// Free bytes in front of those of a block.
pub(super) const HEADROOM_BYTES: usize = 64 << 10;

/// Blocks in use, full or empty.
const BLOCKS: usize = 4;

/// How often a waiting caller checks the stop flag.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The result of one read: `bytes[HEADROOM_BYTES..end]`.
pub(super) struct Block {
    pub bytes: Vec<u8>,
    pub end: usize,
}

/// The blocks of an input, read by a thread. They end with the input, or when `stop` is set while
/// waiting for a block.
///
/// A thread blocked on a pipe ends with the next bytes of the pipe, or with the process.
pub(super) struct ReadAhead {
    full: Receiver<io::Result<Block>>,
    empty: Sender<Vec<u8>>,
    stop: Arc<AtomicBool>,
    over: bool,
}

impl ReadAhead {
    /// Starts the thread that reads `input`.
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
            let block = match self.full.recv_timeout(STOP_CHECK_INTERVAL) {
                Ok(block) => block,
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => break,
                Err(RecvTimeoutError::Timeout) => continue,
                // the thread panicked
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

    /// Whether taking the next block would block.
    pub fn would_block(&self) -> bool {
        self.full.is_empty() && !self.over
    }

    /// Waits until the next block can be taken without blocking. Gives up, and returns false, after
    /// about `limit` or when `stop` is set.
    pub fn is_ready_within(&self, limit: Duration) -> bool {
        let mut select = Select::new();
        select.recv(&self.full);
        let mut waited = Duration::ZERO;
        while self.would_block() && waited < limit && !self.stop.load(Ordering::Relaxed) {
            let _ = select.ready_timeout(STOP_CHECK_INTERVAL); // checked by `would_block`
            waited += STOP_CHECK_INTERVAL;
        }
        !self.would_block()
    }

    /// Returns the bytes of a block to the thread, to be filled again.
    pub fn recycle(&self, mut bytes: Vec<u8>) {
        if bytes.len() != HEADROOM_BYTES + BLOCK_BYTES {
            bytes = vec![0; HEADROOM_BYTES + BLOCK_BYTES];
        }
        let _ = self.empty.try_send(bytes); // fails once the thread has ended
    }
}

/// Fills blocks, one read each, until the input ends or the receiver is gone. An empty block marks
/// the end.
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

/// How far reading has come, shared with a progress bar, and the flag that stops it. Bytes are those
/// on disk: compressed bytes of a compressed file.
#[derive(Debug, Default)]
pub struct ReadProgress {
    read_bytes: AtomicU64,
    total_bytes: Option<u64>,
    stop: Arc<AtomicBool>,
}

impl ReadProgress {
    pub(crate) fn new(total_bytes: Option<u64>) -> Self {
        ReadProgress { total_bytes, ..ReadProgress::default() }
    }

    /// Bytes read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of all inputs together; unknown if a pipe is among them.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// Set this flag to stop reading: waiting for a pipe ends at once.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Counts the bytes read through it: one atomic addition per block, none per packet.
pub(crate) struct CountedInput<R> {
    input: R,
    progress: Arc<ReadProgress>,
}

impl<R> CountedInput<R> {
    pub fn new(input: R, progress: Arc<ReadProgress>) -> Self {
        CountedInput { input, progress }
    }
}

impl<R: Read> Read for CountedInput<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(out)?;
        self.progress.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives some bytes, then keeps its reader waiting for as long as the test lasts.
    struct Stuck(Option<Vec<u8>>);

    impl Read for Stuck {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.take() {
                Some(bytes) => bytes.as_slice().read(out),
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
    fn every_byte_is_read() {
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
    fn the_stop_flag_ends_waiting() {
        let stop = Arc::new(AtomicBool::new(false));
        let input = Box::new(Stuck(Some(vec![7; 100])));
        let mut ahead = ReadAhead::spawn(input, Arc::clone(&stop)).unwrap();
        let long = Duration::from_secs(60);
        assert!(ahead.is_ready_within(long));
        assert_eq!(bytes_of(&ahead.next_block().unwrap().unwrap()), [7; 100]);
        assert!(!ahead.is_ready_within(Duration::from_millis(100)));
        stop.store(true, Ordering::Relaxed);
        assert!(!ahead.is_ready_within(long));
        assert!(ahead.next_block().unwrap().is_none());
    }
}
