//! The sampled flows of a shard, and their lookups of the last minute.

use std::collections::HashMap;

use super::estimate::WindowCounts;
use crate::engine::digest_hasher::BuildDigestHasher;
use crate::flow::{FlowId, FlowKey};

/// Seconds of a minute: as far back as lookups are counted.
pub const MINUTE_SECONDS: u64 = 60;
/// Lookups are counted by slices of the minute…
const SLICES: usize = 12;
/// …of this length.
const SLICE_SECONDS: u64 = MINUTE_SECONDS / SLICES as u64;

/// The flows of one shard that are in the sample.
#[derive(Debug, Default)]
pub struct SampledFlows {
    flows: HashMap<FlowId, SampledFlow, BuildDigestHasher>,
    /// Slices since 1970, the current one included.
    slice: u64,
    /// The highest level that was required of flows in each slice of the last minute.
    levels: [usize; SLICES],
}

#[derive(Debug)]
struct SampledFlow {
    key: FlowKey,
    /// Whether the shadow knows its state; else it does not count.
    is_certain: bool,
    /// The slice of its last lookup.
    last: u64,
    /// Its lookups in each slice of the last minute.
    slices: [SliceCounts; SLICES],
}

#[derive(Debug, Clone, Copy, Default)]
struct SliceCounts {
    asked: u32,
    wrong: u32,
}

impl SampledFlows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Adds a flow.
    pub fn add(&mut self, id: FlowId, key: FlowKey, is_certain: bool) {
        let slices = [SliceCounts::default(); SLICES];
        self.flows.insert(id, SampledFlow { key, is_certain, last: self.slice, slices });
    }

    /// The key of a flow.
    pub fn key(&self, id: FlowId) -> Option<FlowKey> {
        self.flows.get(&id).map(|flow| flow.key)
    }

    /// Whether the state of a flow is known; `None` if it is not among them.
    #[inline]
    pub fn is_certain(&self, id: FlowId) -> Option<bool> {
        self.flows.get(&id).map(|flow| flow.is_certain)
    }

    /// Its state is known from here on.
    pub fn set_certain(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.is_certain = true;
        }
    }

    /// Counts a lookup of a flow.
    #[inline]
    pub fn count(&mut self, id: FlowId, is_wrong: bool) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        flow.last = self.slice;
        if flow.is_certain {
            let counts = &mut flow.slices[index(self.slice)];
            counts.asked = counts.asked.saturating_add(1);
            counts.wrong = counts.wrong.saturating_add(u32::from(is_wrong));
        }
    }

    /// Keeps the flows that `keep` says, because a higher level is required from here on.
    pub fn retain(&mut self, level: usize, mut keep: impl FnMut(FlowId, FlowKey) -> bool) {
        self.flows.retain(|id, flow| keep(*id, flow.key));
        let required = &mut self.levels[index(self.slice)];
        *required = level.max(*required);
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
            self.flows.values_mut().for_each(|flow| flow.slices[new] = SliceCounts::default());
        }
        self.slice = slice;
        true
    }

    /// Forgets the flows without a lookup in the last minute, unless they are alive.
    pub fn retire(&mut self, mut is_alive: impl FnMut(FlowId, FlowKey) -> bool) {
        let oldest = (self.slice + 1).saturating_sub(SLICES as u64);
        self.flows.retain(|id, flow| flow.last >= oldest || is_alive(*id, flow.key));
    }

    /// The lookups of the last minute, of flows by their levels.
    pub fn counts(&self, level_of: impl Fn(FlowId) -> usize) -> WindowCounts {
        let mut counts = WindowCounts::new(self.levels.into_iter().max().unwrap_or(0));
        for (id, flow) in &self.flows {
            let sum =
                |of: fn(&SliceCounts) -> u32| flow.slices.iter().map(|s| u64::from(of(s))).sum();
            counts.add_flow(level_of(*id), sum(|slice| slice.wrong), sum(|slice| slice.asked));
        }
        counts
    }
}

/// The place of a slice in a ring.
#[inline]
fn index(slice: u64) -> usize {
    (slice % SLICES as u64) as usize
}
