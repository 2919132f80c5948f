//! The listening socket, the event loop of the server, and its shutdown.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::access::{Access, Token};
use super::connection::{Connection, Next};
use super::resources::ResponseCache;
use crate::live::SharedSnapshot;

/// Well below the number of files that a process may have open (usually 1024).
const CONNECTIONS_MAX: usize = 256;
/// Length of the system's accept queue: with the usual 128, clients of a burst would retry after a second.
const BACKLOG: i32 = 1024;
/// Connections accepted before existing ones are served again.
const ACCEPTS_PER_ROUND: usize = 64;
/// Time between checks for a new view; also the pause in accepting when no sockets are left.
const TICK: Duration = Duration::from_millis(500);
/// The niceness of the thread: the capture has priority.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A bound socket; requests are not served yet.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
}

impl Listening {
    /// Binds `address`; port 0 selects a free port.
    pub fn bind(address: SocketAddr, token: Option<Token>) -> io::Result<Listening> {
        let listener = TcpListener::bind(address)?;
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Listening { listener, address, access: Access::new(address, token) })
    }

    /// The address it is bound to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts the thread that serves the views published in `shared`.
    pub fn serve(self, shared: SharedSnapshot) -> io::Result<Server> {
        let (ours, theirs) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().name("http".to_owned()).spawn(move || {
            lower_priority();
            let cache = ResponseCache::new(&shared, Instant::now());
            let (connections, paused_until) = (vec![], None);
            EventLoop { listening: self, shutdown: theirs, cache, connections, paused_until }.run();
        })?;
        Ok(Server { shutdown: Some(ours), thread: Some(thread) })
    }
}

/// On Linux, niceness is a property of the thread.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICENESS);
}

/// A running server; dropping it shuts it down.
#[derive(Debug)]
pub struct Server {
    /// Closed to end the thread.
    shutdown: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shutdown.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
struct EventLoop {
    listening: Listening,
    /// Readable when the server is dropped.
    shutdown: UnixStream,
    cache: ResponseCache,
    connections: Vec<Connection>,
    /// No connections are accepted before this time.
    paused_until: Option<Instant>,
}

impl EventLoop {
    fn run(mut self) {
        loop {
            let Ok(ready) = self.wait() else { return };
            if ready.shutdown {
                return;
            }
            let now = Instant::now();
            self.cache.refresh(now);
            self.advance(&ready.connections, now);
            if ready.listener {
                self.accept(now);
            }
        }
    }

    /// Waits until a socket is ready, a deadline has passed, or it is time to check for a view.
    fn wait(&mut self) -> rustix::io::Result<Ready> {
        let now = Instant::now();
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let mut polled = vec![PollFd::new(&self.shutdown, PollFlags::IN)];
        polled.extend(self.connections.iter().map(|connection| {
            let event = if connection.is_writing() { PollFlags::OUT } else { PollFlags::IN };
            PollFd::from_borrowed_fd(connection.stream().as_fd(), event)
        }));
        if self.paused_until.is_none() {
            polled.push(PollFd::new(&self.listening.listener, PollFlags::IN));
        }
        let deadlines = self.connections.iter().map(Connection::deadline);
        let next = deadlines.map(|deadline| deadline.saturating_duration_since(now)).min();
        let limit = next.map_or(TICK, |next| next.min(TICK));
        let timeout = Timespec {
            tv_sec: limit.as_secs() as i64, // at most half a second
            tv_nsec: limit.subsec_nanos().into(),
        };
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        let mut is_ready = polled.iter().map(|polled| !polled.revents().is_empty());
        Ok(Ready {
            shutdown: is_ready.next().unwrap_or(true),
            connections: is_ready.by_ref().take(self.connections.len()).collect(),
            listener: is_ready.next().unwrap_or(false),
        })
    }

    /// Advances connections that are ready, and closes those past their deadline.
    fn advance(&mut self, ready: &[bool], now: Instant) {
        let (access, cache, mut ready) = (&self.listening.access, &mut self.cache, ready.iter());
        self.connections.retain_mut(|connection| {
            let is_ready = ready.next().is_some_and(|ready| *ready);
            if !is_ready && now < connection.deadline() {
                return true;
            }
            // On an error the peer is gone.
            connection.advance(now, access, cache).is_ok_and(|next| next == Next::Wait)
        });
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTS_PER_ROUND {
            match self.listening.listener.accept() {
                Ok((stream, _)) => {
                    self.make_room();
                    self.connections.extend(Connection::new(stream, now));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client is gone already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    // Out of sockets.
                    self.evict_oldest();
                    self.paused_until = Some(now + TICK);
                    return;
                }
            }
        }
    }

    fn make_room(&mut self) {
        if self.connections.len() >= CONNECTIONS_MAX {
            self.evict_oldest();
        }
    }

    /// Closes the connection closest to its deadline: it has been idle or slow the longest.
    fn evict_oldest(&mut self) {
        let deadlines = self.connections.iter().map(Connection::deadline).enumerate();
        if let Some((oldest, _)) = deadlines.min_by_key(|(_, deadline)| *deadline) {
            self.connections.swap_remove(oldest);
        }
    }
}

/// Which sockets are ready.
struct Ready {
    shutdown: bool,
    connections: Vec<bool>,
    listener: bool,
}
