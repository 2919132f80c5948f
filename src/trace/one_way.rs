//! One direction between two hosts, as a backbone sees it.

use std::net::IpAddr;

use super::facts::{FlowCounts, PairFacts};
use super::schedule::Step;
use super::segment::Segment;
use super::sizes::{heavy_tailed_wait, mostly_small};
use crate::flow::TcpFlags;
use acsm_filters::rng::Random;

/// Who sends what to whom.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who sends.
    pub src: IpAddr,
    /// To whom; of the same family.
    pub dst: IpAddr,
    /// Exactly how many packets there are; at least one, and two for both FIN and RST.
    pub packets: u64,
    /// Whether a SYN comes first (if there is room beside FIN and RST).
    pub opens: bool,
    /// Whether a FIN comes last, or last before the RST.
    pub has_fin: bool,
    /// Whether a RST comes last.
    pub has_rst: bool,
    /// When it must be over, in nanoseconds of the trace.
    pub end_nanos: u64,
    /// Where its chances come from.
    pub random: Random,
}

/// The packets of one directed pair of addresses, all with the same ports.
#[derive(Debug, Clone)]
pub struct OneWayPair {
    plan: Plan,
    ports: [u16; 2],
    seq: u32,
    ack: u32,
    mean_gap_nanos: u64,
    pair: PairFacts,
}

impl OneWayPair {
    /// A pair whose first packet is due.
    pub fn new(mut plan: Plan) -> Self {
        let random = &mut plan.random;
        let (well_known, ephemeral) = (
            [443, 443, 80, 80, 25, 22, 1935, 8080][random.below(8) as usize],
            1024 + random.below(64_000) as u16,
        );
        let ports =
            if random.chance(0.5) { [well_known, ephemeral] } else { [ephemeral, well_known] };
        // From a burst of a hundredth of a second to a packet every ten seconds.
        let mean_gap_nanos = mostly_small(random, 1e7, 1e10) as u64;
        let (seq, ack) = (random.next_u64() as u32, random.next_u64() as u32);
        OneWayPair { plan, ports, seq, ack, mean_gap_nanos, pair: PairFacts::default() }
    }

    /// The packet that is due at `now`, and when the next one is.
    pub fn step(&mut self, now: u64) -> Step {
        let (flags, payload_bytes) = self.flags_and_payload();
        self.pair.add(flags);
        let has_ack = flags.has(TcpFlags::ACK);
        let segment = Segment {
            src: self.plan.src,
            dst: self.plan.dst,
            src_port: self.ports[0],
            dst_port: self.ports[1],
            seq: self.seq,
            ack: if has_ack { self.ack } else { 0 },
            flags,
            payload_bytes,
        };
        let controls = flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0);
        self.seq = self.seq.wrapping_add(u32::from(payload_bytes) + controls.count_ones());
        if payload_bytes == 0 && has_ack {
            self.ack = self.ack.wrapping_add(2880); // it answers two segments that go elsewhere
        }
        self.plan.packets = self.plan.packets.saturating_sub(1);
        let next_nanos = (self.plan.packets > 0).then(|| now + self.gap(now));
        Step { segment, next_nanos }
    }

    /// What was seen of its flow.
    pub fn counts(&self) -> FlowCounts {
        let mut counts = FlowCounts { five_tuples: 1, ..FlowCounts::default() };
        counts.add_pair(self.pair);
        counts
    }

    fn flags_and_payload(&mut self) -> (TcpFlags, u16) {
        let Plan { packets, opens, has_fin, has_rst, .. } = self.plan;
        let fins_turn = if has_rst { 2 } else { 1 };
        if has_rst && packets == 1 {
            (TcpFlags::RST, 0)
        } else if has_fin && packets == fins_turn {
            (TcpFlags::FIN.with(TcpFlags::ACK), 0)
        } else if opens && !self.pair.is_seen() {
            (TcpFlags::SYN, 0)
        } else {
            match self.plan.random.below(10) {
                0..4 => (TcpFlags::ACK, 0),
                4..8 => (TcpFlags::ACK, 1440),
                _ => (TcpFlags::PSH.with(TcpFlags::ACK), 1 + self.plan.random.below(1440) as u16),
            }
        }
    }

    fn gap(&mut self, now: u64) -> u64 {
        let natural = heavy_tailed_wait(&mut self.plan.random, self.mean_gap_nanos);
        let left = self.plan.end_nanos.saturating_sub(now) / (self.plan.packets + 1);
        natural.min(left).max(1_000)
    }
}
