//! Giving up what a capture no longer needs once it is open.
//!
//! Kept: CAP_NET_RAW, without which an interface that was removed could not be opened again. All
//! other capabilities go, also those that a program started from here could get back, and no
//! program started from here can gain any. Called before there are other threads: these inherit
//! what is left.

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
