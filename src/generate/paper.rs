//! The paper profile: the counts of the hour of CAIDA traffic that the kBF papers measure on.
//!
//! The papers give three figures of it: 908,522 flows (directed pairs), of which 900 have a FIN
//! and 1,658 a RST. The profile has exactly these, and in proportion for other numbers of flows. The
//! rest is like a backbone link: one direction of each connection, mostly begun before the trace,
//! heavy-tailed numbers of packets.

use super::address_plan::{BACKBONE_DESTINATIONS, BACKBONE_SOURCES};
use super::distributions::{Apportion, Popularity, RandomStream, heavy_tailed_size};
use super::one_way::{OneWayPair, OneWayPlan};
use super::schedule::{Start, Talker};
use acsm_filters::rng::Random;

/// Flows in the papers' trace.
pub const PAPER_FLOWS: u64 = 908_522;
/// Flows with a FIN in it.
pub const PAPER_FIN_FLOWS: u64 = 900;
/// Flows with a RST in it.
pub const PAPER_RST_FLOWS: u64 = 1_658;

/// Flows begin within this share of the duration.
const STARTING_SHARE: f64 = 0.9;

/// The parameters of the profile.
#[derive(Debug, Clone, Copy)]
pub struct PaperSpec {
    /// How many directed pairs.
    pub flows: u64,
    /// How many packets, exactly.
    pub packets: u64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// How long the trace is.
    pub duration_nanos: u64,
}

/// The flows of the profile, in the order of their starts.
#[derive(Debug)]
pub struct Paper {
    spec: PaperSpec,
    marks: Marks,
    needed_packets: u64,
    extra: Apportion,
    popularity: Popularity,
    next: u64,
}

impl Paper {
    /// Plans the flows, for at least [`Self::needed_packets`] packets.
    pub fn new(spec: PaperSpec) -> Self {
        let mut marks = Marks::new(spec.flows, spec.seed);
        let both = (0..spec.flows).filter(|_| marks.next() == (true, true)).count();
        let needed_packets = spec.flows + both as u64;
        let weight_sum = (0..spec.flows).map(|index| weight(spec.seed, index).1).sum();
        Paper {
            spec,
            marks: Marks::new(spec.flows, spec.seed),
            needed_packets,
            extra: Apportion::new(spec.packets.saturating_sub(needed_packets), weight_sum),
            popularity: Popularity::new(spec.flows),
            next: 0,
        }
    }

    /// The fewest packets that these flows can have.
    pub fn needed_packets(&self) -> u64 {
        self.needed_packets
    }
}

/// The random numbers of a pair, and its weight as the first of them.
fn weight(seed: u64, index: u64) -> (Random, f64) {
    let mut random = RandomStream::BackbonePair.random(seed, index);
    let weight = heavy_tailed_size(&mut random) - 1.0 + 1e-9;
    (random, weight)
}

impl Iterator for Paper {
    type Item = Start;

    fn next(&mut self) -> Option<Start> {
        let PaperSpec { flows, seed, duration_nanos, .. } = self.spec;
        let index = self.next;
        if index >= flows {
            return None;
        }
        self.next += 1;
        let (mut random, weight) = weight(seed, index);
        let (has_fin, has_rst) = self.marks.next();
        let packets = 1 + u64::from(has_fin && has_rst) + self.extra.share(weight);
        let (source, destination) = self.popularity.pair(index, &mut random);
        let slot = (index as f64 + random.unit()) / flows as f64;
        let plan = OneWayPlan {
            src: BACKBONE_SOURCES.scattered_host(source, seed),
            dst: BACKBONE_DESTINATIONS.scattered_host(destination, seed),
            packets,
            opens: random.chance(0.2),
            has_fin,
            has_rst,
            end_nanos: duration_nanos,
            random,
        };
        let at_nanos = (slot * STARTING_SHARE * duration_nanos as f64) as u64;
        Some(Start { at_nanos, talker: Talker::OneWayPair(OneWayPair::new(plan)) })
    }
}

/// Chooses an exact number of flows with a FIN, and with a RST, one flow after the other.
#[derive(Debug)]
struct Marks {
    random: Random,
    flows_left: u64,
    fins_left: u64,
    rsts_left: u64,
}

impl Marks {
    fn new(flows: u64, seed: u64) -> Self {
        let in_proportion = |count: u64| {
            (u128::from(count) * u128::from(flows) + u128::from(PAPER_FLOWS) / 2)
                / u128::from(PAPER_FLOWS)
        };
        Marks {
            random: RandomStream::BackboneMarks.random(seed, 0),
            flows_left: flows,
            fins_left: in_proportion(PAPER_FIN_FLOWS) as u64,
            rsts_left: in_proportion(PAPER_RST_FLOWS) as u64,
        }
    }

    /// Whether the next flow has a FIN, and whether a RST.
    fn next(&mut self) -> (bool, bool) {
        let fin = self.random.below(self.flows_left) < self.fins_left;
        let rst = self.random.below(self.flows_left) < self.rsts_left;
        self.flows_left = self.flows_left.saturating_sub(1);
        self.fins_left -= u64::from(fin);
        self.rsts_left -= u64::from(rst);
        (fin, rst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_exactly_as_many_marks_as_in_the_papers() {
        for (flows, fins, rsts) in [(PAPER_FLOWS, 900, 1658), (90_852, 90, 166), (1, 0, 0)] {
            for seed in [1, 2] {
                let mut marks = Marks::new(flows, seed);
                let all: Vec<_> = (0..flows).map(|_| marks.next()).collect();
                assert_eq!(all.iter().filter(|(fin, _)| *fin).count(), fins);
                assert_eq!(all.iter().filter(|(_, rst)| *rst).count(), rsts);
            }
        }
    }
}
