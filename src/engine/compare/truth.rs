//! The truth about every packet, found once for all runs of a comparison.

use std::sync::Arc;

use super::batch::{BATCH_PACKETS, CompareBatch, EventAlerts, SeedBatch, admitted};
use super::plan::ComparePlan;
use crate::engine::alerts::limits::AlertLimits;
use crate::engine::batch::Event;
use crate::engine::dispatch::{Dispatcher, GROUP};
use crate::engine::shadow::{ExactShard, exact_shard, find_truth};
use crate::engine::shard::{ShardWork, Wanted};
use crate::flow::{FlowId, FlowKey, Keyer, Packet};
use crate::time::Timestamp;
use acsm_filters::{Epoch, GroundTruth, Lookup, State, StoreError};

/// What a trace asks of a store, counted exactly.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Load {
    /// Flows that ever were.
    pub flows_total: u64,
    /// The most that were alive at once.
    pub flows_peak: u64,
    /// Lookups of flows that exist, by state.
    pub lookups_extant: [u64; State::LIMIT],
    /// Lookups of flows that do not.
    pub lookups_absent: u64,
    /// Alerts that an exact table leads to, thresholds aside.
    pub alerts: u64,
}

/// Finds the truth: an exact table of every flow that ever was, and what follows from it for each
/// seed.
pub struct TruthFinder<'a> {
    plan: &'a ComparePlan,
    keyer: Keyer,
    half_open: [bool; State::LIMIT],
    exact: ExactShard,
    seeds: Vec<SeedState>,
    load: Load,
    /// The events of a batch in capture order: a buffer that is reused.
    events: Vec<Event>,
    /// The alerts of a batch, likewise.
    alerts: Vec<EventAlerts>,
}

/// What depends on the seed of the digests.
struct SeedState {
    dispatcher: Dispatcher,
    limits: AlertLimits,
}

impl<'a> TruthFinder<'a> {
    /// For all runs of `plan`.
    pub fn new(plan: &'a ComparePlan) -> Result<TruthFinder<'a>, StoreError> {
        let seed = |index| SeedState {
            dispatcher: Dispatcher::new(&plan.dispatch(index)),
            limits: AlertLimits::new(Arc::clone(&plan.active), plan.keyer_of(index).hash_key),
        };
        Ok(TruthFinder {
            plan,
            keyer: plan.keyer_of(0),
            half_open: plan.active.rules.machine.half_open(),
            exact: exact_shard(plan.timed, plan.flows_expected)?,
            seeds: (0..plan.seeds.len()).map(seed).collect(),
            load: Load::default(),
            events: Vec::with_capacity(BATCH_PACKETS),
            alerts: Vec::with_capacity(BATCH_PACKETS),
        })
    }

    /// Completes a batch of packets: events for each seed, and the truth.
    pub fn complete(&mut self, batch: &mut CompareBatch) {
        let CompareBatch { packets, truth, answers, seeds, epoch, .. } = batch;
        let packets = packets.as_slice();
        for (state, seed) in self.seeds.iter_mut().zip(seeds.iter_mut()) {
            add_events(&mut state.dispatcher, packets, seed);
        }
        *epoch = self.epoch();
        let Some(first) = seeds.first() else { return };
        first.events.in_capture_order(packets.len(), &mut self.events);
        let TruthFinder { plan, exact, load, events, half_open, .. } = self;
        let rules = plan.shard_rules(self.keyer, half_open);
        let wanted = Wanted::Answers;
        let machine = &plan.active.rules.machine;
        let work = ShardWork {
            events,
            packets,
            machine,
            rules: &rules,
            given: None,
            wanted,
            sampled_below: 0,
        };
        find_truth(exact, &work, |_, found| {
            match found.answer {
                Lookup::Known(state) => load.lookups_extant[state.index()] += 1,
                Lookup::Absent | Lookup::DontKnow => {
                    load.lookups_absent += 1;
                    load.flows_peak = load.flows_peak.max(found.alive);
                }
            }
            answers.push(found.answer);
            truth.push(found);
        });
        self.limit_alerts(batch);
    }

    /// Finds out, for each seed, which alerts of an exact store are shown.
    fn limit_alerts(&mut self, batch: &mut CompareBatch) {
        let CompareBatch { packets, truth, seeds, .. } = batch;
        let shown = self.plan.active.shown;
        if truth.iter().all(|truth| truth.outcome.alerts.intersection(shown).is_empty()) {
            return;
        }
        for (state, seed) in self.seeds.iter_mut().zip(seeds) {
            self.alerts.clear();
            for shard in 0..FlowId::SHARDS {
                for &event in seed.events.of_shard(shard) {
                    let truth = truth.get(event.index as usize);
                    let alerts = truth.map(|truth| truth.outcome.alerts.intersection(shown));
                    let alerts = alerts.filter(|alerts| !alerts.is_empty());
                    self.alerts.extend(alerts.map(|alerts| EventAlerts { event, alerts }));
                }
            }
            let take = |index, rules| seed.admitted.push((index, rules));
            admitted(&mut state.limits, packets.as_slice(), &mut self.alerts, take);
        }
    }

    /// The epoch of the last packet.
    pub fn epoch(&self) -> Epoch {
        self.seeds.first().map_or(Epoch::default(), |seed| seed.dispatcher.epoch())
    }

    /// What the trace asks of a store.
    pub fn load(&self) -> Load {
        let alerts = self.seeds.first().map_or(0, |seed| seed.limits.shown.iter().sum());
        let flows_total = self.history().flows() as u64;
        Load { flows_total, alerts, ..self.load.clone() }
    }

    /// Every flow that was in the trace.
    pub fn history(&self) -> &GroundTruth<FlowKey> {
        &self.exact.store
    }
}

fn add_events(dispatcher: &mut Dispatcher, packets: &[Packet], seed: &mut SeedBatch) {
    for (number, group) in packets.chunks(GROUP).enumerate() {
        let latest = group.iter().map(|packet| packet.time).max();
        let latest = latest.unwrap_or(Timestamp::default());
        dispatcher.add_events(group, (number * GROUP) as u32, latest, &mut seed.events);
    }
}
