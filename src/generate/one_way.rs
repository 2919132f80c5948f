//! One direction between two hosts, as in a capture of a backbone link.

use std::net::IpAddr;

use super::counts::{FlowCounts, PairFlags};
use super::distributions::{heavy_tailed_wait, mostly_small};
use super::segment::{Segment, Step};
use crate::flow::TcpFlags;
use acsm_filters::rng::Random;

/// The times between the packets of pairs. Either is drawn with a density proportional to 1/x²: the median
/// is about twice the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The mean time between two packets of a pair is from `least` to `most`, in nanoseconds.
    Gaps {
        /// The shortest mean.
        least: u64,
        /// The longest.
        most: u64,
    },
    /// A pair of two packets or more lives, on average, from `least` to `most`, whatever the number of its
    /// packets.
    Lifetimes {
        /// The shortest.
        least: u64,
        /// The longest.
        most: u64,
    },
}

impl Pace {
    /// The least and the most.
    pub fn ends(self) -> (u64, u64) {
        match self {
            Pace::Gaps { least, most } | Pace::Lifetimes { least, most } => (least, most),
        }
    }

    /// The mean time between packets of a pair that has `packets`.
    fn mean_gap_nanos(self, packets: u64, random: &mut Random) -> u64 {
        let (least, most) = self.ends();
        let drawn = mostly_small(random, least as f64, most as f64);
        match self {
            Pace::Gaps { .. } => drawn as u64,
            Pace::Lifetimes { .. } => (drawn / packets.saturating_sub(1).max(1) as f64) as u64,
        }
    }
}

/// The parameters of a one-way pair.
#[derive(Debug, Clone)]
pub struct OneWayPlan {
    /// The sender.
    pub src: IpAddr,
    /// The receiver; of the same address family.
    pub dst: IpAddr,
    /// How many packets it has; at least one, and two for both FIN and RST.
    pub packets: u64,
    /// Whether a SYN comes first (if there are packets left beside those for FIN and RST).
    pub opens: bool,
    /// Whether a FIN comes last, or last before the RST.
    pub has_fin: bool,
    /// Whether a RST comes last.
    pub has_rst: bool,
    /// When it must be over, in nanoseconds since the start.
    pub end_nanos: u64,
    /// The times between packets.
    pub pace: Pace,
    /// Its random numbers.
    pub random: Random,
}

/// The packets of one directed pair of addresses, all with the same ports.
#[derive(Debug, Clone)]
pub struct OneWayPair {
    plan: OneWayPlan,
    ports: [u16; 2],
    seq: u32,
    ack: u32,
    mean_gap_nanos: u64,
    pair: PairFlags,
}

impl OneWayPair {
    /// A pair whose first packet is due.
    pub fn new(mut plan: OneWayPlan) -> Self {
        let random = &mut plan.random;
        let (well_known, ephemeral) = (
            [443, 443, 80, 80, 25, 22, 1935, 8080][random.below(8) as usize],
            1024 + random.below(64_000) as u16,
        );
        let ports =
            if random.chance(0.5) { [well_known, ephemeral] } else { [ephemeral, well_known] };
        let mean_gap_nanos = plan.pace.mean_gap_nanos(plan.packets, random);
        let (seq, ack) = (random.next_u64() as u32, random.next_u64() as u32);
        OneWayPair { plan, ports, seq, ack, mean_gap_nanos, pair: PairFlags::default() }
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
            bad_checksum: false,
        };
        let controls = flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0);
        self.seq = self.seq.wrapping_add(u32::from(payload_bytes) + controls.count_ones());
        if payload_bytes == 0 && has_ack {
            self.ack = self.ack.wrapping_add(2880); // it acknowledges two segments of the other direction
        }
        self.plan.packets = self.plan.packets.saturating_sub(1);
        let next_nanos = (self.plan.packets > 0).then(|| now + self.gap(now));
        Step { segment, next_nanos }
    }

    /// The counts of its flow so far.
    pub fn counts(&self) -> FlowCounts {
        let mut counts = FlowCounts { five_tuples: 1, ..FlowCounts::default() };
        counts.add_pair(self.pair);
        counts
    }

    fn flags_and_payload(&mut self) -> (TcpFlags, u16) {
        let OneWayPlan { packets, opens, has_fin, has_rst, .. } = self.plan;
        let fin_at = if has_rst { 2 } else { 1 };
        if has_rst && packets == 1 {
            (TcpFlags::RST, 0)
        } else if has_fin && packets == fin_at {
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
