//! Making room in a cuckoo table: a flow whose buckets are full moves others to theirs.
//!
//! The search goes breadth first from the two full buckets to the nearest one that has a free slot,
//! and only then moves anything: along the shortest way, each flow to its other bucket. If there is
//! no way, nothing has changed. All of a small table is searched, so "full" means that no
//! arrangement of its flows has room. In a large one a search ends after some buckets, far more
//! than it takes at a load of 95 %; and all searches together have an allowance, so that a full
//! table under a flood of new flows does not become a slow one.

use super::buckets::{Bucket, Buckets, Slot};
use super::place::Places;
use crate::aging::Epoch;

/// A search looks at so many buckets at the most: at a load of 96.5 % it takes 80 on average…
const BUCKETS_MAX: usize = 512;
/// …and all searches at so many for each insert: at 95 % it takes 20…
const EARNED: usize = 32;
/// …with what inserts before left unused, up to this.
const SAVED_MAX: usize = 1 << 15;

/// How many buckets searches may still look at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance(usize);

impl Allowance {
    pub(super) const FULL: Allowance = Allowance(SAVED_MAX);

    /// One more insert.
    #[inline]
    pub(super) fn earn(&mut self) {
        self.0 = SAVED_MAX.min(self.0 + EARNED);
    }
}

/// The full buckets that were found, in that order.
struct Found {
    /// Their numbers.
    buckets: [u32; BUCKETS_MAX],
    /// The bucket, by its place in this list, whose slot would move here, and which slot.
    from: [(u16, u8); BUCKETS_MAX],
    len: usize,
}

/// Marks the two buckets that a search starts from.
const ROOT: u16 = u16::MAX;

/// Frees a slot in one of two full buckets, if there is a way.
pub(super) fn make_room<const TIMED: bool>(
    buckets: &mut Buckets<TIMED>,
    places: &Places,
    homes: [Bucket; 2],
    allowance: &mut Allowance,
    now: Epoch,
) -> Option<Slot> {
    let [first, second] = homes.map(|home| places.number(home));
    let mut found = Found { buckets: [first; BUCKETS_MAX], from: [(ROOT, 0); BUCKETS_MAX], len: 2 };
    found.buckets[1] = second;
    let len_max = BUCKETS_MAX.min(allowance.0);
    let mut next = 0;
    let mut way = None;
    while next < found.len && way.is_none() {
        way = search_from(buckets, places, &mut found, next, (len_max, now));
        next += 1;
    }
    allowance.0 = allowance.0.saturating_sub(found.len);
    let (last, free) = way?;
    Some(shift(buckets, places, &found, (next - 1, last), (free, now)))
}

/// Looks where the flows of a full bucket could go. Returns the slot of one, and the free slot that
/// it can go to; or notes the buckets, up to so many in all, for later.
fn search_from<const TIMED: bool>(
    buckets: &Buckets<TIMED>,
    places: &Places,
    found: &mut Found,
    at: usize,
    (len_max, now): (usize, Epoch),
) -> Option<(Slot, Slot)> {
    let bucket = places.bucket(found.buckets[at]);
    for (value, slot) in buckets.values(bucket).into_iter().zip(bucket.slots()) {
        let other = places.other_home(value, bucket);
        if let Some(free) = buckets.free_slot(other, now) {
            return Some((slot, free));
        }
        let other = places.number(other);
        if found.len < len_max && !found.buckets[..found.len].contains(&other) {
            found.buckets[found.len] = other;
            found.from[found.len] = (at as u16, slot.index as u8);
            found.len += 1;
        }
    }
    None
}

/// Moves the last slot of a way to `free`, the one before it to where that was, and so on. Returns
/// the slot in a root that this leaves free.
fn shift<const TIMED: bool>(
    buckets: &mut Buckets<TIMED>,
    places: &Places,
    found: &Found,
    (mut at, mut slot): (usize, Slot),
    (mut free, now): (Slot, Epoch),
) -> Slot {
    loop {
        buckets.relocate(slot, free, now);
        free = slot;
        let (parent, index) = found.from[at];
        if parent == ROOT {
            return free;
        }
        at = usize::from(parent);
        slot = Slot { bucket: places.bucket(found.buckets[at]), index: index.into() };
    }
}
