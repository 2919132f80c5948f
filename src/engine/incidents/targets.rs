//! What is tried: hosts and ports, and the ports that answered.

use std::net::IpAddr;

use acsm_filters::HashKey;

use super::distinct::Distinct;

/// Hosts that are kept by address; more are estimated.
const HOSTS_MAX: usize = 256;
/// Ports that are kept in a list; more are kept in a bitmap.
const LIST_MAX: usize = 64;
/// Ports that answered, at most.
const OPEN_MAX: usize = 64;

/// The targets of an incident.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    /// In the order of addresses.
    hosts: Vec<IpAddr>,
    /// Set when there are more.
    more_hosts: Option<Box<Distinct>>,
    ports: Ports,
    open: Vec<u16>,
}

/// A set of ports.
#[derive(Debug, Clone)]
enum Ports {
    /// In order.
    List(Vec<u16>),
    Bitmap(Box<[u64; 1024]>),
}

impl Default for Ports {
    fn default() -> Ports {
        Ports::List(Vec::new())
    }
}

impl Targets {
    /// A packet to this host and port.
    pub fn add(&mut self, host: IpAddr, port: u16, key: HashKey) {
        self.add_host(host, key);
        self.ports.add(port);
    }

    fn add_host(&mut self, host: IpAddr, key: HashKey) {
        let Err(at) = self.hosts.binary_search(&host) else { return };
        if self.hosts.len() < HOSTS_MAX {
            self.hosts.insert(at, host);
            return;
        }
        let hosts = &self.hosts;
        let more = self.more_hosts.get_or_insert_with(|| {
            let mut all = Distinct::default();
            hosts.iter().for_each(|&host| all.add(host, key));
            Box::new(all)
        });
        more.add(host, key);
    }

    /// This port answered.
    pub fn answered(&mut self, port: u16) {
        if let Err(at) = self.open.binary_search(&port)
            && self.open.len() < OPEN_MAX
        {
            self.open.insert(at, port);
        }
    }

    /// Adds the targets of `other`.
    pub fn merge(&mut self, other: &Targets, key: HashKey) {
        other.hosts.iter().for_each(|&host| self.add_host(host, key));
        if let Some(theirs) = &other.more_hosts {
            let hosts = &self.hosts;
            let ours = self.more_hosts.get_or_insert_with(|| {
                let mut all = Distinct::default();
                hosts.iter().for_each(|&host| all.add(host, key));
                Box::new(all)
            });
            ours.merge(theirs);
        }
        other.ports.iter().for_each(|port| self.ports.add(port));
        other.open.iter().for_each(|&port| self.answered(port));
    }

    /// The hosts that are known by address, at most [`HOSTS_MAX`].
    pub fn hosts(&self) -> &[IpAddr] {
        &self.hosts
    }

    /// Whether this is a host that is known by address.
    pub fn has_host(&self, host: IpAddr) -> bool {
        self.hosts.binary_search(&host).is_ok()
    }

    /// How many hosts: exact up to [`HOSTS_MAX`].
    pub fn host_count(&self) -> u64 {
        let known = self.hosts.len() as u64;
        self.more_hosts.as_ref().map_or(known, |more| more.estimate().max(known + 1))
    }

    /// The ports, in order.
    pub fn ports(&self) -> impl Iterator<Item = u16> + '_ {
        self.ports.iter()
    }

    /// How many ports.
    pub fn port_count(&self) -> u64 {
        self.ports.len()
    }

    /// The ports that answered.
    pub fn open(&self) -> &[u16] {
        &self.open
    }
}

impl Ports {
    fn add(&mut self, port: u16) {
        match self {
            Ports::Bitmap(words) => set(words, port),
            Ports::List(list) => {
                let Err(at) = list.binary_search(&port) else { return };
                if list.len() < LIST_MAX {
                    return list.insert(at, port);
                }
                let mut words = Box::new([0; 1024]);
                list.iter().chain([&port]).for_each(|&port| set(&mut words, port));
                *self = Ports::Bitmap(words);
            }
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = u16> + '_> {
        match self {
            Ports::List(list) => Box::new(list.iter().copied()),
            Ports::Bitmap(words) => {
                let is_set = |port: &u16| words[usize::from(port / 64)] >> (port % 64) & 1 == 1;
                Box::new((0..=u16::MAX).filter(is_set))
            }
        }
    }

    fn len(&self) -> u64 {
        match self {
            Ports::List(list) => list.len() as u64,
            Ports::Bitmap(words) => words.iter().map(|word| u64::from(word.count_ones())).sum(),
        }
    }
}

fn set(words: &mut [u64; 1024], port: u16) {
    words[usize::from(port / 64)] |= 1 << (port % 64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_counted_exactly_and_hosts_within_the_error_of_distinct_counts() {
        let (mut targets, key) = (Targets::default(), HashKey::from_seed(1));
        for n in 0..3000u32 {
            targets.add(IpAddr::V4((0x0a00_0000 + n).into()), (n * 7) as u16, key);
            targets.add(IpAddr::V4((0x0a00_0000 + n).into()), (n * 7) as u16, key);
        }
        assert_eq!(targets.port_count(), 3000);
        assert_eq!(targets.ports().count(), 3000);
        assert_eq!(targets.hosts().len(), HOSTS_MAX);
        assert!(targets.host_count().abs_diff(3000) < 4 * 195, "{}", targets.host_count());
    }

    #[test]
    fn few_targets_are_listed() {
        let (mut targets, key) = (Targets::default(), HashKey::from_seed(1));
        let host: IpAddr = "10.0.0.9".parse().unwrap();
        for port in [443, 22, 80, 22] {
            targets.add(host, port, key);
            targets.answered(port);
        }
        assert_eq!(targets.ports().collect::<Vec<_>>(), [22, 80, 443]);
        assert_eq!((targets.open(), targets.hosts()), (&[22, 80, 443][..], &[host][..]));
        assert_eq!((targets.host_count(), targets.port_count()), (1, 3));
    }
}
