//! The paper profile: the counts of the hour of CAIDA traffic that the kBF papers measure on.
//!
//! The papers give three figures of it: 908,522 flows (directed pairs), of which 900 have a FIN
//! and 1,658 a RST. The profile has exactly these, and in proportion for other numbers of flows. The
//! rest is like a backbone link: one direction of each connection, mostly begun before the trace,
//! heavy-tailed numbers of packets. [`PaperTraffic`] changes what the papers do not tell.

use super::address_plan::{BACKBONE_DESTINATIONS, BACKBONE_SOURCES};
use super::distributions::{Apportion, Popularity, RandomStream, heavy_tailed_size};
use super::one_way::{OneWayPair, OneWayPlan, Pace};
use super::paper_roles::{Kind, Role, Roles};
use super::schedule::{Start, Talker};
use crate::time::NANOS_PER_SEC;
use acsm_filters::rng::Random;

/// Flows in the papers' trace.
pub const PAPER_FLOWS: u64 = 908_522;
/// Flows with a FIN in it.
pub const PAPER_FIN_FLOWS: u64 = 900;
/// Flows with a RST in it.
pub const PAPER_RST_FLOWS: u64 = 1_658;

/// Flows begin within this share of the duration.
const STARTING_SHARE: f64 = 0.9;
/// The share of flows that begin with a SYN, unless it is given.
const OPENING_CHANCE: f64 = 0.2;

/// What the papers do not tell of their trace, or tell in numbers that other traces do not share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperTraffic {
    /// The share of flows that are one SYN and nothing else; `None`: those of one packet that begin with
    /// a SYN.
    pub syn_only_share: Option<f64>,
    /// The share of flows that begin with a SYN and go on, so that they change state; `None`: a fifth of
    /// those of two packets and more.
    pub opening_share: Option<f64>,
    /// The share of flows with a FIN; `None`: 900 of 908,522.
    pub fin_share: Option<f64>,
    /// The share of flows with a RST; `None`: 1,658 of 908,522.
    pub rst_share: Option<f64>,
    /// The times between packets.
    pub pace: Pace,
}

impl Default for PaperTraffic {
    fn default() -> Self {
        // From 10 ms to 10 s between packets.
        let pace = Pace::Gaps { least: NANOS_PER_SEC / 100, most: 10 * NANOS_PER_SEC };
        PaperTraffic {
            syn_only_share: None,
            opening_share: None,
            fin_share: None,
            rst_share: None,
            pace,
        }
    }
}

impl PaperTraffic {
    /// Whether the shares leave room for each other, and the times are some.
    pub(super) fn is_possible(&self) -> bool {
        let [syn_only, opening, fin, rst] =
            [self.syn_only_share, self.opening_share, self.fin_share, self.rst_share]
                .map(|share| share.unwrap_or(0.0));
        let room = 1.0 - syn_only + 1e-9;
        let (least, most) = self.pace.ends();
        [opening, fin, rst].iter().all(|share| (0.0..=room).contains(share))
            && (0.0..=1.0).contains(&syn_only)
            && 0 < least
            && least <= most
    }
}

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
