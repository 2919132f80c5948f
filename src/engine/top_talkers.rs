//! The busiest addresses, in fixed memory: Space-Saving on a sample of packets.
//!
//! One of [`SAMPLE`] TCP packets on average is counted, after random gaps: with a fixed gap, only one
//! side of alternating traffic would be counted. There are [`COUNTERS`] counters; an address without
//! one takes over the smallest counter and its value. Apart from the error of sampling, a count is
//! never too low, is too high by at most [`Talker::at_most_over`], and an address with more than
//! 1/[`COUNTERS`] of all packets is always in the table.
//!
//! Metwally, Agrawal, El Abbadi: *Efficient Computation of Frequent and Top-k Elements in Data
//! Streams* (ICDT 2005).

use std::net::IpAddr;

use crate::flow::Packet;
use acsm_filters::rng::Random;

/// One packet in this number is counted, on average.
pub const SAMPLE: u64 = 16;
/// Addresses counted at once, in each direction.
pub const COUNTERS: usize = 64;

/// An address, with estimates of the packets it sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Talker {
    /// The address.
    pub address: IpAddr,
    /// An estimate of its TCP packets.
    pub packets: u64,
    /// An estimate of their bytes on the wire.
    pub bytes: u64,
    /// By how much `packets` may be too high.
    pub at_most_over: u64,
}

/// The busiest sources and destinations of a run so far.
#[derive(Debug, Clone)]
pub struct TopTalkers {
    random: Random,
    /// Packets until the next one is counted.
    gap: u64,
    sources: Counters,
    destinations: Counters,
}

#[derive(Debug, Clone, Default)]
struct Counters(Vec<Talker>);

/// No address counted yet.
impl Default for TopTalkers {
    fn default() -> Self {
        let (sources, destinations) = (Counters::default(), Counters::default());
        TopTalkers { random: Random::new(SAMPLE), gap: SAMPLE, sources, destinations }
    }
}

impl TopTalkers {
    /// Counts a packet, if it is in the sample.
    #[inline]
    pub fn observe(&mut self, packet: &Packet) {
        self.gap -= 1;
        if self.gap == 0 {
            // 1 to 2 · SAMPLE − 1: SAMPLE on average.
            self.gap = 1 + self.random.below(2 * SAMPLE - 1);
            self.sources.count(packet.src, packet.wire_bytes);
            self.destinations.count(packet.dst, packet.wire_bytes);
        }
    }

    /// The `count` busiest sources, busiest first.
    pub fn sources(&self, count: usize) -> Vec<Talker> {
        self.sources.top(count)
    }

    /// The `count` busiest destinations, busiest first.
    pub fn destinations(&self, count: usize) -> Vec<Talker> {
        self.destinations.top(count)
    }
}

impl Counters {
    fn count(&mut self, address: IpAddr, wire_bytes: u32) {
        let bytes = u64::from(wire_bytes).saturating_mul(SAMPLE);
        if let Some(talker) = self.0.iter_mut().find(|talker| talker.address == address) {
            talker.packets += SAMPLE;
            talker.bytes = talker.bytes.saturating_add(bytes);
            return;
        }
        let fresh = Talker { address, packets: SAMPLE, bytes, at_most_over: 0 };
        if self.0.len() < COUNTERS {
            self.0.push(fresh);
        } else if let Some(least) = self.0.iter_mut().min_by_key(|talker| talker.packets) {
            let over = least.packets;
            *least = Talker { packets: over + SAMPLE, at_most_over: over, ..fresh };
        }
    }

    fn top(&self, count: usize) -> Vec<Talker> {
        let mut talkers = self.0.clone();
        talkers.sort_unstable_by_key(|talker| (std::cmp::Reverse(talker.packets), talker.address));
        talkers.truncate(count);
        talkers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::TcpFlags;
    use crate::time::Timestamp;

    fn packet(src: u32, dst: u32) -> Packet {
        Packet {
            time: Timestamp::default(),
            src: IpAddr::V4(src.into()),
            dst: IpAddr::V4(dst.into()),
            src_port: 1,
            dst_port: 2,
            flags: TcpFlags::ACK,
            vlan: [0; 2],
            payload_bytes: 0,
            sequence_sum: 0,
            wire_bytes: 100,
        }
    }

    /// Of 1.6 million packets about 100,000 are counted, with a standard deviation of 177 (gaps
    /// of 1 to 31: variance 80, over 16 squared), and half of those, 50,000, with one of 158 more.
    #[test]
    fn both_sides_of_alternating_traffic_are_counted() {
        let mut top = TopTalkers::default();
        for n in 0..1_600_000 {
            top.observe(&packet(1 + n % 2, 2 - n % 2));
        }
        for talkers in [top.sources(3), top.destinations(3)] {
            assert_eq!(talkers.len(), 2);
            for talker in talkers {
                let sampled = (talker.packets / SAMPLE) as f64;
                assert!((sampled - 50_000.0).abs() < 5.0 * 182.0, "{sampled}");
            }
        }
    }

    #[test]
    fn busy_addresses_are_found_among_many() {
        let mut random = Random::new(7);
        let mut top = TopTalkers::default();
        for _ in 0..400_000 {
            let noise = random.next_u64() as u32 | 1 << 31;
            // Two senders with a quarter and an eighth of all packets among random ones.
            let src = match random.next_u64() % 8 {
                0 | 1 => 1,
                2 => 2,
                _ => noise,
            };
            top.observe(&packet(src, 9));
        }
        let sources = top.sources(2);
        let addresses: Vec<IpAddr> = sources.iter().map(|talker| talker.address).collect();
        assert_eq!(addresses, [1_u32, 2].map(|n| IpAddr::V4(n.into())));
        // 25,000 sampled, a quarter of them: 6,250 with a standard deviation of 68; five of those.
        let busiest = sources[0].packets / SAMPLE;
        assert!((5_900..=6_600 + 25_000 / 64).contains(&busiest), "{busiest}");
        let all = top.destinations(5);
        assert_eq!((all.len(), all[0].bytes), (1, 100 * all[0].packets));
        // 25,000 counted, with a standard deviation of 88.
        let sampled = all[0].packets / SAMPLE;
        assert!(sampled.abs_diff(25_000) < 5 * 88, "{sampled}");
    }
}
