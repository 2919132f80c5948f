//! 5-tuples: their keyed hash, and which of them were seen lately.
//!
//! # Hash
//! Every packet is hashed, so the hash is two folded multiplications and not SipHash. Its keys come
//! from the seed: without the seed, packets cannot be aimed at one place of a table. A collision
//! lowers a count; it never changes the state of a flow.
//!
//! # Seen tuples
//! Two generations of a Bloom filter, one word per key. A key is in the younger generation or the
//! older one. When the younger is full or its period is over, the older is cleared and takes its
//! place. Both words of a key are adjacent, so a packet costs one memory access. A key is kept for
//! one to two periods, or until one to two times the capacity of other keys have been added. The
//! filter fits a second-level cache: a flow that was dropped costs time, not alerts, because its
//! next answer clears it. A false "seen" (3 to 7 %, the older or both generations full) leaves a
//! probe uncounted.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::flow::Packet;
use crate::seed::Seed;
use acsm_filters::memory::prefetch;
use acsm_filters::memory::{Arena, Table};

/// Keys per 64-bit word, on average, at which a generation is full.
const KEYS_PER_BLOCK: usize = 8;

/// Hashes marked as settled: about the number of flows with packets at one time.
const SETTLED: usize = 1024;

/// The hash functions of one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct TupleHasher {
    keys: [u64; 4],
    /// The same with the lowest bit set: factors that are never 0.
    odd_keys: [u64; 4],
}

impl TupleHasher {
    pub fn new(seed: Seed) -> Self {
        let keys = seed.numbers(0x7475_706c);
        TupleHasher { keys, odd_keys: keys.map(|key| key | 1) }
    }

    /// The hash of a packet's 5-tuple, the same for both directions. VLAN tags are left out: a tag
    /// in one direction only is common.
    #[inline(always)] // every packet's
    pub fn tuple(&self, packet: &Packet) -> u64 {
        let (from, to) = self.endpoints(packet);
        let both = fold(from.min(to) ^ self.keys[0], from.max(to) ^ self.keys[1]);
        fold(both ^ self.keys[2], self.odd_keys[3])
    }

    /// Whether the packet goes from the endpoint of its 5-tuple that comes first in canonical
    /// order.
    #[inline]
    pub fn is_forward(&self, packet: &Packet) -> bool {
        let (from, to) = self.endpoints(packet);
        from <= to
    }

    /// The hash of an address together with a number, such as a port or the hash of another address.
    #[inline]
    pub fn address(&self, address: IpAddr, with: u64) -> u64 {
        self.number(self.endpoint(address, 0) ^ with.rotate_left(48))
    }

    /// The hash of a number.
    #[inline]
    pub fn number(&self, number: u64) -> u64 {
        fold(fold(number ^ self.keys[1], self.odd_keys[0]) ^ self.keys[3], self.odd_keys[2])
    }

    #[inline(always)]
    fn endpoints(&self, packet: &Packet) -> (u64, u64) {
        match (packet.src, packet.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                (endpoint_v4(src, packet.src_port), endpoint_v4(dst, packet.dst_port))
            }
            (src, dst) => {
                (self.endpoint(src, packet.src_port), self.endpoint(dst, packet.dst_port))
            }
        }
    }

    fn endpoint(&self, address: IpAddr, port: u16) -> u64 {
        match address {
            IpAddr::V4(v4) => endpoint_v4(v4, port),
            IpAddr::V6(v6) => {
                let bits = v6.to_bits();
                let address = fold((bits >> 64) as u64 ^ self.keys[2], bits as u64 ^ self.keys[3]);
                fold(address ^ self.keys[1], u64::from(port) ^ self.keys[0])
            }
        }
    }
}

#[inline(always)]
fn endpoint_v4(address: Ipv4Addr, port: u16) -> u64 {
    u64::from(address.to_bits()) << 16 | u64::from(port)
}

/// The first address of the prefix with this number of bits, of IPv4 and of IPv6.
#[inline]
pub(super) fn prefix(address: IpAddr, [v4_bits, v6_bits]: [u8; 2]) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let host_bits = 32 - u32::from(v4_bits);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() >> host_bits << host_bits))
        }
        IpAddr::V6(v6) => {
            let host_bits = 128 - u32::from(v6_bits);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> host_bits << host_bits))
        }
    }
}

/// Both halves of the 128-bit product, folded together.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The words of both generations, for the keys of one block.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    young: u64,
    old: u64,
}

/// The 5-tuples seen lately, by their hashes, in fixed memory.
#[derive(Debug)]
pub(super) struct SeenTuples {
    blocks: Table<Block>,
    /// Hashes of the young generation whose packets need no further look, direct-mapped. An empty
    /// slot contains a hash that belongs to another slot.
    settled: Box<[u64; SETTLED]>,
    /// The number of blocks less 1.
    block_mask: usize,
    keys_in_young: usize,
    period_nanos: u64,
    rotate_at_nanos: u64,
}

impl SeenTuples {
    /// Room for `keys` keys per generation of at most `period_nanos`.
    pub fn new_in(arena: &Arena, keys: usize, period_nanos: u64) -> Self {
        let blocks = keys.div_ceil(KEYS_PER_BLOCK).next_power_of_two();
        SeenTuples {
            blocks: arena.small_table(blocks, Block::default()),
            settled: Box::new(NONE_SETTLED),
            block_mask: blocks - 1,
            keys_in_young: 0,
            period_nanos: period_nanos.max(1),
            rotate_at_nanos: 0,
        }
    }

    /// When [`SeenTuples::rotate`] is due next.
    #[inline]
    pub fn rotate_at_nanos(&self) -> u64 {
        self.rotate_at_nanos
    }

    /// Starts a new generation. After a gap of two periods or more nothing is kept.
    #[cold]
    pub fn rotate(&mut self, now_nanos: u64) {
        let late = now_nanos.saturating_sub(self.rotate_at_nanos) >= self.period_nanos;
        self.start_generation();
        if late {
            self.start_generation();
        }
        self.rotate_at_nanos = now_nanos.saturating_add(self.period_nanos);
    }

    /// Adds a hash; returns whether it was there already.
    #[inline(always)] // every packet's
    pub fn touch(&mut self, hash: u64) -> bool {
        let at = self.block_of(hash);
        let Some(block) = self.blocks.get_mut(at) else { return false };
        let bits = word_of(hash);
        if block.young & bits == bits {
            return true;
        }
        let known = block.old & bits == bits;
        block.young |= bits;
        self.keys_in_young += 1;
        if self.keys_in_young > self.blocks.len() * KEYS_PER_BLOCK {
            self.start_generation();
        }
        known
    }

    /// Whether a hash is marked as settled: [`touch`](Self::touch) would return true and change
    /// nothing.
    #[inline(always)]
    pub fn is_settled(&self, hash: u64) -> bool {
        self.settled[hash as usize % SETTLED] == hash
    }

    /// Marks a hash that was just touched as settled.
    #[inline(always)]
    pub fn settle(&mut self, hash: u64) {
        let bits = word_of(hash);
        // The touch may have started a new generation, without this hash.
        if self.blocks.get(self.block_of(hash)).is_some_and(|block| block.young & bits == bits) {
            self.settled[hash as usize % SETTLED] = hash;
        }
    }

    /// Removes the mark: packets of this hash are examined again.
    pub fn unsettle(&mut self, hash: u64) {
        self.settled[hash as usize % SETTLED] = !hash;
    }

    /// Removes all marks: for tests of what they change.
    #[cfg(test)]
    pub fn unsettle_all(&mut self) {
        *self.settled = NONE_SETTLED;
    }

    /// Prefetches the memory of [`touch`](Self::touch).
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(self.blocks.get(self.block_of(hash)));
    }

    #[inline(always)]
    fn block_of(&self, hash: u64) -> usize {
        (hash >> 32) as usize & self.block_mask
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.blocks) + size_of_val(&*self.settled)
    }

    #[cold]
    fn start_generation(&mut self) {
        self.keys_in_young = 0;
        *self.settled = NONE_SETTLED;
        for block in self.blocks.iter_mut() {
            *block = Block { young: 0, old: block.young };
        }
    }
}

/// Each slot contains a hash that belongs to another slot.
const NONE_SETTLED: [u64; SETTLED] = {
    let mut none = [0; SETTLED];
    none[0] = 1;
    none
};

/// Four of the 64 bits.
#[inline]
fn word_of(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63) | 1 << (hash >> 18 & 63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::TcpFlags;
    use crate::time::Timestamp;
    use acsm_filters::rng::Random;

    fn packet(src: IpAddr, src_port: u16, dst: IpAddr, dst_port: u16) -> Packet {
        Packet {
            time: Timestamp::default(),
            src,
            dst,
            src_port,
            dst_port,
            flags: TcpFlags::SYN,
            vlan: [0; 2],
            payload_bytes: 0,
            sequence_sum: 0,
            wire_bytes: 60,
        }
    }

    #[test]
    fn both_directions_hash_alike_and_are_told_apart() {
        let hasher = TupleHasher::new(Seed::Number(1));
        for (a, b) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")] {
            let (a, b) = (a.parse().unwrap(), b.parse().unwrap());
            let (there, back) = (packet(a, 1, b, 2), packet(b, 2, a, 1));
            assert_eq!(hasher.tuple(&there), hasher.tuple(&back));
            assert_ne!(hasher.is_forward(&there), hasher.is_forward(&back));
            assert_ne!(hasher.tuple(&there), hasher.tuple(&packet(a, 2, b, 1)));
            assert_ne!(hasher.tuple(&there), TupleHasher::new(Seed::Number(2)).tuple(&there));
        }
    }

    /// Ports and addresses that count up, as scans and floods have them, fill a table as evenly
    /// as random numbers: chi-squared over 1024 cells stays within five standard deviations.
    #[test]
    fn counting_inputs_spread_evenly_in_high_and_low_bits() {
        let hasher = TupleHasher::new(Seed::Number(3));
        let victim: IpAddr = "192.0.2.1".parse().unwrap();
        for shift in [0, 10, 20, 32, 54] {
            let mut cells = [0u32; 1024];
            let n = 102_400u32;
            for i in 0..n {
                let source = IpAddr::from((0x0a00_0000 + i / 256).to_be_bytes());
                let hash = hasher.tuple(&packet(source, (i % 256) as u16, victim, 80));
                cells[(hash >> shift) as usize % 1024] += 1;
            }
            let expected = f64::from(n) / 1024.0;
            let chi: f64 =
                cells.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
            // 1023 degrees of freedom: standard deviation sqrt(2 * 1023)
            assert!((chi - 1023.0).abs() < 5.0 * 2046f64.sqrt(), "shift {shift}: {chi}");
        }
    }

    #[test]
    fn a_key_is_kept_for_one_to_two_periods() {
        let mut tuples = SeenTuples::new_in(&Arena::default(), 1000, 10);
        let mut random = Random::new(1);
        let keys: Vec<u64> = (0..500).map(|_| random.next_u64()).collect();
        tuples.rotate(0);
        for &key in &keys {
            tuples.touch(key);
        }
        assert!(keys.iter().all(|&key| tuples.touch(key)));
        tuples.rotate(10);
        assert!(keys.iter().all(|&key| tuples.touch(key)), "touched again: young again");
        tuples.rotate(20);
        tuples.rotate(30);
        let still = keys.iter().filter(|&&key| tuples.touch(key)).count();
        assert!(still < 35, "{still} of 500 outlived two rotations");
    }

    #[test]
    fn settled_keys_need_no_touch() {
        skipping_settled_keys_changes_nothing(100);
        // New generations start only when one is full.
        skipping_settled_keys_changes_nothing(u64::MAX);
    }

    /// A table that skips settled keys, compared with one that touches every key.
    fn skipping_settled_keys_changes_nothing(period_nanos: u64) {
        let new = || SeenTuples::new_in(&Arena::default(), 500, period_nanos);
        let (mut skipping, mut touching) = (new(), new());
        let mut random = Random::new(2);
        let keys: Vec<u64> = (0..3000).map(|_| random.next_u64()).collect();
        let (mut skipped, mut unsettled) = (0, 0);
        for now in 0..200_000 {
            // Few keys at a time, and one in ten from anywhere.
            let near = now / 50 + random.below(20);
            let at = if random.below(10) == 0 { random.below(3000) } else { near % 3000 };
            let key = keys[at as usize];
            if now >= touching.rotate_at_nanos() {
                skipping.rotate(now);
                touching.rotate(now);
            }
            let known = touching.touch(key);
            if random.below(50) == 0 {
                skipping.unsettle(key);
                unsettled += 1;
                assert!(!skipping.is_settled(key));
            }
            if skipping.is_settled(key) {
                assert!(known, "{now}");
                skipped += 1;
            } else {
                assert_eq!(skipping.touch(key), known, "{now}");
                skipping.settle(key);
            }
            assert_eq!(skipping.keys_in_young, touching.keys_in_young, "{now}");
        }
        assert!(skipped > 20_000 && unsettled > 1000, "{skipped} {unsettled}");
    }

    #[test]
    fn after_a_gap_of_years_nothing_is_kept() {
        let mut tuples = SeenTuples::new_in(&Arena::default(), 1000, 10);
        tuples.rotate(0);
        tuples.touch(42);
        tuples.rotate(u64::MAX);
        assert!(!tuples.touch(42));
    }

    /// The younger generation full on average half, the older full: with c keys in a word,
    /// Poisson of mean 8, the four bits of an absent key are set with probability (1 − (63/64)^4c)^4, on
    /// average 3.3 %; the younger one, averaged over its filling, adds 0.9 %.
    #[test]
    fn false_positives_are_rare() {
        let mut tuples = SeenTuples::new_in(&Arena::default(), 1 << 16, 1);
        let mut random = Random::new(2);
        let trials = 1 << 18;
        let wrong = (0..trials).filter(|_| tuples.touch(random.next_u64())).count();
        let rate = wrong as f64 / f64::from(trials);
        assert!((0.03..0.06).contains(&rate), "{rate}");
    }
}
