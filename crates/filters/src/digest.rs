//! The keyed digest of a flow: [`FlowId`].
//!
//! SipHash-1-3 with 128 bits of output: a fast hash that is designed against chosen inputs, so that
//! a sender of packets cannot aim them at one cell of a filter. This implementation takes whole
//! words, which avoids handling single bytes; a test compares it with the `siphasher` crate.
//!
//! Several digests are computed at once where the processor has wide enough registers. A digest is
//! a chain of additions and rotations, each of which waits for the one before; independent digests
//! can be computed in parallel: AVX2 computes four for little more than the cost of one, and AVX-512 has
//! an instruction for rotations. The loop is the ordinary one; compiled again for each of these, LLVM
//! vectorizes it.
#![allow(unsafe_code)]

/// The secret that keys every digest of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashKey {
    k0: u64,
    k1: u64,
}

impl HashKey {
    /// The key for a seed. Anyone who knows the seed can compute the key.
    pub const fn from_seed(seed: u64) -> Self {
        // The first two words of the random stream of this purpose.
        let stream = mix(seed ^ mix(0x6861_7368u64.wrapping_add(GOLDEN)));
        let first = stream.wrapping_add(GOLDEN);
        HashKey { k0: mix(first), k1: mix(first.wrapping_add(GOLDEN)) }
    }

    /// The key with these 128 bits, which are used as they are.
    pub const fn from_bits(bits: u128) -> Self {
        HashKey { k0: bits as u64, k1: (bits >> 64) as u64 }
    }

    /// Its 128 bits, as [`from_bits`](Self::from_bits) takes them.
    pub const fn bits(self) -> u128 {
        self.k0 as u128 | (self.k1 as u128) << 64
    }

    /// SipHash-1-3-128 of `bytes`.
    pub fn digest_bytes(self, bytes: &[u8]) -> u128 {
        let mut sip = Sip::new(self);
        let (words, rest) = bytes.as_chunks();
        for word in words {
            sip.absorb(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        let [low, high] = sip.finish(u64::from_le_bytes(last), bytes.len());
        u128::from(low) | u128::from(high) << 64
    }

    /// SipHash-1-3-128 of `words`, read as little-endian bytes.
    #[inline]
    pub fn digest<const N: usize>(self, words: [u64; N]) -> u128 {
        let [low, high] = self.digest_halves(words);
        u128::from(low) | u128::from(high) << 64
    }

    /// The digest of each of `inputs`, its lower half first, as [`digest`](Self::digest) gives it.
    #[inline]
    pub fn digests<const N: usize>(self, inputs: &[[u64; N]], digests: &mut [[u64; 2]]) {
        digests_of(self, inputs, digests);
    }

    /// The digest's lower and upper half.
    #[inline(always)] // into the loop that is compiled for AVX2
    fn digest_halves<const N: usize>(self, words: [u64; N]) -> [u64; 2] {
        let mut sip = Sip::new(self);
        for word in words {
            sip.absorb(word);
        }
        sip.finish(0, 8 * N)
    }
}

/// A keyed 128-bit digest of the key of a flow, computed once per packet. Stores take positions,
/// fingerprints and shards from disjoint bits, so that these are independent of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u128);

impl FlowId {
    /// The number of shards, independent of the number of workers.
    pub const SHARDS: usize = 16;

    /// What the ids of a flow and of its reverse differ by: position bits, and the first bit of the
    /// fingerprint, so that the two never have the same one.
    pub const REVERSE: u128 = 1 << 123 | u64::from_be_bytes(*b"backward") as u128;

    /// The same connection in the other direction, where directions are flows of their own: in the
    /// same shard, at other positions. For the digest of the sorted ends, and for what this returns.
    #[inline]
    #[must_use]
    pub const fn reverse(self) -> FlowId {
        FlowId(self.0 ^ Self::REVERSE)
    }

    /// Which of the two this is: true for one direction of a connection, false for the other.
    #[inline]
    pub const fn is_second_direction(self) -> bool {
        self.0 >> 123 & 1 != 0
    }

    /// Bits for the positions of cells or slots.
    pub const fn position_bits(self) -> u64 {
        self.0 as u64
    }

    /// 28 bits for salts.
    pub const fn salt(self) -> u32 {
        (self.0 >> 64) as u32 & 0x0fff_ffff
    }

    /// 32 bits for a fingerprint.
    pub const fn fingerprint(self) -> u32 {
        (self.0 >> 92) as u32
    }

    /// 32 bits that decide whether a flow belongs to a sample. They depend on all bits of salt and
    /// fingerprint, so the flows of a sample have no line, slot or fingerprint in common; and not on
    /// the position bits, in which the two directions of a connection may differ.
    #[inline]
    pub const fn sampling_bits(self) -> u32 {
        // Without the bits of the shard, which its flows share, and the one that `reverse` changes: both
        // directions of a connection are in a sample.
        let bits = ((self.0 >> 64) as u64) << 5;
        (bits.wrapping_mul(GOLDEN) >> 32) as u32
    }

    /// The shard of the flow.
    pub const fn shard(self) -> usize {
        (self.0 >> 124) as usize
    }
}

/// The digests of `inputs`, half by half.
#[inline]
fn digests_of<const N: usize>(key: HashKey, inputs: &[[u64; N]], digests: &mut [[u64; 2]]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
        // SAFETY: the function needs nothing but these two, and this processor has them.
        return unsafe { digests_avx512(key, inputs, digests) };
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, and this processor has it.
        return unsafe { digests_avx2(key, inputs, digests) };
    }
    one_by_one(key, inputs, digests);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn digests_avx512<const N: usize>(key: HashKey, inputs: &[[u64; N]], digests: &mut [[u64; 2]]) {
    one_by_one(key, inputs, digests);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn digests_avx2<const N: usize>(key: HashKey, inputs: &[[u64; N]], digests: &mut [[u64; 2]]) {
    one_by_one(key, inputs, digests);
}

#[inline(always)]
fn one_by_one<const N: usize>(key: HashKey, inputs: &[[u64; N]], digests: &mut [[u64; 2]]) {
    for (words, digest) in inputs.iter().zip(digests) {
        *digest = key.digest_halves(*words);
    }
}

/// The increment of a SplitMix64 stream.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finalizer: a bijection that spreads every input bit over all output bits.
#[inline]
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

struct Sip {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl Sip {
    #[inline(always)]
    fn new(key: HashKey) -> Sip {
        Sip {
            v0: key.k0 ^ 0x736f_6d65_7073_6575,
            v1: key.k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            v2: key.k0 ^ 0x6c79_6765_6e65_7261,
            v3: key.k1 ^ 0x7465_6462_7974_6573,
        }
    }

    /// The two halves of the digest of an input of `bytes` bytes, of which `rest` are those after the
    /// last whole word.
    #[inline(always)]
    fn finish(mut self, rest: u64, bytes: usize) -> [u64; 2] {
        self.absorb(rest | (bytes as u64) << 56);
        self.v2 ^= 0xee;
        let low = self.squeeze();
        self.v1 ^= 0xdd;
        let high = self.squeeze();
        [low, high]
    }

    #[inline(always)]
    fn round(&mut self) {
        self.v0 = self.v0.wrapping_add(self.v1);
        self.v2 = self.v2.wrapping_add(self.v3);
        self.v1 = self.v1.rotate_left(13) ^ self.v0;
        self.v3 = self.v3.rotate_left(16) ^ self.v2;
        self.v0 = self.v0.rotate_left(32);
        self.v2 = self.v2.wrapping_add(self.v1);
        self.v0 = self.v0.wrapping_add(self.v3);
        self.v1 = self.v1.rotate_left(17) ^ self.v2;
        self.v3 = self.v3.rotate_left(21) ^ self.v0;
        self.v2 = self.v2.rotate_left(32);
    }

    #[inline(always)]
    fn absorb(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.v0 ^= word;
    }

    #[inline(always)]
    fn squeeze(&mut self) -> u64 {
        self.round();
        self.round();
        self.round();
        self.v0 ^ self.v1 ^ self.v2 ^ self.v3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use siphasher::sip128::SipHasher13;

    #[test]
    fn agrees_with_siphasher() {
        let key = HashKey::from_seed(7);
        let oracle = SipHasher13::new_with_keys(key.k0, key.k1);
        let bytes = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        assert_eq!(key.digest([]), oracle.hash(&bytes(&[])).as_u128());
        let mut random = crate::rng::Random::new(1);
        for _ in 0..1000 {
            let words: [u64; 5] = std::array::from_fn(|_| random.next_u64());
            assert_eq!(key.digest(words), oracle.hash(&bytes(&words)).as_u128());
            let pair = [words[0]];
            assert_eq!(key.digest(pair), oracle.hash(&bytes(&pair)).as_u128());
        }
    }

    #[test]
    fn bytes_agree_with_siphasher() {
        let bits = 0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100_u128;
        let key = HashKey::from_bits(bits);
        assert_eq!(key.bits(), bits);
        let oracle = SipHasher13::new_with_key(&bits.to_le_bytes());
        let bytes: Vec<u8> = (0..600_u32).map(|n| (n % 251) as u8).collect();
        for length in 0..bytes.len() {
            let bytes = &bytes[..length];
            assert_eq!(key.digest_bytes(bytes), oracle.hash(bytes).as_u128(), "{length}");
        }
        let words = [3_u64, 1 << 63].map(u64::to_le_bytes);
        assert_eq!(key.digest_bytes(words.as_flattened()), key.digest([3, 1 << 63]));
    }

    #[test]
    fn sampling_bits_halve_the_flows_of_every_shard() {
        let key = HashKey::from_seed(9);
        let mut sampled = [[0_u32; 3]; FlowId::SHARDS];
        for flow in 0..160_000_u64 {
            let id = FlowId(key.digest([flow]));
            let level = id.sampling_bits().leading_zeros();
            for (wanted, count) in [0, 1, 5].into_iter().zip(&mut sampled[id.shard()]) {
                *count += u32::from(level >= wanted);
            }
        }
        for [all, half, few] in sampled {
            assert!((9_600..10_400).contains(&all), "{all}");
            assert!(half.abs_diff(all / 2) < 300 && few.abs_diff(all / 32) < 100, "{half} {few}");
        }
    }

    #[test]
    fn many_at_once_are_as_one_by_one() {
        fn check<const N: usize>(count: usize) {
            let (key, mut random) = (HashKey::from_seed(7), crate::rng::Random::new(2));
            let inputs: Vec<[u64; N]> =
                (0..count).map(|_| std::array::from_fn(|_| random.next_u64())).collect();
            let mut digests = vec![[0; 2]; count];
            key.digests(&inputs, &mut digests);
            for (words, [low, high]) in inputs.iter().zip(digests) {
                assert_eq!(u128::from(low) | u128::from(high) << 64, key.digest(*words));
            }
        }
        // whole groups of lanes, and what is left over
        for count in 0..40 {
            check::<1>(count);
            check::<2>(count);
        }
    }
}
