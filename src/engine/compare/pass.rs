//! One pass over a trace for all runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::batch::{BATCH_PACKETS, CompareBatch};
use super::census::{Census, questions};
use super::plan::ComparePlan;
use super::store_run::{StoreResult, StoreRunner};
use super::timeline::{Steps, Timeline};
use super::truth::{Load, TruthFinder};
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSlots, PacketSource};
use crate::engine::alerts::AlertDifference;
use crate::engine::dispatch::GROUP;
use crate::engine::errors::Errors;
use crate::engine::pool::{WorkerLost, WorkerPool};
use crate::flow::Packet;
use acsm_filters::{StoreError, StoreStats};

/// What came of a comparison.
#[derive(Debug)]
pub struct Comparison {
    /// Frames, and why some were skipped.
    pub frames: FrameCounts,
    /// What the trace asks of a store.
    pub load: Load,
    /// One for each run, in the order of the plan.
    pub runs: Vec<RunOutcome>,
    /// Why reading ended early, if it did. What was read before it is in all figures.
    pub failure: Option<CaptureError>,
}

/// What came of one run.
#[derive(Debug)]
pub struct RunOutcome {
    /// Errors by kind.
    pub errors: Errors,
    /// How the alerts differed.
    pub alerts: AlertDifference,
    /// What the store answered about each flow at the end of the trace.
    pub census: Census,
    /// Errors and fill over trace time.
    pub timeline: Timeline,
    /// What the store says about itself.
    pub stats: StoreStats,
    /// Time spent on this run.
    pub nanos: u64,
}

/// Why a comparison could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A store could not be built.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread died.
    #[error(transparent)]
    Worker(#[from] WorkerLost),
}

/// Passes `source` through all runs of `plan`; without runs, only counts what the trace asks of a
/// store. `on_batch` gets the number of frames now and then; the pass ends early when `stop` is set.
pub fn compare(
    plan: &ComparePlan,
    source: &mut dyn PacketSource,
    parser: &Parser,
    stop: &AtomicBool,
    on_batch: &mut dyn FnMut(u64),
) -> Result<Comparison, CompareError> {
    let mut runners = Vec::new();
    for run in &plan.runs {
        runners.push(StoreRunner::new(plan, run)?);
    }
    let finder = TruthFinder::new(plan)?;
    thread::scope(|scope| {
        let mut pass = Pass {
            pool: WorkerPool::new(runners, plan.threads, plan.stopwatch, scope),
            filling: Arc::new(CompareBatch::new(plan.seeds.len())),
            seeds: plan.seeds.len(),
            finder,
            steps: Steps::new(),
            frames: FrameCounts::default(),
        };
        let failure = pass.read_all(source, parser, stop, on_batch)?;
        pass.take_census()?;
        pass.finish(failure)
    })
}

/// A pass under way.
struct Pass<'scope, 'a> {
    pool: WorkerPool<'scope, StoreRunner<'a>>,
    /// The batch being filled: it has no other owner.
    filling: Arc<CompareBatch>,
    seeds: usize,
    finder: TruthFinder<'a>,
    steps: Steps,
    frames: FrameCounts,
}

impl<'scope, 'a: 'scope> Pass<'scope, 'a> {
    /// Reads to the end. Returns why that came early, if it did.
    fn read_all(
        &mut self,
        source: &mut dyn PacketSource,
        parser: &Parser,
        stop: &AtomicBool,
        on_batch: &mut dyn FnMut(u64),
    ) -> Result<Option<CaptureError>, WorkerLost> {
        let mut packets = [Packet::UNSPECIFIED; GROUP];
        let failure = loop {
            let mut slots = PacketSlots::new(parser, &mut packets, &mut self.frames);
            let more = source.fill(&mut slots);
            // What was read before an end or an error counts.
            let found = GROUP - slots.free();
            self.frames.add_packets(&packets[..found]);
            for packet in &packets[..found] {
                if self.add(packet)? {
                    on_batch(self.frames.packets);
                }
            }
            match more {
                Ok(true) if !stop.load(Ordering::Relaxed) => {}
                Ok(_) => break None,
                Err(error) => break Some(error),
            }
        };
        self.send(true)?;
        while complete_oldest(&mut self.pool)? {}
        Ok(failure)
    }

    /// Adds a packet to the batch; sends it first if it is full or its step is over. Returns
    /// whether it was sent.
    fn add(&mut self, packet: &Packet) -> Result<bool, WorkerLost> {
        let step = self.steps.at(packet.time);
        let ends_step = step != self.filling.step;
        let is_full = self.filling.packets.len() >= BATCH_PACKETS;
        let sends = ends_step || is_full;
        if sends {
            self.send(ends_step)?;
        }
        if let Some(batch) = Arc::get_mut(&mut self.filling) {
            batch.step = step;
            batch.packets.extend(std::slice::from_ref(packet));
        }
        Ok(sends)
    }

    /// Completes the batch with the truth and sends it to all runs.
    fn send(&mut self, ends_step: bool) -> Result<(), WorkerLost> {
        let next = self.pool.reusable_batch();
        let next = next.unwrap_or_else(|| Arc::new(CompareBatch::new(self.seeds)));
        let mut batch = std::mem::replace(&mut self.filling, next);
        if let Some(next) = Arc::get_mut(&mut self.filling) {
            next.clear();
        }
        if let Some(batch) = Arc::get_mut(&mut batch) {
            batch.ends_step = ends_step;
            self.finder.complete(batch);
        }
        self.pool.send(batch)?;
        while self.pool.is_due() && complete_oldest(&mut self.pool)? {}
        Ok(())
    }

    /// Asks all stores about the flows of the trace.
    fn take_census(&mut self) -> Result<(), WorkerLost> {
        let (epoch, mut questions) = (self.finder.epoch(), questions(self.finder.history()));
        loop {
            let next = self.pool.reusable_batch();
            let mut batch = next.unwrap_or_else(|| Arc::new(CompareBatch::new(self.seeds)));
            if let Some(batch) = Arc::get_mut(&mut batch) {
                batch.clear();
                batch.epoch = epoch;
                batch.census.extend(questions.by_ref().take(BATCH_PACKETS));
                if batch.census.is_empty() {
                    break;
                }
                self.finder.identify(batch);
            }
            self.pool.send(batch)?;
            while self.pool.is_due() && complete_oldest(&mut self.pool)? {}
        }
        while complete_oldest(&mut self.pool)? {}
        Ok(())
    }

    fn finish(self, failure: Option<CaptureError>) -> Result<Comparison, CompareError> {
        let load = self.finder.load();
        let mut results = Vec::new();
        let last = self.finder.epoch();
        self.pool.each_stage(|run| results.push(run.finish(last)))?;
        let outcome = |result: StoreResult| {
            let errors = Errors {
                lookups_extant: load.lookups_extant.iter().sum(),
                lookups_absent: load.lookups_absent,
                flows_total: load.flows_total,
                ..result.errors
            };
            let StoreResult { alerts, census, timeline, stats, nanos, .. } = result;
            RunOutcome { errors, alerts, census, timeline, stats, nanos }
        };
        let runs = results.into_iter().map(outcome).collect();
        Ok(Comparison { frames: self.frames, load, runs, failure })
    }
}

/// Takes the results of the oldest batch that is under way. Returns whether there was one.
fn complete_oldest<'scope, 'a: 'scope>(
    pool: &mut WorkerPool<'scope, StoreRunner<'a>>,
) -> Result<bool, WorkerLost> {
    let Some(batch) = pool.receive(|()| {})? else { return Ok(false) };
    pool.recycle(batch);
    Ok(true)
}
