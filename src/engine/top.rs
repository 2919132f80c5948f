//! The busiest addresses, in fixed memory: Space-Saving on a sample of packets.
//!
//! Every [`SAMPLE`]th TCP packet is looked at. A counter each for [`COUNTERS`] addresses; an address
//! without one takes over the smallest counter with what is on it, so a count is never too low by
//! more than sampling makes it, and too high by at most [`Talker::at_most_over`]. Whoever sends more
//! than 1/[`COUNTERS`] of all packets is in the table for certain, sampling aside.
//!
//! Metwally, Agrawal, El Abbadi: *Efficient Computation of Frequent and Top-k Elements in Data
//! Streams* (ICDT 2005).

use std::net::IpAddr;

use crate::flow::Packet;

/// One of so many packets is looked at.
pub const SAMPLE: u64 = 16;
/// Addresses counted at once, in each direction.
pub const COUNTERS: usize = 64;

/// An address and about how many packets it sent or got.
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
#[derive(Debug, Clone, Default)]
pub struct TopTalkers {
    seen: u64,
    sources: Counters,
    destinations: Counters,
}

#[derive(Debug, Clone, Default)]
struct Counters(Vec<Talker>);

impl TopTalkers {
    /// Takes in a packet.
    #[inline]
    pub fn observe(&mut self, packet: &Packet) {
        self.seen += 1;
        if self.seen.is_multiple_of(SAMPLE) {
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
    use crate::random::Random;
    use crate::time::Timestamp;

    #[test]
    fn the_busy_are_found_among_many() {
        let mut random = Random::new(7);
        let mut top = TopTalkers::default();
        for n in 0..400_000_u64 {
            let noise = random.next_u64() as u32 | 1 << 31;
            // Two senders with a quarter and an eighth of all packets among strangers.
            let src = match random.next_u64() % 8 {
                0 | 1 => 1,
                2 => 2,
                _ => noise,
            };
            top.observe(&Packet {
                time: Timestamp::from_nanos(n),
                src: IpAddr::V4(src.into()),
                dst: IpAddr::V4(9.into()),
                src_port: 1,
                dst_port: 2,
                flags: TcpFlags::ACK,
                vlan: [0; 2],
                payload_bytes: 0,
                wire_bytes: 100,
            });
        }
        let sources = top.sources(2);
        let addresses: Vec<IpAddr> = sources.iter().map(|talker| talker.address).collect();
        assert_eq!(addresses, [1_u32, 2].map(|n| IpAddr::V4(n.into())));
        // 25,000 sampled, a quarter of them: 6,250 with a standard deviation of 68; five of those.
        let busiest = sources[0].packets / SAMPLE;
        assert!((5_900..=6_600 + 25_000 / 64).contains(&busiest), "{busiest}");
        let all = top.destinations(5);
        assert_eq!((all.len(), all[0].packets, all[0].bytes), (1, 400_000, 40_000_000));
    }
}
