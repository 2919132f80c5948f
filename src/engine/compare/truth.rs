//! The truth about every packet, found once for all runs of a comparison.

use std::sync::Arc;

use super::batch::{BATCH_PACKETS, CompareBatch, EventAlerts, SeedBatch, admitted};
use super::plan::ComparePlan;
use super::working_set::ReuseDistances;
use crate::engine::alerts::limits::AlertLimits;
use crate::engine::batch::Event;
use crate::engine::dispatch::{Dispatcher, GROUP};
use crate::engine::shadow::{ExactShard, exact_shard, find_truth};
use crate::engine::shard::{ShardWork, Wanted};
use crate::flow::{FlowId, FlowKey, Keyer, Packet};
use crate::machine::{Next, RuleSet};
use crate::time::Timestamp;
use acsm_filters::{Epoch, FlowLookups, GroundTruth, Lookup, State, StoreError};

/// What a trace asks of a store, counted exactly.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// Flows that ever were.
    pub flows_total: u64,
    /// The most that were alive at once.
    pub flows_peak: u64,
    /// Lookups of flows that exist, by state.
    pub lookups_extant: [u64; State::LIMIT],
    /// Lookups of flows that do not.
    pub lookups_absent: u64,
    /// How many flows of equal traffic the lookups are worth: lookups of one flow depend on each other.
    pub effective: EffectiveLookups,
    /// Packets that each flow had since the one before, by how many other flows were in between.
    pub reuse: ReuseDistances,
    /// Alerts that an exact table leads to, thresholds aside.
    pub alerts: u64,
}

/// The effective number of lookups, (Σw)² / Σw² with w the lookups of a flow, by what is true of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EffectiveLookups {
    /// Of flows that exist.
    pub extant: f64,
    /// Of flows that do not.
    pub absent: f64,
    /// Of all flows.
    pub all: f64,
}

impl EffectiveLookups {
    fn of(lookups: impl Iterator<Item = FlowLookups>) -> EffectiveLookups {
        let mut sums = [[0.0; 2]; 3];
        for FlowLookups { extant, absent } in lookups {
            let (extant, absent) = (f64::from(extant), f64::from(absent));
            for ([sum, squares], weight) in sums.iter_mut().zip([extant, absent, extant + absent]) {
                *sum += weight;
                *squares += weight * weight;
            }
        }
        let [extant, absent, all] =
            sums.map(|[sum, squares]| if squares > 0.0 { sum * sum / squares } else { 0.0 });
        EffectiveLookups { extant, absent, all }
    }
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
    reuse: ReuseDistances,
    /// The epoch of the first packet that is counted; `None` before the first packet.
    counted_from: Option<Epoch>,
    /// Whether the warm-up is over.
    is_counting: bool,
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
            reuse: ReuseDistances::default(),
            counted_from: None,
            is_counting: plan.warm_up_epochs == 0,
            events: Vec::with_capacity(BATCH_PACKETS),
            alerts: Vec::with_capacity(BATCH_PACKETS),
        })
    }

    /// Completes a batch of packets: events for each seed, and the truth.
    pub fn complete(&mut self, batch: &mut CompareBatch) {
        let CompareBatch { packets, seeds, .. } = batch;
        for (state, seed) in self.seeds.iter_mut().zip(seeds.iter_mut()) {
            add_events(&mut state.dispatcher, packets.as_slice(), seed);
        }
        batch.epoch = self.epoch();
        let Some(first) = batch.seeds.first() else { return };
        let mut events = std::mem::take(&mut self.events);
        first.events.in_capture_order(batch.packets.as_slice().len(), &mut events);
        batch.counted_from = match events.first() {
            Some(event) => self.counted_from(event.epoch),
            None => Epoch::default(),
        };
        let counted = events.partition_point(|event| event.epoch < batch.counted_from);
        let (before, after) = events.split_at(counted);
        self.find(before, batch);
        if !self.is_counting && !after.is_empty() {
            self.is_counting = true;
            self.exact.store.count_lookups_anew();
            self.reuse.count_anew();
            self.load = Load { flows_peak: self.load.flows_peak, ..Load::default() };
        }
        self.find(after, batch);
        self.events = events;
        self.limit_alerts(batch);
    }

    /// The first epoch that is counted, in a trace that begins in this one.
    fn counted_from(&mut self, first: Epoch) -> Epoch {
        let warm_up = self.plan.warm_up_epochs;
        *self.counted_from.get_or_insert(Epoch(first.0.saturating_add(warm_up)))
    }

    /// Finds the truth about these events.
    fn find(&mut self, events: &[Event], batch: &mut CompareBatch) {
        let CompareBatch { packets, truth, answers, .. } = batch;
        let TruthFinder { plan, exact, load, reuse, half_open, .. } = self;
        let work = ShardWork {
            events,
            packets: packets.as_slice(),
            machine: &plan.active.rules.machine,
            rules: &plan.shard_rules(self.keyer, half_open),
            given: None,
            wanted: Wanted::Answers,
            sampled_below: 0,
        };
        find_truth(exact, &work, |_, found| {
            let is_extant = match found.answer {
                Lookup::Known(state) => {
                    load.lookups_extant[state.index()] += 1;
                    true
                }
                Lookup::Absent | Lookup::DontKnow => {
                    load.lookups_absent += 1;
                    load.flows_peak = load.flows_peak.max(found.alive);
                    false
                }
            };
            match found.outcome.next {
                Next::Keep if !is_extant => {}
                next => {
                    reuse.touch(found.flow, is_extant);
                    if next == Next::Delete {
                        reuse.remove(found.flow);
                    }
                }
            }
            answers.push(found.answer);
            truth.push(found);
        });
    }

    /// Finds out, for each seed, which alerts of an exact store are shown.
    fn limit_alerts(&mut self, batch: &mut CompareBatch) {
        let is_counted = batch.epoch >= batch.counted_from;
        let CompareBatch { packets, truth, seeds, .. } = batch;
        let shown = self.plan.active.shown_by_shards();
        if truth.iter().all(|truth| truth.outcome.alerts.intersection(shown).is_empty()) {
            return;
        }
        for (index, (state, seed)) in self.seeds.iter_mut().zip(seeds).enumerate() {
            self.alerts.clear();
            for shard in 0..FlowId::SHARDS {
                for &event in seed.events.of_shard(shard) {
                    let truth = truth.get(event.index as usize);
                    let alerts = truth.map(|truth| truth.outcome.alerts.intersection(shown));
                    let alerts = alerts.filter(|alerts| !alerts.is_empty());
                    self.alerts.extend(alerts.map(|alerts| EventAlerts { event, alerts }));
                }
            }
            let load = &mut self.load;
            let take = |packet, rules: RuleSet| {
                if index == 0 && is_counted {
                    load.alerts += rules.len() as u64;
                }
                seed.admitted.push((packet, rules));
            };
            admitted(&mut state.limits, packets.as_slice(), &mut self.alerts, take);
        }
    }

    /// The epoch of the last packet.
    pub fn epoch(&self) -> Epoch {
        self.seeds.first().map_or(Epoch::default(), |seed| seed.dispatcher.epoch())
    }

    /// The digests of flows to be asked about.
    pub fn identify(&self, batch: &mut CompareBatch) {
        for (index, seed) in batch.seeds.iter_mut().enumerate() {
            let keyer = self.plan.keyer_of(index);
            seed.asked.extend(batch.census.iter().map(|question| keyer.id(&question.key)));
        }
    }

    /// What the trace asks of a store.
    pub fn load(&self) -> Load {
        let lookups = || self.history().lookups();
        let flows_total = lookups().filter(|flow| flow.extant + flow.absent > 0).count() as u64;
        let effective = EffectiveLookups::of(lookups());
        Load { flows_total, effective, reuse: self.reuse.clone(), ..self.load.clone() }
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
