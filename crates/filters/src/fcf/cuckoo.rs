//! The two buckets of a flow, and the search that makes room in them.
//!
//! A flow has a fingerprint and two buckets with b₁ + b₂ ≡ h(fingerprint) (mod n). So the
//! fingerprint in a slot and one bucket determine the other bucket, for any number n of buckets. It
//! also follows that two flows with one fingerprint that share a bucket share both: to the store
//! they are the same flow.
//!
//! A flow whose buckets are full moves others to their other bucket. The search goes breadth first
//! from the two full buckets to the nearest one with a free slot, and only then moves anything:
//! along the shortest path, each flow to its other bucket. Without a path nothing changes.
//!
//! A full table must not become slow under a flood of new flows. Every insertion may examine the two
//! buckets of its flow and the other buckets of the eight flows in them: ten buckets. To search
//! further takes an allowance, which every success refills and a failure sets to zero. While it
//! lasts, a small table is searched completely, so that "full" means that no arrangement of its flows
//! has room; and a large one up to a number of buckets that is far more than it takes at a load of
//! 95 %.

use super::buckets::{Bucket, Buckets, Slot};
use crate::aging::Epoch;
use crate::digest::FlowId;
use crate::digest::mix;
use crate::line::LineArray;

/// Where a flow can be found.
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
    fn other_home(&self, value: u64, bucket: Bucket) -> Bucket {
        let fingerprint = value.saturating_sub(1) / self.states;
        self.bucket(self.partner(fingerprint, self.number(bucket)))
    }

    /// A bucket's number, below the number of buckets.
    #[inline]
    fn number(&self, bucket: Bucket) -> u32 {
        bucket.line * self.buckets_per_line + bucket.in_line
    }

    /// The bucket with this number.
    #[inline]
    fn bucket(&self, number: u32) -> Bucket {
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

/// The most buckets that one search examines: at a load of 96.5 % it takes 80 on average.
const BUCKETS_MAX: usize = 512;
/// The buckets that each success adds to the allowance: at a load of 95 % it takes 20…
const EARNED: usize = 32;
/// …and the most that is saved up.
const SAVED_MAX: usize = 1 << 15;

/// How many full buckets searches may still go on from, beside the two that each begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchAllowance(usize);

impl SearchAllowance {
    pub(super) const FULL: SearchAllowance = SearchAllowance(SAVED_MAX);

    /// Notes an insertion, and whether it found room.
    #[inline]
    pub(super) fn note(&mut self, found_room: bool) {
        self.0 = if found_room { SAVED_MAX.min(self.0 + EARNED) } else { 0 };
    }
}

/// The full buckets found so far, in this order.
struct SearchQueue {
    /// Their numbers.
    buckets: [u32; BUCKETS_MAX],
    /// The bucket, by its position in this queue, whose slot would move here, and which slot.
    from: [(u16, u8); BUCKETS_MAX],
    len: usize,
}

/// The origin of the two buckets that a search starts from.
const ROOT: u16 = u16::MAX;

/// Frees a slot in one of two full buckets, if there is a path to a free slot.
pub(super) fn make_room<const TIMED: bool, L: LineArray>(
    buckets: &mut Buckets<TIMED, L>,
    places: &Places,
    homes: [Bucket; 2],
    allowance: &mut SearchAllowance,
    now: Epoch,
) -> Option<Slot> {
    let [first, second] = homes.map(|home| places.number(home));
    let (numbers, from) = ([first; BUCKETS_MAX], [(ROOT, 0); BUCKETS_MAX]);
    let mut queue = SearchQueue { buckets: numbers, from, len: 2 };
    queue.buckets[1] = second;
    let len_max = BUCKETS_MAX.min(queue.len + allowance.0);
    let mut next = 0;
    let mut path_end = None;
    while next < queue.len && path_end.is_none() {
        path_end = search_from(buckets, places, &mut queue, next, (len_max, now));
        next += 1;
    }
    allowance.0 = allowance.0.saturating_sub(queue.len - 2);
    let (last, free) = path_end?;
    Some(shift(buckets, places, &queue, (next - 1, last), (free, now)))
}

/// Examines where the flows of a full bucket could go. Returns the slot of one, and the free slot
/// that it can move to; or queues their other buckets, up to `len_max` in all.
fn search_from<const TIMED: bool, L: LineArray>(
    buckets: &Buckets<TIMED, L>,
    places: &Places,
    queue: &mut SearchQueue,
    at: usize,
    (len_max, now): (usize, Epoch),
) -> Option<(Slot, Slot)> {
    let bucket = places.bucket(queue.buckets[at]);
    for (value, slot) in buckets.values(bucket).into_iter().zip(bucket.slots()) {
        let other = places.other_home(value, bucket);
        if let Some(free) = buckets.free_slot(other, now) {
            return Some((slot, free));
        }
        let other = places.number(other);
        if queue.len < len_max && !queue.buckets[..queue.len].contains(&other) {
            queue.buckets[queue.len] = other;
            queue.from[queue.len] = (at as u16, slot.index as u8);
            queue.len += 1;
        }
    }
    None
}

/// Moves the last slot of a path to `free`, the one before it to where that was, and so on. Returns
/// the slot that this frees at the start of the path.
fn shift<const TIMED: bool, L: LineArray>(
    buckets: &mut Buckets<TIMED, L>,
    places: &Places,
    queue: &SearchQueue,
    (mut at, mut slot): (usize, Slot),
    (mut free, now): (Slot, Epoch),
) -> Slot {
    loop {
        buckets.relocate(slot, free, now);
        free = slot;
        let (parent, index) = queue.from[at];
        if parent == ROOT {
            return free;
        }
        at = usize::from(parent);
        slot = Slot { bucket: places.bucket(queue.buckets[at]), index: index.into() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    #[test]
    fn a_slot_determines_the_other_bucket_of_its_flow() {
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
