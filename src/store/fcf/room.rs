//! Making room in a cuckoo table: flows whose buckets are full move others to theirs.
//!
//! The search goes breadth first from the two full buckets to the nearest one that has a free slot,
//! and only then moves anything: along the shortest way, each flow to its other bucket. If there is
//! no way, nothing has changed. All of a small table is searched, so "full" means that no
//! arrangement of its flows has room; in a large one the search ends after [`BUCKETS_MAX`] buckets,
//! far more than it takes at a load of 95 %.

use super::buckets::{Bucket, Buckets, Slot};
use super::place::Places;
use crate::store::aging::Epoch;

/// So many buckets are looked at, at the most: what an insert into a full table costs.
const BUCKETS_MAX: usize = 256;

/// A full bucket, and how the search came to it.
#[derive(Debug, Clone, Copy)]
struct Node {
    bucket: Bucket,
    /// The node whose slot would move here, and which slot; a root has none.
    from: Option<(u16, u32)>,
}

/// Frees a slot in one of two full buckets, if there is a way.
pub(super) fn make_room<const TIMED: bool>(
    buckets: &mut Buckets<TIMED>,
    places: &Places,
    homes: [Bucket; 2],
    now: Epoch,
) -> Option<Slot> {
    let mut nodes = [Node { bucket: homes[0], from: None }; BUCKETS_MAX];
    nodes[1].bucket = homes[1];
    let mut found = 2;
    let mut next = 0;
    while next < found {
        let bucket = nodes[next].bucket;
        for (value, slot) in buckets.values(bucket).into_iter().zip(bucket.slots()) {
            let other = places.other_home(value, bucket);
            if let Some(free) = buckets.free_slot(other, now) {
                return Some(shift(buckets, &nodes, (next, slot), free, now));
            }
            let is_new = nodes[..found].iter().all(|node| node.bucket != other);
            if is_new && found < BUCKETS_MAX {
                nodes[found] = Node { bucket: other, from: Some((next as u16, slot.index)) };
                found += 1;
            }
        }
        next += 1;
    }
    None
}

/// Moves the last slot of a way to `free`, the one before it to where that was, and so on. Returns
/// the slot in a root that this leaves free.
fn shift<const TIMED: bool>(
    buckets: &mut Buckets<TIMED>,
    nodes: &[Node],
    (mut at, mut slot): (usize, Slot),
    mut free: Slot,
    now: Epoch,
) -> Slot {
    loop {
        buckets.relocate(slot, free, now);
        free = slot;
        let Some((parent, index)) = nodes[at].from else { return free };
        at = usize::from(parent);
        slot = Slot { bucket: nodes[at].bucket, index };
    }
}
