//! Giving up what a capture no longer needs once it is open: being root, if so wanted, and rights.
//!
//! Kept: CAP_NET_RAW, without which an interface that was removed could not be opened again. All
//! other capabilities go, also those that a program started from here could get back, and no
//! program started from here can gain any. Called before there are other threads: these inherit
//! what is left.

use crate::cmd::Usage;

/// Becomes the user of this name, of `/etc/passwd`. What is opened from here on is opened with that
/// user's rights; CAP_NET_RAW stays, and the right to give up rights.
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

/// Other systems know no capabilities, and without one of them nothing could be captured.
#[cfg(not(all(feature = "live", target_os = "linux")))]
pub fn become_user(name: &str) -> anyhow::Result<()> {
    Err(Usage::new(anyhow::anyhow!("--user {name}: that takes Linux")).into())
}

/// The numbers of a user and their group.
#[cfg_attr(not(all(feature = "live", target_os = "linux")), allow(dead_code))]
fn find_user(users: &str, name: &str) -> Option<(u32, u32)> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then_some(())?;
        let (uid, gid) = (fields.nth(1)?, fields.next()?);
        Some((uid.parse().ok()?, gid.parse().ok()?))
    })
}

/// Gives up all but CAP_NET_RAW.
#[cfg(all(feature = "live", target_os = "linux"))]
pub fn give_up() -> std::io::Result<()> {
    use rustix::thread::{
        CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
        set_capabilities, set_no_new_privs,
    };

    set_no_new_privs(true)?;
    let held = capabilities(None)?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().difference(CapabilitySet::NET_RAW).iter() {
            // The kernel may be older than the list.
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    let kept = held.permitted.intersection(CapabilitySet::NET_RAW);
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })?;
    Ok(())
}

/// Other systems know no capabilities.
#[cfg(not(all(feature = "live", target_os = "linux")))]
pub fn give_up() -> std::io::Result<()> {
    Ok(())
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
