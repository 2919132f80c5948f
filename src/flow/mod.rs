//! Parsed packets, and the flows they belong to.
//!
//! A [`Packet`] holds the fields that the rest of the program reads. A [`Keyer`] makes its [`FlowKey`],
//! by one of several definitions of a flow ([`FlowKeyKind`]), and from that a [`FlowId`]: a keyed
//! 128-bit digest, computed once. Disjoint bits of it give positions, fingerprints and shards to every
//! store. A [`FlowGroup`] computes the digests of several packets at once.

mod group;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

pub use group::FlowGroup;

pub use acsm_filters::FlowId;

use crate::time::Timestamp;
use acsm_filters::HashKey;

/// The eight flag bits of a TCP header (the reserved bits and AE are left out).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TcpFlags(pub u8);

#[allow(missing_docs)] // named as RFC 9293 names them
impl TcpFlags {
    pub const FIN: TcpFlags = TcpFlags(0x01);
    pub const SYN: TcpFlags = TcpFlags(0x02);
    pub const RST: TcpFlags = TcpFlags(0x04);
    pub const PSH: TcpFlags = TcpFlags(0x08);
    pub const ACK: TcpFlags = TcpFlags(0x10);
    pub const URG: TcpFlags = TcpFlags(0x20);
    pub const ECE: TcpFlags = TcpFlags(0x40);
    pub const CWR: TcpFlags = TcpFlags(0x80);
    /// Every flag with its name, lowest bit first.
    pub const NAMED: [(TcpFlags, &'static str); 8] = [
        (Self::FIN, "FIN"),
        (Self::SYN, "SYN"),
        (Self::RST, "RST"),
        (Self::PSH, "PSH"),
        (Self::ACK, "ACK"),
        (Self::URG, "URG"),
        (Self::ECE, "ECE"),
        (Self::CWR, "CWR"),
    ];
}

impl TcpFlags {
    /// Whether all of `flags` are set.
    pub const fn has(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Both sets together.
    pub const fn with(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | flags.0)
    }

    /// Whether this opens a connection: SYN without ACK.
    pub const fn is_opening(self) -> bool {
        self.0 & (Self::SYN.0 | Self::ACK.0) == Self::SYN.0
    }

    /// The six flags of RFC 793, without ECE and CWR.
    pub const fn low_six(self) -> TcpFlags {
        TcpFlags(self.0 & 0x3f)
    }
}

/// `SYN+ACK`; `none` when no flag is set.
impl fmt::Display for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (flag, name) in Self::NAMED {
            if self.has(flag) {
                write!(f, "{separator}{name}")?;
                separator = "+";
            }
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

/// The fields of one TCP segment that a flow monitor needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When it was captured.
    pub time: Timestamp,
    /// Source address of the IP header that carries the TCP header.
    pub src: IpAddr,
    /// Destination address of the same header (never of a routing header).
    pub dst: IpAddr,
    /// TCP source port.
    pub src_port: u16,
    /// TCP destination port.
    pub dst_port: u16,
    /// TCP flags.
    pub flags: TcpFlags,
    /// VLAN ids, outermost first; 0 = no tag (802.1Q gives id 0 that meaning too).
    pub vlan: [u16; 2],
    /// TCP payload bytes according to the IP header: correct in truncated captures too.
    pub payload_bytes: u32,
    /// Length of the whole frame on the wire.
    pub wire_bytes: u32,
}

impl Packet {
    /// A placeholder for slots that are filled later.
    pub const UNSPECIFIED: Packet = Packet {
        time: Timestamp::from_nanos(0),
        src: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        dst: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        src_port: 0,
        dst_port: 0,
        flags: TcpFlags(0),
        vlan: [0; 2],
        payload_bytes: 0,
        wire_bytes: 0,
    };
}

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
        let turned = self.kind == FlowKeyKind::Connection
            && (key.src, key.src_port) > (key.dst, key.dst_port);
        if turned { (key.reversed(), Direction::Backward) } else { (key, Direction::Forward) }
    }

    /// The digest of a flow key.
    #[inline(never)]
    pub fn id(&self, key: &FlowKey) -> FlowId {
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
    /// same as by its [`key`](Self::key), without computing that.
    #[inline]
    fn ipv4_words(&self, packet: &Packet, src: u32, dst: u32) -> ([u64; 2], Direction) {
        let (src, dst) = (u64::from(src), u64::from(dst));
        let (src_port, dst_port) = match self.kind {
            FlowKeyKind::Pair => (0, 0),
            _ => (u64::from(packet.src_port), u64::from(packet.dst_port)),
        };
        let vlan = if self.vlan_in_key { packet.vlan } else { [0; 2] };
        let vlan = u64::from(vlan[0]) << 16 | u64::from(vlan[1]);
        let turned =
            self.kind == FlowKeyKind::Connection && src << 16 | src_port > dst << 16 | dst_port;
        match turned {
            false => {
                ([src << 32 | dst, src_port << 48 | dst_port << 32 | vlan], Direction::Forward)
            }
            true => {
                ([dst << 32 | src, dst_port << 48 | src_port << 32 | vlan], Direction::Backward)
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_as_names_joined_by_plus() {
        assert_eq!(TcpFlags::SYN.with(TcpFlags::ACK).to_string(), "SYN+ACK");
        assert_eq!(TcpFlags::default().to_string(), "none");
        assert!(TcpFlags(0xc2).is_opening(), "an ECN-setup SYN opens");
        assert!(!TcpFlags(0x12).is_opening());
    }

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
            wire_bytes: 60,
        }
    }

    fn keyer(kind: FlowKeyKind) -> Keyer {
        Keyer { kind, vlan_in_key: false, hash_key: HashKey::from_seed(1) }
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
    fn vlan_tags_separate_flows_only_if_configured() {
        let tagged = packet("10.0.0.1", 1, "10.0.0.2", 2);
        let untagged = Packet { vlan: [0; 2], ..tagged };
        let mut pair = keyer(FlowKeyKind::Pair);
        assert_eq!(pair.key(&tagged), pair.key(&untagged));
        pair.vlan_in_key = true;
        assert_ne!(pair.id(&pair.key(&tagged).0), pair.id(&pair.key(&untagged).0));
    }

    #[test]
    fn the_parts_of_an_id_are_disjoint_and_cover_it() {
        let id = FlowId(u128::from_str_radix("123456789abcdef0fedcba9876543210", 16).unwrap());
        let whole = (id.shard() as u128) << 124
            | u128::from(id.fingerprint()) << 92 & ((1 << 124) - 1)
            | u128::from(id.salt()) << 64
            | u128::from(id.position_bits());
        assert_eq!(whole, id.0);
    }
}
