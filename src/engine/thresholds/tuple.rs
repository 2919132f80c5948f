//! A fast keyed hash of 5-tuples and addresses.
//!
//! Every packet pays for it, so it is two folded multiplications and no SipHash. Its keys come
//! from the seed: who does not know the seed cannot aim packets at one place of a table, and what
//! a lucky one could gain is a lower count, never a wrong flow state.

use std::net::{IpAddr, Ipv4Addr};

use crate::flow::Packet;
use acsm_filters::rng::Random;

/// The keys of one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct TupleHasher {
    keys: [u64; 4],
    /// The same with their lowest bits set: factors that are never 0.
    odd_keys: [u64; 4],
}

impl TupleHasher {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::for_purpose(seed, 0x7475_706c);
        let keys = std::array::from_fn(|_| random.next_u64());
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

    /// The hash of an address together with a number that tells its use apart.
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

/// Both halves of the 128-bit product, folded together.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::TcpFlags;
    use crate::time::Timestamp;

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
            wire_bytes: 60,
        }
    }

    #[test]
    fn both_directions_hash_alike_and_are_told_apart() {
        let hasher = TupleHasher::new(1);
        for (a, b) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")] {
            let (a, b) = (a.parse().unwrap(), b.parse().unwrap());
            let (there, back) = (packet(a, 1, b, 2), packet(b, 2, a, 1));
            assert_eq!(hasher.tuple(&there), hasher.tuple(&back));
            assert_ne!(hasher.is_forward(&there), hasher.is_forward(&back));
            assert_ne!(hasher.tuple(&there), hasher.tuple(&packet(a, 2, b, 1)));
            assert_ne!(hasher.tuple(&there), TupleHasher::new(2).tuple(&there));
        }
    }

    /// Ports and addresses that count up, as scans and floods have them, fill a table as evenly
    /// as random numbers: chi-squared over 1024 cells stays within five standard deviations.
    #[test]
    fn counting_inputs_spread_evenly_in_high_and_low_bits() {
        let hasher = TupleHasher::new(3);
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
}
