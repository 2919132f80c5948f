//! Which interfaces there are, and why one cannot be captured from.

use pcap::{Capture, ConnectionStatus, Device};

use super::super::{Interface, LiveError};
use super::tap::words;

/// Interfaces of this machine, as the system orders them. Each is opened for a moment, to see
/// whether that is allowed.
pub fn interfaces() -> Result<Vec<Interface>, LiveError> {
    let devices = devices().map_err(|error| LiveError::Interface {
        interface: "any interface".to_owned(),
        message: words(&error),
    })?;
    Ok(devices.into_iter().map(describe).collect())
}

/// Their names, as far as the system tells.
pub(super) fn known_interfaces() -> String {
    let names = devices().unwrap_or_default().into_iter().map(|device| device.name);
    names.collect::<Vec<_>>().join(", ")
}

/// What libpcap could capture from, without what TCP never comes from: opening a D-Bus would even
/// start a program.
fn devices() -> Result<Vec<Device>, pcap::Error> {
    let is_no_network =
        |name: &str| ["dbus-", "bluetooth", "usbmon"].iter().any(|start| name.starts_with(start));
    let mut devices = Device::list()?;
    devices.retain(|device| !is_no_network(&device.name));
    Ok(devices)
}

fn describe(device: Device) -> Interface {
    let flags = &device.flags;
    let state = match flags.connection_status {
        _ if !flags.is_up() => "down",
        ConnectionStatus::Disconnected => "no link",
        _ => "up",
    };
    // Not promiscuous: a look should not change the interface.
    let opened = Capture::from_device(device.name.as_str()).and_then(|capture| capture.open());
    let refused = opened.err().map(|error| why_not(&device.name, &words(&error)));
    Interface {
        loopback: flags.is_loopback(),
        state,
        addresses: device.addresses.iter().map(|address| address.addr).collect(),
        // Down is no lack of permission.
        capture_allowed: matches!(refused, None | Some(LiveError::Down { .. })),
        reason: refused.map(|error| short(&error)),
        description: device.desc,
        name: device.name,
    }
}

/// A reason that fits a table.
fn short(error: &LiveError) -> String {
    match error {
        LiveError::NotPermitted { .. } => "needs CAP_NET_RAW".to_owned(),
        LiveError::Down { .. } => "is down".to_owned(),
        LiveError::Interface { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// What libpcap's words on opening an interface mean.
pub(super) fn why_not(interface: &str, message: &str) -> LiveError {
    let interface = interface.to_owned();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(&["ermission", "not permitted"]) {
        let program = std::env::current_exe().map(|path| path.display().to_string());
        let program = program.unwrap_or_else(|_| "$(command -v acsm)".to_owned());
        return LiveError::NotPermitted { interface, program };
    }
    if says(&["No such device", "doesn't exist"]) {
        return LiveError::NoSuchInterface { interface, known: known_interfaces() };
    }
    if says(&["not up"]) {
        return LiveError::Down { interface };
    }
    LiveError::Interface { interface, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let text = |message| why_not("eth7", message).to_string();
        let denied = text("socket: Operation not permitted");
        assert!(denied.contains("setcap cap_net_raw+ep /"), "{denied}");
        assert!(denied.contains("dist/acsm.service"), "{denied}");
        let missing = text("SIOCGIFHWADDR: No such device");
        assert!(missing.starts_with("there is no interface eth7; there are: "), "{missing}");
        assert!(text("That device is not up").contains("ip link set eth7 up"));
        assert_eq!(text("odd"), "cannot capture on eth7: odd");
    }
}
