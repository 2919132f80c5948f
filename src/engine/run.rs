//! One run: from a source of packets to a report of what was found.
//!
//! ```text
//! source → dispatcher → batch → [ pool: shards, thresholds ] → merger → sink
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::active_rules::{ActiveRules, carried_over};
use super::alerts::Sink;
use super::alerts::merge::{AlertMerger, BatchAlerts};
use super::batch::PacketBatch;
use super::build::build_shards;
use super::dispatch::{DispatchPlan, Dispatcher};
use super::errors::Errors;
use super::observer::{Observer, Request, Snapshot};
use super::pool::{Stage, WorkerLost, WorkerPool};
use super::run_plan::{RunError, RunPlan, RunResult};
use super::shadow::{Scope, Shadow, ShadowOutput};
use super::shard::{Shard, ShardOutput, ShardRules, ShardWork, Wanted};
use super::stats::ShardStats;
use super::thresholds::Losses;
use super::thresholds::stage::{ThresholdHits, ThresholdStage};
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSource};
use crate::flow::Keyer;
use crate::seed::Seed;
use acsm_filters::pending::PendingStats;
use acsm_filters::{Epoch, State, StoreError, StoreSpec, StoreStats};

/// Runs all packets of `source` through the shards. `observer` is told the number of frames now
/// and then, and may have requests; the run ends early when `stop` is set.
pub fn run(
    plan: &RunPlan,
    source: &mut dyn PacketSource,
    parser: &Parser,
    sink: &mut dyn Sink,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let shadow = match (plan.verify, plan.watch) {
        (true, _) => Some(Scope::Everything),
        (false, Some(_)) => Some(Scope::Watched),
        (false, None) => None,
    };
    // A packet of one direction is evidence for the other.
    let keyer = Keyer { pairs_directions: plan.store.pending.is_some(), ..plan.keyer };
    let settings = StageSettings {
        keyer,
        touch_absent: plan.touch_absent,
        shadow,
        seed: plan.seed,
        stopwatch: plan.stopwatch,
    };
    let stages = build_stages(&plan.store, &plan.active, settings)?;
    let dispatcher = Dispatcher::new(&DispatchPlan {
        keyer,
        phase: plan.phase,
        startup_nanos: plan.startup_nanos,
        watch: plan.watch,
        top_talkers: plan.top_talkers,
    });
    thread::scope(|scope| {
        let pool = WorkerPool::new(stages, plan.workers, plan.stopwatch, scope);
        let merger = AlertMerger::new(sink, keyer, &plan.active, plan.verify);
        let run = Run {
            pool,
            merger,
            dispatcher,
            frames: FrameCounts::default(),
            found: BatchAlerts::default(),
        };
        run.drive(source, parser, stop, observer)
    })
}

/// A run under way.
struct Run<'scope, 'a> {
    pool: WorkerPool<'scope, RunStage>,
    merger: AlertMerger<'a>,
    dispatcher: Dispatcher,
    frames: FrameCounts,
    found: BatchAlerts,
}

impl Run<'_, '_> {
    fn drive(
        mut self,
        source: &mut dyn PacketSource,
        parser: &Parser,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<RunResult, RunError> {
        let failure = loop {
            let mut batch = self.pool.reusable_batch().unwrap_or_default();
            let more = self.fill(source, parser, &mut batch);
            self.send(batch)?;
            self.dispatcher.note_losses(source.lost_frames());
            let request = observer.batch(self.frames.packets);
            if source.may_wait() || !matches!(request, Request::Continue) {
                self.complete_all()?;
            }
            match request {
                Request::Continue => {}
                Request::Snapshot => observer.snapshot(self.snapshot()?),
                Request::SetRules(new) => {
                    self.pool.each_stage(|stage| stage.set_rules(&new))?;
                    self.merger.set_rules(&new);
                }
            }
            match more {
                Ok(true) if !stop.load(Ordering::Relaxed) => {}
                Ok(_) => break None,
                Err(error) => break Some(error),
            }
        };
        self.complete_all()?;
        self.finish(failure)
    }

    /// Fills the batch, or notes that none came. Returns whether there may be more.
    fn fill(
        &mut self,
        source: &mut dyn PacketSource,
        parser: &Parser,
        batch: &mut Arc<PacketBatch>,
    ) -> Result<bool, CaptureError> {
        // Nobody else holds it.
        let Some(batch) = Arc::get_mut(batch) else { return Ok(true) };
        batch.clear();
        if source.may_wait()
            && let Some(now) = source.wait()?
        {
            batch.idle = Some(self.dispatcher.idle(now));
            return Ok(true);
        }
        self.dispatcher.fill(source, parser, batch, &mut self.frames)
    }

    /// Sends the batch to the shards, and takes the results of older ones if they are due.
    fn send(&mut self, batch: Arc<PacketBatch>) -> Result<(), RunError> {
        self.pool.send(batch)?;
        while self.pool.is_due() && self.complete_oldest()? {}
        Ok(())
    }

    /// Shows what was found in the oldest batch under way. Returns whether there was one.
    fn complete_oldest(&mut self) -> Result<bool, RunError> {
        let Run { pool, merger, found, .. } = self;
        let Some(batch) = pool.receive(|output| output.append_to(found))? else {
            return Ok(false);
        };
        merger.merge(batch.packets.as_slice(), found)?;
        pool.recycle(batch);
        Ok(true)
    }

    fn complete_all(&mut self) -> Result<(), RunError> {
        while self.complete_oldest()? {}
        Ok(())
    }

    /// The run at this moment; no batch is under way.
    fn snapshot(&self) -> Result<Snapshot, WorkerLost> {
        let totals = self.totals(None)?;
        let (shown, suppressed) = self.merger.so_far();
        Ok(Snapshot {
            time: self.dispatcher.time(),
            frames: self.frames.clone(),
            shards: totals.shards,
            batch_nanos: self.pool.durations(),
            store: totals.store,
            shown,
            suppressed,
            losses: totals.losses,
            one_way: self.dispatcher.is_one_way(),
            no_session_muted: self.dispatcher.mutes_no_session(),
            top: self.dispatcher.top().cloned(),
        })
    }

    fn finish(mut self, failure: Option<CaptureError>) -> Result<RunResult, RunError> {
        let totals = self.totals(Some(self.dispatcher.epoch()))?;
        self.found.hits = totals.hits;
        self.merger.merge(&[], &mut self.found)?;
        Ok(RunResult {
            frames: self.frames,
            shards: totals.shards,
            batch_nanos: self.pool.durations(),
            errors: totals.errors,
            store: totals.store,
            pending: totals.pending,
            alerts: self.merger.finish(),
            losses: totals.losses,
            one_way: self.dispatcher.is_one_way(),
            failure,
        })
    }

    /// Adds up what all stages counted, in their order. At the end of the run, `end` is its last
    /// epoch: everything stale is cleared first, and what is still pending is counted.
    fn totals(&self, end: Option<Epoch>) -> Result<Totals, WorkerLost> {
        let mut totals = Totals::default();
        self.pool.each_stage(|stage| match stage {
            RunStage::Thresholds(stage) => {
                if end.is_some() {
                    stage.finish(&mut totals.hits);
                }
                totals.losses += stage.losses();
            }
            RunStage::Shard(stage) => {
                if let Some(now) = end {
                    stage.shard.sweep_all(now);
                }
                totals.shards.merge(stage.shard.stats());
                totals.store += stage.shard.store_stats();
                if let Some(stats) = stage.shard.pending_stats() {
                    *totals.pending.get_or_insert_default() += stats;
                }
                if let Some(errors) = stage.shadow.as_ref().and_then(|shadow| shadow.errors()) {
                    totals.errors.get_or_insert_default().merge(&errors);
                }
            }
        })?;
        Ok(totals)
    }
}

/// What all stages counted.
#[derive(Default)]
struct Totals {
    shards: ShardStats,
    store: StoreStats,
    pending: Option<PendingStats>,
    errors: Option<Errors>,
    losses: Losses,
    hits: ThresholdHits,
}

/// What stages go by beside the rules.
#[derive(Debug, Clone, Copy)]
struct StageSettings {
    /// How packets become flows.
    keyer: Keyer,
    /// Whether lookups that find nothing touch the cells in use.
    touch_absent: bool,
    /// Which packets an exact shadow sees, if there is one.
    shadow: Option<Scope>,
    /// Seed of the thresholds' sketches.
    seed: Seed,
    /// Nanoseconds on some clock, for the histograms alone.
    stopwatch: fn() -> u64,
}

/// One stage of a run.
enum RunStage {
    /// Counts packets against thresholds.
    Thresholds(Box<ThresholdStage>),
    /// Drives the flows of one shard.
    Shard(Box<ShardStage>),
}

/// A shard at work in a run.
struct ShardStage {
    number: usize,
    /// The shard.
    shard: Box<dyn Shard>,
    /// The truth beside it, if asked for.
    shadow: Option<Shadow>,
    active: Arc<ActiveRules>,
    half_open: [bool; State::LIMIT],
    held: [bool; State::LIMIT],
    settings: StageSettings,
}

/// What a stage found in one batch.
#[derive(Debug, Default)]
struct StageOutput {
    shard: ShardOutput,
    shadow: ShadowOutput,
    hits: ThresholdHits,
}

/// The stages of a run, all empty. The costliest comes first, so that a thread that has time begins
/// with it.
fn build_stages(
    store: &StoreSpec,
    active: &Arc<ActiveRules>,
    settings: StageSettings,
) -> Result<Vec<RunStage>, StoreError> {
    let thresholds = RunStage::Thresholds(Box::new(ThresholdStage::new(active, settings.seed)));
    let mut stages = vec![thresholds];
    for (number, shard) in build_shards(store)?.into_iter().enumerate() {
        let shadow = settings.shadow.map(|scope| Shadow::new(store, scope)).transpose()?;
        stages.push(RunStage::Shard(Box::new(ShardStage {
            number,
            shard,
            shadow,
            active: Arc::clone(active),
            half_open: active.rules.machine.half_open(),
            held: active.rules.machine.half_open_or_over(),
            settings,
        })));
    }
    Ok(stages)
}

impl Stage for RunStage {
    type Batch = PacketBatch;
    type Output = StageOutput;

    fn process(&mut self, batch: &PacketBatch, output: &mut StageOutput) {
        match self {
            RunStage::Shard(stage) => stage.process(batch, output),
            RunStage::Thresholds(stage) => {
                if let Some(idle) = batch.idle {
                    stage.idle(idle.until, &mut output.hits);
                }
                stage.process(batch.packets.as_slice(), &mut output.hits);
            }
        }
    }
}

impl RunStage {
    fn set_rules(&mut self, new: &Arc<ActiveRules>) {
        match self {
            RunStage::Thresholds(stage) => stage.set_rules(new),
            RunStage::Shard(stage) => stage.set_rules(new),
        }
    }
}

impl ShardStage {
    fn process(&mut self, batch: &PacketBatch, output: &mut StageOutput) {
        if let Some(epoch) = batch.idle.and_then(|idle| idle.aged) {
            self.shard.advance_to(epoch);
        }
        let events = batch.events.of_shard(self.number);
        if events.is_empty() {
            return;
        }
        let rules = ShardRules {
            half_open: &self.half_open,
            held: &self.held,
            shown: self.active.shown,
            keyer: self.settings.keyer,
            touch_absent: self.settings.touch_absent,
            stopwatch: Some(self.settings.stopwatch),
        };
        let wanted = match self.shadow {
            Some(_) => Wanted::AlertsAndAnswers,
            None => Wanted::Alerts,
        };
        let packets = batch.packets.as_slice();
        let machine = &self.active.rules.machine;
        let work = ShardWork { events, packets, machine, rules: &rules, given: None, wanted };
        self.shard.process(&work, &mut output.shard);
        if let Some(shadow) = &mut self.shadow {
            shadow.check(&work, &output.shard.answers, &mut output.shadow);
            output.shard.answers.clear();
        }
    }

    fn set_rules(&mut self, new: &Arc<ActiveRules>) {
        let stats = self.shard.stats();
        stats.only_counted = carried_over(&stats.only_counted, &self.active.rules, &new.rules);
        self.half_open = new.rules.machine.half_open();
        self.held = new.rules.machine.half_open_or_over();
        self.active = Arc::clone(new);
    }
}

impl StageOutput {
    /// Moves what was found to `all`, and is empty again.
    fn append_to(&mut self, all: &mut BatchAlerts) {
        all.hits.append(&mut self.hits);
        all.alerts.append(&mut self.shard.alerts);
        all.exact_alerts.append(&mut self.shadow.alerts);
        all.steps.append(&mut self.shadow.steps);
    }
}
