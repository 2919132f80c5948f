//! Labelled attacks on top of the ordinary traffic.
//!
//! An attack is a number of probes at a constant rate within its own time window; a probe is an
//! exchange of one to four packets. Everything about a probe follows from its number and the seed,
//! so only the active probes are kept.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};
use std::net::IpAddr;

use super::address_plan::{ATTACKERS, Network, REFLECTORS, SPOOFED, SWEPT, VICTIMS};
use super::attack_kind::{AttackKind, Exchange, Sender};
use super::counts::{FlowCounts, PairFlags};
use super::distributions::RandomStream;
use super::segment::{Segment, Step};
use crate::flow::TcpFlags;
use crate::time::NANOS_PER_SEC;

/// The time from a packet to its answer.
const ANSWER_NANOS: u64 = 20_000_000;

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
    pairs: HashMap<(IpAddr, IpAddr), PairFlags>,
    five_tuples: HashSet<(IpAddr, IpAddr, u16, u16)>,
    packets: u64,
    last_nanos: u64,
}

/// Both ends of a probe.
#[derive(Debug, Clone, Copy)]
struct Ends {
    attacker: (IpAddr, u16),
    victim: (IpAddr, u16),
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

/// Plans `kinds` for a trace, each in its own time window, in time order.
pub fn plan(kinds: &[AttackKind], seed: u64, packets: u64, duration_nanos: u64) -> Vec<Attack> {
    let slot_nanos = duration_nanos / (kinds.len() as u64 + 1);
    let in_slots = kinds.iter().zip(1u64..);
    in_slots
        .map(|(kind, slot)| {
            let (probes, per_second) = kind.probes_and_rate(packets);
            let start_nanos = slot * slot_nanos - slot_nanos / 2;
            let natural_nanos = probes * NANOS_PER_SEC / per_second;
            let window_nanos = natural_nanos.min(slot_nanos * 4 / 5);
            Attack::new(*kind, seed, probes, (start_nanos, window_nanos))
        })
        .collect()
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
            five_tuples: HashSet::new(),
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
            let next = self.start_nanos + (probe + 1) * self.window_nanos / self.probes;
            self.due.push(Reverse((next.max(now), probe + 1, 0)));
        }
        let exchange = self.exchange(probe);
        if stage + 1 < exchange.len() {
            self.due.push(Reverse((now + ANSWER_NANOS, probe, stage + 1)));
        }
        let segment = self.segment(probe, exchange, stage);
        self.count(now, &segment);
        Step { segment, next_nanos: self.due.peek().map(|Reverse((next, ..))| *next) }
    }

    fn count(&mut self, now: u64, segment: &Segment) {
        let Segment { src, dst, src_port, dst_port, flags, .. } = *segment;
        self.pairs.entry((src, dst)).or_default().add(flags);
        self.five_tuples.insert((src, dst, src_port, dst_port));
        self.packets += 1;
        self.last_nanos = now;
    }

    fn exchange(&self, probe: u64) -> Exchange {
        self.kind.exchange(RandomStream::Attack(self.kind).random(self.seed, probe).below(100))
    }

    fn segment(&self, probe: u64, exchange: Exchange, stage: usize) -> Segment {
        let mut random = RandomStream::AttackNumbers(self.kind).random(self.seed, probe);
        let (mut attackers_seq, mut victims_seq) =
            (random.next_u64() as u32, random.next_u64() as u32);
        let ends = self.ends(probe);
        for (sender, flags) in exchange.iter().take(stage) {
            let controls = (flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0)).count_ones();
            match sender {
                Sender::Attacker => attackers_seq = attackers_seq.wrapping_add(controls),
                Sender::Victim => victims_seq = victims_seq.wrapping_add(controls),
            }
        }
        let (sender, flags) =
            exchange.get(stage).copied().unwrap_or((Sender::Attacker, TcpFlags::RST));
        let (from, to, seq, ack) = match sender {
            Sender::Attacker => (ends.attacker, ends.victim, attackers_seq, victims_seq),
            Sender::Victim => (ends.victim, ends.attacker, victims_seq, attackers_seq),
        };
        let ack = if flags.has(TcpFlags::ACK) { ack } else { 0 };
        let ((src, src_port), (dst, dst_port)) = (from, to);
        Segment { src, dst, src_port, dst_port, seq, ack, flags, payload_bytes: 0 }
    }

    /// The attackers: one host, or a network.
    fn origin(&self) -> Result<IpAddr, Network> {
        match self.kind {
            AttackKind::SynFlood => Err(SPOOFED),
            AttackKind::SynAckReflection => Err(REFLECTORS),
            _ => Ok(ATTACKERS.host(10 + self.kind as u64)),
        }
    }

    /// The victims: one host, or a network.
    fn target(&self) -> Result<IpAddr, Network> {
        match self.kind {
            AttackKind::HostSweep => Err(SWEPT),
            _ => Ok(VICTIMS.host(10 + self.kind as u64)),
        }
    }

    fn ends(&self, probe: u64) -> Ends {
        let of_probe = |network: Network| network.scattered_host(probe, self.seed);
        // 7919 and 65,535 have no common divisor, so ports repeat only after all were used.
        let scattered_port = 1 + ((probe * 7919 + self.seed % 65_535) % 65_535) as u16;
        let (attackers_port, victims_port) = match self.kind {
            AttackKind::SynFlood => (scattered_port, 80),
            AttackKind::SynFloodOneSource => (scattered_port, 443),
            AttackKind::HostSweep => (1024 + (probe % 60_000) as u16, 445),
            AttackKind::RstStorm | AttackKind::FinStorm => (80, scattered_port),
            AttackKind::SynAckReflection => (443, scattered_port),
            _ => (40_000 + (probe % 7) as u16, scattered_port),
        };
        Ends {
            attacker: (self.origin().unwrap_or_else(of_probe), attackers_port),
            victim: (self.target().unwrap_or_else(of_probe), victims_port),
        }
    }

    /// The record of the attack, when it is over.
    pub fn record(&self) -> AttackRecord {
        let mut counts =
            FlowCounts { five_tuples: self.five_tuples.len() as u64, ..FlowCounts::default() };
        self.pairs.values().for_each(|pair| counts.add_pair(*pair));
        let show = |hosts: Result<IpAddr, Network>| match hosts {
            Ok(host) => (host.to_string(), 1),
            Err(network) => (network.to_string(), self.probes),
        };
        let (attackers, attacker_count) = show(self.origin());
        let (victims, victim_count) = show(self.target());
        let victim_ports: BTreeSet<u16> =
            (0..self.probes).map(|probe| self.ends(probe).victim.1).collect();
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
