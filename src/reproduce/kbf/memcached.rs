//! A Memcached on loopback that lives as long as its handle, with a client for its text protocol.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::sizes::Sizes;
use super::temporary::Folder;

/// A running Memcached and a connection to it. It is ended when this is dropped.
pub struct Memcached {
    process: Child,
    connection: BufReader<TcpStream>,
    request: Vec<u8>,
    line: Vec<u8>,
    value: Vec<u8>,
    _folder: Folder,
}

impl Memcached {
    /// Starts it with one thread and `megabytes` for items; it refuses what is beyond. An error of the kind
    /// `NotFound` says that it is not installed.
    pub fn start(megabytes: u64) -> io::Result<Memcached> {
        let folder = Folder::new()?;
        let port_file = folder.path().join("port");
        let mut process = Command::new("memcached")
            // Memcached refuses to run as root unless a user is named; started by others it ignores -u.
            .args(["-u", "root", "-M", "-t", "1", "-m", &megabytes.to_string()])
            // A port that is free; the file says which.
            .args(["-l", "127.0.0.1", "-p", "-1"])
            .env("MEMCACHED_PORT_FILENAME", &port_file)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let stream = wait_for(&mut process, &port_file).inspect_err(|_| end(&mut process))?;
        Ok(Memcached {
            process,
            connection: BufReader::with_capacity(1 << 16, stream),
            request: vec![],
            line: vec![],
            value: vec![],
            _folder: folder,
        })
    }

    /// Stores these pairs, all in one request; how many it took before the first that it refused.
    pub fn set(&mut self, keys: std::ops::Range<u64>, sizes: &Sizes) -> io::Result<u64> {
        self.request.clear();
        for n in keys.clone() {
            let value = sizes.value(sizes.value_of(n));
            self.put_set(&sizes.key(n), &value)?;
        }
        self.send()?;
        let (mut stored, mut refused) = (0, false);
        for _ in keys {
            refused |= self.read_line()? != "STORED";
            stored += u64::from(!refused);
        }
        Ok(stored)
    }

    /// Stores one pair.
    pub fn set_one(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.request.clear();
        self.put_set(key, value)?;
        self.send()?;
        match self.read_line()? {
            "STORED" => Ok(()),
            other => Err(io::Error::other(format!("Memcached: {other}"))),
        }
    }

    /// Asks for all keys in one request; the bytes of their values.
    pub fn get(&mut self, keys: &[Vec<u8>]) -> io::Result<u64> {
        self.request.clear();
        self.request.extend_from_slice(b"get");
        for key in keys {
            self.request.push(b' ');
            self.request.extend_from_slice(key);
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

    /// Deletes one key.
    pub fn delete(&mut self, key: &[u8]) -> io::Result<()> {
        self.request.clear();
        self.request.extend_from_slice(b"delete ");
        self.request.extend_from_slice(key);
        self.request.extend_from_slice(b"\r\n");
        self.send()?;
        self.read_line().map(drop)
    }

    /// A request that does nothing ("meta no-op"): what the socket takes.
    pub fn round_trip(&mut self) -> io::Result<()> {
        self.request.clear();
        self.request.extend_from_slice(b"mn\r\n");
        self.send()?;
        self.read_line().map(drop)
    }

    fn put_set(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.request.extend_from_slice(b"set ");
        self.request.extend_from_slice(key);
        write!(self.request, " 0 0 {}\r\n", value.len())?;
        self.request.extend_from_slice(value);
        self.request.extend_from_slice(b"\r\n");
        Ok(())
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
fn connect(port_file: &Path) -> io::Result<TcpStream> {
    let text = fs::read_to_string(port_file)?;
    let port = text.trim().rsplit(' ').next().and_then(|port| port.parse().ok());
    let port: u16 = port.ok_or(ErrorKind::InvalidData)?;
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Tries to connect for ten seconds, as long as the process runs.
fn wait_for(process: &mut Child, port_file: &Path) -> io::Result<TcpStream> {
    for _ in 0..1000 {
        if let Ok(stream) = connect(port_file) {
            return Ok(stream);
        }
        if let Some(status) = process.try_wait()? {
            return Err(io::Error::other(format!("Memcached ended at once: {status}")));
        }
        sleep(Duration::from_millis(10));
    }
    Err(ErrorKind::TimedOut.into())
}
