//! The sampled flows of a shard, and their lookups of the last minute.

use std::collections::HashMap;

use super::estimate::WindowCounts;
use crate::engine::digest_hasher::BuildDigestHasher;
use crate::engine::shard::Answer;
use crate::flow::{FlowId, FlowKey};
use crate::machine::Next;
use acsm_filters::{Epoch, Lookup, State};

/// Seconds of a minute: as far back as lookups are counted.
pub const MINUTE_SECONDS: u64 = 60;
/// Lookups are counted by slices of the minute…
const SLICES: usize = 12;
/// …of this length.
const SLICE_SECONDS: u64 = MINUTE_SECONDS / SLICES as u64;

/// The flows of one shard that are in the sample. What most packets need of a flow lies close together:
/// its slot, and in the slot what is expected of the next lookup and the counts of the current slice.
#[derive(Debug, Default)]
pub struct SampledFlows {
    slots: HashMap<FlowId, u32, BuildDigestHasher>,
    /// By slot…
    flows: Vec<SampledFlow>,
    /// …and what tells flows apart…
    keys: Vec<FlowKey>,
    /// …and their lookups in each slice of the last minute.
    counts: [Vec<SliceCounts>; SLICES],
    free: Vec<u32>,
    /// Slices since 1970, the current one included.
    slice: u64,
    /// The highest level that was required of flows in each slice of the last minute.
    levels: [usize; SLICES],
}

/// What is kept of a sampled flow beside its counts.
#[derive(Debug, Clone, Copy)]
struct SampledFlow {
    /// The slice of its last lookup.
    last: u64,
    /// Its state in the shadow, if a packet that changes nothing was the last one, and its epoch.
    steady: Option<(State, Epoch)>,
    /// Whether the shadow knows its state; else it does not count.
    is_certain: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct SliceCounts {
    asked: u32,
    wrong: u32,
}

/// A flow of the sample: where it is kept, until flows leave the sample.
#[derive(Debug, Clone, Copy)]
pub struct Slot(u32);

impl SampledFlows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a flow.
    pub fn add(&mut self, id: FlowId, key: FlowKey, is_certain: bool) -> Slot {
        let flow = SampledFlow { last: self.slice, steady: None, is_certain };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flows.push(flow);
            self.keys.push(key);
            self.counts.iter_mut().for_each(|slice| slice.push(SliceCounts::default()));
            (self.flows.len() - 1) as u32
        });
        let at = slot as usize;
        (self.flows[at], self.keys[at]) = (flow, key);
        self.counts.iter_mut().for_each(|slice| slice[at] = SliceCounts::default());
        self.slots.insert(id, slot);
        Slot(slot)
    }

    /// Where a flow is kept, if it is among them.
    #[inline]
    pub fn find(&self, id: FlowId) -> Option<Slot> {
        self.slots.get(&id).copied().map(Slot)
    }

    /// The key of a flow.
    pub fn key(&self, slot: Slot) -> FlowKey {
        self.keys[slot.0 as usize]
    }

    /// Whether the state of a flow is known.
    #[inline]
    pub fn is_certain(&self, slot: Slot) -> bool {
        self.flows[slot.0 as usize].is_certain
    }

    /// Its state is known from here on.
    pub fn set_certain(&mut self, slot: Slot) {
        self.flows[slot.0 as usize].is_certain = true;
    }

    /// Counts a lookup that the shadow need not see, if it is one: the flow is steady, the store tells
    /// its state, and the packet changes nothing.
    #[inline]
    pub fn count_steady(&mut self, slot: Slot, answer: &Answer, epoch: Epoch) -> bool {
        let flow = &self.flows[slot.0 as usize];
        let Some((state, of_epoch)) = flow.steady else { return false };
        let is_as_before = of_epoch == epoch
            && answer.answer == Lookup::Known(state)
            && answer.outcome.next == Next::Keep;
        if is_as_before {
            self.count(slot, false);
        }
        is_as_before
    }

    /// Notes the state of a flow in the shadow, if the packet of this epoch left it there unchanged.
    #[inline]
    pub fn set_steady(&mut self, slot: Slot, state: Option<State>, epoch: Epoch) {
        self.flows[slot.0 as usize].steady = state.map(|state| (state, epoch));
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
    pub fn retain(&mut self, level: usize, mut keep: impl FnMut(FlowId, FlowKey) -> bool) {
        self.keep_if(|id, key, _| keep(id, key));
        let required = &mut self.levels[index(self.slice)];
        *required = level.max(*required);
    }

    fn keep_if(&mut self, mut keep: impl FnMut(FlowId, FlowKey, &SampledFlow) -> bool) {
        let SampledFlows { slots, flows, keys, free, .. } = self;
        slots.retain(|id, slot| {
            let is_kept = keep(*id, keys[*slot as usize], &flows[*slot as usize]);
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

    /// Forgets the flows without a lookup in the last minute, unless they are alive.
    pub fn retire(&mut self, mut is_alive: impl FnMut(FlowId, FlowKey) -> bool) {
        let oldest = (self.slice + 1).saturating_sub(SLICES as u64);
        self.keep_if(|id, key, flow| flow.last >= oldest || is_alive(id, key));
    }

    /// The lookups of the last minute, of flows by their levels.
    pub fn counts(&self, level_of: impl Fn(FlowId) -> usize) -> WindowCounts {
        let mut counts = WindowCounts::new(self.levels.into_iter().max().unwrap_or(0));
        for (id, slot) in &self.slots {
            let of_slices = self.counts.iter().map(|slice| slice[*slot as usize]);
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
