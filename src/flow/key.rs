//! From packets to flows: the flow key, its direction, its keyed digest.

use std::net::{IpAddr, Ipv4Addr};

use super::Packet;
use acsm_filters::{FlowId, HashKey};

/// The definition of a flow: which fields its packets have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlowKeyKind {
    /// Directed (source address, destination address): the papers' flow id.
    Pair,
    /// Directed 5-tuple.
    FiveTuple,
    /// Both directions of a 5-tuple.
    Connection,
}

/// The direction of a packet relative to its flow key. Directed keys have `Forward` only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the key's `src` to its `dst`.
    Forward,
    /// From the key's `dst` to its `src`.
    Backward,
}

/// The full identity of a flow. Fields that the kind of key does not use are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // as in [`Packet`]
pub struct FlowKey {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub src_port: u16,
    pub dst_port: u16,
    pub vlan: [u16; 2],
}

/// Computes the flow of a packet, for one kind of key.
#[derive(Debug, Clone, Copy)]
pub struct Keyer {
    /// The definition of a flow.
    pub kind: FlowKeyKind,
    /// Whether equal addresses in different VLANs are different flows.
    pub vlan_in_key: bool,
    /// The secret of the digests.
    pub hash_key: HashKey,
    /// Whether the two directions of a connection, where they are flows of their own, have digests
    /// that tell of each other: one is the [reverse](FlowId::reverse) of the other. A pending table
    /// needs that, and others have the digests that they always had.
    pub pairs_directions: bool,
}

impl Keyer {
    /// The packet's flow and its direction in it. Always inlined, so that a caller that uses one of
    /// the two computes only that one.
    #[inline(always)]
    pub fn key(&self, packet: &Packet) -> (FlowKey, Direction) {
        let vlan = if self.vlan_in_key { packet.vlan } else { [0; 2] };
        let (src_port, dst_port) = match self.kind {
            FlowKeyKind::Pair => (0, 0),
            _ => (packet.src_port, packet.dst_port),
        };
        let key = FlowKey { src: packet.src, dst: packet.dst, src_port, dst_port, vlan };
        if !self.is_directed() && key.is_turned() {
            (key.reversed(), Direction::Backward)
        } else {
            (key, Direction::Forward)
        }
    }

    /// Whether each direction of a connection is a flow of its own.
    #[inline]
    pub fn is_directed(&self) -> bool {
        self.kind != FlowKeyKind::Connection
    }

    /// Which of the two ends of a connection sent the packet, whatever the kind of key.
    pub fn sender(&self, packet: &Packet) -> Direction {
        match self.key(packet) {
            (key, Direction::Forward) if key.is_turned() => Direction::Backward,
            (_, direction) => direction,
        }
    }

    /// The digest of a flow key.
    #[inline(never)]
    pub fn id(&self, key: &FlowKey) -> FlowId {
        match self.pairs_directions && key.is_turned() {
            true => self.digest(&key.reversed()).reverse(),
            false => self.digest(key),
        }
    }

    /// The digest of the fields of a key.
    fn digest(&self, key: &FlowKey) -> FlowId {
        let hash_key = self.hash_key;
        FlowId(match ipv4_pair_bits(key.src, key.dst) {
            Some(addresses) if self.is_addresses_only() => hash_key.digest([addresses]),
            Some(addresses) => hash_key.digest([addresses, key.rest_bits()]),
            None => {
                let (src, dst) = (bits_128(key.src), bits_128(key.dst));
                let [s, d] = [src, dst].map(|bits| [(bits >> 64) as u64, bits as u64]);
                hash_key.digest([s[0], s[1], d[0], d[1], key.rest_bits()])
            }
        })
    }

    /// The digest's input words for the flow of an IPv4 packet, and the packet's direction in it: the
    /// same as by its [`key`](Self::key), without computing that. Backward with a directed key: the
    /// digest is to be reversed.
    #[inline]
    fn ipv4_words(&self, packet: &Packet, src: u32, dst: u32) -> ([u64; 2], Direction) {
        let (src, dst) = (u64::from(src), u64::from(dst));
        let (src_port, dst_port) = match self.kind {
            FlowKeyKind::Pair => (0, 0),
            _ => (u64::from(packet.src_port), u64::from(packet.dst_port)),
        };
        let vlan = if self.vlan_in_key { packet.vlan } else { [0; 2] };
        let vlan = u64::from(vlan[0]) << 16 | u64::from(vlan[1]);
        let turned = self.sorts_ends() && src << 16 | src_port > dst << 16 | dst_port;
        match turned {
            false => {
                ([src << 32 | dst, src_port << 48 | dst_port << 32 | vlan], Direction::Forward)
            }
            true => {
                ([dst << 32 | src, dst_port << 48 | src_port << 32 | vlan], Direction::Backward)
            }
        }
    }

    /// The same for the flow of an IPv6 packet.
    #[inline]
    fn ipv6_words(&self, packet: &Packet) -> ([u64; 5], Direction) {
        let (src, dst) = (bits_128(packet.src), bits_128(packet.dst));
        let (src_port, dst_port) = match self.kind {
            FlowKeyKind::Pair => (0, 0),
            _ => (u64::from(packet.src_port), u64::from(packet.dst_port)),
        };
        let vlan = if self.vlan_in_key { packet.vlan } else { [0; 2] };
        let vlan = u64::from(vlan[0]) << 16 | u64::from(vlan[1]);
        let words = |src: u128, src_port, dst: u128, dst_port| {
            let [s, d] = [src, dst].map(|bits| [(bits >> 64) as u64, bits as u64]);
            [s[0], s[1], d[0], d[1], src_port << 48 | dst_port << 32 | vlan]
        };
        match self.sorts_ends() && (src, src_port) > (dst, dst_port) {
            false => (words(src, src_port, dst, dst_port), Direction::Forward),
            true => (words(dst, dst_port, src, src_port), Direction::Backward),
        }
    }

    /// Whether both directions of a connection have one input of the digest.
    #[inline]
    fn sorts_ends(&self) -> bool {
        !self.is_directed() || self.pairs_directions
    }

    #[inline]
    fn is_addresses_only(&self) -> bool {
        self.kind == FlowKeyKind::Pair && !self.vlan_in_key
    }
}

#[inline]
fn ipv4_pair_bits(src: IpAddr, dst: IpAddr) -> Option<u64> {
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            Some(u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits()))
        }
        _ => None,
    }
}

/// The key of no flow.
impl Default for FlowKey {
    fn default() -> FlowKey {
        let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        FlowKey { src: unspecified, dst: unspecified, src_port: 0, dst_port: 0, vlan: [0; 2] }
    }
}

impl FlowKey {
    /// The same flow seen from the other end.
    pub const fn reversed(self) -> FlowKey {
        FlowKey {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            vlan: self.vlan,
        }
    }

    /// Whether the greater end comes first.
    #[inline(always)]
    fn is_turned(&self) -> bool {
        (self.src, self.src_port) > (self.dst, self.dst_port)
    }

    /// All but the addresses.
    #[inline]
    fn rest_bits(&self) -> u64 {
        u64::from(self.src_port) << 48
            | u64::from(self.dst_port) << 32
            | u64::from(self.vlan[0]) << 16
            | u64::from(self.vlan[1])
    }
}

fn bits_128(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The flows of up to [`MOST`](FlowGroup::MOST) consecutive packets.
#[derive(Debug, Clone)]
pub struct FlowGroup {
    /// The digests, each with its lower half first.
    digests: [[u64; 2]; FlowGroup::MOST],
    directions: [Direction; FlowGroup::MOST],
}

impl FlowGroup {
    /// The largest number of packets in a group.
    pub const MOST: usize = 16;

    /// The flows of `packets`: of the first [`MOST`](Self::MOST) of them, if there are more.
    #[inline]
    pub fn new(keyer: &Keyer, packets: &[Packet]) -> FlowGroup {
        let mut group = FlowGroup {
            digests: [[0; 2]; FlowGroup::MOST],
            directions: [Direction::Forward; FlowGroup::MOST],
        };
        if keyer.is_addresses_only() {
            group.identify(keyer, packets, |packet| {
                let addresses = ipv4_pair_bits(packet.src, packet.dst)?;
                let turned = keyer.pairs_directions && addresses > addresses.rotate_left(32);
                Some(match turned {
                    false => ([addresses], Direction::Forward),
                    true => ([addresses.rotate_left(32)], Direction::Backward),
                })
            });
        } else {
            group.identify(keyer, packets, |packet| {
                let (IpAddr::V4(src), IpAddr::V4(dst)) = (packet.src, packet.dst) else {
                    return None;
                };
                Some(keyer.ipv4_words(packet, src.to_bits(), dst.to_bits()))
            });
        }
        group
    }

    /// The flow of each packet and its direction in it, in the order of the packets.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, Direction)> {
        let flow = |(&[low, high], &direction): (&[u64; 2], &Direction)| {
            (FlowId(u128::from(low) | u128::from(high) << 64), direction)
        };
        self.digests.iter().zip(&self.directions).map(flow)
    }

    /// Finds the flows of `packets`. `ipv4` returns the digest's input words and the direction of an
    /// IPv4 packet, `None` for others.
    #[inline(always)]
    fn identify<const N: usize>(
        &mut self,
        keyer: &Keyer,
        packets: &[Packet],
        ipv4: impl Fn(&Packet) -> Option<([u64; N], Direction)>,
    ) {
        let (mut words, mut is_all_ipv4) = ([[0; N]; FlowGroup::MOST], true);
        let places = words.iter_mut().zip(&mut self.directions);
        for (packet, (words, direction)) in packets.iter().zip(places) {
            let Some(identified) = ipv4(packet) else {
                is_all_ipv4 = false;
                continue;
            };
            (*words, *direction) = identified;
        }
        let words = words.get(..packets.len()).unwrap_or(&words);
        keyer.hash_key.digests(words, &mut self.digests);
        if !is_all_ipv4 {
            self.identify_ipv6(keyer, packets);
        }
        if keyer.is_directed() && keyer.pairs_directions {
            self.reverse_turned();
        }
    }

    /// Reverses the digests of packets whose ends were turned; directed keys have no backward packets.
    #[inline(never)]
    fn reverse_turned(&mut self) {
        for (digest, direction) in self.digests.iter_mut().zip(&mut self.directions) {
            if *direction == Direction::Backward {
                let [low, high] = digest;
                *low ^= FlowId::REVERSE as u64;
                *high ^= (FlowId::REVERSE >> 64) as u64;
                *direction = Direction::Forward;
            }
        }
    }

    /// Finds the flows of IPv6 packets, whose keys are longer: as [`identify`](Self::identify), those of
    /// the group together.
    #[inline(never)]
    fn identify_ipv6(&mut self, keyer: &Keyer, packets: &[Packet]) {
        let (mut words, mut places) = ([[0; 5]; FlowGroup::MOST], [0; FlowGroup::MOST]);
        let mut found = 0;
        for (place, packet) in packets.iter().enumerate().take(FlowGroup::MOST) {
            if ipv4_pair_bits(packet.src, packet.dst).is_none() {
                (words[found], self.directions[place]) = keyer.ipv6_words(packet);
                places[found] = place;
                found += 1;
            }
        }
        let mut digests = [[0; 2]; FlowGroup::MOST];
        keyer.hash_key.digests(&words[..found], &mut digests);
        for (&place, digest) in places[..found].iter().zip(digests) {
            self.digests[place] = digest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::TcpFlags;
    use crate::time::Timestamp;

    fn packet(src: &str, src_port: u16, dst: &str, dst_port: u16) -> Packet {
        Packet {
            time: Timestamp::default(),
            src: src.parse().unwrap(),
            dst: dst.parse().unwrap(),
            src_port,
            dst_port,
            flags: TcpFlags::SYN,
            vlan: [7, 0],
            payload_bytes: 0,
            sequence_sum: 0,
            wire_bytes: 60,
        }
    }

    fn keyer(kind: FlowKeyKind) -> Keyer {
        let hash_key = HashKey::from_seed(1);
        Keyer { kind, vlan_in_key: false, hash_key, pairs_directions: false }
    }

    #[test]
    fn a_connection_is_one_flow_from_both_ends() {
        for (a, b) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")] {
            let (there, back) = (packet(a, 5000, b, 80), packet(b, 80, a, 5000));
            let connection = keyer(FlowKeyKind::Connection);
            let (key, direction) = connection.key(&there);
            assert_eq!((key, Direction::Forward), (key, direction));
            assert_eq!(connection.key(&back), (key, Direction::Backward));

            let pair = keyer(FlowKeyKind::Pair);
            let (there, back) = (pair.key(&there).0, pair.key(&back).0);
            assert_eq!(there, back.reversed());
            assert_ne!(pair.id(&there), pair.id(&back));
        }
    }

    #[test]
    fn paired_directions_have_digests_that_tell_of_each_other() {
        for (a, b) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")] {
            let (there, back) = (packet(a, 5000, b, 80), packet(b, 80, a, 5000));
            for kind in [FlowKeyKind::Pair, FlowKeyKind::FiveTuple, FlowKeyKind::Connection] {
                let alone = keyer(kind);
                let paired = Keyer { pairs_directions: true, ..alone };
                let id = |keyer: &Keyer, packet: &Packet| keyer.id(&keyer.key(packet).0);
                let [one, other] = [&there, &back].map(|packet| id(&paired, packet));
                match kind {
                    FlowKeyKind::Connection => assert_eq!([one, other], [id(&alone, &there); 2]),
                    _ => assert_eq!(one.reverse(), other),
                }
                assert_eq!((one.shard(), one.salt()), (other.shard(), other.salt()));
                assert_eq!(paired.key(&back), alone.key(&back), "the key itself is the same");
                let senders = [&there, &back].map(|packet| paired.sender(packet));
                assert_eq!(senders, [Direction::Forward, Direction::Backward]);
            }
        }
    }

    #[test]
    fn vlan_tags_separate_flows_only_if_configured() {
        let tagged = packet("10.0.0.1", 1, "10.0.0.2", 2);
        let untagged = Packet { vlan: [0; 2], ..tagged };
        let mut pair = keyer(FlowKeyKind::Pair);
        assert_eq!(pair.key(&tagged), pair.key(&untagged));
        pair.vlan_in_key = true;
        assert_ne!(pair.id(&pair.key(&tagged).0), pair.id(&pair.key(&untagged).0));
    }

    #[test]
    fn a_group_gives_the_flow_of_each_packet() {
        let ends = [("10.0.0.1", "10.0.0.2"), ("10.0.0.9", "10.0.0.2"), ("2001:db8::1", "::2")];
        let both_ways = |(a, b): (&str, &str)| {
            let (src, dst) = (a.parse().unwrap(), b.parse().unwrap());
            let there = Packet { src, dst, src_port: 5000, vlan: [7, 0], ..Packet::UNSPECIFIED };
            [there, Packet { src: dst, dst: src, src_port: 0, dst_port: 5000, ..there }]
        };
        let packets: Vec<Packet> = ends.into_iter().cycle().take(9).flat_map(both_ways).collect();
        for (kind, vlan_in_key, pairs_directions) in [
            (FlowKeyKind::Pair, false, false),
            (FlowKeyKind::Pair, true, false),
            (FlowKeyKind::Pair, false, true),
            (FlowKeyKind::Pair, true, true),
            (FlowKeyKind::FiveTuple, false, false),
            (FlowKeyKind::FiveTuple, true, true),
            (FlowKeyKind::Connection, false, false),
            (FlowKeyKind::Connection, false, true),
        ] {
            let hash_key = HashKey::from_seed(1);
            let keyer = Keyer { kind, vlan_in_key, hash_key, pairs_directions };
            let alone = |packet: &Packet| {
                let (key, direction) = keyer.key(packet);
                (keyer.id(&key), direction)
            };
            for count in 0..=packets.len() {
                let (few, held) = (&packets[..count], count.min(FlowGroup::MOST));
                let group = FlowGroup::new(&keyer, few);
                assert!(group.iter().take(held).eq(few.iter().take(held).map(alone)), "{kind:?}");
            }
        }
    }
}
