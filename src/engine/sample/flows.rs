//! The sampled flows of a shard, and their lookups of the last minute.

use std::collections::HashMap;

use super::estimate::{FlowLookups, WindowCounts};
use super::true_flow::TrueFlow;
use crate::engine::digest_hasher::BuildDigestHasher;
use crate::engine::stats::Lookups;
use crate::flow::FlowId;
use acsm_filters::memory::prefetch;
use acsm_filters::{Epoch, Lookup};

/// Seconds of a minute: as far back as lookups are counted.
pub const MINUTE_SECONDS: u64 = 60;
/// Lookups are counted by slices of the minute…
const SLICES: usize = 12;
/// …of this length.
const SLICE_SECONDS: u64 = MINUTE_SECONDS / SLICES as u64;

/// The flows of one shard that are in the sample.
#[derive(Debug)]
pub struct SampledFlows {
    slots: HashMap<FlowId, Slot, BuildDigestHasher>,
    /// Where the flow seen last with these position bits is kept: found without a search, as a rule.
    last_slots: [Slot; LAST_SLOTS],
    /// By slot…
    flows: Vec<SampledFlow>,
    /// …and so their lookups in each slice of the last minute but the current one.
    counts: [Vec<SliceCounts>; SLICES],
    free: Vec<Slot>,
    /// Lookups of all flows of the shard, in the sample or not, in each slice of the last minute…
    all: [Lookups; SLICES],
    /// …and since the start, as of the last note.
    noted: Lookups,
    /// Slices since 1970, the current one included.
    slice: u64,
    /// The highest level that was required of flows in each slice of the last minute.
    levels: [usize; SLICES],
}

/// Several times as many as flows in a shard by default.
const LAST_SLOTS: usize = 1024;

/// What is kept of a sampled flow beside its counts of earlier slices: one cache line.
#[derive(Debug, Clone, Copy)]
pub struct SampledFlow {
    id: FlowId,
    /// Whether it is in the sample; else its slot is free.
    is_used: bool,
    /// What is true of it.
    pub truth: TrueFlow,
    /// Whether that is known; else it does not count.
    pub is_certain: bool,
    /// The slice of its last lookup.
    last: u64,
    /// Its lookups in the current slice.
    recent: SliceCounts,
}

const _: () = assert!(size_of::<SampledFlow>() == 64);

/// Lookups of a flow in a slice, by the answer of the store.
#[derive(Debug, Clone, Copy, Default)]
struct SliceCounts {
    known: u32,
    known_wrong: u32,
    absent: u32,
    absent_wrong: u32,
    /// These are all wrong.
    dont_know: u32,
}

/// Where a flow is kept, as long as it is in the sample.
#[derive(Debug, Clone, Copy)]
pub struct Slot(u32);

impl Default for SampledFlows {
    fn default() -> SampledFlows {
        SampledFlows {
            slots: HashMap::default(),
            last_slots: [Slot(0); LAST_SLOTS],
            flows: Vec::new(),
            counts: Default::default(),
            free: Vec::new(),
            all: Default::default(),
            noted: Lookups::default(),
            slice: 0,
            levels: Default::default(),
        }
    }
}

impl SampledFlows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a flow that is absent before its first packet.
    pub fn add(&mut self, id: FlowId, is_certain: bool) -> Slot {
        let (truth, recent) = (TrueFlow::Absent, SliceCounts::default());
        let flow = SampledFlow { id, is_used: true, truth, is_certain, last: self.slice, recent };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flows.push(flow);
            self.counts.iter_mut().for_each(|slice| slice.push(SliceCounts::default()));
            Slot((self.flows.len() - 1) as u32)
        });
        *self.flow(slot) = flow;
        self.counts.iter_mut().for_each(|slice| slice[slot.0 as usize] = SliceCounts::default());
        self.slots.insert(id, slot);
        self.last_slots[last_slot(id)] = slot;
        slot
    }

    /// Starts loading the memory of a flow.
    #[inline]
    pub fn prefetch(&self, id: FlowId) {
        prefetch(self.flows.get(self.last_slots[last_slot(id)].0 as usize));
    }

    /// Where a flow is kept, if it is in the sample.
    #[inline]
    pub fn find(&mut self, id: FlowId) -> Option<Slot> {
        let last = self.last_slots[last_slot(id)];
        if self.flows.get(last.0 as usize).is_some_and(|flow| flow.is_used && flow.id == id) {
            return Some(last);
        }
        let found = self.slots.get(&id).copied()?;
        self.last_slots[last_slot(id)] = found;
        Some(found)
    }

    /// The flow in a slot.
    #[inline]
    pub fn flow(&mut self, slot: Slot) -> &mut SampledFlow {
        &mut self.flows[slot.0 as usize]
    }

    /// Notes how many lookups of all flows there were since the start.
    pub fn note_all(&mut self, lookups: Lookups) {
        self.all[index(self.slice)] += lookups.since(self.noted);
        self.noted = lookups;
    }

    /// Counts a lookup of a flow.
    #[inline]
    pub fn count(&mut self, slot: Slot, answer: Lookup, is_wrong: bool) {
        let flow = &mut self.flows[slot.0 as usize];
        flow.last = self.slice;
        if flow.is_certain {
            let counts = &mut flow.recent;
            let (asked, wrong) = match answer {
                Lookup::Known(_) => (&mut counts.known, &mut counts.known_wrong),
                Lookup::Absent => (&mut counts.absent, &mut counts.absent_wrong),
                Lookup::DontKnow => {
                    counts.dont_know = counts.dont_know.saturating_add(1);
                    return;
                }
            };
            *asked = asked.saturating_add(1);
            *wrong = wrong.saturating_add(u32::from(is_wrong));
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
            let flow = &mut flows[slot.0 as usize];
            let is_kept = keep(*id, flow);
            if !is_kept {
                flow.is_used = false;
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
        for (flow, counts) in self.flows.iter_mut().zip(&mut self.counts[index(self.slice)]) {
            *counts = std::mem::take(&mut flow.recent);
        }
        let first = (self.slice + 1).max(slice.saturating_sub(SLICES as u64 - 1));
        for new in (first..=slice).map(index) {
            self.levels[new] = level;
            self.all[new] = Lookups::default();
            self.counts[new].fill(SliceCounts::default());
        }
        self.slice = slice;
        true
    }

    /// Forgets the flows without a lookup in the last minute, unless they are in the store in this epoch
    /// or pending: packets of the other direction renew them too.
    pub fn retire(&mut self, now: Epoch, pending_now: Epoch) {
        let oldest = (self.slice + 1).saturating_sub(SLICES as u64);
        self.keep_if(|_, SampledFlow { truth, last, .. }| {
            *last >= oldest || truth.stored(now).is_some() || truth.pending(pending_now).is_some()
        });
    }

    /// The lookups of the last minute: of all flows, and of those in the sample by their levels.
    /// `lookups`: those of all flows since the start.
    pub fn counts(&self, lookups: Lookups, level_of: impl Fn(FlowId) -> usize) -> WindowCounts {
        let mut counts = WindowCounts::new(self.levels.into_iter().max().unwrap_or(0));
        self.all.iter().for_each(|slice| counts.add_all(*slice));
        counts.add_all(lookups.since(self.noted));
        for (id, slot) in &self.slots {
            let mut flow = FlowLookups::default();
            let earlier = self.counts.iter().map(|slice| slice[slot.0 as usize]);
            for slice in earlier.chain([self.flows[slot.0 as usize].recent]) {
                flow.known += u64::from(slice.known);
                flow.known_wrong += u64::from(slice.known_wrong);
                flow.absent += u64::from(slice.absent);
                flow.absent_wrong += u64::from(slice.absent_wrong);
                flow.dont_know += u64::from(slice.dont_know);
            }
            counts.add_flow(level_of(*id), flow);
        }
        counts
    }
}

/// Where the slot of a flow is remembered.
#[inline]
fn last_slot(id: FlowId) -> usize {
    id.position_bits() as usize % LAST_SLOTS
}

/// The place of a slice in a ring.
#[inline]
fn index(slice: u64) -> usize {
    (slice % SLICES as u64) as usize
}
