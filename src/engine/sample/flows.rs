//! The sampled flows of a shard, and their lookups of the last minute.

use std::collections::HashMap;

use super::estimate::WindowCounts;
use super::true_flow::TrueFlow;
use crate::engine::digest_hasher::BuildDigestHasher;
use crate::flow::FlowId;
use acsm_filters::Epoch;

/// Seconds of a minute: as far back as lookups are counted.
pub const MINUTE_SECONDS: u64 = 60;
/// Lookups are counted by slices of the minute…
const SLICES: usize = 12;
/// …of this length.
const SLICE_SECONDS: u64 = MINUTE_SECONDS / SLICES as u64;

/// The flows of one shard that are in the sample.
#[derive(Debug, Default)]
pub struct SampledFlows {
    slots: HashMap<FlowId, Slot, BuildDigestHasher>,
    /// By slot…
    flows: Vec<SampledFlow>,
    /// …and so their lookups in each slice of the last minute.
    counts: [Vec<SliceCounts>; SLICES],
    free: Vec<Slot>,
    /// Slices since 1970, the current one included.
    slice: u64,
    /// The highest level that was required of flows in each slice of the last minute.
    levels: [usize; SLICES],
}

/// What is kept of a sampled flow beside its counts.
#[derive(Debug, Clone, Copy)]
pub struct SampledFlow {
    /// What is true of it.
    pub truth: TrueFlow,
    /// Whether that is known; else it does not count.
    pub is_certain: bool,
    /// The slice of its last lookup.
    last: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct SliceCounts {
    asked: u32,
    wrong: u32,
}

/// Where a flow is kept, as long as it is in the sample.
#[derive(Debug, Clone, Copy)]
pub struct Slot(u32);

impl SampledFlows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a flow that is absent before its first packet.
    pub fn add(&mut self, id: FlowId, is_certain: bool) -> Slot {
        let flow = SampledFlow { truth: TrueFlow::Absent, is_certain, last: self.slice };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flows.push(flow);
            self.counts.iter_mut().for_each(|slice| slice.push(SliceCounts::default()));
            Slot((self.flows.len() - 1) as u32)
        });
        *self.flow(slot) = flow;
        self.counts.iter_mut().for_each(|slice| slice[slot.0 as usize] = SliceCounts::default());
        self.slots.insert(id, slot);
        slot
    }

    /// Where a flow is kept, if it is in the sample.
    #[inline]
    pub fn find(&self, id: FlowId) -> Option<Slot> {
        self.slots.get(&id).copied()
    }

    /// The flow in a slot.
    #[inline]
    pub fn flow(&mut self, slot: Slot) -> &mut SampledFlow {
        &mut self.flows[slot.0 as usize]
    }

    /// Counts a lookup of a flow.
    #[inline]
    pub fn count(&mut self, slot: Slot, is_wrong: bool) {
        let flow = &mut self.flows[slot.0 as usize];
        flow.last = self.slice;
        if flow.is_certain {
            let counts = &mut self.counts[index(self.slice)][slot.0 as usize];
            counts.asked = counts.asked.saturating_add(1);
            counts.wrong = counts.wrong.saturating_add(u32::from(is_wrong));
        }
    }

    /// Keeps the flows that `keep` says, because a higher level is required from here on.
    pub fn retain(&mut self, level: usize, keep: impl Fn(FlowId) -> bool) {
        self.keep_if(|id, _| keep(id));
        let required = &mut self.levels[index(self.slice)];
        *required = level.max(*required);
    }

    fn keep_if(&mut self, keep: impl Fn(FlowId, &SampledFlow) -> bool) {
        let SampledFlows { slots, flows, free, .. } = self;
        slots.retain(|id, slot| {
            let is_kept = keep(*id, &flows[slot.0 as usize]);
            if !is_kept {
                free.push(*slot);
            }
            is_kept
        });
    }

    /// Lets time pass to a second, with this level required. Returns whether a slice begins: then old
    /// counts are forgotten.
    pub fn pass_to(&mut self, second: u64, level: usize) -> bool {
        let slice = second / SLICE_SECONDS;
        if slice <= self.slice {
            return false;
        }
        let first = (self.slice + 1).max(slice.saturating_sub(SLICES as u64 - 1));
        for new in (first..=slice).map(index) {
            self.levels[new] = level;
            self.counts[new].fill(SliceCounts::default());
        }
        self.slice = slice;
        true
    }

    /// Forgets the flows without a lookup in the last minute, unless they are in the store in this epoch.
    pub fn retire(&mut self, now: Epoch) {
        let oldest = (self.slice + 1).saturating_sub(SLICES as u64);
        self.keep_if(|_, flow| flow.last >= oldest || flow.truth.stored(now).is_some());
    }

    /// The lookups of the last minute, of flows by their levels.
    pub fn counts(&self, level_of: impl Fn(FlowId) -> usize) -> WindowCounts {
        let mut counts = WindowCounts::new(self.levels.into_iter().max().unwrap_or(0));
        for (id, slot) in &self.slots {
            let of_slices = self.counts.iter().map(|slice| slice[slot.0 as usize]);
            let (wrong, asked) = of_slices.fold((0, 0), |(wrong, asked), slice| {
                (wrong + u64::from(slice.wrong), asked + u64::from(slice.asked))
            });
            counts.add_flow(level_of(*id), wrong, asked);
        }
        counts
    }
}

/// The place of a slice in a ring.
#[inline]
fn index(slice: u64) -> usize {
    (slice % SLICES as u64) as usize
}
