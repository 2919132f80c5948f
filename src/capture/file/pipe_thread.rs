//! Pipes, read beside the reading thread: waiting for their next bytes can end at any time.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

/// What a pipe of Linux holds: a read rarely gives more.
const BUFFER_BYTES: usize = 64 * 1024;

/// Buffers on their way, full or empty.
const BUFFERS: usize = 4;

/// How often somebody who waits looks whether to go on waiting.
const PATIENCE: Duration = Duration::from_millis(50);

/// The bytes of a pipe; they end when the pipe does or when `stop` is set while waiting.
///
/// The thread itself may wait for ever: it ends with the process, or with the next bytes.
pub(super) struct PipeThread {
    full: Receiver<io::Result<Vec<u8>>>,
    empty: Sender<Vec<u8>>,
    current: Vec<u8>,
    taken: usize,
    stop: Arc<AtomicBool>,
    over: bool,
}

impl PipeThread {
    /// Reads `input` ahead.
    pub fn spawn(input: Box<dyn Read + Send>, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let (full_sender, full) = bounded(BUFFERS);
        let (empty, empty_receiver) = bounded(BUFFERS);
        for _ in 0..BUFFERS - 1 {
            // the channel is empty and holds one more than this
            let _ = empty.try_send(vec![0; BUFFER_BYTES]);
        }
        thread::Builder::new()
            .name("pipe reader".to_owned())
            .spawn(move || read_ahead(input, &full_sender, &empty_receiver))?;
        Ok(PipeThread { full, empty, current: Vec::new(), taken: 0, stop, over: false })
    }

    /// Waits for bytes; leaves `current` empty at the end.
    fn next_buffer(&mut self) -> io::Result<()> {
        self.taken = 0;
        let mut used = std::mem::take(&mut self.current);
        if used.capacity() > 0 {
            used.resize(BUFFER_BYTES, 0);
            let _ = self.empty.try_send(used); // fails once the thread has ended
        }
        loop {
            match self.full.recv_timeout(PATIENCE) {
                Ok(result) => self.current = result?,
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Ordering::Relaxed) => continue,
                Err(_) => {}
            }
            self.over = self.current.is_empty();
            return Ok(());
        }
    }
}

impl Read for PipeThread {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if !self.over && self.taken == self.current.len() {
            self.next_buffer()?;
        }
        let mut rest = self.current.get(self.taken..).unwrap_or_default();
        let read = rest.read(room)?;
        self.taken += read;
        Ok(read)
    }
}

/// Fills buffers, each by one read, until the pipe ends or nobody wants them; an empty one is the
/// end.
fn read_ahead(
    mut input: Box<dyn Read + Send>,
    full: &Sender<io::Result<Vec<u8>>>,
    empty: &Receiver<Vec<u8>>,
) {
    while let Ok(mut buffer) = empty.recv() {
        let result = loop {
            match input.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let over = !matches!(result, Ok(1..));
        let filled = result.map(|read| {
            buffer.truncate(read);
            buffer
        });
        if full.send(filled).is_err() || over {
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

    #[test]
    fn hands_on_every_byte() {
        let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
        let input = Box::new(io::Cursor::new(bytes.clone()));
        let mut pipe = PipeThread::spawn(input, Arc::default()).unwrap();
        let mut read = Vec::new();
        pipe.read_to_end(&mut read).unwrap();
        assert!(read == bytes);
        assert_eq!(pipe.read(&mut [0; 10]).unwrap(), 0, "over is over");
    }

    #[test]
    fn waiting_ends_when_it_is_told_to() {
        let stop = Arc::new(AtomicBool::new(false));
        let input = Box::new(Stuck(Some(vec![7; 100])));
        let mut pipe = PipeThread::spawn(input, Arc::clone(&stop)).unwrap();
        let mut room = [0; 1000];
        assert_eq!(pipe.read(&mut room).unwrap(), 100);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(pipe.read(&mut room).unwrap(), 0);
    }
}
