//! The addresses and ports of attacks, probe by probe.

use std::net::IpAddr;

use super::address_plan::{
    ATTACKERS, BOMBED, FLOOD_SUBNET, Network, REFLECTORS, RESTART_CLIENTS, SLOWLY_SWEPT, SPOOFED,
    SWEPT, VICTIMS, flood_sources,
};
use super::attack_kind::AttackKind;

/// Both ends of a probe.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    /// The attacker's address and port.
    pub attacker: (IpAddr, u16),
    /// The victim's address and port.
    pub victim: (IpAddr, u16),
}

/// The hosts on one side of an attack.
#[derive(Debug, Clone, Copy)]
pub enum Hosts {
    /// One host.
    One(IpAddr),
    /// A host of this network for each probe, another one for the next.
    Network(Network),
}

impl Hosts {
    fn of_probe(self, probe: u64, seed: u64) -> IpAddr {
        match self {
            Hosts::One(host) => host,
            Hosts::Network(network) => network.scattered_host(probe, seed),
        }
    }

    /// The address or the network, and how many hosts of it `probes` probes have.
    pub fn describe(self, probes: u64) -> (String, u64) {
        match self {
            Hosts::One(host) => (host.to_string(), 1),
            Hosts::Network(network) => (network.to_string(), probes.min(network.hosts())),
        }
    }
}

/// The ports of TCP, without 0.
const PORTS: u64 = 65_535;

impl AttackKind {
    /// The most probes of an attack.
    const MAX_PROBES: u64 = 10_000_000;

    /// The attackers.
    pub fn attackers(self) -> Hosts {
        match self {
            AttackKind::SynFlood => Hosts::Network(SPOOFED),
            AttackKind::SynAckReflection => Hosts::Network(REFLECTORS),
            AttackKind::SubnetSynFlood => Hosts::Network(FLOOD_SUBNET),
            AttackKind::CarpetBombing => Hosts::Network(flood_sources(20)),
            AttackKind::ConnectionFlood => Hosts::Network(flood_sources(21)),
            AttackKind::BusyServer => Hosts::Network(flood_sources(22)),
            AttackKind::ServiceRestart => Hosts::Network(RESTART_CLIENTS),
            _ => match Self::FLOODS.iter().position(|flood| *flood == self) {
                Some(number) => Hosts::Network(flood_sources(number as u8)),
                None => Hosts::One(ATTACKERS.host(10 + self as u64)),
            },
        }
    }

    /// The victims.
    pub fn victims(self) -> Hosts {
        match self {
            AttackKind::HostSweep => Hosts::Network(SWEPT),
            AttackKind::SlowHostSweep => Hosts::Network(SLOWLY_SWEPT),
            AttackKind::CarpetBombing => Hosts::Network(BOMBED),
            AttackKind::Backscatter => Hosts::Network(flood_sources(23)),
            _ => Hosts::One(VICTIMS.host(10 + self as u64)),
        }
    }

    /// Both ends of probe number `probe`. Up to [`Self::max_probes`], no two probes have the same.
    pub fn ends(self, probe: u64, seed: u64) -> Ends {
        let (attackers_port, victims_port) = self.ports(probe, seed);
        Ends {
            attacker: (self.attackers().of_probe(probe, seed), attackers_port),
            victim: (self.victims().of_probe(probe, seed), victims_port),
        }
    }

    fn ports(self, probe: u64, seed: u64) -> (u16, u16) {
        // 7919 and 65,535 have no common divisor, so ports repeat only after all were used.
        let scattered = 1 + ((probe * 7919 + seed % PORTS) % PORTS) as u16;
        match self {
            AttackKind::SynFlood => (scattered, 80),
            AttackKind::SynFloodOneSource => (scattered, 443),
            AttackKind::HostSweep => (1024 + (probe % 60_000) as u16, 445),
            AttackKind::RstStorm | AttackKind::FinStorm => (80, scattered),
            AttackKind::SynAckReflection => (443, scattered),
            AttackKind::SynAckFlood => (80, scattered),
            AttackKind::SlowHostSweep => (1024 + (probe % 60_000) as u16, 3389),
            AttackKind::CarpetBombing | AttackKind::ConnectionFlood => (scattered, 80),
            AttackKind::LoginGuessing => (scattered, 22),
            AttackKind::Backscatter => (443, scattered),
            AttackKind::ServiceRestart => (scattered, 5432),
            AttackKind::BusyServer => (scattered, 443),
            kind if Self::FLOODS.contains(&kind) => (scattered, 80),
            _ => (40_000 + (probe % 7) as u16, scattered),
        }
    }

    /// The ports of the victims of `probes` probes.
    pub fn victim_ports(self, probes: u64, seed: u64) -> impl Iterator<Item = u16> {
        (0..probes.min(PORTS)).map(move |probe| self.ports(probe, seed).1)
    }

    /// Whether no two probes share both addresses.
    pub fn has_pair_per_probe(self) -> bool {
        let is_network = |hosts: Hosts| matches!(hosts, Hosts::Network(_));
        !matches!(self, AttackKind::SubnetSynFlood | AttackKind::ServiceRestart)
            && (is_network(self.attackers()) || is_network(self.victims()))
    }

    /// The most probes with different ends.
    pub fn max_probes(self) -> u64 {
        let distinct = match (self.attackers(), self.victims()) {
            // The number of hosts is a power of two, that of ports is odd: all combinations occur.
            (Hosts::Network(hosts), _) if !self.has_pair_per_probe() => hosts.hosts() * PORTS,
            (Hosts::Network(hosts), _) | (_, Hosts::Network(hosts)) => hosts.hosts(),
            (Hosts::One(_), Hosts::One(_)) => PORTS,
        };
        distinct.min(Self::MAX_PROBES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_probes_have_the_same_ends() {
        for kind in AttackKind::every() {
            let probes = kind.max_probes().min(200_000);
            let mut seen = HashSet::new();
            let mut pairs = HashSet::new();
            for probe in 0..probes {
                let Ends { attacker, victim } = kind.ends(probe, 11);
                assert!(seen.insert((attacker, victim)), "{} {probe}", kind.name());
                pairs.insert((attacker.0, victim.0));
            }
            if kind.has_pair_per_probe() {
                assert_eq!(pairs.len() as u64, probes, "{}", kind.name());
            }
            let (_, hosts) = kind.attackers().describe(probes);
            let expected = pairs.iter().map(|pair| pair.0).collect::<HashSet<_>>().len();
            assert_eq!(hosts, expected as u64, "{}", kind.name());
        }
    }

    #[test]
    fn a_flood_may_have_millions_of_probes_and_a_scan_as_many_as_there_are_ports() {
        assert!(AttackKind::FLOODS.iter().all(|kind| kind.max_probes() == 10_000_000));
        assert_eq!(AttackKind::PortScan.max_probes(), 65_535);
        assert_eq!(AttackKind::HostSweep.max_probes(), 131_072);
        assert_eq!(AttackKind::SynFlood.max_probes(), 2_097_152);
    }
}
