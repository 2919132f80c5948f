//! Packets on their way to all runs at once: written by the reading end, then only read.

use super::timeline::Step;
use crate::engine::clock::Tick;
use crate::flow::{FlowId, Packet};
use crate::machine::{Next, RuleSet};
use acsm_filters::Lookup;

/// So many packets are located before the first of them is looked up: what they need comes from
/// memory meanwhile.
pub const GROUP: usize = 16;

/// Packets in a batch at the most: fewer if its step of the timeline ends before.
pub const BATCH_PACKETS: usize = 2048;

/// What a run has to know of a packet at first hand.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// When in the life of flows it comes.
    pub tick: Tick,
    /// The number of its flow among all that ever were.
    pub flow: u32,
    /// What an exact table says of the flow before the packet.
    pub truth: Lookup,
    /// What becomes of the flow by the truth.
    pub next: Next,
    /// The shown rules that the packet breaks by the truth.
    pub alerts: RuleSet,
}

/// What depends on the seed: digests, and all that follows from them.
#[derive(Debug, Clone)]
pub struct SeedPart {
    /// The flow of each packet.
    pub ids: Vec<FlowId>,
    /// Whether rules about packets without a session are mute at this time.
    pub muted: Vec<bool>,
    /// What of the truth's alerts is shown.
    pub admitted: Vec<RuleSet>,
}

/// Packets of one step of the timeline, in order.
#[derive(Debug, Clone)]
pub struct Batch {
    /// One for each packet.
    pub events: Vec<Event>,
    /// The packets themselves: for full keys, and for steps that go wrong.
    pub packets: Vec<Packet>,
    /// One for each seed.
    pub seeds: Vec<SeedPart>,
    /// The step that all of it falls in.
    pub step: Step,
    /// Whether the step ends with this batch.
    pub ends_step: bool,
}

impl SeedPart {
    fn new() -> SeedPart {
        SeedPart {
            ids: Vec::with_capacity(BATCH_PACKETS),
            muted: Vec::with_capacity(BATCH_PACKETS),
            admitted: Vec::with_capacity(BATCH_PACKETS),
        }
    }
}

impl Batch {
    /// An empty batch for so many seeds.
    pub fn new(seeds: usize) -> Batch {
        Batch {
            events: Vec::with_capacity(BATCH_PACKETS),
            packets: Vec::with_capacity(BATCH_PACKETS),
            seeds: (0..seeds).map(|_| SeedPart::new()).collect(),
            step: Step::FIRST,
            ends_step: false,
        }
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.packets.clear();
        for part in &mut self.seeds {
            part.ids.clear();
            part.muted.clear();
            part.admitted.clear();
        }
        self.ends_step = false;
    }
}
