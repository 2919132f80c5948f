//! Whether the system merges packets before anybody sees them, as `ethtool -k` tells.

use std::os::fd::BorrowedFd;

/// Those of an interface's settings that merge packets as they arrive, by the names that `ethtool -K`
/// takes. None where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(super) fn merging_offloads(_socket: BorrowedFd<'_>, _interface: &str) -> Vec<&'static str> {
    Vec::new()
}

/// Those of an interface's settings that merge packets as they arrive, by the names that `ethtool -K`
/// takes. None where the system does not tell. Any socket will do to ask through.
#[cfg(target_os = "linux")]
pub(super) fn merging_offloads(socket: BorrowedFd<'_>, interface: &str) -> Vec<&'static str> {
    // From the kernel's ethtool.h: what to ask for, and the bit of the answer that counts.
    const ETHTOOL_GGRO: u32 = 0x2b;
    const ETHTOOL_GFLAGS: u32 = 0x25;
    const ETH_FLAG_LRO: u32 = 1 << 15;

    let is_on =
        |command, bits| ask(socket, interface, command).is_some_and(|word| word & bits != 0);
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
fn ask(socket: BorrowedFd<'_>, interface: &str, command: u32) -> Option<u32> {
    use std::os::fd::AsRawFd as _;

    let socket = socket.as_raw_fd();
    let mut value = EthtoolValue { command, data: 0 };
    let mut name = [0; libc::IFNAMSIZ];
    // The last byte stays zero; a longer name is none of an interface.
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
    fn the_system_tells_of_interfaces_it_has() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let ask_of = |name| ask(socket.as_fd(), name, 0x2b);
        // On loopback GRO can be switched and is on, unless somebody did.
        assert!(ask_of("lo").is_some());
        for none in ["nonesuch", "", "a-name-longer-than-any-interface-has"] {
            assert_eq!(ask_of(none), None, "{none}");
            assert_eq!(merging_offloads(socket.as_fd(), none), [""; 0]);
        }
    }
}
