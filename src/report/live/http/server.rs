//! Listening, the loop, and its end.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::access::{Access, Token};
use super::connection::{Connection, Next};
use super::site::Site;
use crate::report::live::Board;

/// So many at once; well below the files that a process may have open (usually 1024).
const CONNECTIONS_MAX: usize = 256;
/// Those that the system lets wait for their turn; with the usual 128 a crowd would have to try again
/// after a second.
const WAITING_MAX: i32 = 1024;
/// New ones taken at a time, before others get their turn.
const ACCEPTED_AT_ONCE: usize = 64;
/// The board is looked at so often; also the pause when there are no more sockets to be had.
const TICK: Duration = Duration::from_millis(500);
/// How much the thread stands back for those that capture.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A socket that is bound. Nobody is answered yet.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    access: Access,
}

impl Listening {
    /// Takes `address`; port 0 is any that is free.
    pub fn bind(address: SocketAddr, token: Option<Token>) -> io::Result<Listening> {
        let listener = TcpListener::bind(address)?;
        rustix::net::listen(&listener, WAITING_MAX)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Listening { listener, address, access: Access::new(address, token) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers from now on, in a thread of its own, with what is on `board`.
    pub fn serve(self, board: Board) -> io::Result<Server> {
        let (ours, theirs) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().name("http".to_owned()).spawn(move || {
            stand_back();
            let site = Site::new(board, Instant::now());
            Loop { listening: self, end: theirs, site, connections: vec![], pause: None }.run();
        })?;
        Ok(Server { end: Some(ours), thread: Some(thread) })
    }
}

/// On Linux a thread has its own niceness.
fn stand_back() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICENESS);
}

/// A server at work; ends when dropped.
#[derive(Debug)]
pub struct Server {
    /// Closed to tell the thread that it is over.
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// All that the thread has.
struct Loop {
    listening: Listening,
    end: UnixStream,
    site: Site,
    connections: Vec<Connection>,
    /// Until then nobody new is taken.
    pause: Option<Instant>,
}

impl Loop {
    fn run(mut self) {
        loop {
            let Ok(ready) = self.wait() else { return };
            if ready.end {
                return;
            }
            let now = Instant::now();
            self.site.look(now);
            self.advance(&ready.connections, now);
            if ready.newcomers {
                self.accept(now);
            }
        }
    }

    /// Waits until somebody can go on, or until it is time to look around.
    fn wait(&mut self) -> rustix::io::Result<Ready> {
        let now = Instant::now();
        self.pause = self.pause.filter(|until| *until > now);
        let mut waited = vec![PollFd::new(&self.end, PollFlags::IN)];
        waited.extend(self.connections.iter().map(|connection| {
            let event = if connection.is_writing() { PollFlags::OUT } else { PollFlags::IN };
            PollFd::from_borrowed_fd(connection.stream().as_fd(), event)
        }));
        if self.pause.is_none() {
            waited.push(PollFd::new(&self.listening.listener, PollFlags::IN));
        }
        let deadlines = self.connections.iter().map(Connection::deadline);
        let patience = deadlines.map(|at| at.saturating_duration_since(now)).min();
        let patience = patience.map_or(TICK, |patience| patience.min(TICK));
        let timeout = Timespec {
            tv_sec: patience.as_secs() as i64, // at most half a second
            tv_nsec: patience.subsec_nanos().into(),
        };
        match poll(&mut waited, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        let mut is_ready = waited.iter().map(|waited| !waited.revents().is_empty());
        Ok(Ready {
            end: is_ready.next().unwrap_or(true),
            connections: is_ready.by_ref().take(self.connections.len()).collect(),
            newcomers: is_ready.next().unwrap_or(false),
        })
    }

    /// Lets those go on that can, and parts with those whose time is over.
    fn advance(&mut self, ready: &[bool], now: Instant) {
        let (access, site, mut ready) = (&self.listening.access, &mut self.site, ready.iter());
        self.connections.retain_mut(|connection| {
            let is_ready = ready.next().is_some_and(|ready| *ready);
            if !is_ready && now < connection.deadline() {
                return true;
            }
            // An error is that of the peer: it is gone.
            connection.advance(now, access, site).is_ok_and(|next| next == Next::Wait)
        });
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTED_AT_ONCE {
            match self.listening.listener.accept() {
                Ok((stream, _)) => {
                    self.make_room();
                    self.connections.extend(Connection::new(stream, now));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The newcomer is gone again.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    // No more sockets to be had: who waits longest has to go.
                    self.part_with_one();
                    self.pause = Some(now + TICK);
                    return;
                }
            }
        }
    }

    fn make_room(&mut self) {
        if self.connections.len() >= CONNECTIONS_MAX {
            self.part_with_one();
        }
    }

    /// Parts with the one that is closest to its end anyway: it has idled or dawdled the longest.
    fn part_with_one(&mut self) {
        let deadlines = self.connections.iter().map(Connection::deadline).enumerate();
        if let Some((at, _)) = deadlines.min_by_key(|(_, deadline)| *deadline) {
            self.connections.swap_remove(at);
        }
    }
}

/// Who can go on.
struct Ready {
    end: bool,
    connections: Vec<bool>,
    newcomers: bool,
}
