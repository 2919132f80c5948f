//! Telling systemd that we are ready, and that we come to an end (`Type=notify`): a datagram each to
//! the socket it names.

#[cfg(unix)]
use std::os::unix::net::UnixDatagram;

/// Tells the service manager, if there is one, that capture has begun.
pub fn ready() {
    tell("READY=1");
}

/// Tells it that capture is over, and only the summary is to come.
pub fn stopping() {
    tell("STOPPING=1");
}

/// There is no such socket elsewhere.
#[cfg(not(unix))]
fn tell(_word: &str) {}

#[cfg(unix)]
fn tell(word: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    // Who started us waits and will say so if this does not arrive.
    let _ = UnixDatagram::unbound().and_then(|datagram| send(&datagram, &socket, word));
}

#[cfg(target_os = "linux")]
fn send(datagram: &UnixDatagram, socket: &std::ffi::OsStr, word: &str) -> std::io::Result<usize> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::SocketAddr;

    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    datagram.send_to_addr(word.as_bytes(), &address)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn send(datagram: &UnixDatagram, socket: &std::ffi::OsStr, word: &str) -> std::io::Result<usize> {
    datagram.send_to(word.as_bytes(), socket)
}
