//! Many runs over one pass of a trace, each held against the exact truth.
//!
//! ```text
//! source → parse → front: the truth ─┬→ run: lookup → compare → step → write
//!                                    └→ run …
//! ```
//!
//! Parsing, the exact table and what follows from it are done once, whatever the number of runs;
//! batches with the truth in them go to all threads, and each thread drives its own runs. A run
//! in a closed loop counts the errors that [`run`](mod@super::run) counts with `verify`, to the last
//! one. Thresholds are left out: they look at packets, whatever the store says.
//!
//! | file | what |
//! |---|---|
//! | `front`, `batch` | the reading end; packets with their truth |
//! | `crew`, `runner` | the threads; one store through the trace |
//! | `erring`, `timeline` | what a run counts: flow by flow, and over time |
//! | [`interval`] | how sure the rates are: flows resampled |

mod batch;
mod crew;
mod erring;
mod front;
pub mod interval;
mod runner;
mod timeline;

pub use front::Load;
pub use interval::RateIntervals;
pub use timeline::{StepCounts, Timeline};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::clock::Phase;
use super::crew::WorkerLost;
use super::gather::AlertDifference;
use super::verify::Errors;
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameTally, Source};
use crate::flow::{Direction, Keyer, Packet};
use crate::hash::HashKey;
use crate::machine::{self, RuleSet, Rules, Suppressions};
use crate::spec::StoreSpec;
use crate::state::Lookup;
use crate::store::{History, StoreError, StoreStats};
use crew::{Crew, Placed};
use front::{Front, Group};
use interval::Population;
use runner::{Found, Runner, runner};

/// Packets in a batch, unless its step of the timeline ends before.
const BATCH_PACKETS: usize = 2048;

/// Whose answer a store goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feedback {
    /// Its own: errors can lead to others. What a user gets.
    Closed,
    /// The truth: the store is fed the right states. What theory predicts.
    Open,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPlan {
    /// Which store, how large.
    pub store: StoreSpec,
    /// The place of its seed among the plan's.
    pub seed: usize,
    /// Whose answer it goes on from.
    pub feedback: Feedback,
}

/// Everything that a comparison goes by.
#[derive(Debug, Clone)]
pub struct ComparePlan {
    /// What to run.
    pub runs: Vec<RunPlan>,
    /// Seeds of the digests, at least one.
    pub seeds: Vec<u64>,
    /// The state machine of each flow, and what its rules are called.
    pub rules: Rules,
    /// The rules whose alerts are shown.
    pub shown: RuleSet,
    /// What the user does not want to see.
    pub suppressions: Suppressions,
    /// How packets become flows; each seed puts its own hash key in.
    pub keyer: Keyer,
    /// The aging clock's phase.
    pub phase: Phase,
    /// Whether flows age.
    pub timed: bool,
    /// How long "no session" rules stay mute at the start.
    pub startup_nanos: u64,
    /// Whether look-ups that find nothing touch the cells they met.
    pub touch_absent: bool,
    /// How many threads the runs are spread over.
    pub threads: usize,
    /// How many flows the exact table has room for before it grows.
    pub flows_expected: usize,
    /// Nanoseconds on some clock, to say how long each run took.
    pub stopwatch: fn() -> u64,
}

/// What came of a comparison.
#[derive(Debug)]
pub struct Outcome {
    /// Frames, and why some were skipped.
    pub frames: FrameTally,
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

impl ComparePlan {
    /// The keyer of a seed, by its place.
    fn keyer_of(&self, seed: usize) -> Keyer {
        let seed = self.seeds.get(seed).copied().unwrap_or_default();
        Keyer { hash_key: HashKey::from_seed(seed), ..self.keyer }
    }

    /// What follows from a packet for a flow that was looked up.
    fn step(&self, packet: &Packet, lookup: Lookup) -> machine::Outcome {
        self.step_along(packet, self.keyer.key(packet).1, lookup)
    }

    #[inline]
    fn step_along(
        &self,
        packet: &Packet,
        direction: Direction,
        lookup: Lookup,
    ) -> machine::Outcome {
        self.rules.machine.step(lookup, direction, packet.flags, packet.payload_bytes > 0)
    }
}

/// Drives all runs of `plan` through `source`; without runs, only finds out what the trace is
/// like. `on_batch` is told the number of frames now and then; it ends early when `stop` is set.
pub fn compare(
    plan: &ComparePlan,
    source: &mut impl Source,
    parser: &Parser,
    stop: &AtomicBool,
    on_batch: impl FnMut(u64),
) -> Result<Outcome, CompareError> {
    let mut front = Front::new(plan)?;
    let mut frames = FrameTally::default();
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
    Ok(Outcome { frames, load, runs, failure })
}

/// Makes the runs and spreads them over threads, the costliest first, each to where the least is
/// to be done. A packet costs a run about as many memory accesses as a flow has cells.
fn parts(plan: &ComparePlan) -> Result<Vec<Vec<Placed<Box<dyn Runner + '_>>>>, StoreError> {
    let cost = |(n, run): (usize, &RunPlan)| Ok((2 + run.store.sizing()?.hashes, n));
    let costs = plan.runs.iter().enumerate().map(cost);
    let mut order = costs.collect::<Result<Vec<_>, StoreError>>()?;
    order.sort_unstable_by_key(|&(cost, n)| (std::cmp::Reverse(cost), n));
    let threads = plan.threads.clamp(1, plan.runs.len().max(1));
    let mut parts: Vec<(usize, Vec<Placed<Box<dyn Runner + '_>>>)> =
        (0..threads.min(plan.runs.len())).map(|_| (0, Vec::new())).collect();
    for (cost, n) in order {
        let least = parts.iter_mut().min_by_key(|(cost, _)| *cost);
        if let (Some((sum, part)), Some(run)) = (least, plan.runs.get(n)) {
            *sum += cost;
            part.push((n, runner(plan, run)?));
        }
    }
    Ok(parts.into_iter().map(|(_, part)| part).collect())
}

/// What it takes to go through a trace.
struct Reading<'r, F, R> {
    source: &'r mut F,
    parser: &'r Parser,
    stop: &'r AtomicBool,
    frames: &'r mut FrameTally,
    on_batch: R,
}

impl<F: Source, R: FnMut(u64)> Reading<'_, F, R> {
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
