//! `--profile realistic`: clients and servers as an enterprise's border sees them.
//!
//! Most conversations are whole connections, opened and closed, of heavy-tailed sizes; some are
//! refused, reset or left open. A part of them is seen in part only: open before the trace began,
//! or captured in one direction. Those live in networks of their own, so that nobody mistakes what
//! is missing from the trace for what is missing from the traffic.

use super::Purpose;
use super::conversation::{Conversation, Kind, Plan};
use super::network::{
    CLEAN_CLIENTS, CLEAN_SERVERS, DualNetwork, Network, PARTIAL_CLIENTS, PARTIAL_SERVERS,
};
use super::popularity::Popularity;
use super::schedule::{Start, Talker};
use super::sizes::{Apportion, heavy_tailed_size};
use crate::time::NANOS_PER_SEC;
use acsm_filters::rng::Random;

/// What the profile is asked for.
#[derive(Debug, Clone, Copy)]
pub struct RealisticSpec {
    /// How many directed pairs.
    pub flows: u64,
    /// Exactly how many packets.
    pub packets: u64,
    /// Seed of all chances.
    pub seed: u64,
    /// How long the trace is.
    pub duration_nanos: u64,
    /// The share of conversations in IPv6.
    pub ipv6_share: f64,
    /// Nothing but connections that are opened and closed properly.
    pub well_behaved: bool,
}

/// The share of flows that are captured in one direction only.
const ONE_WAY_SHARE: f64 = 0.06;
/// How much of the trace's time there is for conversations to begin in.
const STARTING_SHARE: f64 = 0.85;
/// Connections that were open before show up within this time, and this share of the trace.
const STARTUP_NANOS: f64 = 5.0 * NANOS_PER_SEC as f64;
const STARTUP_SHARE: f64 = 0.04;

/// The conversations of the profile, in the order of their starts.
#[derive(Debug)]
pub struct Realistic {
    spec: RealisticSpec,
    conversations: u64,
    one_way: u64,
    needed_packets: u64,
    extra: Apportion,
    popularity: Popularity,
    next: u64,
}

/// What is settled of a conversation before sizes are shared out.
struct Sketch {
    kind: Kind,
    weight: f64,
    random: Random,
}

impl Realistic {
    /// Plans the conversations. Fewer packets than [`Self::needed_packets`] are not met.
    pub fn new(spec: RealisticSpec) -> Self {
        let wanted = if spec.well_behaved { 0.0 } else { ONE_WAY_SHARE };
        let one_way = (spec.flows as f64 * wanted) as u64 / 2 * 2 + spec.flows % 2;
        let conversations = (spec.flows - one_way) / 2 + one_way;
        let mut plan = Realistic {
            spec,
            conversations,
            one_way,
            needed_packets: 0,
            extra: Apportion::new(0, 0.0),
            popularity: Popularity::new(conversations),
            next: 0,
        };
        let mut weight_sum = 0.0;
        for index in 0..conversations {
            let sketch = plan.sketch(index);
            plan.needed_packets += sketch.kind.min_packets();
            weight_sum += sketch.weight;
        }
        let spare = spec.packets.saturating_sub(plan.needed_packets);
        plan.extra = Apportion::new(spare, weight_sum);
        plan
    }

    /// The fewest packets that these conversations can have.
    pub fn needed_packets(&self) -> u64 {
        self.needed_packets
    }

    fn sketch(&self, index: u64) -> Sketch {
        let mut random = Purpose::Conversation.random(self.spec.seed, index);
        let kind = self.kind(index, &mut random);
        let weight = match kind.can_grow() {
            true => heavy_tailed_size(&mut random) - 1.0 + 1e-9,
            false => 0.0,
        };
        Sketch { kind, weight, random }
    }

    fn kind(&self, index: u64, random: &mut Random) -> Kind {
        // One of them must be able to take whatever packets are left.
        let must_grow = index + 1 == self.conversations;
        let one_way_up_to = |index: u64| index * self.one_way / self.conversations;
        let is_one_way = one_way_up_to(index + 1) > one_way_up_to(index);
        let draw = random.below(1000);
        if is_one_way {
            return match draw {
                0..600 => Kind::ClientOnly,
                600..700 if !must_grow => Kind::Unanswered,
                _ => Kind::ServerOnly,
            };
        }
        let startup = STARTUP_NANOS.min(STARTUP_SHARE * self.spec.duration_nanos as f64);
        let is_startup = self.start_nanos(index, 0.0) < startup;
        match draw {
            _ if self.spec.well_behaved => Kind::Whole,
            0..600 if is_startup => Kind::MidStream,
            600..615 if !must_grow => Kind::Refused,
            _ => Kind::Whole,
        }
    }

    fn start_nanos(&self, index: u64, in_slot: f64) -> f64 {
        let slot = (index as f64 + in_slot) / self.conversations as f64;
        slot * STARTING_SHARE * self.spec.duration_nanos as f64
    }

    fn network(&self, networks: DualNetwork, client: u64) -> Network {
        let mut random = Purpose::Client.random(self.spec.seed, client);
        if random.chance(self.spec.ipv6_share) { networks.v6 } else { networks.v4 }
    }
}

impl Iterator for Realistic {
    type Item = Start;

    fn next(&mut self) -> Option<Start> {
        let index = self.next;
        if index >= self.conversations {
            return None;
        }
        self.next += 1;
        let Sketch { kind, weight, mut random } = self.sketch(index);
        let packets = kind.min_packets() + self.extra.share(weight);
        let (client, server) = self.popularity.pair(index, &mut random);
        let (clients, servers) = match kind {
            Kind::Whole | Kind::Refused => (CLEAN_CLIENTS, CLEAN_SERVERS),
            _ => (PARTIAL_CLIENTS, PARTIAL_SERVERS),
        };
        let at_nanos = self.start_nanos(index, random.unit()) as u64;
        let seed = self.spec.seed;
        let conversation = Conversation::new(Plan {
            client: self.network(clients, client).scattered_host(client, seed),
            server: self.network(servers, client).scattered_host(server, seed),
            kind,
            packets,
            end_nanos: self.spec.duration_nanos,
            well_behaved: self.spec.well_behaved,
            random,
        });
        Some(Start { at_nanos, talker: Talker::Conversation(conversation) })
    }
}
