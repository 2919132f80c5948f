//! The process: its user and capabilities, and its state as reported to systemd.
//!
//! Once the interfaces are open, the process changes to another user if requested and drops all
//! capabilities except CAP_NET_RAW, without which a removed interface could not be opened again when it
//! comes back. Programs started from here cannot regain any. Called before there are other threads,
//! because those inherit capabilities.

#[cfg(unix)]
use std::os::unix::net::UnixDatagram;

use crate::cmd::Usage;

/// Changes to the user of this name in `/etc/passwd`. Files are opened with that user's rights from here
/// on; CAP_NET_RAW is kept, and CAP_SETPCAP, which [`drop_capabilities`] needs.
#[cfg(all(feature = "live", target_os = "linux"))]
pub fn become_user(name: &str) -> anyhow::Result<()> {
    use anyhow::Context as _;
    use rustix::thread::{
        CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
        set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    };
    use rustix::thread::{Gid, Uid};

    let users =
        std::fs::read_to_string("/etc/passwd").context("--user: cannot read /etc/passwd")?;
    let Some((uid, gid)) = find_user(&users, name) else {
        return Err(Usage::new(anyhow::anyhow!("--user {name}: there is no such user")).into());
    };
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    anyhow::ensure!(threads == 1, "--user {name}: other threads would stay what they are");
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let change = || {
        set_keep_capabilities(true)?;
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        set_keep_capabilities(false)?;
        let kept = CapabilitySet::NET_RAW | CapabilitySet::SETPCAP;
        let kept = capabilities(None)?.permitted.intersection(kept);
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: none };
        set_capabilities(None, sets)
    };
    change().with_context(|| format!("--user {name}: cannot become that user; it takes root"))
}

/// Other systems have no capabilities: an unprivileged user could not capture.
#[cfg(not(all(feature = "live", target_os = "linux")))]
pub fn become_user(name: &str) -> anyhow::Result<()> {
    Err(Usage::new(anyhow::anyhow!("--user {name}: that takes Linux")).into())
}

/// The numeric ids of a user and of their group.
#[cfg_attr(not(all(feature = "live", target_os = "linux")), allow(dead_code))]
fn find_user(users: &str, name: &str) -> Option<(u32, u32)> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then_some(())?;
        let (uid, gid) = (fields.nth(1)?, fields.next()?);
        Some((uid.parse().ok()?, gid.parse().ok()?))
    })
}

/// Drops all capabilities except CAP_NET_RAW.
#[cfg(all(feature = "live", target_os = "linux"))]
pub fn drop_capabilities() -> std::io::Result<()> {
    use rustix::thread::{
        CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
        set_capabilities, set_no_new_privs,
    };

    set_no_new_privs(true)?;
    let held = capabilities(None)?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().difference(CapabilitySet::NET_RAW).iter() {
            // An older kernel may not know all of them.
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    let kept = held.permitted.intersection(CapabilitySet::NET_RAW);
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })?;
    Ok(())
}

/// Other systems have no capabilities.
#[cfg(not(all(feature = "live", target_os = "linux")))]
pub fn drop_capabilities() -> std::io::Result<()> {
    Ok(())
}

/// Tells systemd (`Type=notify`), if it started us, that the capture has begun.
pub fn notify_ready() {
    notify("READY=1");
}

/// Tells systemd that the capture has ended and only the summary follows.
pub fn notify_stopping() {
    notify("STOPPING=1");
}

/// Other systems have no such socket.
#[cfg(not(unix))]
fn notify(_state: &str) {}

/// Sends a datagram to the socket that systemd names.
#[cfg(unix)]
fn notify(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    // If it does not arrive, systemd reports that.
    let _ = UnixDatagram::unbound().and_then(|datagram| send(&datagram, &socket, state));
}

#[cfg(target_os = "linux")]
fn send(datagram: &UnixDatagram, socket: &std::ffi::OsStr, state: &str) -> std::io::Result<usize> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::SocketAddr;

    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    datagram.send_to_addr(state.as_bytes(), &address)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn send(datagram: &UnixDatagram, socket: &std::ffi::OsStr, state: &str) -> std::io::Result<usize> {
    datagram.send_to(state.as_bytes(), socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\n# bad:x:y\nacsm:x:998:997::/:/sbin/nologin\nx:x:1";
        assert_eq!(find_user(users, "root"), Some((0, 0)));
        assert_eq!(find_user(users, "acsm"), Some((998, 997)));
        for none in ["", "ac", "x", "# bad", "nobody"] {
            assert_eq!(find_user(users, none), None, "{none}");
        }
    }
}
