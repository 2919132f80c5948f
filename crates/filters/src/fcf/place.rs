//! Where a flow can be, and what its slot holds.
//!
//! A flow has a fingerprint and two buckets with b₁ + b₂ ≡ h(fingerprint) (mod n). So whoever
//! knows a slot's fingerprint and one bucket knows the other, for any number n of buckets. It also
//! follows that two flows with one fingerprint that share a bucket share both: to the store they
//! are the same flow.

use super::buckets::Bucket;
use crate::digest::FlowId;
use crate::rng::mix;

/// Where a flow is to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FcfPlace {
    /// What its slot holds in the first state; the other states follow.
    pub(super) base: u64,
    /// Its two buckets; rarely the same one twice.
    pub(super) homes: [Bucket; 2],
}

/// What places are computed from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) states: u64,
    pub(super) fingerprints: u64,
    pub(super) buckets: u32,
    pub(super) buckets_per_line: u32,
}

impl Places {
    #[inline]
    pub(super) fn of(&self, id: FlowId) -> FcfPlace {
        let fingerprint = (u64::from(id.fingerprint()) * self.fingerprints) >> 32;
        let first = scale(id.position_bits(), self.buckets);
        let homes = [first, self.partner(fingerprint, first)].map(|number| self.bucket(number));
        FcfPlace { base: 1 + fingerprint * self.states, homes }
    }

    /// The other bucket of the flow whose slot in `bucket` holds `value`.
    #[inline]
    pub(super) fn other_home(&self, value: u64, bucket: Bucket) -> Bucket {
        let fingerprint = value.saturating_sub(1) / self.states;
        self.bucket(self.partner(fingerprint, self.number(bucket)))
    }

    /// A bucket's number, below the number of buckets.
    #[inline]
    pub(super) fn number(&self, bucket: Bucket) -> u32 {
        bucket.line * self.buckets_per_line + bucket.in_line
    }

    /// The bucket with this number.
    #[inline]
    pub(super) fn bucket(&self, number: u32) -> Bucket {
        let line = number / self.buckets_per_line;
        Bucket { line, in_line: number - line * self.buckets_per_line }
    }

    #[inline]
    fn partner(&self, fingerprint: u64, number: u32) -> u32 {
        let sum = scale(mix(fingerprint), self.buckets);
        if sum >= number { sum - number } else { sum + (self.buckets - number) }
    }
}

/// Scales 64 random bits to a number below `bound` without a division.
#[inline]
const fn scale(bits: u64, bound: u32) -> u32 {
    ((bits as u128 * bound as u128) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    #[test]
    fn a_slot_tells_the_other_bucket_of_its_flow() {
        let mut random = Random::new(1);
        for (buckets, buckets_per_line) in [(1, 1), (3, 3), (12, 4), (1001, 7), (1 << 30, 8)] {
            let places = Places { states: 6, fingerprints: 10_922, buckets, buckets_per_line };
            for _ in 0..1000 {
                let id = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
                let FcfPlace { base, homes: [one, other] } = places.of(FlowId(id));
                for state in 0..6 {
                    assert_eq!(places.other_home(base + state, one), other);
                    assert_eq!(places.other_home(base + state, other), one);
                }
                assert!((1..=6 * 10_922).contains(&base));
            }
        }
    }
}
