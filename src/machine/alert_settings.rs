//! Limits on alerts: home networks, cool-down, alerts per second; and IP networks.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::time::NANOS_PER_SEC;

/// Settings that limit the number of alerts. Plain data: the engine applies them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertSettings {
    /// The home networks; empty: any address may be at home.
    pub home_networks: Vec<Network>,
    /// The cool-down of rules that define none.
    pub cooldown_nanos: u64,
    /// At most this number of alerts per second of trace time, marks excepted; the rest is counted.
    pub alerts_per_second: u32,
}

impl Default for AlertSettings {
    fn default() -> Self {
        AlertSettings {
            home_networks: Vec::new(),
            cooldown_nanos: 60 * NANOS_PER_SEC,
            alerts_per_second: 100,
        }
    }
}

/// An IP network: `192.0.2.0/24`, `2001:db8::/32`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

impl Network {
    /// The network of the first `prefix_bits` bits of an address.
    pub fn of_address(address: IpAddr, prefix_bits: u32) -> Network {
        let width = if address.is_ipv4() { 32 } else { 128 };
        Network { address, prefix_bits: prefix_bits.min(width) as u8 }
    }

    /// Its address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Its address, if it has but one.
    pub fn single(&self) -> Option<IpAddr> {
        let width = if self.address.is_ipv4() { 32 } else { 128 };
        (self.prefix_bits == width).then_some(self.address)
    }

    /// Whether `address` lies in it. An IPv4 network contains no IPv6 address, and vice versa.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (network, address, width) = match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (network.to_bits().into(), address.to_bits().into(), 32)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                (network.to_bits(), address.to_bits(), 128)
            }
            _ => return false,
        };
        let host_bits = width - u32::from(self.prefix_bits);
        (network ^ address).checked_shr(host_bits).unwrap_or(0) == 0
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Network {
        Network::of_address(address, 128)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

/// What [`Network::from_str`] could not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no network; write an address or 192.0.2.0/24, 2001:db8::/32")]
pub struct NetworkError(String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let parsed = || {
            let address: IpAddr = address.parse().ok()?;
            let width = if address.is_ipv4() { 32 } else { 128 };
            let prefix_bits = match prefix {
                Some(digits) if digits.starts_with('+') => return None,
                Some(digits) => digits.parse().ok()?,
                None => width,
            };
            (prefix_bits <= width).then_some(Network { address, prefix_bits })
        };
        parsed().ok_or_else(|| NetworkError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_its_addresses() {
        for (network, inside, outside) in [
            ("10.1.0.0/16", "10.1.255.3", "10.2.0.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("::/0", "::1", "127.0.0.1"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!network.contains(outside.parse().unwrap()), "{network} {outside}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "home", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0/8"] {
            let error = text.parse::<Network>().unwrap_err();
            assert!(error.to_string().contains("192.0.2.0/24"), "{text}");
        }
    }
}
