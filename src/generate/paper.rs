//! The paper profile: the counts of the hour of CAIDA traffic that the kBF papers measure on.
//!
//! The papers give three figures of it: 908,522 flows (directed pairs), of which 900 have a FIN
//! and 1,658 a RST. The profile has exactly these, and in proportion for other numbers of flows. The
//! rest is like a backbone link: one direction of each connection, mostly begun before the trace,
//! heavy-tailed numbers of packets. [`PaperTraffic`] changes what the papers do not tell.

use super::address_plan::{BACKBONE_DESTINATIONS, BACKBONE_SOURCES};
use super::distributions::{Apportion, Popularity, RandomStream, heavy_tailed_size};
use super::one_way::{OneWayPair, OneWayPlan};
use super::paper_roles::{Kind, Role, Roles};
use super::paper_traffic::PaperTraffic;
use super::schedule::{Start, Talker};
use acsm_filters::rng::Random;

/// Flows begin within this share of the duration.
const STARTING_SHARE: f64 = 0.9;
/// The share of flows that begin with a SYN, unless it is given.
const OPENING_CHANCE: f64 = 0.2;

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
    /// What the papers do not tell.
    pub traffic: PaperTraffic,
}

/// The flows of the profile, in the order of their starts.
#[derive(Debug)]
pub struct Paper {
    spec: PaperSpec,
    roles: Roles,
    needed_packets: u64,
    extra: Apportion,
    popularity: Popularity,
    next: u64,
}

impl Paper {
    /// Plans the flows, for at least [`Self::needed_packets`] packets.
    pub fn new(spec: PaperSpec) -> Self {
        let roles = || Roles::new(spec.flows, spec.seed, &spec.traffic);
        let (mut planned, mut needed_packets, mut weight_sum) = (roles(), 0, 0.0);
        for index in 0..spec.flows {
            let role = planned.next();
            needed_packets += role.least_packets();
            weight_sum += weight(spec.seed, index, role).1;
        }
        Paper {
            spec,
            roles: roles(),
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
fn weight(seed: u64, index: u64, role: Role) -> (Random, f64) {
    let mut random = RandomStream::BackbonePair.random(seed, index);
    let weight = heavy_tailed_size(&mut random) - 1.0 + 1e-9;
    (random, if role.kind == Kind::SynOnly { 0.0 } else { weight })
}

impl Iterator for Paper {
    type Item = Start;

    fn next(&mut self) -> Option<Start> {
        let PaperSpec { flows, seed, duration_nanos, traffic, .. } = self.spec;
        let index = self.next;
        if index >= flows {
            return None;
        }
        self.next += 1;
        let role = self.roles.next();
        let (mut random, weight) = weight(seed, index, role);
        let packets = role.least_packets() + self.extra.share(weight);
        let (source, destination) = self.popularity.pair(index, &mut random);
        let slot = (index as f64 + random.unit()) / flows as f64;
        let drawn = random.chance(OPENING_CHANCE);
        let opens = match role.kind {
            Kind::SynOnly | Kind::Opening => true,
            // Whether it opens is a matter of its packets: one alone would be a flow of SYNs only.
            Kind::Other if packets == 1 => drawn && traffic.syn_only_share.is_none(),
            Kind::Other => drawn && traffic.opening_share.is_none(),
        };
        let plan = OneWayPlan {
            src: BACKBONE_SOURCES.scattered_host(source, seed),
            dst: BACKBONE_DESTINATIONS.scattered_host(destination, seed),
            packets,
            opens,
            has_fin: role.has_fin,
            has_rst: role.has_rst,
            end_nanos: duration_nanos,
            pace: traffic.pace,
            random,
        };
        let at_nanos = (slot * STARTING_SHARE * duration_nanos as f64) as u64;
        Some(Start { at_nanos, talker: Talker::OneWayPair(OneWayPair::new(plan)) })
    }
}
