//! The interfaces of this machine, and why one cannot be captured from.

use pcap::{Capture, ConnectionStatus, Device};

use super::super::Interface;
use crate::capture::LiveError;

/// The interfaces of this machine, in the order of the system. Each is opened briefly to find out
/// whether that is permitted.
pub fn interfaces() -> Result<Vec<Interface>, LiveError> {
    let devices = devices().map_err(|error| LiveError::Interface {
        interface: "any interface".to_owned(),
        message: message_of(&error),
    })?;
    Ok(devices.into_iter().map(describe).collect())
}

/// The names of the interfaces, separated by commas.
pub(super) fn known_interfaces() -> String {
    let names = devices().unwrap_or_default().into_iter().map(|device| device.name);
    names.collect::<Vec<_>>().join(", ")
}

/// The devices of libpcap without those that never carry TCP; opening a D-Bus device would even
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
    // Not promiscuous: listing must not change the interface.
    let opened = Capture::from_device(device.name.as_str()).and_then(|capture| capture.open());
    let refused = opened.err().map(|error| open_error(&device.name, &message_of(&error)));
    Interface {
        loopback: flags.is_loopback(),
        state,
        addresses: device.addresses.iter().map(|address| address.addr).collect(),
        // An interface that is down may be permitted.
        capture_allowed: matches!(refused, None | Some(LiveError::Down { .. })),
        reason: refused.map(|error| short(&error)),
        description: device.desc,
        name: device.name,
    }
}

/// The message of libpcap's error.
pub(super) fn message_of(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(message) => message.clone(),
        other => other.to_string(),
    }
}

/// A reason short enough for a table.
fn short(error: &LiveError) -> String {
    match error {
        LiveError::NotPermitted { .. } => "needs CAP_NET_RAW".to_owned(),
        LiveError::Down { .. } => "is down".to_owned(),
        LiveError::Interface { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// The error for a message of libpcap on opening an interface.
pub(super) fn open_error(interface: &str, message: &str) -> LiveError {
    let interface = interface.to_owned();
    let contains = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
    if contains(&["ermission", "not permitted"]) {
        return LiveError::NotPermitted { interface };
    }
    if contains(&["No such device", "doesn't exist"]) {
        return LiveError::NoSuchInterface { interface, known: known_interfaces() };
    }
    if contains(&["not up"]) {
        return LiveError::Down { interface };
    }
    LiveError::Interface { interface, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_libpcap_are_classified() {
        let error = |message| open_error("eth7", message);
        let denied = error("socket: Operation not permitted");
        assert!(matches!(denied, LiveError::NotPermitted { .. }), "{denied}");
        let missing = error("SIOCGIFHWADDR: No such device").to_string();
        assert!(missing.starts_with("there is no interface eth7; there are: "), "{missing}");
        assert!(matches!(error("That device is not up"), LiveError::Down { .. }));
        assert_eq!(error("odd").to_string(), "cannot capture on eth7: odd");
    }
}
