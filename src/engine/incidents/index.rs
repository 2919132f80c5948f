//! By which addresses open incidents are found.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::engine::thresholds::ThresholdHit;

/// Prefix lengths of a site: IPv4, IPv6.
pub const NARROW: (u32, u32) = (24, 48);
/// Prefix lengths of a network of sites.
pub const WIDE: (u32, u32) = (16, 32);

/// The network part of an address.
pub fn masked(address: IpAddr, (v4_bits, v6_bits): (u32, u32)) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - v4_bits).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - v6_bits).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

/// What the alerts of an incident have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The one who sends.
    Attacker(IpAddr),
    /// The one who receives.
    Victim(IpAddr),
    /// Those who receive are of one site.
    Site(IpAddr),
    /// Those who receive are of one network.
    Network(IpAddr),
}

impl Group {
    /// The groups of victims that this address belongs to, the smallest first.
    pub fn of_victim(address: IpAddr) -> [Group; 3] {
        let (site, network) = (masked(address, NARROW), masked(address, WIDE));
        [Group::Victim(address), Group::Site(site), Group::Network(network)]
    }

    /// What a flood that a threshold has counted is about: a host, or a prefix if many of its hosts are hit.
    pub fn of_prefix(dst: IpAddr, hit: &ThresholdHit) -> Group {
        const FEW: u64 = 5;
        let [host, site, network] = Group::of_victim(dst);
        match hit.evidence.prefix_bits.map(u32::from) {
            Some(bits) if hit.evidence.targets > FEW => {
                let is_site =
                    bits == NARROW.0 && dst.is_ipv4() || bits == NARROW.1 && dst.is_ipv6();
                if is_site { site } else { network }
            }
            _ => host,
        }
    }

    /// Whether it is about the hosts of a prefix.
    pub fn is_prefix(self) -> bool {
        matches!(self, Group::Site(_) | Group::Network(_))
    }

    /// Whether an address is one of these victims.
    pub fn has_victim(self, address: IpAddr) -> bool {
        match self {
            Group::Attacker(_) => false,
            Group::Victim(victim) => victim == address,
            Group::Site(site) => masked(address, NARROW) == site,
            Group::Network(network) => masked(address, WIDE) == network,
        }
    }

    /// The address in words: one address or a prefix.
    pub fn network(self) -> (IpAddr, u32) {
        let bits = |address: IpAddr, (v4, v6)| if address.is_ipv4() { v4 } else { v6 };
        match self {
            Group::Attacker(address) | Group::Victim(address) => {
                (address, bits(address, (32, 128)))
            }
            Group::Site(site) => (site, bits(site, NARROW)),
            Group::Network(network) => (network, bits(network, WIDE)),
        }
    }
}

const FILTER_WORDS: usize = 64;

/// From groups to open incidents, by number. A small bitmap in front of it answers for packets that
/// have nothing to do with any.
#[derive(Debug)]
pub struct Index {
    numbers: BTreeMap<Group, u64>,
    filter: [u64; FILTER_WORDS],
    /// Groups whose bits are still set.
    removed: usize,
    /// Chosen by the seed, so that a sender cannot choose which bits its addresses have.
    multiplier: u64,
}

impl Index {
    /// An empty index.
    pub fn new(secret: u64) -> Index {
        let (numbers, filter) = (BTreeMap::new(), [0; FILTER_WORDS]);
        Index { numbers, filter, removed: 0, multiplier: secret | 1 }
    }

    /// The open incident of a group.
    #[inline]
    pub fn get(&self, group: Group) -> Option<u64> {
        let (word, bit) = self.place(group);
        match self.filter.get(word).is_some_and(|bits| bits & bit != 0) {
            true => self.numbers.get(&group).copied(),
            false => None,
        }
    }

    pub fn insert(&mut self, group: Group, number: u64) {
        self.numbers.insert(group, number);
        self.mark(group);
    }

    pub fn remove(&mut self, group: Group) {
        self.numbers.remove(&group);
        self.removed += 1;
        // Not every time: many may close at once.
        if self.removed <= self.numbers.len() / 4 {
            return;
        }
        self.removed = 0;
        self.filter = [0; FILTER_WORDS];
        let groups: Vec<Group> = self.numbers.keys().copied().collect();
        groups.into_iter().for_each(|group| self.mark(group));
    }

    fn mark(&mut self, group: Group) {
        let (word, bit) = self.place(group);
        if let Some(bits) = self.filter.get_mut(word) {
            *bits |= bit;
        }
    }

    #[inline]
    fn place(&self, group: Group) -> (usize, u64) {
        let (kind, address) = match group {
            Group::Attacker(address) => (1, address),
            Group::Victim(address) => (2, address),
            Group::Site(address) => (3, address),
            Group::Network(address) => (4, address),
        };
        let bits = match address {
            IpAddr::V4(v4) => u64::from(v4.to_bits()),
            IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64 ^ v6.to_bits() as u64,
        };
        let product = u128::from(bits ^ kind << 60) * u128::from(self.multiplier);
        let hash = product as u64 ^ (product >> 64) as u64;
        (hash as usize % FILTER_WORDS, 1 << (hash >> 58))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_until_they_are_removed() {
        let mut index = Index::new(0x9e37_79b9_7f4a_7c15);
        let groups: Vec<Group> = (0..500u32)
            .flat_map(|n| Group::of_victim(IpAddr::V4((n << 16).into())))
            .chain((0..500u32).map(|n| Group::Attacker(IpAddr::V4(n.into()))))
            .collect();
        for (group, number) in groups.iter().zip(0..) {
            index.insert(*group, number);
        }
        assert!(groups.iter().zip(0..).all(|(group, number)| index.get(*group) == Some(number)));
        groups.iter().skip(10).for_each(|group| index.remove(*group));
        let found = groups.iter().filter(|group| index.get(**group).is_some()).count();
        assert_eq!(found, 10);
    }

    #[test]
    fn prefixes_contain_their_addresses() {
        let address = "198.51.100.77".parse().unwrap();
        assert_eq!(masked(address, NARROW), "198.51.100.0".parse::<IpAddr>().unwrap());
        assert_eq!(masked(address, WIDE), "198.51.0.0".parse::<IpAddr>().unwrap());
        assert!(Group::of_victim(address).iter().all(|group| group.has_victim(address)));
        let v6 = "2001:db8:1:2::3".parse().unwrap();
        assert_eq!(masked(v6, NARROW), "2001:db8:1::".parse::<IpAddr>().unwrap());
    }
}
