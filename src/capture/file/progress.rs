//! What a reader shares with those who watch it: how far it has come, and whether to go on.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes read so far of all inputs, as they lie on disk (compressed ones as such).
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

    /// Whoever sets this wants no more: a pipe that is being waited for ends at once.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Counts what is read through it: one atomic addition per block, none per packet.
pub(super) struct Counted<R> {
    input: R,
    progress: Arc<ReadProgress>,
}

impl<R> Counted<R> {
    pub fn new(input: R, progress: Arc<ReadProgress>) -> Self {
        Counted { input, progress }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(room)?;
        self.progress.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
