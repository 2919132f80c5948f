//! The address plan: the network of each role.
//!
//! The networks are disjoint, so that an address identifies the traffic: complete connections, which
//! must raise no alert, connections of which a part is missing, or an attack. Hosts are numbered; a
//! bijection scatters the numbers over the network, so that different numbers are different
//! addresses and successive numbers are not adjacent addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use acsm_filters::digest::mix;

/// An IP network whose hosts are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    host_bits: u32,
}

impl Network {
    const fn v4(a: u8, b: u8, c: u8, prefix: u32) -> Network {
        Network { base: IpAddr::V4(Ipv4Addr::new(a, b, c, 0)), host_bits: 32 - prefix }
    }

    /// 2001:db8:`role`::/48. Host numbers take 32 of the last 64 bits.
    const fn v6(role: u16) -> Network {
        let base = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, role, 0, 0, 0, 0, 0));
        Network { base, host_bits: 80 }
    }

    /// How many hosts have different numbers.
    pub const fn hosts(self) -> u64 {
        1 << if self.host_bits < 32 { self.host_bits } else { 32 }
    }

    /// The address of host `number`, modulo the size of the network.
    pub fn host(self, number: u64) -> IpAddr {
        match self.base {
            IpAddr::V4(base) => {
                let number = number & ((1 << self.host_bits) - 1);
                IpAddr::V4(Ipv4Addr::from_bits(base.to_bits() | number as u32))
            }
            // Like the interface id that a host chooses: 32 scattered bits, and 32 that are unique.
            IpAddr::V6(base) => {
                let number = number & 0xffff_ffff;
                let interface = mix(number) << 32 | number;
                IpAddr::V6(Ipv6Addr::from_bits(base.to_bits() | u128::from(interface)))
            }
        }
    }

    /// The address of host `number` after a seeded permutation of the hosts.
    pub fn scattered_host(self, number: u64, seed: u64) -> IpAddr {
        // Modulo a power of two an odd factor is a bijection, and so is an addition.
        let factor = mix(seed) | 1;
        self.host(number.wrapping_mul(factor).wrapping_add(seed))
    }
}

/// `10.0.0.0/9`
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.base.is_ipv4() { 32 } else { 128 };
        write!(f, "{}/{}", self.base, bits - self.host_bits)
    }
}

/// The networks of a role, one per address family.
#[derive(Debug, Clone, Copy)]
pub struct DualNetwork {
    /// The IPv4 network.
    pub v4: Network,
    /// The IPv6 network.
    pub v6: Network,
}

/// Clients of connections that are completely in the trace.
pub const CLEAN_CLIENTS: DualNetwork =
    DualNetwork { v4: Network::v4(10, 0, 0, 9), v6: Network::v6(0xc1) };
/// Servers of connections that are completely in the trace.
pub const CLEAN_SERVERS: DualNetwork =
    DualNetwork { v4: Network::v4(172, 16, 0, 13), v6: Network::v6(0x51) };
/// Clients of connections of which a direction or the beginning is not in the trace.
pub const PARTIAL_CLIENTS: DualNetwork =
    DualNetwork { v4: Network::v4(10, 128, 0, 9), v6: Network::v6(0xc2) };
/// Servers of connections of which a direction or the beginning is not in the trace.
pub const PARTIAL_SERVERS: DualNetwork =
    DualNetwork { v4: Network::v4(172, 24, 0, 13), v6: Network::v6(0x52) };
/// Sources on the backbone of the paper profile.
pub const BACKBONE_SOURCES: Network = Network::v4(32, 0, 0, 3);
/// Destinations on the backbone of the paper profile.
pub const BACKBONE_DESTINATIONS: Network = Network::v4(128, 0, 0, 3);
/// Hosts that attack under their own address.
pub const ATTACKERS: Network = Network::v4(203, 0, 113, 24);
/// Hosts that are attacked individually.
pub const VICTIMS: Network = Network::v4(192, 0, 2, 24);
/// Hosts that a sweep probes.
pub const SWEPT: Network = Network::v4(198, 18, 0, 15);
/// Spoofed source addresses of a flood.
pub const SPOOFED: Network = Network::v4(100, 64, 0, 11);
/// Servers that answer to a spoofed victim.
pub const REFLECTORS: Network = Network::v4(100, 96, 0, 11);

/// Sources of a flood from one network.
pub const FLOOD_SUBNET: Network = Network::v4(198, 51, 100, 24);
/// Hosts that a flood is spread over.
pub const BOMBED: Network = Network::v4(198, 51, 101, 24);
/// Clients of a service that is restarted.
pub const RESTART_CLIENTS: Network = Network::v4(198, 51, 102, 28);
/// Hosts that a slow sweep probes.
pub const SLOWLY_SWEPT: Network = Network::v4(198, 20, 0, 15);
/// Clients of connections that live as long as the trace.
pub const LONG_LIVED_CLIENTS: DualNetwork =
    DualNetwork { v4: Network::v4(20, 0, 0, 8), v6: Network::v6(0xc3) };
/// Servers of connections that live as long as the trace.
pub const LONG_LIVED_SERVERS: DualNetwork =
    DualNetwork { v4: Network::v4(21, 0, 0, 8), v6: Network::v6(0x53) };

/// Sources of flood number `flood`, counted from 0 and below 32: 64.0.0.0/8, 65.0.0.0/8 and so on.
pub const fn flood_sources(flood: u8) -> Network {
    Network::v4(64 | flood & 31, 0, 0, 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hosts_are_distinct_and_inside() {
        let network = CLEAN_SERVERS.v4;
        let hosts: HashSet<IpAddr> = (0..1 << 19).map(|n| network.scattered_host(n, 42)).collect();
        assert_eq!(hosts.len(), 1 << 19);
        let inside = |ip: &IpAddr| matches!(ip, IpAddr::V4(v4) if v4.octets()[0] == 172 && (16..24).contains(&v4.octets()[1]));
        assert!(hosts.iter().all(inside));
        let hosts: HashSet<IpAddr> =
            (0..100_000).map(|n| CLEAN_CLIENTS.v6.scattered_host(n, 42)).collect();
        assert_eq!(hosts.len(), 100_000);
    }

    #[test]
    fn networks_show_as_prefixes() {
        assert_eq!(CLEAN_CLIENTS.v4.to_string(), "10.0.0.0/9");
        assert_eq!(CLEAN_SERVERS.v6.to_string(), "2001:db8:51::/48");
        assert_eq!(BACKBONE_SOURCES.to_string(), "32.0.0.0/3");
    }

    #[test]
    fn ipv4_networks_are_disjoint() {
        let all = [
            CLEAN_CLIENTS.v4,
            CLEAN_SERVERS.v4,
            PARTIAL_CLIENTS.v4,
            PARTIAL_SERVERS.v4,
            BACKBONE_SOURCES,
            BACKBONE_DESTINATIONS,
            ATTACKERS,
            VICTIMS,
            SWEPT,
            SPOOFED,
            REFLECTORS,
            FLOOD_SUBNET,
            BOMBED,
            RESTART_CLIENTS,
            SLOWLY_SWEPT,
            LONG_LIVED_CLIENTS.v4,
            LONG_LIVED_SERVERS.v4,
            flood_sources(0),
            flood_sources(31),
        ];
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                let prefix = |network: &Network, bits: u32| match network.base {
                    IpAddr::V4(v4) => u64::from(v4.to_bits()) >> bits,
                    IpAddr::V6(_) => unreachable!(),
                };
                let bits = a.host_bits.max(b.host_bits);
                assert_ne!(prefix(a, bits), prefix(b, bits), "{a} {b}");
            }
        }
    }
}
