//! A Memcached that lives as long as its handle, on loopback or on a unix socket, and a client for its text
//! protocol.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

/// What requests and answers go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP on 127.0.0.1.
    Loopback,
    /// A unix socket.
    UnixSocket,
}

/// A running Memcached and a connection to it. It is ended when this is dropped.
pub struct Memcached {
    process: Child,
    connection: BufReader<Box<dyn Stream>>,
    request: Vec<u8>,
    line: Vec<u8>,
    value: Vec<u8>,
    _folder: TempDir,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Requests are written to the socket in pieces of this size, answers read from it.
const BUFFER_BYTES: usize = 1 << 16;

impl Memcached {
    /// Starts it with one thread and `megabytes` for items; it refuses what is beyond. An error of the kind
    /// `NotFound` says that it is not installed.
    pub fn start(transport: Transport, megabytes: u64) -> io::Result<Memcached> {
        let folder = tempfile::tempdir()?;
        let (port_file, socket) = (folder.path().join("port"), folder.path().join("socket"));
        let mut command = Command::new("memcached");
        // Memcached refuses to run as root unless a user is named; started by others it ignores -u.
        command.args(["-u", "root", "-M", "-t", "1", "-m", &megabytes.to_string()]);
        match transport {
            // A port that is free; the file says which.
            Transport::Loopback => command
                .args(["-l", "127.0.0.1", "-p", "-1"])
                .env("MEMCACHED_PORT_FILENAME", &port_file),
            Transport::UnixSocket => command.arg("-s").arg(&socket),
        };
        let mut process = command.stdin(Stdio::null()).spawn()?;
        let connected = wait_for(&mut process, || match transport {
            Transport::Loopback => connect_to_port(&port_file),
            Transport::UnixSocket => Ok(Box::new(UnixStream::connect(&socket)?)),
        });
        let stream = connected.inspect_err(|_| end(&mut process))?;
        Ok(Memcached {
            process,
            connection: BufReader::with_capacity(BUFFER_BYTES, stream),
            request: vec![],
            line: vec![],
            value: vec![],
            _folder: folder,
        })
    }

    /// Stores pairs, and checks that all of them are there.
    pub fn fill<'a>(
        &mut self,
        pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> io::Result<()> {
        let mut count = 0;
        self.request.clear();
        for (key, value) in pairs {
            self.request.extend_from_slice(b"set ");
            self.request.extend_from_slice(key);
            write!(self.request, " 0 0 {} noreply\r\n", value.len())?;
            self.request.extend_from_slice(value);
            self.request.extend_from_slice(b"\r\n");
            if self.request.len() >= BUFFER_BYTES {
                self.send()?;
                self.request.clear();
            }
            count += 1;
        }
        self.send()?;
        let stored = self.statistic("curr_items")?;
        if stored != count {
            return Err(io::Error::other(format!("Memcached holds {stored} of {count} pairs")));
        }
        Ok(())
    }

    /// Asks for all keys in one request; the sum of the bytes of their values.
    pub fn get<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> io::Result<u64> {
        self.request.clear();
        self.request.extend_from_slice(b"get");
        for key in keys {
            self.request.push(b' ');
            self.request.extend_from_slice(key.as_ref());
        }
        self.request.extend_from_slice(b"\r\n");
        self.send()?;
        let mut value_bytes = 0;
        loop {
            // VALUE, key, flags, bytes; or END.
            let bytes = match self.read_line()? {
                "END" => return Ok(value_bytes),
                line => line.rsplit_once(' ').and_then(|(_, bytes)| bytes.parse().ok()),
            };
            let bytes: usize = bytes.ok_or_else(|| io::Error::other("not an answer to get"))?;
            self.value.resize(bytes + b"\r\n".len(), 0);
            self.connection.read_exact(&mut self.value)?;
            value_bytes += bytes as u64;
        }
    }

    /// A request that does nothing ("meta no-op"): what the socket takes.
    pub fn round_trip(&mut self) -> io::Result<()> {
        self.request.clear();
        self.request.extend_from_slice(b"mn\r\n");
        self.send()?;
        self.read_line().map(drop)
    }

    /// One of the numbers that `stats` reports.
    pub fn statistic(&mut self, name: &str) -> io::Result<u64> {
        self.request.clear();
        self.request.extend_from_slice(b"stats\r\n");
        self.send()?;
        let mut found = None;
        loop {
            let line = self.read_line()?;
            if line == "END" {
                return found.ok_or_else(|| io::Error::other(format!("stats has no {name}")));
            }
            let number = line.strip_prefix("STAT ").and_then(|rest| rest.strip_prefix(name));
            found = number.and_then(|number| number.trim().parse().ok()).or(found);
        }
    }

    /// The resident memory of the process, where the system reports it.
    pub fn resident_bytes(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kibibytes << 10)
    }

    fn send(&mut self) -> io::Result<()> {
        self.connection.get_mut().write_all(&self.request)
    }

    fn read_line(&mut self) -> io::Result<&str> {
        self.line.clear();
        self.connection.read_until(b'\n', &mut self.line)?;
        let line = self.line.strip_suffix(b"\r\n").ok_or(ErrorKind::UnexpectedEof)?;
        str::from_utf8(line).map_err(io::Error::other)
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

fn end(process: &mut Child) {
    // Either fails only if the process has ended.
    let _ = process.kill();
    let _ = process.wait();
}

/// The file says `TCP INET: PORT`.
fn connect_to_port(file: &Path) -> io::Result<Box<dyn Stream>> {
    let text = fs::read_to_string(file)?;
    let port = text.trim().rsplit(' ').next().and_then(|port| port.parse().ok());
    let port: u16 = port.ok_or(ErrorKind::InvalidData)?;
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// Tries to connect for ten seconds, as long as the process runs.
fn wait_for(
    process: &mut Child,
    connect: impl Fn() -> io::Result<Box<dyn Stream>>,
) -> io::Result<Box<dyn Stream>> {
    for _ in 0..1000 {
        if let Ok(stream) = connect() {
            return Ok(stream);
        }
        if let Some(status) = process.try_wait()? {
            return Err(io::Error::other(format!("it ended at once: {status}")));
        }
        sleep(Duration::from_millis(10));
    }
    Err(ErrorKind::TimedOut.into())
}
