//! Exact counts over the frames of a trace. Memory grows with the number of flows, not of packets.

use std::cmp::Reverse;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::flows::{Addresses, FlowFacts, GROUP, Kinds, Segment};
use super::shares::{Batch, Share, Shares};
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSlots, PacketSource};
use crate::flow::{Packet, TcpFlags};
use acsm_filters::digest::HashKey;

/// Number of address pairs shown.
const BUSIEST: usize = 10;

/// What is counted while a trace is read.
#[derive(Debug)]
pub struct Facts {
    /// Frames, TCP packets, skipped frames by reason, the time span.
    pub frames: FrameCounts,
    /// TCP packets by their eight flags.
    packets_by_flags: [u64; 256],
    ipv6_tcp_packets: u64,
    hash_key: HashKey,
    shares: Shares,
    packets: Vec<Packet>,
    ipv4_group: Group<1>,
    ipv6_group: Group<4>,
}

/// The packets of one version of IP in a group, and the digests of their addresses.
#[derive(Debug)]
struct Group<const WORDS: usize> {
    /// Their places in the group.
    places: Vec<u8>,
    addresses: Vec<Addresses<WORDS>>,
    digests: [[u64; 2]; GROUP],
}

impl<const WORDS: usize> Group<WORDS> {
    fn new() -> Self {
        let (places, addresses) = (Vec::with_capacity(GROUP), Vec::with_capacity(GROUP));
        Group { places, addresses, digests: [[0; 2]; GROUP] }
    }

    #[inline]
    fn push(&mut self, place: u8, addresses: Addresses<WORDS>) {
        self.places.push(place);
        self.addresses.push(addresses);
    }

    /// Adds the packets to the batches of their shares. Digests cost less together.
    #[inline]
    fn pass(
        &mut self,
        packets: &[Packet],
        hash_key: HashKey,
        shares: &mut Shares,
        segments_of: impl Fn(&mut Batch) -> &mut Vec<Segment<WORDS>>,
    ) {
        hash_key.digests(&self.addresses, &mut self.digests);
        let known = self.addresses.iter().zip(&self.digests);
        for (&place, (&addresses, &[hash, _])) in self.places.iter().zip(known) {
            let packet = packets.get(usize::from(place));
            if let Some((packet, batch)) = packet.zip(shares.batch(hash)) {
                let Packet { flags, wire_bytes, .. } = *packet;
                let ports = u32::from(packet.src_port) << 16 | u32::from(packet.dst_port);
                segments_of(batch).push(Segment { addresses, hash, ports, wire_bytes, flags });
            }
        }
        self.places.clear();
        self.addresses.clear();
    }
}

impl Facts {
    /// Nothing counted yet. Flows are counted by this number of threads; of one, by the thread that
    /// reads.
    pub fn new(threads: usize) -> Facts {
        // Random for each process: a capture cannot be crafted to collide. Counts do not depend on it.
        let random = RandomState::new();
        let [low, high] = [0, 1].map(|half| u128::from(random.hash_one(half)));
        let hash_key = HashKey::from_bits(low | high << 64);
        Facts {
            frames: FrameCounts::default(),
            packets_by_flags: [0; 256],
            ipv6_tcp_packets: 0,
            hash_key,
            shares: Shares::new(threads, hash_key),
            packets: vec![Packet::UNSPECIFIED; GROUP],
            ipv4_group: Group::new(),
            ipv6_group: Group::new(),
        }
    }

    /// Reads and counts some frames, no more than can be read without waiting but for the first.
    /// Returns whether there may be more.
    pub fn read(
        &mut self,
        source: &mut dyn PacketSource,
        parser: &Parser,
    ) -> Result<bool, CaptureError> {
        let mut slots = PacketSlots::new(parser, &mut self.packets, &mut self.frames);
        let more = source.fill(&mut slots);
        let found = GROUP - slots.free();
        // What was read before an error counts.
        self.add_group(found);
        more
    }

    /// Counts the first `count` of `packets`.
    fn add_group(&mut self, count: usize) {
        let packets = self.packets.get(..count).unwrap_or(&self.packets);
        self.frames.add_packets(packets);
        for (packet, place) in packets.iter().zip(0..) {
            if let Some(count) = self.packets_by_flags.get_mut(usize::from(packet.flags.0)) {
                *count += 1;
            }
            match (packet.src, packet.dst) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => {
                    let addresses = u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits());
                    self.ipv4_group.push(place, [addresses]);
                }
                // Both addresses are from one header, so both are of version 6.
                (src, dst) => {
                    self.ipv6_tcp_packets += 1;
                    let [src, dst] = [src, dst].map(ipv6_bits);
                    let addresses =
                        [(src >> 64) as u64, src as u64, (dst >> 64) as u64, dst as u64];
                    self.ipv6_group.push(place, addresses);
                }
            }
        }
        self.ipv4_group.pass(packets, self.hash_key, &mut self.shares, |batch| &mut batch.ipv4);
        self.ipv6_group.pass(packets, self.hash_key, &mut self.shares, |batch| &mut batch.ipv6);
        self.shares.pass_full();
    }

    /// The counts of frames, and the sums over all flows.
    pub fn finish(self) -> (FrameCounts, Totals) {
        let mut totals = Totals {
            ipv6_tcp_packets: self.ipv6_tcp_packets,
            flag_packets: by_flag(&self.packets_by_flags),
            null_packets: self.packets_by_flags[0],
            ..Totals::default()
        };
        let mut flows_by_flags = [0; 256];
        for Share { ipv4, ipv6 } in self.shares.finish() {
            totals.five_tuples += ipv4.five_tuples() + ipv6.five_tuples();
            let ipv4 = ipv4.iter().map(|(addresses, facts)| (ipv4_pair(addresses), facts));
            let ipv6 = ipv6.iter().map(|(addresses, facts)| (ipv6_pair(addresses), facts));
            for (pair, facts) in ipv4.chain(ipv6) {
                totals.add_flow(pair, &facts);
                if let Some(count) = flows_by_flags.get_mut(usize::from(facts.flags_seen.0)) {
                    *count += 1;
                }
            }
        }
        totals.flag_flows = by_flag(&flows_by_flags);
        (self.frames, totals)
    }
}

fn ipv6_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn ipv4_pair([addresses]: [u64; 1]) -> (IpAddr, IpAddr) {
    let [src, dst] = [addresses >> 32, addresses].map(|bits| Ipv4Addr::from_bits(bits as u32));
    (src.into(), dst.into())
}

fn ipv6_pair([src_high, src_low, dst_high, dst_low]: [u64; 4]) -> (IpAddr, IpAddr) {
    let address = |high, low| Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
    (address(src_high, src_low).into(), address(dst_high, dst_low).into())
}

/// How often each flag is among the flags counted, in the order of [`TcpFlags::NAMED`].
fn by_flag(by_flags: &[u64; 256]) -> [u64; 8] {
    TcpFlags::NAMED.map(|(flag, _)| {
        let with_flag = |(flags, _): &(u8, &u64)| TcpFlags(*flags).has(flag);
        (0..=u8::MAX).zip(by_flags).filter(with_flag).map(|(_, count)| count).sum()
    })
}

/// Sums over a whole trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// TCP packets over IPv6.
    pub ipv6_tcp_packets: u64,
    /// TCP packets with each flag, in the order of [`TcpFlags::NAMED`].
    pub flag_packets: [u64; 8],
    /// TCP packets without any flag.
    pub null_packets: u64,
    /// Flows: directed address pairs.
    pub flows: u64,
    /// Directed 5-tuples.
    pub five_tuples: u64,
    /// Flows of which a packet had the flag, in the same order.
    pub flag_flows: [u64; 8],
    /// Flows of which every packet was a SYN without ACK.
    pub syn_only_flows: u64,
    /// Flows of which a packet carried SYN and FIN together.
    pub syn_fin_flows: u64,
    /// Flows of which a packet carried none of the eight flags.
    pub null_flows: u64,
    /// Flows of which a packet carried exactly FIN, PSH and URG of the low six flags.
    pub xmas_flows: u64,
    /// Flows by the number of their packets: 1, 2 to 3, 4 to 7 and so on.
    pub size_classes: Vec<u64>,
    /// The flows with the most packets, by falling number; with as many, by addresses.
    pub busiest: Vec<BusyPair>,
}

/// A pair of addresses, and what was counted of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusyPair {
    /// Source and destination.
    pub pair: (IpAddr, IpAddr),
    /// TCP packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Totals {
    /// Flows of which a packet had the flag, which is one.
    pub fn flows_with(&self, flag: TcpFlags) -> u64 {
        self.flag_flows.get(flag.0.trailing_zeros() as usize).copied().unwrap_or(0)
    }

    fn add_flow(&mut self, pair: (IpAddr, IpAddr), facts: &FlowFacts) {
        let FlowFacts { packets, bytes, kinds, .. } = *facts;
        self.flows += 1;
        self.syn_only_flows += u64::from(!kinds.has(Kinds::NO_OPENING));
        self.syn_fin_flows += u64::from(kinds.has(Kinds::SYN_FIN));
        self.null_flows += u64::from(kinds.has(Kinds::NULL));
        self.xmas_flows += u64::from(kinds.has(Kinds::XMAS));
        let class = packets.max(1).ilog2() as usize;
        if self.size_classes.len() <= class {
            self.size_classes.resize(class + 1, 0);
        }
        if let Some(count) = self.size_classes.get_mut(class) {
            *count += 1;
        }
        self.offer(BusyPair { pair, packets, bytes });
    }

    /// Puts a flow among the busiest, if it is one of them.
    fn offer(&mut self, busy: BusyPair) {
        let rank = |busy: &BusyPair| (Reverse(busy.packets), busy.pair);
        let last = self.busiest.last().filter(|_| self.busiest.len() == BUSIEST);
        if last.is_some_and(|last| rank(last) <= rank(&busy)) {
            return;
        }
        self.busiest.truncate(BUSIEST - 1);
        let place = self.busiest.partition_point(|other| rank(other) < rank(&busy));
        self.busiest.insert(place, busy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flags: u8) -> Packet {
        Packet {
            src: "192.0.2.1".parse().unwrap(),
            dst: "192.0.2.2".parse().unwrap(),
            src_port: 1000,
            dst_port: 80,
            flags: TcpFlags(flags),
            wire_bytes: 60,
            ..Packet::UNSPECIFIED
        }
    }

    fn totals_with(threads: usize, packets: &[Packet]) -> Totals {
        let mut facts = Facts::new(threads);
        for group in packets.chunks(GROUP) {
            facts.packets[..group.len()].copy_from_slice(group);
            facts.add_group(group.len());
        }
        let (frames, totals) = facts.finish();
        assert_eq!(frames.tcp_packets, packets.len() as u64);
        totals
    }

    fn totals_of(packets: &[Packet]) -> Totals {
        totals_with(1, packets)
    }

    #[test]
    fn any_number_of_threads_counts_the_same() {
        let mut random = acsm_filters::rng::Random::new(1);
        let packets: Vec<Packet> = (0..40_000)
            .map(|_| random.next_u64())
            .map(|bits| Packet {
                src: match bits % 5 {
                    0 => Ipv6Addr::from_bits(u128::from(bits >> 8) % 700).into(),
                    _ => Ipv4Addr::from_bits((bits >> 8) as u32 % 700).into(),
                },
                src_port: (bits >> 56) as u16 & 3,
                dst: match bits % 5 {
                    0 => Ipv6Addr::LOCALHOST.into(),
                    _ => Ipv4Addr::LOCALHOST.into(),
                },
                ..packet((bits >> 48) as u8 & 0x13)
            })
            .collect();
        let one = totals_of(&packets);
        let mut five_tuples: Vec<_> =
            packets.iter().map(|packet| (packet.src, packet.dst, packet.src_port)).collect();
        five_tuples.sort_unstable();
        five_tuples.dedup();
        assert_eq!((one.flows, one.five_tuples), (1400, five_tuples.len() as u64));
        for threads in [2, 3, 16] {
            assert_eq!(totals_with(threads, &packets), one);
        }
    }

    #[test]
    fn flows_are_classified_by_any_or_all_of_their_packets() {
        let of = |flags: &[u8]| totals_of(&flags.iter().copied().map(packet).collect::<Vec<_>>());
        let scan = of(&[0x02, 0xc2]);
        assert_eq!((scan.flows, scan.syn_only_flows, scan.null_flows), (1, 1, 0));
        assert_eq!((scan.flows_with(TcpFlags::SYN), scan.flows_with(TcpFlags::FIN)), (1, 0));
        assert_eq!(scan.flag_packets, [0, 2, 0, 0, 0, 0, 1, 1]);
        assert_eq!(of(&[0x02, 0x12]).syn_only_flows, 0, "answered");
        assert_eq!(of(&[0x10, 0x00]).null_flows, 1);
        assert_eq!(of(&[0x40]).null_flows, 0, "ECE is one of the eight flags");
        assert_eq!(of(&[0x29 | 0x80]).xmas_flows, 1, "CWR is not one of the low six");
        assert_eq!(of(&[0x39]).xmas_flows, 0);
        assert_eq!(of(&[0x03]).syn_fin_flows, 1);
        assert_eq!(of(&[0x02, 0x01]).syn_fin_flows, 0, "one packet must carry both");
    }

    #[test]
    fn flows_are_directed_pairs_of_either_version() {
        let there = packet(0x02);
        let back = Packet { src: there.dst, dst: there.src, ..there };
        let other_port = Packet { src_port: 1001, ..there };
        let mapped = |address: IpAddr| IpAddr::V6(Ipv6Addr::from_bits(ipv6_bits(address)));
        let ipv6 = Packet { src: mapped(there.src), dst: mapped(there.dst), ..there };
        let totals = totals_of(&[there, back, other_port, ipv6, there]);
        assert_eq!((totals.flows, totals.five_tuples, totals.ipv6_tcp_packets), (3, 4, 1));
        assert_eq!(totals.size_classes, [2, 1]);
        let busiest: Vec<_> = totals.busiest.iter().map(|busy| (busy.pair, busy.packets)).collect();
        let pair = |packet: &Packet, packets| ((packet.src, packet.dst), packets);
        assert_eq!(busiest, [pair(&there, 3), pair(&back, 1), pair(&ipv6, 1)]);
    }

    #[test]
    fn the_busiest_are_sorted_by_packets_then_addresses() {
        let from = |n: u8| Packet { src: Ipv4Addr::new(10, 0, 0, n).into(), ..packet(0x10) };
        let packets: Vec<Packet> =
            (0..40u8).rev().flat_map(|n| vec![from(n); 1 + usize::from(n / 3)]).collect();
        let busiest = totals_of(&packets).busiest;
        let shown: Vec<(String, u64)> =
            busiest.iter().map(|busy| (busy.pair.0.to_string(), busy.packets)).collect();
        let expected = [39, 36, 37, 38, 33, 34, 35, 30, 31, 32];
        assert_eq!(shown, expected.map(|n| (format!("10.0.0.{n}"), 1 + n / 3)));
    }
}
