//! Exact counts over the frames of a trace. Memory grows with the number of flows, not of packets.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher, RandomState};

use crate::capture::FrameCounts;
use crate::capture::parse::Skip;
use crate::flow::{FlowKey, FlowKeyKind, Keyer, Packet, TcpFlags};
use crate::time::Timestamp;
use acsm_filters::digest::HashKey;

const SYN_FIN: TcpFlags = TcpFlags::SYN.with(TcpFlags::FIN);
const XMAS: TcpFlags = TcpFlags::FIN.with(TcpFlags::PSH).with(TcpFlags::URG);

/// Counts over a whole trace.
#[derive(Debug)]
pub struct Facts {
    /// Frames, TCP packets, skipped frames by reason, the time span.
    pub frames: FrameCounts,
    /// TCP packets over IPv6.
    pub ipv6_tcp_packets: u64,
    /// TCP packets with each flag, in the order of [`TcpFlags::NAMED`].
    pub flag_packets: [u64; 8],
    /// TCP packets without any flag.
    pub null_packets: u64,
    /// Counts of each directed address pair.
    pub flows: FlowMap<FlowFacts>,
    /// Directed 5-tuples.
    pub five_tuples: FlowSet,
    by_pair: KeyDigester,
    by_five_tuple: KeyDigester,
}

impl Default for Facts {
    fn default() -> Self {
        Facts {
            frames: FrameCounts::default(),
            ipv6_tcp_packets: 0,
            flag_packets: [0; 8],
            null_packets: 0,
            flows: FlowMap::default(),
            five_tuples: FlowSet::default(),
            by_pair: KeyDigester::new(FlowKeyKind::Pair),
            by_five_tuple: KeyDigester::new(FlowKeyKind::FiveTuple),
        }
    }
}

/// Counts of one flow (a directed address pair).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowFacts {
    /// TCP packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Packets with SYN and without ACK.
    openings: u64,
    flags_seen: TcpFlags,
    syn_fin: bool,
    null: bool,
    xmas: bool,
}

impl Facts {
    /// Counts one frame, given the result of parsing it.
    pub fn add(&mut self, time: Timestamp, parsed: &Result<Packet, Skip>) {
        match parsed {
            Ok(packet) => {
                self.frames.add(time, Ok(packet.wire_bytes));
                self.add_tcp(packet);
            }
            Err(skip) => self.frames.add(time, Err(*skip)),
        }
    }

    fn add_tcp(&mut self, packet: &Packet) {
        self.ipv6_tcp_packets += u64::from(packet.src.is_ipv6());
        self.null_packets += u64::from(packet.flags == TcpFlags::default());
        for ((flag, _), count) in TcpFlags::NAMED.iter().zip(&mut self.flag_packets) {
            *count += u64::from(packet.flags.has(*flag));
        }
        self.five_tuples.insert(self.by_five_tuple.flow(packet));
        self.flows.entry(self.by_pair.flow(packet)).or_default().add(packet);
    }

    /// The number of flows that match `predicate`.
    pub fn count_flows(&self, predicate: impl Fn(&FlowFacts) -> bool) -> u64 {
        self.flows.values().filter(|flow| predicate(flow)).count() as u64
    }
}

impl FlowFacts {
    fn add(&mut self, packet: &Packet) {
        let flags = packet.flags;
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes);
        self.openings += u64::from(flags.is_opening());
        self.flags_seen = self.flags_seen.with(flags);
        self.syn_fin |= flags.has(SYN_FIN);
        self.null |= flags == TcpFlags::default();
        self.xmas |= flags.low_six() == XMAS;
    }

    /// Whether any packet carried `flag`.
    pub fn has(&self, flag: TcpFlags) -> bool {
        self.flags_seen.has(flag)
    }

    /// Whether every packet was a SYN without ACK.
    pub fn is_syn_only(&self) -> bool {
        self.openings == self.packets
    }

    /// Whether a packet carried SYN and FIN together.
    pub fn has_syn_fin(&self) -> bool {
        self.syn_fin
    }

    /// Whether a packet carried none of the eight flags.
    pub fn has_null(&self) -> bool {
        self.null
    }

    /// Whether a packet carried exactly FIN, PSH and URG of the low six flags.
    pub fn has_xmas(&self) -> bool {
        self.xmas
    }
}

/// A map of flows.
pub type FlowMap<T> = HashMap<DigestedKey, T, BuildHasherDefault<DigestHasher>>;
/// A set of flows.
pub type FlowSet = HashSet<DigestedKey, BuildHasherDefault<DigestHasher>>;

/// A flow key with its keyed digest, which is computed on whole words; the standard library would
/// hash the same key byte by byte. Equality compares the keys: a collision of digests costs time only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestedKey {
    /// The key.
    pub key: FlowKey,
    digest: u64,
}

impl Hash for DigestedKey {
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.digest);
    }
}

/// Returns the digest of a key unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not reached by `DigestedKey`, which writes one word.
        for &byte in bytes {
            self.0 = acsm_filters::digest::mix(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }
}

/// Makes digested keys of one kind. The hash key is random for each process, so that a capture
/// cannot be crafted to collide; the counts do not depend on it.
#[derive(Debug, Clone, Copy)]
pub struct KeyDigester(Keyer);

impl KeyDigester {
    /// A digester for flow keys of this kind.
    pub fn new(kind: FlowKeyKind) -> Self {
        let hash_key = HashKey::from_seed(RandomState::new().hash_one(0));
        KeyDigester(Keyer { kind, vlan_in_key: false, hash_key, pairs_directions: false })
    }

    /// The key of the packet's flow.
    #[inline]
    pub fn flow(&self, packet: &Packet) -> DigestedKey {
        let (key, _) = self.0.key(packet);
        DigestedKey { key, digest: self.0.id(&key).position_bits() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flags: u8) -> Packet {
        Packet {
            time: Timestamp::default(),
            src: "192.0.2.1".parse().unwrap(),
            dst: "192.0.2.2".parse().unwrap(),
            src_port: 1000,
            dst_port: 80,
            flags: TcpFlags(flags),
            vlan: [0; 2],
            payload_bytes: 0,
            sequence_sum: 0,
            wire_bytes: 60,
        }
    }

    fn facts_of(flags: &[u8]) -> FlowFacts {
        let mut facts = Facts::default();
        for &flags in flags {
            facts.add(Timestamp::default(), &Ok(packet(flags)));
        }
        *facts.flows.values().next().unwrap()
    }

    #[test]
    fn flows_are_classified_by_any_or_all_of_their_packets() {
        let scan = facts_of(&[0x02, 0xc2]);
        assert!(scan.is_syn_only() && scan.has(TcpFlags::SYN) && !scan.has_null());
        let answered = facts_of(&[0x02, 0x12]);
        assert!(!answered.is_syn_only());
        assert!(facts_of(&[0x10, 0x00]).has_null());
        assert!(!facts_of(&[0x40]).has_null(), "ECE is one of the eight flags");
        assert!(facts_of(&[0x29 | 0x80]).has_xmas(), "CWR is not one of the low six");
        assert!(!facts_of(&[0x39]).has_xmas());
        assert!(facts_of(&[0x03]).has_syn_fin());
        assert!(!facts_of(&[0x02, 0x01]).has_syn_fin(), "one packet must carry both");
    }

    #[test]
    fn packets_are_tcp_packets_plus_skipped() {
        let mut facts = Facts::default();
        facts.add(Timestamp::new(5, 0), &Ok(packet(0x11)));
        facts.add(Timestamp::new(3, 0), &Err(Skip::ALL[0]));
        let frames = &facts.frames;
        assert_eq!(frames.packets, frames.tcp_packets + frames.skipped.total());
        assert_eq!(frames.span, Some((Timestamp::new(3, 0), Timestamp::new(5, 0))));
        assert_eq!(facts.flag_packets, [1, 0, 0, 0, 1, 0, 0, 0]);
    }
}
