//! Telling systemd that we are ready (`Type=notify`): one datagram to the socket it names.

#[cfg(unix)]
use std::os::unix::net::UnixDatagram;

/// There is no such socket elsewhere.
#[cfg(not(unix))]
pub fn ready() {}

/// Tells the service manager, if there is one, that capture has begun.
#[cfg(unix)]
pub fn ready() {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    // Who started us waits and will say so if this does not arrive.
    let _ = UnixDatagram::unbound().and_then(|datagram| send(&datagram, &socket));
}

#[cfg(target_os = "linux")]
fn send(datagram: &UnixDatagram, socket: &std::ffi::OsStr) -> std::io::Result<usize> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::SocketAddr;

    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    datagram.send_to_addr(b"READY=1", &address)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn send(datagram: &UnixDatagram, socket: &std::ffi::OsStr) -> std::io::Result<usize> {
    datagram.send_to(b"READY=1", socket)
}
