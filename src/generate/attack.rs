//! Labelled attacks on top of the ordinary traffic.
//!
//! An attack is a number of probes at a constant rate within its own time window; a probe is an
//! exchange of one to five packets. Everything about a probe follows from its number and the seed,
//! so only the active probes are kept.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::net::IpAddr;

use super::attack_ends::Ends;
use super::attack_kind::{AttackKind, AttackSpec};
use super::counts::{FlowCounts, PairFlags};
use super::distributions::RandomStream;
use super::exchange::{Exchange, ProbeNumbers, ProbePacket, Sender};
use super::segment::{Segment, Step};
use crate::time::NANOS_PER_SEC;

/// An active attack.
#[derive(Debug)]
pub struct Attack {
    kind: AttackKind,
    seed: u64,
    start_nanos: u64,
    window_nanos: u64,
    probes: u64,
    /// The packets that are due: when, which probe, which packet of it.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// The pairs that may have more packets.
    pairs: HashMap<(IpAddr, IpAddr), PairFlags>,
    /// The counts of the other pairs, and of the 5-tuples so far.
    counts: FlowCounts,
    packets: u64,
    last_nanos: u64,
}

/// What is known of an attack after it has ended, for the ground truth.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // named as in the ground truth
pub struct AttackRecord {
    pub kind: AttackKind,
    pub attackers: String,
    pub attacker_count: u64,
    pub victims: String,
    pub victim_count: u64,
    pub victim_ports: Vec<u16>,
    pub first_nanos: u64,
    pub last_nanos: u64,
    pub packets: u64,
    pub counts: FlowCounts,
}

/// Plans attacks for a trace of `packets` packets, each in its own time window, in time order.
/// Slow ones are as long as the trace.
pub fn plan(attacks: &[AttackSpec], seed: u64, packets: u64, duration_nanos: u64) -> Vec<Attack> {
    let slot_nanos = duration_nanos / (attacks.len() as u64 + 1);
    let in_slots = attacks.iter().zip(1u64..);
    let mut planned: Vec<Attack> = in_slots
        .map(|(attack, slot)| {
            let (probes, per_second) = attack.kind.probes_and_rate(packets);
            let probes = attack.probes.unwrap_or(probes);
            let per_second = attack.per_second.unwrap_or(per_second);
            if let Some(interval_nanos) = attack.kind.slow_interval_nanos() {
                let window_nanos = duration_nanos / 10 * 9;
                let probes = probes.min(window_nanos / interval_nanos).max(1);
                return Attack::new(attack.kind, seed, probes, (duration_nanos / 20, window_nanos));
            }
            let start_nanos = slot * slot_nanos - slot_nanos / 2;
            let natural_nanos = probes * NANOS_PER_SEC / per_second;
            let window_nanos = natural_nanos.min(slot_nanos * 4 / 5);
            Attack::new(attack.kind, seed, probes, (start_nanos, window_nanos))
        })
        .collect();
    planned.sort_by_key(Attack::start_nanos);
    planned
}

impl Attack {
    fn new(
        kind: AttackKind,
        seed: u64,
        probes: u64,
        (start_nanos, window_nanos): (u64, u64),
    ) -> Self {
        Attack {
            kind,
            seed,
            start_nanos,
            window_nanos,
            probes,
            due: BinaryHeap::from([Reverse((start_nanos, 0, 0))]),
            pairs: HashMap::new(),
            counts: FlowCounts::default(),
            packets: 0,
            last_nanos: start_nanos,
        }
    }

    /// When its first packet is due.
    pub fn start_nanos(&self) -> u64 {
        self.start_nanos
    }

    /// How many packets it has in all.
    pub fn total_packets(&self) -> u64 {
        (0..self.probes).map(|probe| self.exchange(probe).len() as u64).sum()
    }

    /// The packet that is due at `now`, and when the next one is.
    pub fn step(&mut self, now: u64) -> Step {
        let (probe, stage) = match self.due.pop() {
            Some(Reverse((_, probe, stage))) => (probe, stage),
            None => (0, 0), // not reached: there is no step after `next_nanos` was `None`
        };
        if stage == 0 && probe + 1 < self.probes {
            let next = self.start_nanos + in_proportion(self.window_nanos, probe + 1, self.probes);
            self.due.push(Reverse((next.max(now), probe + 1, 0)));
        }
        let exchange = self.exchange(probe);
        if let Some(next) = exchange.get(stage + 1) {
            self.due.push(Reverse((now + next.delay_nanos, probe, stage + 1)));
        }
        let segment = self.segment(probe, exchange, stage);
        self.count(exchange, stage, &segment);
        self.last_nanos = now;
        Step { segment, next_nanos: self.due.peek().map(|Reverse((next, ..))| *next) }
    }

    fn count(&mut self, exchange: Exchange, stage: usize, segment: &Segment) {
        let (src, dst) = (segment.src, segment.dst);
        self.pairs.entry((src, dst)).or_default().add(segment.flags);
        let sender = |packet: &ProbePacket| packet.sender;
        let is_first = exchange.iter().map(sender).position(|from| from == exchange[stage].sender);
        self.counts.five_tuples += u64::from(is_first == Some(stage));
        self.packets += 1;
        if stage + 1 == exchange.len() && self.kind.has_pair_per_probe() {
            for ends in [(src, dst), (dst, src)] {
                let pair = self.pairs.remove(&ends).unwrap_or_default();
                self.counts.add_pair(pair);
            }
        }
    }

    fn exchange(&self, probe: u64) -> Exchange {
        if self.kind == AttackKind::ServiceRestart {
            return AttackKind::restart(probe * 100 / self.probes);
        }
        self.kind.exchange(RandomStream::Attack(self.kind).random(self.seed, probe).below(100))
    }

    fn segment(&self, probe: u64, exchange: Exchange, stage: usize) -> Segment {
        let mut random = RandomStream::AttackNumbers(self.kind).random(self.seed, probe);
        let mut number = || random.next_u64() as u32;
        let mut numbers = ProbeNumbers { attacker: number(), victim: number(), guess: number() };
        exchange[..stage].iter().for_each(|packet| numbers.advance(packet));
        let packet = &exchange[stage];
        let (seq, ack) = numbers.of(packet);
        let Ends { attacker, victim } = self.kind.ends(probe, self.seed);
        let ((src, src_port), (dst, dst_port)) = match packet.sender {
            Sender::Attacker => (attacker, victim),
            Sender::Victim => (victim, attacker),
        };
        let ProbePacket { flags, payload_bytes, bad_checksum, .. } = *packet;
        Segment { src, dst, src_port, dst_port, seq, ack, flags, payload_bytes, bad_checksum }
    }

    /// The record of the attack, when it is over.
    pub fn record(&self) -> AttackRecord {
        let mut counts = self.counts;
        self.pairs.values().for_each(|pair| counts.add_pair(*pair));
        let (attackers, attacker_count) = self.kind.attackers().describe(self.probes);
        let (victims, victim_count) = self.kind.victims().describe(self.probes);
        let victim_ports: BTreeSet<u16> = self.kind.victim_ports(self.probes, self.seed).collect();
        AttackRecord {
            kind: self.kind,
            attackers,
            attacker_count,
            victims,
            victim_count,
            victim_ports: victim_ports.into_iter().collect(),
            first_nanos: self.start_nanos,
            last_nanos: self.last_nanos,
            packets: self.packets,
            counts,
        }
    }
}

/// `part` of `whole` parts of `nanos`, rounded down.
fn in_proportion(nanos: u64, part: u64, whole: u64) -> u64 {
    (u128::from(nanos) * u128::from(part) / u128::from(whole)) as u64
}
