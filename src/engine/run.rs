//! One run: from a source of packets to a report of what was found.
//!
//! ```text
//! source → dispatcher → batch → [ pool: shards, thresholds ] → merger → sink
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::alerts::Sink;
use super::alerts::merge::{AlertMerger, BatchAlerts};
use super::batch::PacketBatch;
use super::clock::Phase;
use super::dispatch::{DispatchPlan, Dispatcher};
use super::errors::Errors;
use super::observer::{Observer, Request, Snapshot};
use super::pool::{WorkerLost, WorkerPool};
use super::run_plan::{RunError, RunPlan, RunResult};
use super::sample::WindowCounts;
use super::seconds::{SecondOutput, Seconds};
use super::shadow::Scope;
use super::stages::{RunStage, StageSettings, build_stages};
use super::stats::ShardStats;
use super::thresholds::Losses;
use super::thresholds::stage::ThresholdHits;
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSource};
use crate::flow::Keyer;
use crate::time::NANOS_PER_SEC;
use acsm_filters::pending::PendingStats;
use acsm_filters::{Epoch, StoreStats};

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
        sample: plan.sample,
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
    let idle_nanos = match plan.phase {
        Phase::Nanos(nanos) => nanos,
        Phase::Operations(_) | Phase::Never => plan.startup_nanos,
    };
    thread::scope(|scope| {
        let pool = WorkerPool::new(stages, plan.workers, plan.stopwatch, scope);
        let merger = AlertMerger::new(sink, keyer, &plan.active, plan.verify);
        let run = Run {
            pool,
            merger,
            dispatcher,
            frames: FrameCounts::default(),
            found: BatchAlerts::default(),
            seconds: Seconds::new(idle_nanos.div_ceil(NANOS_PER_SEC)),
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
    seconds: Seconds,
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
            self.announce(observer);
            observer.time(self.dispatcher.time());
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
        self.end_last_second()?;
        self.announce(observer);
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
            batch.idle = Some(self.dispatcher.idle(now, &mut batch.events));
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
        let Run { pool, merger, found, seconds, .. } = self;
        let received = pool.receive(|output| {
            output.append_to(found);
            seconds.add(&mut output.seconds);
        })?;
        let Some(batch) = received else { return Ok(false) };
        if let Some(idle) = batch.idle {
            merger.idle(idle.until)?;
        }
        merger.merge(batch.packets.as_slice(), found)?;
        seconds.complete().iter().try_for_each(|event| merger.overload(event))?;
        pool.recycle(batch);
        Ok(true)
    }

    /// Tells what was found out at the ends of seconds and minutes.
    fn announce(&mut self, observer: &mut dyn Observer) {
        for (minute, error) in self.seconds.take_minutes() {
            observer.minute(minute, &error);
        }
        for event in self.seconds.take_overloads() {
            observer.overload(&event);
        }
    }

    /// At the end of the run: the load of the second that it ended in.
    fn end_last_second(&mut self) -> Result<(), RunError> {
        let Run { pool, merger, seconds, .. } = self;
        let mut output = SecondOutput::default();
        pool.each_stage(|stage| {
            if let RunStage::Shard(stage) = stage {
                stage.end_second(&mut output);
                seconds.add(&mut output);
            }
        })?;
        seconds.complete().iter().try_for_each(|event| merger.overload(event))?;
        Ok(())
    }

    fn complete_all(&mut self) -> Result<(), RunError> {
        while self.complete_oldest()? {}
        Ok(())
    }

    /// The run at this moment; no batch is under way.
    fn snapshot(&self) -> Result<Snapshot, WorkerLost> {
        let totals = self.totals(None)?;
        let (shown, suppressed) = self.merger.so_far();
        let (incidents, incidents_open, incidents_total) =
            self.merger.incidents(Snapshot::INCIDENTS);
        Ok(Snapshot {
            time: self.dispatcher.time(),
            frames: self.frames.clone(),
            shards: totals.shards,
            batch_nanos: self.pool.durations(),
            store: totals.store,
            pending: totals.pending,
            pending_lifetime_seconds: self.seconds.pending_lifetime_seconds(),
            measured: totals.sampled.map(|last| self.seconds.measurement(&last)),
            overloads: self.seconds.overloads(),
            shown,
            suppressed,
            incidents,
            incidents_open,
            incidents_total,
            losses: totals.losses,
            one_way: self.dispatcher.is_one_way(),
            no_session_muted: self.dispatcher.mutes_no_session() || self.seconds.forgets_at_once(),
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
            pending_lifetime_seconds: self.seconds.pending_lifetime_seconds(),
            measured: totals.sampled.map(|last| self.seconds.measurement(&last)),
            overloads: self.seconds.overloads(),
            alerts: self.merger.finish()?,
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
                let lookups = stage.shard.stats().lookups;
                let sampled = stage.sample.as_ref().map(|sample| sample.counts(lookups));
                if let Some(counts) = sampled {
                    totals.sampled.get_or_insert_with(|| WindowCounts::new(0)).merge(&counts);
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
    sampled: Option<WindowCounts>,
    losses: Losses,
    hits: ThresholdHits,
}
