//! One peer: reads a request, writes its answer, in time or not at all.

use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::access::Access;
use super::answer::{Answer, Delivery};
use super::request::{HEAD_BYTES_MAX, Parsed, parse};
use super::routes::{answer, refuse};
use super::site::Site;

/// For a request, once it begins, and for its answer; between requests.
const PATIENCE: Duration = Duration::from_secs(10);
/// For the peer to notice the end.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection, its socket non-blocking.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    phase: Phase,
    /// When it is closed if it has not got further.
    deadline: Instant,
    received: Vec<u8>,
}

#[derive(Debug)]
enum Phase {
    Reading,
    Writing(Outgoing),
    /// All is said, and the peer knows. What it still sends is thrown away: closing at once would
    /// make the system discard the answer on its way.
    Leaving,
}

/// An answer on its way.
#[derive(Debug)]
struct Outgoing {
    head: Vec<u8>,
    body: Arc<[u8]>,
    written: usize,
    close: bool,
}

/// Whether a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// When there is more to read or room to write.
    Wait,
    Close,
}

impl Connection {
    /// A peer that has just come.
    pub fn new(stream: TcpStream, now: Instant) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        // Answers are written in one go: nothing is gained by waiting for more.
        stream.set_nodelay(true)?;
        let deadline = now + PATIENCE;
        Ok(Connection { stream, phase: Phase::Reading, deadline, received: vec![] })
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it waits for room to write, not for something to read.
    pub fn is_writing(&self) -> bool {
        matches!(self.phase, Phase::Writing(_))
    }

    /// Goes as far as it can without waiting, one answer at the most.
    pub fn advance(&mut self, now: Instant, access: &Access, site: &mut Site) -> io::Result<Next> {
        if now >= self.deadline {
            return Ok(Next::Close);
        }
        match self.step(now, access, site) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Next::Wait),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Next::Wait),
            result => result,
        }
    }

    fn step(&mut self, now: Instant, access: &Access, site: &mut Site) -> io::Result<Next> {
        if let Phase::Leaving = self.phase {
            return self.leave();
        }
        if let Phase::Reading = self.phase {
            if self.receive(now)? == 0 {
                return Ok(Next::Close);
            }
            let Some(outgoing) = self.respond(access, site) else { return Ok(Next::Wait) };
            self.phase = Phase::Writing(outgoing);
            self.deadline = now + PATIENCE;
        }
        if let Phase::Writing(outgoing) = &mut self.phase {
            outgoing.write_to(&mut self.stream)?;
            if outgoing.close {
                self.stream.shutdown(Shutdown::Write)?;
                (self.phase, self.deadline) = (Phase::Leaving, now + FAREWELL);
            } else {
                (self.phase, self.deadline) = (Phase::Reading, now + PATIENCE);
            }
        }
        Ok(Next::Wait)
    }

    /// Takes what came; nothing is the end. Its time runs from its first byte.
    fn receive(&mut self, now: Instant) -> io::Result<usize> {
        let mut buffer = [0; HEAD_BYTES_MAX];
        let room = HEAD_BYTES_MAX.saturating_sub(self.received.len()).max(1);
        let bytes = self.stream.read(buffer.get_mut(..room).unwrap_or_default())?;
        if self.received.is_empty() {
            self.deadline = now + PATIENCE;
        }
        self.received.extend_from_slice(buffer.get(..bytes).unwrap_or_default());
        Ok(bytes)
    }

    /// The answer to what was received, once that is a request or cannot become one.
    fn respond(&mut self, access: &Access, site: &mut Site) -> Option<Outgoing> {
        let (answer, close, body_wanted) = match parse(&self.received) {
            Parsed::Partial => return None,
            Parsed::Refused(refusal) => (refuse(refusal), true, true),
            Parsed::Whole(request, length) => {
                // Who sends requests without waiting for answers has to ask again.
                let close = !request.keep_alive || length < self.received.len();
                (answer(&request, access, site), close, !request.is_head)
            }
        };
        self.received = vec![];
        Some(Outgoing::new(answer, Delivery { close, policy: &site.page.policy }, body_wanted))
    }

    fn leave(&mut self) -> io::Result<Next> {
        let mut thrown_away = [0; HEAD_BYTES_MAX];
        match self.stream.read(&mut thrown_away)? {
            0 => Ok(Next::Close),
            _ => Ok(Next::Wait),
        }
    }
}

impl Outgoing {
    fn new(answer: Answer, delivery: Delivery<'_>, body_wanted: bool) -> Outgoing {
        let head = answer.head(delivery);
        let body = if body_wanted { answer.body } else { Arc::default() };
        Outgoing { head, body, written: 0, close: delivery.close }
    }

    fn write_to(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        while self.written < self.head.len() + self.body.len() {
            let head = self.head.get(self.written..).unwrap_or_default();
            let body = self.body.get(self.written.saturating_sub(self.head.len())..);
            let parts = [IoSlice::new(head), IoSlice::new(body.unwrap_or_default())];
            match stream.write_vectored(&parts)? {
                0 => return Err(ErrorKind::WriteZero.into()),
                bytes => self.written += bytes,
            }
        }
        Ok(())
    }
}
