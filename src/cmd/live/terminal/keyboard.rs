//! Keys from standard input. Not by crossterm's reader: that one spins for ever when a terminal hangs up, and
//! may block on half a sequence.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::report::dashboard::{Key, KeyReader};

/// So long after ESC nothing more of a sequence comes, also from far away.
const ESCAPE_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub struct Keyboard {
    reader: KeyReader,
}

impl Keyboard {
    /// Keys that are typed within `patience`; returns as soon as there are some. An error means that the
    /// terminal is gone.
    pub fn keys(&mut self, patience: Duration) -> io::Result<Vec<Key>> {
        let patience = if self.reader.is_waiting() { ESCAPE_PAUSE } else { patience };
        let limit = Timespec::try_from(patience).unwrap_or_default();
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut polled, Some(&limit)) {
            Ok(0) => return Ok(self.reader.settle().into_iter().collect()),
            Err(Errno::INTR) => return Ok(vec![]),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let hung_up = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if polled.iter().any(|polled| polled.revents().intersects(hung_up)) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut bytes = [0; 256];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => Ok(self.reader.feed(bytes.get(..length).unwrap_or_default())),
            Err(Errno::INTR | Errno::AGAIN) => Ok(vec![]),
            Err(error) => Err(error.into()),
        }
    }
}
