//! One pass over a trace for all runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::batch::BATCH_PACKETS;
use super::crew::{Crew, parts};
use super::front::{Front, Group, Load};
use super::interval::{Population, RateIntervals};
use super::plan::ComparePlan;
use super::runner::Found;
use super::timeline::Timeline;
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSource};
use crate::engine::crew::WorkerLost;
use crate::engine::gather::AlertDifference;
use crate::engine::verify::Errors;
use crate::store::{History, StoreError, StoreStats};

/// What came of a comparison.
#[derive(Debug)]
pub struct Comparison {
    /// Frames, and why some were skipped.
    pub frames: FrameCounts,
    /// What the trace is like to a store.
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
    /// How sure the rates are.
    pub intervals: RateIntervals,
    /// Errors and fill over trace time.
    pub timeline: Timeline,
    /// What the store says about itself.
    pub stats: StoreStats,
    /// Time spent on this run.
    pub nanos: u64,
}

/// Why a comparison could not be brought to an end.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A store could not be made.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread died.
    #[error(transparent)]
    Worker(#[from] WorkerLost),
}

/// Drives all runs of `plan` through `source`; without runs, only finds out what the trace is
/// like. `on_batch` is told the number of frames now and then; it ends early when `stop` is set.
pub fn compare(
    plan: &ComparePlan,
    source: &mut impl PacketSource,
    parser: &Parser,
    stop: &AtomicBool,
    on_batch: impl FnMut(u64),
) -> Result<Comparison, CompareError> {
    let mut front = Front::new(plan)?;
    let mut frames = FrameCounts::default();
    let parts = parts(plan)?;
    let (failure, found) = thread::scope(|scope| {
        let mut crew = Crew::new(parts, plan.seeds.len(), scope);
        let mut reading = Reading { source, parser, stop, frames: &mut frames, on_batch };
        let failure = reading.drive(&mut front, &mut crew)?;
        Ok::<_, CompareError>((failure, crew.finish(front.epoch())?))
    })?;
    let (load, history) = front.finish();
    let population = Population::new(&history);
    let outcome = |found| run_outcome(found, &load, &history, &population);
    let runs = found.into_iter().map(outcome).collect();
    Ok(Comparison { frames, load, runs, failure })
}

/// What it takes to go through a trace.
struct Reading<'r, F, R> {
    source: &'r mut F,
    parser: &'r Parser,
    stop: &'r AtomicBool,
    frames: &'r mut FrameCounts,
    on_batch: R,
}

impl<F: PacketSource, R: FnMut(u64)> Reading<'_, F, R> {
    /// Reads to the end. Returns why that came early, if it did.
    fn drive(
        &mut self,
        front: &mut Front<'_>,
        crew: &mut Crew<'_>,
    ) -> Result<Option<CaptureError>, WorkerLost> {
        let mut group: Group = [None; _];
        let mut filling = crew.empty_batch();
        let failure = loop {
            let more = front.read(self.source, self.parser, self.frames, &mut group);
            // What was read before an end or an error counts.
            for located in group.iter_mut().map_while(Option::take) {
                let step = front.steps.at(located.packet.time);
                // Nobody else has what is being filled: this never clones.
                let mut batch = Arc::make_mut(&mut filling);
                if step != batch.step || batch.events.len() >= BATCH_PACKETS {
                    batch.ends_step = step != batch.step;
                    let next = crew.empty_batch();
                    crew.send(std::mem::replace(&mut filling, next))?;
                    (self.on_batch)(self.frames.packets);
                    batch = Arc::make_mut(&mut filling);
                    batch.step = step;
                }
                front.take(&located, batch);
            }
            match more {
                Ok(true) if !self.stop.load(Ordering::Relaxed) => {}
                Ok(_) => break None,
                Err(error) => break Some(error),
            }
        };
        Arc::make_mut(&mut filling).ends_step = true;
        crew.send(filling)?;
        Ok(failure)
    }
}

fn run_outcome(
    found: Found,
    load: &Load,
    history: &History,
    population: &Population,
) -> RunOutcome {
    let errors = Errors {
        lookups_extant: load.lookups_extant.iter().sum(),
        lookups_absent: load.lookups_absent,
        flows_total: load.flows_total,
        ..found.erring.errors()
    };
    let intervals = population.intervals(&found.erring, history);
    let Found { alerts, timeline, stats, nanos, .. } = found;
    RunOutcome { errors, alerts, intervals, timeline, stats, nanos }
}
