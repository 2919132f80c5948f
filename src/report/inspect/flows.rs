//! Exact counts of flows: one slot per directed address pair, which also holds the ports of the first
//! packet, and one per 5-tuple with other ports.
//!
//! Most pairs have one 5-tuple. A slot of an IPv4 pair has 24 bytes: its counters have 32 bits, and go
//! on in a map of long counters when they are full. Packets come in groups: the memory of all is being
//! loaded while the first is counted.

use std::collections::HashMap;

use super::table::{Slot, Table};
use crate::flow::TcpFlags;
use acsm_filters::digest::HashKey;

/// The most packets whose memory is loaded at once.
pub const GROUP: usize = 64;

const SYN_FIN: TcpFlags = TcpFlags::SYN.with(TcpFlags::FIN);
const XMAS: TcpFlags = TcpFlags::FIN.with(TcpFlags::PSH).with(TcpFlags::URG);

/// Source and destination, in words of 64 bits: 1 for IPv4, 4 for IPv6.
pub type Addresses<const WORDS: usize> = [u64; WORDS];

/// What is counted of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Segment<const WORDS: usize> {
    pub addresses: Addresses<WORDS>,
    /// The lower half of the digest of the addresses.
    pub hash: u64,
    /// Source port and destination port.
    pub ports: u32,
    pub wire_bytes: u32,
    pub flags: TcpFlags,
}

/// Counts of one flow (a directed address pair).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowFacts {
    /// TCP packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Flags that any packet carried.
    pub flags_seen: TcpFlags,
    /// What else is known of its packets.
    pub kinds: Kinds,
}

/// The kinds of packets that were seen of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Carried SYN and FIN together.
    pub const SYN_FIN: Kinds = Kinds(1);
    /// Carried none of the eight flags.
    pub const NULL: Kinds = Kinds(2);
    /// Carried exactly FIN, PSH and URG of the low six flags.
    pub const XMAS: Kinds = Kinds(4);
    /// Was anything but a SYN without ACK.
    pub const NO_OPENING: Kinds = Kinds(8);

    /// Whether the flow had a packet of this kind.
    pub const fn has(self, kind: Kinds) -> bool {
        self.0 & kind.0 != 0
    }

    /// The kinds of a packet with these flags.
    #[inline]
    fn of(flags: TcpFlags) -> Kinds {
        let bit = |is: bool, kind: Kinds| if is { kind.0 } else { 0 };
        Kinds(
            bit(flags.has(SYN_FIN), Kinds::SYN_FIN)
                | bit(flags == TcpFlags::default(), Kinds::NULL)
                | bit(flags.low_six() == XMAS, Kinds::XMAS)
                | bit(!flags.is_opening(), Kinds::NO_OPENING),
        )
    }
}

/// An address as it is stored: words of 32 bits need no padding.
type Stored<const WORDS: usize> = [[u32; 2]; WORDS];

fn stored<const WORDS: usize>(addresses: Addresses<WORDS>) -> Stored<WORDS> {
    addresses.map(|word| [(word >> 32) as u32, word as u32])
}

fn loaded<const WORDS: usize>(addresses: Stored<WORDS>) -> Addresses<WORDS> {
    addresses.map(|[high, low]| u64::from(high) << 32 | u64::from(low))
}

/// A pair, with the ports of its first packet.
#[derive(Debug, Clone, Copy)]
struct Pair<const WORDS: usize> {
    addresses: Stored<WORDS>,
    ports: u32,
    packets: u32,
    bytes: u32,
    flags_seen: TcpFlags,
    kinds: Kinds,
    is_used: bool,
}

impl<const WORDS: usize> Slot for Pair<WORDS> {
    type Key = Addresses<WORDS>;
    const VACANT: Self = Pair {
        addresses: [[0; 2]; WORDS],
        ports: 0,
        packets: 0,
        bytes: 0,
        flags_seen: TcpFlags(0),
        kinds: Kinds(0),
        is_used: false,
    };

    #[inline]
    fn is_vacant(&self) -> bool {
        !self.is_used
    }

    #[inline]
    fn key(&self) -> Self::Key {
        loaded(self.addresses)
    }
}

/// The ports of another 5-tuple of a pair.
#[derive(Debug, Clone, Copy)]
struct Tuple<const WORDS: usize> {
    addresses: Stored<WORDS>,
    /// The exclusive or of the ports and those of the pair's first packet: never 0.
    other_ports: u32,
}

impl<const WORDS: usize> Slot for Tuple<WORDS> {
    type Key = (Addresses<WORDS>, u32);
    const VACANT: Self = Tuple { addresses: [[0; 2]; WORDS], other_ports: 0 };

    #[inline]
    fn is_vacant(&self) -> bool {
        self.other_ports == 0
    }

    #[inline]
    fn key(&self) -> Self::Key {
        (loaded(self.addresses), self.other_ports)
    }
}

/// The flows of one version of IP.
#[derive(Debug)]
pub struct Flows<const WORDS: usize> {
    hash_key: HashKey,
    pairs: Table<Pair<WORDS>>,
    other_tuples: Table<Tuple<WORDS>>,
    /// Packets and bytes of pairs whose counters were full, without those counted since.
    long_counters: HashMap<Addresses<WORDS>, (u64, u64)>,
}

impl<const WORDS: usize> Flows<WORDS> {
    /// No flows. Digests have this key.
    pub fn new(hash_key: HashKey) -> Self {
        Flows {
            hash_key,
            pairs: Table::default(),
            other_tuples: Table::default(),
            long_counters: HashMap::new(),
        }
    }

    /// Counts packets.
    pub fn add(&mut self, segments: &[Segment<WORDS>]) {
        segments.chunks(GROUP).for_each(|group| self.add_group(group));
    }

    #[inline(never)] // loops that need all registers
    fn add_group(&mut self, group: &[Segment<WORDS>]) {
        for segment in group {
            self.pairs.prefetch(segment.hash);
        }
        let (mut others, mut other_count) = ([([0; WORDS], 0); GROUP], 0);
        for segment in group {
            let other_ports = self.add_to_pair(segment);
            if other_ports != 0
                && let Some(other) = others.get_mut(other_count)
            {
                *other = (segment.addresses, other_ports);
                other_count += 1;
            }
        }
        if other_count > 0 {
            self.add_tuples(others.get(..other_count).unwrap_or(&others));
        }
    }

    /// Counts a packet. Returns how its ports differ from those of the pair's first.
    #[inline(always)]
    fn add_to_pair(&mut self, segment: &Segment<WORDS>) -> u32 {
        let Segment { addresses, hash, ports, .. } = *segment;
        let new = Pair { addresses: stored(addresses), ports, is_used: true, ..Pair::VACANT };
        let hash_key = self.hash_key;
        let hash_of = |key| hash_key.digest(key) as u64;
        let Some(pair) = self.pairs.get_or_insert(hash, addresses, new, hash_of) else { return 0 };
        let counted = pair.packets.checked_add(1).zip(pair.bytes.checked_add(segment.wire_bytes));
        (pair.packets, pair.bytes) = counted.unwrap_or_else(|| {
            let (packets, bytes) = self.long_counters.entry(addresses).or_default();
            *packets += u64::from(pair.packets);
            *bytes += u64::from(pair.bytes);
            (1, segment.wire_bytes)
        });
        pair.flags_seen = pair.flags_seen.with(segment.flags);
        pair.kinds.0 |= Kinds::of(segment.flags).0;
        pair.ports ^ ports
    }

    #[inline(never)]
    fn add_tuples(&mut self, tuples: &[(Addresses<WORDS>, u32)]) {
        let hash_key = self.hash_key;
        // Of all bits of the pair's digest and the ports: 192 bits, whatever the version of IP.
        let hash_of = |(addresses, ports): (Addresses<WORDS>, u32)| {
            let pair = hash_key.digest(addresses);
            hash_key.digest([pair as u64, (pair >> 64) as u64, u64::from(ports)]) as u64
        };
        let mut hashes = [0; GROUP];
        for (hash, tuple) in hashes.iter_mut().zip(tuples) {
            *hash = hash_of(*tuple);
            self.other_tuples.prefetch(*hash);
        }
        for (&(addresses, other_ports), hash) in tuples.iter().zip(hashes) {
            let new = Tuple { addresses: stored(addresses), other_ports };
            self.other_tuples.get_or_insert(hash, (addresses, other_ports), new, hash_of);
        }
    }

    /// Every flow, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Addresses<WORDS>, FlowFacts)> {
        self.pairs.iter().map(|pair| {
            let addresses = loaded(pair.addresses);
            let (packets, bytes) = match self.long_counters.is_empty() {
                true => (0, 0),
                false => self.long_counters.get(&addresses).copied().unwrap_or_default(),
            };
            let facts = FlowFacts {
                packets: packets + u64::from(pair.packets),
                bytes: bytes + u64::from(pair.bytes),
                flags_seen: pair.flags_seen,
                kinds: pair.kinds,
            };
            (addresses, facts)
        })
    }

    /// The number of directed 5-tuples.
    pub fn five_tuples(&self) -> u64 {
        (self.pairs.len() + self.other_tuples.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use acsm_filters::rng::Random;

    /// Counts one by one, in maps of the standard library.
    #[derive(Default)]
    struct Slow {
        flows: BTreeMap<Addresses<1>, FlowFacts>,
        tuples: BTreeSet<(Addresses<1>, u32)>,
    }

    impl Slow {
        fn add(&mut self, segment: &Segment<1>) {
            let Segment { addresses, ports, wire_bytes, flags, .. } = *segment;
            self.tuples.insert((addresses, ports));
            let flow = self.flows.entry(addresses).or_default();
            flow.packets += 1;
            flow.bytes += u64::from(wire_bytes);
            flow.flags_seen = flow.flags_seen.with(flags);
            flow.kinds.0 |= Kinds::of(flags).0;
        }
    }

    #[test]
    fn groups_count_as_one_by_one() {
        let (mut random, hash_key) = (Random::new(1), HashKey::from_seed(1));
        for (pairs, ports) in [(3, 2), (40, 1), (200, 5), (3000, 300)] {
            let (mut flows, mut slow) = (Flows::<1>::new(hash_key), Slow::default());
            for count in (0..=GROUP + 1).cycle().take(1000) {
                let mut segment = || {
                    let addresses = [random.next_u64() % pairs];
                    Segment {
                        addresses,
                        hash: hash_key.digest(addresses) as u64,
                        ports: (random.next_u64() % ports) as u32,
                        // With this many bytes counters are full after a few packets.
                        wire_bytes: (random.next_u64() >> 32) as u32,
                        flags: TcpFlags(random.next_u64() as u8 & random.next_u64() as u8),
                    }
                };
                let group: Vec<Segment<1>> = (0..count).map(|_| segment()).collect();
                flows.add(&group);
                group.iter().for_each(|segment| slow.add(segment));
            }
            assert!(!flows.long_counters.is_empty());
            assert_eq!(flows.iter().collect::<BTreeMap<_, _>>(), slow.flows);
            assert_eq!(flows.five_tuples(), slow.tuples.len() as u64);
        }
    }

    #[test]
    fn slots_are_small() {
        assert_eq!((size_of::<Pair<1>>(), size_of::<Tuple<1>>()), (24, 12));
        assert_eq!((size_of::<Pair<4>>(), size_of::<Tuple<4>>()), (48, 36));
    }
}
