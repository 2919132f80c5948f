//! One store through the trace: every answer is compared with the truth.

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::{BATCH_PACKETS, CompareBatch, EventAlerts, admitted};
use super::census::{Census, MarkedStates};
use super::plan::{ComparePlan, Feedback, StoreRun};
use super::run_errors::{FlowSet, RunErrors};
use super::timeline::Timeline;
use crate::engine::alerts::AlertDifference;
use crate::engine::alerts::limits::AlertLimits;
use crate::engine::build::build_shards;
use crate::engine::errors::{ErrorKind, Errors};
use crate::engine::pool::Stage;
use crate::engine::shard::{Shard, ShardOutput, ShardWork, Wanted};
use crate::flow::{FlowId, Keyer, Packet};
use crate::machine::{Next, RuleId, RuleSet};
use acsm_filters::{Epoch, Lookup, State, StoreError, StoreStats};

/// Stores up to this size are swept whenever their fill is to be measured…
const SWEEP_FREELY_CELLS: u64 = 1 << 20;
/// …larger ones only after enough lookups to pay for it.
const SWEEP_CELLS_PER_LOOKUP: u64 = 32;

/// A store on its way through the trace.
pub struct StoreRunner<'a> {
    plan: &'a ComparePlan,
    open_loop: bool,
    seed: usize,
    keyer: Keyer,
    half_open: [bool; State::LIMIT],
    shards: Vec<Box<dyn Shard>>,
    limits: AlertLimits,
    errors: RunErrors,
    /// The flows that were ever inserted.
    inserted: FlowSet,
    census: Census,
    marked: MarkedStates,
    /// Alerts shown less those that an exact table would have shown, by rule and flow. Zeros are
    /// not kept.
    surplus: HashMap<(RuleId, u32), i64>,
    timeline: Timeline,
    /// Lookups since all cells were swept at once.
    since_sweep: u64,
    nanos: u64,
    output: ShardOutput,
    alerts: Vec<EventAlerts>,
}

/// What one run found.
#[derive(Debug)]
pub struct StoreResult {
    /// Errors by kind; lookups and `flows_total` are not set.
    pub errors: Errors,
    /// What was answered at the end of the trace.
    pub census: Census,
    /// How the alerts differ from those of an exact table.
    pub alerts: AlertDifference,
    /// Step by step.
    pub timeline: Timeline,
    /// What the store says about itself.
    pub stats: StoreStats,
    /// Time spent on this run.
    pub nanos: u64,
}

impl<'a> StoreRunner<'a> {
    /// A run at the beginning of the trace.
    pub fn new(plan: &'a ComparePlan, run: &StoreRun) -> Result<StoreRunner<'a>, StoreError> {
        let keyer = plan.keyer_of(run.seed);
        Ok(StoreRunner {
            plan,
            open_loop: run.feedback == Feedback::Open,
            seed: run.seed,
            keyer,
            half_open: plan.active.rules.machine.half_open(),
            shards: build_shards(&run.store, keyer.is_directed())?,
            limits: AlertLimits::new(Arc::clone(&plan.active), keyer.hash_key),
            errors: RunErrors::default(),
            inserted: FlowSet::default(),
            census: Census::default(),
            marked: MarkedStates::of(&plan.active.rules),
            surplus: HashMap::new(),
            timeline: Timeline::default(),
            since_sweep: 0,
            nanos: 0,
            output: ShardOutput {
                answers: Vec::with_capacity(BATCH_PACKETS),
                ..ShardOutput::default()
            },
            alerts: Vec::with_capacity(BATCH_PACKETS),
        })
    }

    /// Drives one shard through its events of a batch. Returns how many answers were wrong.
    fn drive_shard(&mut self, number: usize, batch: &CompareBatch) -> u64 {
        let Some(seed) = batch.seeds.get(self.seed) else { return 0 };
        let (plan, shown) = (self.plan, self.plan.active.shown_by_shards());
        let work = ShardWork {
            events: seed.events.of_shard(number),
            packets: batch.packets.as_slice(),
            machine: &plan.active.rules.machine,
            rules: &plan.shard_rules(self.keyer, &self.half_open),
            given: self.open_loop.then_some(&batch.answers),
            wanted: Wanted::Answers,
            sampled_below: 0,
        };
        self.output.answers.clear();
        if let Some(shard) = self.shards.get_mut(number) {
            shard.process(&work, &mut self.output);
        }
        let mut wrong = 0;
        for (&event, answer) in work.events.iter().zip(&self.output.answers) {
            let Some(truth) = batch.truth.get(event.index as usize) else { continue };
            if answer.answer != truth.answer
                && let Some(kind) = ErrorKind::of(answer.answer, truth.answer)
            {
                wrong += 1;
                if event.epoch >= batch.counted_from {
                    self.errors.count(truth.flow, kind);
                }
            }
            let (basis, next) = match self.open_loop {
                true => (truth.answer, truth.outcome.next),
                false => (answer.answer, answer.outcome.next),
            };
            if basis == Lookup::Absent && matches!(next, Next::Go(_)) {
                self.inserted.insert(truth.flow);
            }
            let alerts = answer.outcome.alerts.union(truth.outcome.alerts);
            if !alerts.intersection(shown).is_empty() {
                let alerts = answer.outcome.alerts.intersection(shown);
                self.alerts.push(EventAlerts { event, alerts });
            }
        }
        wrong
    }

    /// Asks about flows at the end of the trace.
    fn take_census(&mut self, batch: &CompareBatch) {
        let Some(seed) = batch.seeds.get(self.seed) else { return };
        for (question, &id) in batch.census.iter().zip(&seed.asked) {
            let Some(shard) = self.shards.get_mut(id.shard()) else { continue };
            let answer = shard.ask(id, question.key, batch.epoch);
            self.census.count(question, answer, &self.inserted, &self.marked);
        }
    }

    /// Shows what the limits admit, and notes what an exact table would not have shown, and what
    /// only it would have.
    fn compare_alerts(&mut self, batch: &CompareBatch, packets: &[Packet]) {
        let is_warm_up = batch.epoch < batch.counted_from;
        let exact = batch.seeds.get(self.seed).map_or(&[][..], |seed| &seed.admitted);
        let mut exact = exact.iter().copied().peekable();
        let surplus = &mut self.surplus;
        admitted(&mut self.limits, packets, &mut self.alerts, |index, shown: RuleSet| {
            let same = exact.next_if(|(exact, _)| *exact == index);
            let exact = same.map_or(RuleSet::EMPTY, |(_, rules)| rules);
            if is_warm_up {
                return;
            }
            let flow = batch.truth.get(index as usize).map_or(0, |truth| truth.flow);
            for (rules, sign) in [(shown.without(exact), 1), (exact.without(shown), -1)] {
                for rule in rules.iter() {
                    let count = surplus.entry((rule, flow)).or_default();
                    *count += sign;
                    if *count == 0 {
                        surplus.remove(&(rule, flow));
                    }
                }
            }
        });
    }

    /// Whether measuring the fill is worth a complete sweep. A large store in a quiet time keeps
    /// the fill that was measured last.
    fn may_sweep(&self) -> bool {
        let cells: u64 = self.shards.iter().map(|shard| shard.store_stats().cells).sum();
        cells <= SWEEP_FREELY_CELLS || cells <= SWEEP_CELLS_PER_LOOKUP * self.since_sweep
    }

    /// Sweeps everything, so that only what is alive counts, and notes how full the store is.
    fn measure_fill(&mut self, now: Epoch) -> StoreStats {
        let mut stats = StoreStats::default();
        for shard in &mut self.shards {
            shard.sweep_all(now);
            stats += shard.store_stats();
        }
        self.since_sweep = 0;
        if let Some(step) = self.timeline.steps.last_mut() {
            step.fill_ratio = stats.fill_ratio();
        }
        stats
    }

    /// What was found by the end of the trace.
    pub fn finish(&mut self, last: Epoch) -> StoreResult {
        let stats = self.measure_fill(last);
        StoreResult {
            errors: self.errors.errors(),
            census: self.census,
            alerts: self.surplus.values().copied().collect(),
            timeline: std::mem::take(&mut self.timeline),
            stats,
            nanos: self.nanos,
        }
    }
}

impl Stage for StoreRunner<'_> {
    type Batch = CompareBatch;
    type Output = ();

    fn process(&mut self, batch: &CompareBatch, _output: &mut ()) {
        let start = (self.plan.stopwatch)();
        self.take_census(batch);
        self.alerts.clear();
        let wrong: u64 = (0..FlowId::SHARDS).map(|shard| self.drive_shard(shard, batch)).sum();
        let packets = batch.packets.as_slice();
        self.compare_alerts(batch, packets);
        let counts = self.timeline.at(batch.step);
        counts.lookups += packets.len() as u64;
        counts.errors += wrong;
        self.since_sweep += packets.len() as u64;
        if batch.ends_step && !packets.is_empty() && self.may_sweep() {
            self.measure_fill(batch.epoch);
        }
        self.nanos += (self.plan.stopwatch)().saturating_sub(start);
    }
}
