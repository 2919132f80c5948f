//! Random draws: sizes and waiting times, shares of an exact total, which client talks to which
//! server.

use super::attack_kind::AttackKind;
use acsm_filters::rng::Random;

/// What random numbers are drawn for. Each purpose has its own sequence, so that one more draw
/// for one purpose changes nothing else.
#[derive(Debug, Clone, Copy)]
pub enum RandomStream {
    /// All about one conversation.
    Conversation,
    /// All about one client.
    Client,
    /// All about one pair of the paper profile.
    BackbonePair,
    /// Which of these pairs carry FIN and RST.
    BackboneMarks,
    /// Which of them begin with a SYN.
    BackboneOpenings,
    /// All about one long-lived connection.
    LongLived,
    /// The packets of a probe.
    Attack(AttackKind),
    /// The sequence numbers of a probe.
    AttackNumbers(AttackKind),
}

impl RandomStream {
    /// The random numbers of item `index`, such as a conversation.
    pub fn random(self, seed: u64, index: u64) -> Random {
        let tag = match self {
            RandomStream::Conversation => 1,
            RandomStream::Client => 2,
            RandomStream::BackbonePair => 3,
            RandomStream::BackboneMarks => 4,
            RandomStream::LongLived => 5,
            RandomStream::BackboneOpenings => 6,
            RandomStream::Attack(kind) => 0x100 + kind as u64,
            RandomStream::AttackNumbers(kind) => 0x200 + kind as u64,
        };
        Random::for_purpose(seed, tag << 40 | index)
    }
}

/// Sizes of flows: a Pareto distribution with exponent 8/7 (Crovella and Bestavros 1997 measured
/// around 1.1), from 1 to about 178,000.
///
/// It is computed with square roots only. They are exact on every machine, unlike `powf` and `ln`,
/// and a seed has to give the same trace everywhere.
pub fn heavy_tailed_size(random: &mut Random) -> f64 {
    let tail = REST_OF_TAIL + random.unit() * (1.0 - REST_OF_TAIL);
    tail.sqrt().sqrt().sqrt() / tail
}

/// The share of the unbounded distribution that is cut off.
const REST_OF_TAIL: f64 = 1e-6;

/// A time with this mean, mostly shorter, sometimes much longer (Lomax with exponent 2).
pub fn heavy_tailed_wait(random: &mut Random, mean_nanos: u64) -> u64 {
    let tail = 1.0 - random.unit();
    ((1.0 / tail.sqrt() - 1.0) * mean_nanos as f64) as u64
}

/// A number between `least` and `most` with a density proportional to 1/x²: doubling it halves
/// how often it is exceeded.
pub fn mostly_small(random: &mut Random, least: f64, most: f64) -> f64 {
    least / (1.0 - random.unit() * (1.0 - least / most))
}

/// Divides a total in proportion to weights, into integers that add up to it exactly.
///
/// The weights are given one by one, in the order in which their sum was computed.
#[derive(Debug, Clone)]
pub struct Apportion {
    total: u64,
    weight_sum: f64,
    weight_so_far: f64,
    given: u64,
}

impl Apportion {
    /// Divides `total` over weights that add up to `weight_sum`.
    pub fn new(total: u64, weight_sum: f64) -> Self {
        Apportion { total, weight_sum, weight_so_far: 0.0, given: 0 }
    }

    /// The share of the next weight.
    pub fn share(&mut self, weight: f64) -> u64 {
        self.weight_so_far += weight;
        let part = if self.weight_sum > 0.0 { self.weight_so_far / self.weight_sum } else { 0.0 };
        let given_after = ((part * self.total as f64) as u64).clamp(self.given, self.total);
        let share = given_after - self.given;
        self.given = given_after;
        share
    }
}

/// How many clients a server of each class has on average.
const CLIENTS_PER_SERVER: [u64; CLASSES] = [500, 100, 20, 4];

/// How many servers each client talks to.
pub const CLASSES: usize = 4;

/// Which client talks to which server. Hosts are numbered from 0 on either side.
///
/// Each client has one conversation with a server of each class: the first class has few servers with
/// many clients, the last many servers with few. The classes are disjoint, so a pair of hosts occurs
/// once. No client talks to more than [`CLASSES`] servers, so none looks like a scanner.
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
    fn shares_add_up_whatever_the_weights() {
        for (count, total) in [(1, 0), (1, 7), (1000, 3), (100_000, 12_345_678)] {
            let weights = || {
                let mut random = Random::new(5);
                (0..count).map(move |_| heavy_tailed_size(&mut random))
            };
            let mut apportion = Apportion::new(total, weights().sum());
            let given: u64 = weights().map(|weight| apportion.share(weight)).sum();
            assert_eq!(given, total);
        }
    }

    /// How many of `n` draws are below the median: binomial with p = 1/2, five deviations.
    fn has_median(n: usize, median: f64, mut draw: impl FnMut() -> f64) -> bool {
        let below = (0..n).filter(|_| draw() < median).count() as f64;
        (below - n as f64 / 2.0).abs() < 5.0 * (n as f64 / 4.0).sqrt()
    }

    #[test]
    fn distributions_have_their_medians_and_bounds() {
        let random = &mut Random::new(1);
        assert!(has_median(100_000, 2f64.powf(7.0 / 8.0), || heavy_tailed_size(random)));
        assert!(has_median(100_000, 2.0 / (1.0 + 0.01), || mostly_small(random, 1.0, 100.0)));
        let median_nanos = (2f64.sqrt() - 1.0) * 1e9;
        assert!(
            has_median(100_000, median_nanos, || heavy_tailed_wait(random, 1_000_000_000) as f64)
        );
        let sizes: Vec<f64> = (0..100_000).map(|_| heavy_tailed_size(random)).collect();
        assert!(sizes.iter().all(|size| (1.0..178_000.0).contains(size)));
        assert!(sizes.iter().any(|size| *size > 1e3), "a heavy tail");
    }

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
