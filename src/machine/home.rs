//! The home net: which end of a packet is inside, and what that means for the severity of a scan.

use std::net::IpAddr;

use super::alert_settings::Network;
use super::rule::{Category, Rule, RuleKind};
use crate::flow::Packet;

/// Private IPv4 networks (RFC 1918) and unique local IPv6 addresses (RFC 4193).
const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/// Ports by which worms and intruders move on within a network: SSH, SMB, RDP, WinRM.
const LATERAL_PORTS: [u16; 4] = [22, 445, 3389, 5985];

/// The networks that are the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeNets(Vec<Network>);

/// Private networks.
impl Default for HomeNets {
    fn default() -> HomeNets {
        HomeNets(PRIVATE.iter().filter_map(|network| network.parse().ok()).collect())
    }
}

impl HomeNets {
    /// These networks, and no others.
    pub fn new(networks: Vec<Network>) -> HomeNets {
        HomeNets(networks)
    }

    /// These networks as well.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Network>) {
        self.0.extend(more);
    }

    /// Whether an address is inside.
    pub fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Whether this is a scan from outside to inside.
    pub fn is_inbound(&self, src: IpAddr, dst: IpAddr) -> bool {
        self.contain(dst) && !self.contain(src)
    }

    /// The severity of an alert of `own` severity: the same, but for scans of which an end is inside. From outside
    /// they are 3, from inside 2, and 1 if they sweep a port by which intruders move on.
    pub fn severity(&self, rule: &Rule, own: u8, packet: &Packet) -> u8 {
        let is_scan = rule.category == Category::NetworkScan
            && (own <= 2 || rule.kind == RuleKind::Threshold && own == 3);
        if !is_scan {
            return own;
        }
        let Packet { src, dst, dst_port, .. } = *packet;
        let is_sweep = rule.name.starts_with("host_sweep");
        match (self.contain(src), self.contain(dst)) {
            (true, _) if is_sweep && LATERAL_PORTS.contains(&dst_port) => 1,
            (true, _) => 2,
            (false, true) => 3,
            (false, false) => own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Rules;

    #[test]
    fn direction_sets_the_severity_of_scans_and_of_nothing_else() {
        let rules = Rules::load("tcp-connection").unwrap();
        let home = HomeNets::default();
        let severity = |rule: &str, src: &str, dst: &str, port| {
            let rule = rules.list.find(rule).unwrap();
            let (src, dst) = (src.parse().unwrap(), dst.parse().unwrap());
            let packet = Packet { src, dst, dst_port: port, ..Packet::UNSPECIFIED };
            home.severity(rule, rule.severity, &packet)
        };
        assert_eq!(severity("port_scan", "203.0.113.1", "10.0.0.1", 80), 3);
        assert_eq!(severity("port_scan", "10.0.0.2", "10.0.0.1", 80), 2);
        assert_eq!(severity("port_scan", "10.0.0.2", "203.0.113.1", 80), 2);
        assert_eq!(severity("host_sweep", "fd00::1", "fd00::2", 445), 1);
        assert_eq!(severity("host_sweep", "10.0.0.2", "10.0.0.1", 80), 2);
        for rule in rules.list.iter() {
            let own = severity(&rule.name, "203.0.113.1", "198.51.100.1", 22);
            assert_eq!(own, rule.severity, "neither end inside: {}", rule.name);
        }
        let flood = rules.list.find("syn_flood").unwrap().severity;
        assert_eq!(severity("syn_flood", "203.0.113.1", "10.0.0.1", 22), flood);
    }
}
