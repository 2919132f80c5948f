//! Batches of a comparison: packets with the truth about them, and their events for each seed.

use super::census::Question;
use super::timeline::Step;
use crate::engine::alerts::limits::{Admission, AlertLimits};
use crate::engine::alerts::{Alert, Subject};
use crate::engine::batch::{Event, Marks, PacketBatch, PacketBuffer, ShardedEvents};
use crate::engine::shadow::Truth;
use crate::flow::{FlowId, Packet};
use crate::machine::RuleSet;
use acsm_filters::{Epoch, Lookup};

/// Packets of a batch at most; fewer if its step of the timeline ends before.
pub const BATCH_PACKETS: usize = PacketBatch::PACKETS / 2;

/// Packets of one step of the timeline, on their way to all stores.
#[derive(Debug)]
pub struct CompareBatch {
    /// The packets.
    pub packets: PacketBuffer,
    /// The truth about each.
    pub truth: Vec<Truth>,
    /// The true answers alone: what an open loop goes on from.
    pub answers: Vec<Lookup>,
    /// What depends on the seed of the digests.
    pub seeds: Vec<SeedBatch>,
    /// The step of the timeline that all packets fall in.
    pub step: Step,
    /// Whether the step ends with this batch.
    pub ends_step: bool,
    /// The epoch of the last packet.
    pub epoch: Epoch,
    /// Events before this epoch are the warm-up: they are not counted.
    pub counted_from: Epoch,
    /// In place of packets: flows to be asked about at the end of the trace.
    pub census: Vec<Question>,
}

/// What depends on the seed of the digests.
#[derive(Debug)]
pub struct SeedBatch {
    /// The events of all packets.
    pub events: ShardedEvents,
    /// What of the alerts of an exact store is shown, by packet index, in order.
    pub admitted: Vec<(u32, RuleSet)>,
    /// The digests of the flows to be asked about.
    pub asked: Vec<FlowId>,
}

impl SeedBatch {
    fn new() -> SeedBatch {
        let admitted = Vec::with_capacity(BATCH_PACKETS);
        SeedBatch { events: ShardedEvents::default(), admitted, asked: Vec::new() }
    }
}

impl CompareBatch {
    /// An empty batch for this many seeds.
    pub fn new(seeds: usize) -> CompareBatch {
        CompareBatch {
            packets: PacketBuffer::default(),
            truth: Vec::with_capacity(BATCH_PACKETS),
            answers: Vec::with_capacity(BATCH_PACKETS),
            seeds: (0..seeds).map(|_| SeedBatch::new()).collect(),
            step: Step::FIRST,
            ends_step: false,
            epoch: Epoch::default(),
            counted_from: Epoch::default(),
            census: Vec::new(),
        }
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.packets.truncate(0);
        self.truth.clear();
        self.answers.clear();
        for seed in &mut self.seeds {
            seed.events.clear();
            seed.admitted.clear();
            seed.asked.clear();
        }
        self.census.clear();
        self.ends_step = false;
    }
}

/// The alerts of one event, before limits.
#[derive(Debug, Clone, Copy)]
pub struct EventAlerts {
    /// The event.
    pub event: Event,
    /// The shown rules that it breaks.
    pub alerts: RuleSet,
}

/// Which of the alerts the limits admit, by packet index. `alerts` are of one batch, in any order.
pub fn admitted(
    limits: &mut AlertLimits,
    packets: &[Packet],
    alerts: &mut [EventAlerts],
    mut take: impl FnMut(u32, RuleSet),
) {
    alerts.sort_unstable_by_key(|alerts| alerts.event.index);
    for EventAlerts { event, alerts } in alerts {
        let Some(&packet) = packets.get(event.index as usize) else { continue };
        let admits = |rule: &_| {
            let mut alert = Alert {
                rule: *rule,
                time: packet.time,
                packet,
                flow: event.id,
                answer: None,
                state: None,
                confidence: 1.0,
                confirmed: None,
                severity: 0,
                subject: Subject::Flow,
                names_source: true,
                incident: None,
                count: None,
                suppressed: 0,
            };
            let muted = event.marks.has(Marks::NO_SESSION_MUTED);
            limits.admits(&mut alert, muted) == Admission::Shown
        };
        take(event.index, alerts.iter().filter(admits).collect());
    }
}
