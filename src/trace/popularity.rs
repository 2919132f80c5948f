//! Which client talks to which server: few servers are popular, most are not, and no two
//! conversations are between the same two hosts.
//!
//! Each client has a few conversations, one with a server of each class: the first class has few
//! servers with many clients, the last many servers with few. As the classes are disjoint, a pair
//! of hosts occurs once. The bounds keep ordinary hosts ordinary: no client talks to more than
//! [`CLASSES`] servers, so none looks like a scanner.

use acsm_filters::rng::Random;

/// How many clients a server of each class has on average.
const CLIENTS_PER_SERVER: [u64; CLASSES] = [500, 100, 20, 4];

/// How many servers each client talks to.
pub const CLASSES: usize = 4;

/// Hosts are numbered from 0 on either side.
#[derive(Debug, Clone, Copy)]
pub struct Popularity {
    /// How many servers there are in each class.
    servers: [u64; CLASSES],
}

impl Popularity {
    /// Hosts for `conversations` conversations.
    pub fn new(conversations: u64) -> Self {
        let clients = conversations / CLASSES as u64 + 1;
        Popularity { servers: CLIENTS_PER_SERVER.map(|per_server| clients / per_server + 1) }
    }

    /// The client of conversation `index`.
    pub fn client(index: u64) -> u64 {
        index / CLASSES as u64
    }

    /// The client and the server of conversation `index`.
    pub fn pair(&self, index: u64, random: &mut Random) -> (u64, u64) {
        let class = (index % CLASSES as u64) as usize;
        let first_of_class: u64 = self.servers[..class].iter().sum();
        (Self::client(index), first_of_class + random.below(self.servers[class]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn pairs_are_distinct_and_servers_unequal() {
        let popularity = Popularity::new(100_000);
        let mut random = Random::new(3);
        let pairs: Vec<_> = (0..100_000).map(|index| popularity.pair(index, &mut random)).collect();
        assert_eq!(pairs.iter().collect::<HashSet<_>>().len(), pairs.len());
        let mut clients_of: HashMap<u64, u64> = HashMap::new();
        pairs.iter().for_each(|(_, server)| *clients_of.entry(*server).or_default() += 1);
        let busiest = clients_of.values().max().copied().unwrap_or(0);
        assert!((300..1000).contains(&busiest), "{busiest}");
    }
}
