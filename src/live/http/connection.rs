//! One client connection: reads a request and writes its response, each before a deadline.

use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::access::Access;
use super::request::{HEAD_BYTES_MAX, Parsed, parse};
use super::resources::{ResponseCache, refuse};
use super::response::{Delivery, Response};

/// Time limit for receiving a request, for sending its response, and between requests.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the client to close its side after the last response.
const LINGER: Duration = Duration::from_secs(1);

/// A connection with a non-blocking socket.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    phase: Phase,
    /// When it is closed unless it makes progress.
    deadline: Instant,
    received: Vec<u8>,
}

#[derive(Debug)]
enum Phase {
    Reading,
    Writing(Outgoing),
    /// The last response is sent and our side is closed. What the client still sends is discarded:
    /// closing the socket at once would make the system discard the response too.
    Lingering,
}

/// A response being written.
#[derive(Debug)]
struct Outgoing {
    head: Vec<u8>,
    body: Arc<[u8]>,
    written: usize,
    close: bool,
}

/// Whether a connection stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Until it is readable or writable again.
    Wait,
    Close,
}

impl Connection {
    /// A connection just accepted.
    pub fn new(stream: TcpStream, now: Instant) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        // Responses are written at once: Nagle's algorithm would only delay them.
        stream.set_nodelay(true)?;
        let deadline = now + IO_TIMEOUT;
        Ok(Connection { stream, phase: Phase::Reading, deadline, received: vec![] })
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether it waits to write, not to read.
    pub fn is_writing(&self) -> bool {
        matches!(self.phase, Phase::Writing(_))
    }

    /// Makes as much progress as possible without blocking, up to one response.
    pub fn advance(
        &mut self,
        now: Instant,
        access: &Access,
        cache: &mut ResponseCache,
    ) -> io::Result<Next> {
        if now >= self.deadline {
            return Ok(Next::Close);
        }
        match self.step(now, access, cache) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Next::Wait),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Next::Wait),
            result => result,
        }
    }

    fn step(
        &mut self,
        now: Instant,
        access: &Access,
        cache: &mut ResponseCache,
    ) -> io::Result<Next> {
        if let Phase::Lingering = self.phase {
            return self.linger();
        }
        if let Phase::Reading = self.phase {
            if self.receive(now)? == 0 {
                return Ok(Next::Close);
            }
            let Some(outgoing) = self.respond(access, cache) else { return Ok(Next::Wait) };
            self.phase = Phase::Writing(outgoing);
            self.deadline = now + IO_TIMEOUT;
        }
        if let Phase::Writing(outgoing) = &mut self.phase {
            outgoing.write_to(&mut self.stream)?;
            if outgoing.close {
                self.stream.shutdown(Shutdown::Write)?;
                (self.phase, self.deadline) = (Phase::Lingering, now + LINGER);
            } else {
                (self.phase, self.deadline) = (Phase::Reading, now + IO_TIMEOUT);
            }
        }
        Ok(Next::Wait)
    }

    /// Reads what is available; 0 bytes is the end. The deadline counts from the first byte.
    fn receive(&mut self, now: Instant) -> io::Result<usize> {
        let mut buffer = [0; HEAD_BYTES_MAX];
        let room = HEAD_BYTES_MAX.saturating_sub(self.received.len()).max(1);
        let bytes = self.stream.read(buffer.get_mut(..room).unwrap_or_default())?;
        if self.received.is_empty() {
            self.deadline = now + IO_TIMEOUT;
        }
        self.received.extend_from_slice(buffer.get(..bytes).unwrap_or_default());
        Ok(bytes)
    }

    /// The response to the bytes received, once they are a request or cannot become one.
    fn respond(&mut self, access: &Access, cache: &mut ResponseCache) -> Option<Outgoing> {
        let (response, close, wants_body) = match parse(&self.received) {
            Parsed::Partial => return None,
            Parsed::Refused(refusal) => (refuse(refusal), true, true),
            Parsed::Whole(request, length) => {
                // Pipelining is not supported: the client has to send further requests again.
                let close = !request.keep_alive || length < self.received.len();
                (cache.respond(&request, access), close, !request.is_head)
            }
        };
        self.received = vec![];
        Some(Outgoing::new(response, Delivery { close, policy: cache.policy() }, wants_body))
    }

    fn linger(&mut self) -> io::Result<Next> {
        let mut discarded = [0; HEAD_BYTES_MAX];
        match self.stream.read(&mut discarded)? {
            0 => Ok(Next::Close),
            _ => Ok(Next::Wait),
        }
    }
}

impl Outgoing {
    fn new(response: Response, delivery: Delivery<'_>, wants_body: bool) -> Outgoing {
        let head = response.head(delivery);
        let body = if wants_body { response.body } else { Arc::default() };
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

    use super::super::response::Status;
    use super::*;
    use crate::live::SharedSnapshot;

    /// Both ends of a connection, and a cache without a view.
    struct Pair {
        peer: TcpStream,
        ours: Connection,
        access: Access,
        cache: ResponseCache,
        start: Instant,
    }

    impl Pair {
        fn new() -> Pair {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let peer = TcpStream::connect(address).unwrap();
            let start = Instant::now();
            let ours = Connection::new(listener.accept().unwrap().0, start).unwrap();
            let cache = ResponseCache::new(&SharedSnapshot::default(), start);
            Pair { peer, ours, access: Access::new(address, None), cache, start }
        }

        /// The result of `advance` this many seconds after the start.
        fn after(&mut self, seconds: u64) -> Next {
            let now = self.start + Duration::from_secs(seconds);
            self.ours.advance(now, &self.access, &mut self.cache).unwrap_or(Next::Close)
        }

        /// Sends, and waits for the arrival.
        fn send(&mut self, text: &str) {
            self.peer.write_all(text.as_bytes()).unwrap();
            self.ours.stream.set_nonblocking(false).unwrap();
            self.ours.stream.peek(&mut [0]).unwrap();
            self.ours.stream.set_nonblocking(true).unwrap();
        }
    }

    #[test]
    fn an_idle_connection_is_closed() {
        let mut pair = Pair::new();
        assert_eq!(
            [0, 9, 10].map(|second| pair.after(second)),
            [Next::Wait, Next::Wait, Next::Close]
        );
    }

    #[test]
    fn sending_slowly_does_not_extend_the_deadline() {
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
    fn after_a_response_it_waits_for_the_next_request() {
        let mut pair = Pair::new();
        for second in [1, 9, 18] {
            pair.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert_eq!(pair.after(second), Next::Wait);
            assert!(!pair.ours.is_writing());
            let mut response = [0; HEAD_BYTES_MAX];
            let bytes = pair.peer.read(&mut response).unwrap();
            assert!(response[..bytes].starts_with(b"HTTP/1.1 503"), "it was written in one go");
        }
        assert_eq!([27, 28].map(|second| pair.after(second)), [Next::Wait, Next::Close]);
    }

    #[test]
    fn lingering_is_short() {
        let mut pair = Pair::new();
        pair.send("nonsense\r\n\r\n");
        assert_eq!(pair.after(1), Next::Wait, "the response is on its way");
        assert_eq!(pair.after(2), Next::Close);
        let mut response = String::new();
        pair.peer.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    }

    #[test]
    fn a_slow_reader_gets_everything_and_one_that_does_not_read_is_closed() {
        let mut pair = Pair::new();
        let long = "x".repeat(64 << 20);
        let delivery = Delivery { close: true, policy: "" };
        let outgoing = || Outgoing::new(Response::text(Status::Ok, &long), delivery, true);
        pair.ours.phase = Phase::Writing(outgoing());
        assert_eq!(pair.after(1), Next::Wait);
        assert!(pair.ours.is_writing(), "it does not fit on the way");
        let mut deaf = Pair::new();
        deaf.ours.phase = Phase::Writing(outgoing());
        assert_eq!([9, 10].map(|second| deaf.after(second)), [Next::Wait, Next::Close]);

        let mut peer = pair.peer.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            let mut response = vec![];
            peer.read_to_end(&mut response).unwrap();
            response
        });
        while pair.ours.is_writing() {
            assert_eq!(pair.after(2), Next::Wait);
        }
        let response = reader.join().unwrap();
        assert!(response.ends_with(b"x\n"));
        assert!(response.len() > long.len());
    }
}
