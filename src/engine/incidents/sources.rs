//! Who sends: how many distinct sources, the busiest ones, and whether a prefix dominates.
//!
//! Busiest addresses and prefixes are counted by Misra and Gries (1982): a count is never too
//! high, so a bystander whose address is forged now and then is never called dominant.

use std::net::IpAddr;

use acsm_filters::HashKey;

use super::distinct::Distinct;
use super::index::{NARROW, masked};

/// Addresses, and prefixes, that are counted at once.
const HEAVY: usize = 8;
/// A source with less than this part of the packets is not among the busiest.
const BUSY: u64 = 32;
/// Fewer sources than this are never called spoofed.
const SPOOFED_SOURCES_MIN: u64 = 50;

/// The sources of an incident. Fixed in size.
#[derive(Debug, Clone)]
pub struct Sources {
    distinct: Distinct,
    packets: u64,
    addresses: Heavy,
    prefixes: Heavy,
}

/// Counts of the most frequent items, each a lower bound.
#[derive(Debug, Clone, Default)]
struct Heavy(Vec<(IpAddr, u64)>);

impl Sources {
    /// None yet.
    pub fn new() -> Sources {
        let (addresses, prefixes) = (Heavy::default(), Heavy::default());
        Sources { distinct: Distinct::default(), packets: 0, addresses, prefixes }
    }

    /// Counts a packet of `source`.
    pub fn add(&mut self, source: IpAddr, key: HashKey) {
        self.distinct.add(source, key);
        self.packets += 1;
        self.addresses.add(source, 1);
        self.prefixes.add(masked(source, NARROW), 1);
    }

    /// Also counts what `other` counted.
    pub fn merge(&mut self, other: &Sources) {
        self.distinct.merge(&other.distinct);
        self.packets += other.packets;
        other.addresses.0.iter().for_each(|&(address, count)| self.addresses.add(address, count));
        other.prefixes.0.iter().for_each(|&(prefix, count)| self.prefixes.add(prefix, count));
    }

    /// How many distinct sources there were, about.
    pub fn estimate(&self) -> u64 {
        self.distinct.estimate().min(self.packets)
    }

    /// Whether the addresses are forged, by all appearances: many, with about one packet each, and not
    /// from one prefix.
    pub fn are_spoofed(&self) -> bool {
        let sources = self.estimate();
        let heaviest = self.prefixes.top().map_or(0, |(_, count)| count);
        sources >= SPOOFED_SOURCES_MIN && self.packets < 3 * sources && heaviest < self.packets / 4
    }

    /// The source of at least four in five packets, if there is one.
    pub fn dominant(&self) -> Option<IpAddr> {
        let (address, count) = self.addresses.top()?;
        (5 * count >= 4 * self.packets).then_some(address)
    }

    /// The busiest sources, busiest first: those that are known to have sent more than their share.
    pub fn top(&self) -> Vec<IpAddr> {
        if self.are_spoofed() {
            return Vec::new();
        }
        let mut top = self.addresses.0.clone();
        // Where there are few, all are known.
        if self.distinct.estimate() > HEAVY as u64 {
            top.retain(|(_, count)| count * BUSY >= self.packets);
        }
        top.sort_unstable_by_key(|&(address, count)| (std::cmp::Reverse(count), address));
        top.into_iter().map(|(address, _)| address).collect()
    }
}

impl Heavy {
    fn add(&mut self, item: IpAddr, count: u64) {
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == item) {
            *known += count;
        } else if self.0.len() < HEAVY {
            self.0.push((item, count));
        } else {
            // All lose what the newcomer has, or the newcomer all of it.
            let least = self.0.iter().map(|(_, known)| *known).min().unwrap_or(0).min(count);
            self.0.iter_mut().for_each(|(_, known)| *known -= least);
            self.0.retain(|(_, known)| *known > 0);
            if count > least && self.0.len() < HEAVY {
                self.0.push((item, count - least));
            }
        }
    }

    fn top(&self) -> Option<(IpAddr, u64)> {
        self.0.iter().copied().max_by_key(|&(address, count)| (count, std::cmp::Reverse(address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::rng::Random;

    fn random_v4(random: &mut Random) -> IpAddr {
        IpAddr::V4((random.next_u64() as u32).into())
    }

    #[test]
    fn forged_sources_are_told_from_many_real_ones() {
        let (mut random, key) = (Random::new(2), HashKey::from_seed(7));
        let (mut forged, mut botnet, mut network) =
            (Sources::new(), Sources::new(), Sources::new());
        for n in 0..3000u32 {
            forged.add(random_v4(&mut random), key);
            network.add(IpAddr::V4((0xcb00_7100 + n % 250).into()), key);
        }
        let bots: Vec<IpAddr> = (0..100).map(|_| random_v4(&mut random)).collect();
        (0..3000).for_each(|n| botnet.add(bots[n % 100], key));
        assert!(forged.are_spoofed() && forged.top().is_empty() && forged.dominant().is_none());
        assert!(!botnet.are_spoofed() && !network.are_spoofed());
    }

    #[test]
    fn one_source_among_noise_is_dominant_and_a_bystander_is_not() {
        let (mut random, key) = (Random::new(3), HashKey::from_seed(7));
        let attacker = "203.0.113.9".parse().unwrap();
        let (mut mostly, mut rarely) = (Sources::new(), Sources::new());
        for n in 0..1000 {
            let noise = random_v4(&mut random);
            mostly.add(if n % 10 == 0 { noise } else { attacker }, key);
            rarely.add(if n % 10 == 0 { attacker } else { noise }, key);
        }
        assert_eq!((mostly.dominant(), rarely.dominant()), (Some(attacker), None));
        assert_eq!(mostly.top().first(), Some(&attacker));
    }
}
