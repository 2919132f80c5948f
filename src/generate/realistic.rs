//! The realistic profile: clients and servers at the border of an enterprise network.
//!
//! Most conversations are complete connections, opened and closed, of heavy-tailed sizes; some are
//! refused, reset or left open. Of some, only a part is in the trace: they were open before it began,
//! or one direction was captured. Those have their own networks, so that packets missing from the
//! trace are not taken for packets missing from the traffic.

use super::address_plan::{
    CLEAN_CLIENTS, CLEAN_SERVERS, DualNetwork, Network, PARTIAL_CLIENTS, PARTIAL_SERVERS,
};
use super::connection::Coverage;
use super::conversation::{Conversation, ConversationPlan};
use super::distributions::{Apportion, Popularity, RandomStream, heavy_tailed_size};
use super::schedule::{Start, Talker};
use crate::time::NANOS_PER_SEC;
use acsm_filters::rng::Random;

/// The parameters of the profile.
#[derive(Debug, Clone, Copy)]
pub struct RealisticSpec {
    /// How many directed pairs.
    pub flows: u64,
    /// How many packets, exactly.
    pub packets: u64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// How long the trace is.
    pub duration_nanos: u64,
    /// The share of conversations in IPv6.
    pub ipv6_share: f64,
    /// Only connections that are opened and closed properly.
    pub well_behaved: bool,
    /// The share of connections that end silently; `None`: a few of those that are the last between
    /// their hosts.
    pub silent_share: Option<f64>,
}

/// The share of flows that are captured in one direction only.
const ONE_WAY_SHARE: f64 = 0.06;
/// Conversations begin within this share of the duration.
const STARTING_SHARE: f64 = 0.85;
/// Connections that were open before appear within this time, and this share of the duration.
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

/// What is known of a conversation before the packets are divided.
struct Draft {
    coverage: Coverage,
    weight: f64,
    random: Random,
}

impl Realistic {
    /// Plans the conversations, for at least [`Self::needed_packets`] packets.
    pub fn new(spec: RealisticSpec) -> Self {
        let share = if spec.well_behaved { 0.0 } else { ONE_WAY_SHARE };
        let one_way = (spec.flows as f64 * share) as u64 / 2 * 2 + spec.flows % 2;
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
            let draft = plan.draft(index);
            plan.needed_packets += draft.coverage.min_packets();
            weight_sum += draft.weight;
        }
        let spare = spec.packets.saturating_sub(plan.needed_packets);
        plan.extra = Apportion::new(spare, weight_sum);
        plan
    }

    /// The fewest packets that these conversations can have.
    pub fn needed_packets(&self) -> u64 {
        self.needed_packets
    }

    fn draft(&self, index: u64) -> Draft {
        let mut random = RandomStream::Conversation.random(self.spec.seed, index);
        let coverage = self.coverage(index, &mut random);
        let weight = match coverage.can_grow() {
            true => heavy_tailed_size(&mut random) - 1.0 + 1e-9,
            false => 0.0,
        };
        Draft { coverage, weight, random }
    }

    fn coverage(&self, index: u64, random: &mut Random) -> Coverage {
        // One of them must be able to take the remaining packets.
        let must_grow = index + 1 == self.conversations;
        let one_way_up_to = |index: u64| index * self.one_way / self.conversations;
        let is_one_way = one_way_up_to(index + 1) > one_way_up_to(index);
        let draw = random.below(1000);
        if is_one_way {
            return match draw {
                0..600 => Coverage::ClientOnly,
                600..700 if !must_grow => Coverage::Unanswered,
                _ => Coverage::ServerOnly,
            };
        }
        let startup = STARTUP_NANOS.min(STARTUP_SHARE * self.spec.duration_nanos as f64);
        let is_startup = self.start_nanos(index, 0.0) < startup;
        match draw {
            _ if self.spec.well_behaved => Coverage::Complete,
            0..600 if is_startup => Coverage::MidStream,
            600..615 if !must_grow => Coverage::Refused,
            _ => Coverage::Complete,
        }
    }

    fn start_nanos(&self, index: u64, in_slot: f64) -> f64 {
        let slot = (index as f64 + in_slot) / self.conversations as f64;
        slot * STARTING_SHARE * self.spec.duration_nanos as f64
    }

    fn network(&self, networks: DualNetwork, client: u64) -> Network {
        let mut random = RandomStream::Client.random(self.spec.seed, client);
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
        let Draft { coverage, weight, mut random } = self.draft(index);
        let packets = coverage.min_packets() + self.extra.share(weight);
        let (client, server) = self.popularity.pair(index, &mut random);
        let (clients, servers) = match coverage {
            Coverage::Complete | Coverage::Refused => (CLEAN_CLIENTS, CLEAN_SERVERS),
            _ => (PARTIAL_CLIENTS, PARTIAL_SERVERS),
        };
        let at_nanos = self.start_nanos(index, random.unit()) as u64;
        let seed = self.spec.seed;
        let conversation = Conversation::new(ConversationPlan {
            client: self.network(clients, client).scattered_host(client, seed),
            server: self.network(servers, client).scattered_host(server, seed),
            coverage,
            packets,
            end_nanos: self.spec.duration_nanos,
            well_behaved: self.spec.well_behaved,
            silent_share: self.spec.silent_share,
            random,
        });
        Some(Start { at_nanos, talker: Talker::Conversation(conversation) })
    }
}
