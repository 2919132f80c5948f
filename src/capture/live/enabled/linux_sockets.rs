//! Socket options of Linux: sharing an interface among sockets (PACKET_FANOUT), and the offload settings
//! of an interface (ethtool). Other systems have neither.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

/// A fanout group: the sockets that share an interface (PACKET_FANOUT). Each frame goes to one of them.
///
/// The kernel chooses by a hash of addresses and ports that is the same in both directions, so the
/// frames of a connection come through one socket. IP fragments are chosen by addresses alone.
/// PACKET_FANOUT_FLAG_DEFRAG is not used: it reassembles first, which changes the number of packets
/// and silently loses those that never become complete. Merging the sockets by time restores the
/// order anyway.
#[derive(Debug, Default)]
pub(super) struct FanoutGroup {
    /// The number that the kernel gave it.
    number: Mutex<Option<u16>>,
}

impl FanoutGroup {
    /// Adds `socket` to the group. The first socket creates the group, under a number that is not in
    /// use. A socket joins after it was bound: frames from before it joined came to others, too.
    pub fn join(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let mut number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        let joined = match *number {
            Some(known) => join_group(socket, known),
            None => create_group(socket).map(|new| *number = Some(new)),
        };
        if joined.is_err() {
            // The group was for an interface that is gone: the next attempt creates a new one.
            *number = None;
        }
        joined
    }
}

#[cfg(not(target_os = "linux"))]
fn create_group(_socket: BorrowedFd<'_>) -> io::Result<u16> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn join_group(_socket: BorrowedFd<'_>, _number: u16) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Creates a group of one socket; returns its number.
#[cfg(target_os = "linux")]
fn create_group(socket: BorrowedFd<'_>) -> io::Result<u16> {
    set_fanout(socket, (libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16)?;
    // The number is in the lower half.
    get_fanout(socket).map(|word| word as u16)
}

#[cfg(target_os = "linux")]
fn join_group(socket: BorrowedFd<'_>, number: u16) -> io::Result<()> {
    set_fanout(socket, libc::PACKET_FANOUT_HASH << 16 | libc::c_uint::from(number))
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn set_fanout(socket: BorrowedFd<'_>, word: libc::c_uint) -> io::Result<()> {
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
fn get_fanout(socket: BorrowedFd<'_>) -> io::Result<libc::c_uint> {
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

/// The settings of an interface that merge packets as they arrive, by their names for `ethtool -K`.
/// Empty where the system does not report them.
#[cfg(not(target_os = "linux"))]
pub(super) fn merging_offloads(_socket: BorrowedFd<'_>, _interface: &str) -> Vec<&'static str> {
    Vec::new()
}

/// The settings of an interface that merge packets as they arrive, by their names for `ethtool -K`.
/// Empty where the system does not report them. `socket` may be any socket.
#[cfg(target_os = "linux")]
pub(super) fn merging_offloads(socket: BorrowedFd<'_>, interface: &str) -> Vec<&'static str> {
    // From the kernel's ethtool.h: the commands, and the bit of the answer for LRO.
    const ETHTOOL_GGRO: u32 = 0x2b;
    const ETHTOOL_GFLAGS: u32 = 0x25;
    const ETH_FLAG_LRO: u32 = 1 << 15;

    let is_on = |command, bits| {
        ethtool_value(socket, interface, command).is_some_and(|word| word & bits != 0)
    };
    let settings = [("gro", ETHTOOL_GGRO, u32::MAX), ("lro", ETHTOOL_GFLAGS, ETH_FLAG_LRO)];
    let on = settings.into_iter().filter(|(_, command, bits)| is_on(*command, *bits));
    on.map(|(name, ..)| name).collect()
}

/// The kernel's `struct ethtool_value`.
#[cfg(target_os = "linux")]
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn ethtool_value(socket: BorrowedFd<'_>, interface: &str, command: u32) -> Option<u32> {
    use std::os::fd::AsRawFd as _;

    let socket = socket.as_raw_fd();
    let mut value = EthtoolValue { command, data: 0 };
    let mut name = [0; libc::IFNAMSIZ];
    // The last byte stays zero; no interface has a longer name.
    (interface.len() < name.len()).then_some(())?;
    name.iter_mut().zip(interface.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut value).cast() },
    };
    // SAFETY: the request names a string that ends in zero and a live `EthtoolValue`, the one
    // structure that these commands read and write; both outlive the call.
    let failed = unsafe { libc::ioctl(socket, libc::SIOCETHTOOL as _, &raw mut request) };
    (failed == 0).then_some(value.data)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn the_system_reports_settings_of_its_interfaces() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let value_of = |name| ethtool_value(socket.as_fd(), name, 0x2b);
        // Loopback has GRO, on or off.
        assert!(value_of("lo").is_some());
        for none in ["nonesuch", "", "a-name-longer-than-any-interface-has"] {
            assert_eq!(value_of(none), None, "{none}");
            assert_eq!(merging_offloads(socket.as_fd(), none), [""; 0]);
        }
    }
}
