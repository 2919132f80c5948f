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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::answer::Status;
    use super::*;
    use crate::report::live::Board;

    /// Both ends of a connection, and a site without a view.
    struct Pair {
        peer: TcpStream,
        ours: Connection,
        access: Access,
        site: Site,
        start: Instant,
    }

    impl Pair {
        fn new() -> Pair {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let peer = TcpStream::connect(address).unwrap();
            let start = Instant::now();
            let ours = Connection::new(listener.accept().unwrap().0, start).unwrap();
            let site = Site::new(Board::default(), start);
            Pair { peer, ours, access: Access::new(address, None), site, start }
        }

        /// What `advance` says so many seconds after the start.
        fn after(&mut self, seconds: u64) -> Next {
            let now = self.start + Duration::from_secs(seconds);
            self.ours.advance(now, &self.access, &mut self.site).unwrap_or(Next::Close)
        }

        /// Sends, and waits until it is there.
        fn send(&mut self, text: &str) {
            self.peer.write_all(text.as_bytes()).unwrap();
            self.ours.stream.set_nonblocking(false).unwrap();
            self.ours.stream.peek(&mut [0]).unwrap();
            self.ours.stream.set_nonblocking(true).unwrap();
        }
    }

    #[test]
    fn silence_ends_it() {
        let mut pair = Pair::new();
        assert_eq!(
            [0, 9, 10].map(|second| pair.after(second)),
            [Next::Wait, Next::Wait, Next::Close]
        );
    }

    #[test]
    fn trickling_does_not_buy_time() {
        let mut pair = Pair::new();
        let mut ends = vec![];
        for second in (5..=20).step_by(2) {
            pair.send("G");
            ends.push((second, pair.after(second)));
        }
        // Its first byte came in second 5.
        let last = ends.iter().rfind(|(_, next)| *next == Next::Wait).unwrap().0;
        assert_eq!(last, 13, "{ends:?}");
    }

    #[test]
    fn after_an_answer_it_waits_for_the_next_request() {
        let mut pair = Pair::new();
        for second in [1, 9, 18] {
            pair.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert_eq!(pair.after(second), Next::Wait);
            assert!(!pair.ours.is_writing());
            let mut answer = [0; HEAD_BYTES_MAX];
            let bytes = pair.peer.read(&mut answer).unwrap();
            assert!(answer[..bytes].starts_with(b"HTTP/1.1 503"), "it was written in one go");
        }
        assert_eq!([27, 28].map(|second| pair.after(second)), [Next::Wait, Next::Close]);
    }

    #[test]
    fn farewells_are_short() {
        let mut pair = Pair::new();
        pair.send("nonsense\r\n\r\n");
        assert_eq!(pair.after(1), Next::Wait, "the answer is on its way");
        assert_eq!(pair.after(2), Next::Close);
        let mut answer = String::new();
        pair.peer.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }

    #[test]
    fn a_peer_that_reads_slowly_gets_all_and_one_that_does_not_read_is_left() {
        let mut pair = Pair::new();
        let long = "x".repeat(64 << 20);
        let delivery = Delivery { close: true, policy: "" };
        let outgoing = || Outgoing::new(Answer::text(Status::Ok, &long), delivery, true);
        pair.ours.phase = Phase::Writing(outgoing());
        assert_eq!(pair.after(1), Next::Wait);
        assert!(pair.ours.is_writing(), "it does not fit on the way");
        let mut deaf = Pair::new();
        deaf.ours.phase = Phase::Writing(outgoing());
        assert_eq!([9, 10].map(|second| deaf.after(second)), [Next::Wait, Next::Close]);

        let mut peer = pair.peer.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            let mut answer = vec![];
            peer.read_to_end(&mut answer).unwrap();
            answer
        });
        while pair.ours.is_writing() {
            assert_eq!(pair.after(2), Next::Wait);
        }
        let answer = reader.join().unwrap();
        assert!(answer.ends_with(b"x\n"));
        assert!(answer.len() > long.len());
    }
}
