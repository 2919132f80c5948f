//! The flows of several packets at once, which is faster than one by one.

use std::net::IpAddr;

use super::{Direction, FlowId, Keyer, Packet, ipv4_pair_bits};

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
                Some(([ipv4_pair_bits(packet.src, packet.dst)?], Direction::Forward))
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
    }

    /// Finds the flows of IPv6 packets: their keys are longer, and hashed one by one.
    #[inline(never)]
    fn identify_ipv6(&mut self, keyer: &Keyer, packets: &[Packet]) {
        let places = self.digests.iter_mut().zip(&mut self.directions);
        for (packet, (digest, direction)) in packets.iter().zip(places) {
            if ipv4_pair_bits(packet.src, packet.dst).is_none() {
                let (key, way) = keyer.key(packet);
                let FlowId(bits) = keyer.id(&key);
                (*digest, *direction) = ([bits as u64, (bits >> 64) as u64], way);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowKeyKind;
    use acsm_filters::digest::HashKey;

    #[test]
    fn a_group_gives_the_flow_of_each_packet() {
        let ends = [("10.0.0.1", "10.0.0.2"), ("10.0.0.9", "10.0.0.2"), ("2001:db8::1", "::2")];
        let both_ways = |(a, b): (&str, &str)| {
            let (src, dst) = (a.parse().unwrap(), b.parse().unwrap());
            let there = Packet { src, dst, src_port: 5000, vlan: [7, 0], ..Packet::UNSPECIFIED };
            [there, Packet { src: dst, dst: src, src_port: 0, dst_port: 5000, ..there }]
        };
        let packets: Vec<Packet> = ends.into_iter().cycle().take(9).flat_map(both_ways).collect();
        for (kind, vlan_in_key) in [
            (FlowKeyKind::Pair, false),
            (FlowKeyKind::Pair, true),
            (FlowKeyKind::FiveTuple, false),
            (FlowKeyKind::Connection, false),
        ] {
            let keyer = Keyer { kind, vlan_in_key, hash_key: HashKey::from_seed(1) };
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
