//! One interface over several sockets, each frame to one of them (PACKET_FANOUT of Linux).
//!
//! The kernel chooses by a hash of addresses and ports that is the same in both directions: the
//! frames of a connection come through one socket. Those of IP fragments are chosen by addresses
//! alone. PACKET_FANOUT_FLAG_DEFRAG would put them together first, and with them go the count of
//! packets and, silently, those that never become whole; so it is not asked for. Whoever merges
//! the sockets by time has them in order all the same.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

/// The sockets that share an interface, known by a number that the kernel gives.
#[derive(Debug, Default)]
pub(super) struct Group {
    number: Mutex<Option<u16>>,
}

impl Group {
    /// Has `socket` take its share. The first one makes the group, under a number that nobody else
    /// has. A socket joins when it is bound already: what it got before came to others too.
    pub fn join(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let mut number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        let joined = match *number {
            Some(known) => join(socket, known),
            None => make(socket).map(|new| *number = Some(new)),
        };
        if joined.is_err() {
            // It was for an interface of before: the next try makes a new one.
            *number = None;
        }
        joined
    }
}

#[cfg(not(target_os = "linux"))]
fn make(_socket: BorrowedFd<'_>) -> io::Result<u16> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn join(_socket: BorrowedFd<'_>, _number: u16) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes a group of one socket; says its number.
#[cfg(target_os = "linux")]
fn make(socket: BorrowedFd<'_>) -> io::Result<u16> {
    set(socket, (libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16)?;
    // The number is in the lower half.
    get(socket).map(|word| word as u16)
}

#[cfg(target_os = "linux")]
fn join(socket: BorrowedFd<'_>, number: u16) -> io::Result<()> {
    set(socket, libc::PACKET_FANOUT_HASH << 16 | libc::c_uint::from(number))
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn set(socket: BorrowedFd<'_>, word: libc::c_uint) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let bytes = size_of_val(&word) as libc::socklen_t;
    let (level, name) = (libc::SOL_PACKET, libc::PACKET_FANOUT);
    // SAFETY: the pointer is to a live integer of just `bytes` bytes, which the kernel only reads.
    let failed = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const word).cast(), bytes)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn get(socket: BorrowedFd<'_>) -> io::Result<libc::c_uint> {
    use std::os::fd::AsRawFd as _;

    let mut word: libc::c_uint = 0;
    let mut bytes = size_of_val(&word) as libc::socklen_t;
    let (level, name) = (libc::SOL_PACKET, libc::PACKET_FANOUT);
    // SAFETY: both pointers are to live integers; the kernel writes at most `bytes` bytes to the first.
    let failed = unsafe {
        let (value, length) = (&raw mut word, &raw mut bytes);
        libc::getsockopt(socket.as_raw_fd(), level, name, value.cast(), length)
    };
    if failed == 0 { Ok(word) } else { Err(io::Error::last_os_error()) }
}
