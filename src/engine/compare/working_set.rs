//! The working set: how many entries a table needs that gives up the flow idle longest.
//!
//! Such a table (LRU) of C entries still has a flow if fewer than C other flows were touched since the flow's last
//! packet. So one pass tells the misses of every size at once, by the histogram of these *reuse distances*
//! (Mattson et al. 1970). The distance of a packet is counted in a Fenwick tree over time: each flow is a one at
//! its last packet, and the distance is the number of ones behind that of the flow.

/// Positions before the first compaction.
const FIRST_POSITIONS: usize = 1 << 12;
/// Positions per flow after a compaction: what one costs is shared by as many packets.
const POSITIONS_PER_FLOW: usize = 4;

/// Counts the reuse distances of a trace. It takes 8 bytes for each flow that ever was, up to 32 more for each
/// that is there, and 8 for each distance.
#[derive(Debug, Clone, Default)]
pub struct ReuseDistances {
    /// By flow number: the position of its last packet, plus one; 0 if the flow is not there.
    last: Vec<u32>,
    /// By flow number: its longest distance, plus one.
    longest: Vec<u32>,
    /// By position: the flow that had its packet there.
    flows: Vec<u32>,
    /// The Fenwick tree; node 0 is not used.
    tree: Vec<u32>,
    /// Flows that are there.
    there: u32,
    /// By distance: packets.
    histogram: Vec<u64>,
}

/// What of a trace a table is to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// Packets of flows that are there.
    Lookup,
    /// Flows: right in all of their packets.
    Flow,
}

impl ReuseDistances {
    /// A packet of a flow. `was_there`: it found the flow.
    pub fn touch(&mut self, flow: u32, was_there: bool) {
        let index = flow as usize;
        if self.last.len() <= index {
            self.last.resize(index + 1, 0);
            self.longest.resize(index + 1, 0);
        }
        if let Some(position) = self.last[index].checked_sub(1) {
            if was_there {
                self.count(index, self.there - self.ones_up_to(position));
            }
            self.add(position, false);
            self.last[index] = 0; // so that a compaction does not keep its position
        }
        if self.flows.len() + 1 >= self.tree.len() {
            self.compact();
        }
        let position = self.flows.len() as u32;
        self.flows.push(flow);
        self.add(position, true);
        self.last[index] = position + 1;
    }

    /// The flow is deleted.
    pub fn remove(&mut self, flow: u32) {
        let last = self.last.get_mut(flow as usize).map(std::mem::take);
        if let Some(position) = last.and_then(|last| last.checked_sub(1)) {
            self.add(position, false);
        }
    }

    /// Forgets the distances so far, but not which flows are there.
    pub fn count_anew(&mut self) {
        self.histogram.clear();
        self.longest.fill(0);
    }

    /// How many entries leave at most this part of the packets (out of `lookups`) or flows (out of `flows`)
    /// without an answer.
    pub fn entries_for(&self, error: f64, per: Per, (lookups, flows): (u64, u64)) -> u64 {
        let of_flows = || {
            let mut longest = vec![0_u64; self.histogram.len()];
            for distance in self.longest.iter().filter_map(|longest| longest.checked_sub(1)) {
                longest[distance as usize] += 1;
            }
            longest
        };
        let (histogram, allowed) = match per {
            Per::Lookup => (self.histogram.clone(), error * lookups as f64),
            Per::Flow => (of_flows(), error * flows as f64),
        };
        let mut missed = 0;
        for (distance, count) in histogram.iter().enumerate().rev() {
            missed += count;
            if missed as f64 > allowed {
                return distance as u64 + 1;
            }
        }
        0
    }

    fn count(&mut self, flow: usize, distance: u32) {
        let place = distance as usize;
        if self.histogram.len() <= place {
            self.histogram.resize(place + 1, 0);
        }
        self.histogram[place] += 1;
        self.longest[flow] = self.longest[flow].max(distance + 1);
    }

    /// How many flows had their last packet at this position or before.
    fn ones_up_to(&self, position: u32) -> u32 {
        let (mut node, mut ones) = (position as usize + 1, 0);
        while node > 0 {
            ones += self.tree[node];
            node &= node - 1;
        }
        ones
    }

    fn add(&mut self, position: u32, is_there: bool) {
        self.there = if is_there { self.there + 1 } else { self.there - 1 };
        let mut node = position as usize + 1;
        while let Some(ones) = self.tree.get_mut(node) {
            *ones = if is_there { *ones + 1 } else { *ones - 1 };
            node += node & node.wrapping_neg();
        }
    }

    /// Leaves out the positions that are not the last of their flow, and makes room for more.
    fn compact(&mut self) {
        let last = &mut self.last;
        let (mut position, mut kept) = (0, 0);
        self.flows.retain(|&flow| {
            position += 1;
            let is_last = last[flow as usize] == position;
            if is_last {
                kept += 1;
                last[flow as usize] = kept;
            }
            is_last
        });
        let positions = (POSITIONS_PER_FLOW * self.flows.len()).max(FIRST_POSITIONS);
        self.tree.clear();
        self.tree.resize(positions + 2, 0);
        self.there = 0;
        for position in 0..self.flows.len() as u32 {
            self.add(position, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acsm_filters::rng::Random;

    /// The misses of a table of each size, by a list of flows, the one touched last in front.
    struct Lists {
        lists: Vec<Vec<u32>>,
        misses: Vec<u64>,
        wrong: Vec<Vec<bool>>,
    }

    impl Lists {
        fn touch(&mut self, flow: u32, was_there: bool) {
            for (entries, list) in self.lists.iter_mut().enumerate() {
                let at = list.iter().position(|&other| other == flow);
                if was_there && at.is_none() {
                    self.misses[entries] += 1;
                    self.wrong[entries][flow as usize] = true;
                }
                at.map(|at| list.remove(at));
                list.insert(0, flow);
                list.truncate(entries);
            }
        }
    }

    /// Every size at once is what each size is alone, with flows that leave and come back.
    #[test]
    fn misses_are_those_of_a_table_of_each_size() {
        let (flows, sizes) = (60_usize, 64);
        let mut random = Random::new(4);
        let mut distances = ReuseDistances::default();
        let mut lists = Lists {
            lists: vec![vec![]; sizes],
            misses: vec![0; sizes],
            wrong: vec![vec![false; flows]; sizes],
        };
        let (mut there, mut lookups) = (vec![false; flows], 0);
        for _ in 0..40_000 {
            // Some flows talk more than others; a deletion of a flow that a table has lost frees no entry
            // there, so flows leave in a second round only.
            let flow = (random.unit().powi(2) * flows as f64) as u32;
            let was_there = std::mem::replace(&mut there[flow as usize], true);
            lookups += u64::from(was_there);
            distances.touch(flow, was_there);
            lists.touch(flow, was_there);
        }
        let count = |entries: usize, per: Per| match per {
            Per::Lookup => (lists.misses[entries], lookups),
            Per::Flow => {
                (lists.wrong[entries].iter().filter(|wrong| **wrong).count() as u64, flows as u64)
            }
        };
        for per in [Per::Lookup, Per::Flow] {
            for error in [0.5, 0.1, 0.01, 0.0] {
                let fits = |&entries: &usize| {
                    let (missed, of) = count(entries, per);
                    missed as f64 <= error * of as f64
                };
                let expected = (0..sizes).find(fits).unwrap() as u64;
                let found = distances.entries_for(error, per, (lookups, flows as u64));
                assert_eq!(found, expected, "{per:?} {error}");
            }
        }
        assert!(distances.tree.len() < FIRST_POSITIONS + 3, "it was compacted");
    }

    #[test]
    fn flows_that_left_are_not_in_between() {
        let mut distances = ReuseDistances::default();
        for flow in [0, 1, 2, 3] {
            distances.touch(flow, false);
        }
        distances.remove(2);
        distances.remove(2);
        distances.touch(0, true); // 1 and 3 are in between
        assert_eq!(distances.entries_for(0.0, Per::Lookup, (1, 4)), 3);
        distances.count_anew();
        distances.touch(2, false);
        distances.touch(2, true);
        assert_eq!(distances.entries_for(0.0, Per::Lookup, (2, 4)), 1);
    }
}
