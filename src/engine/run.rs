//! One run: from a source of frames to a report of what was found.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::alert::Sink;
use super::clock::Phase;
use super::counting::Counting;
use super::crew::{Crew, CrewReport, Duties, PacketCost, WorkerLost};
use super::event::Round;
use super::finding::Findings;
use super::front::{Front, GROUP, Watch};
use super::gather::{AlertCounts, Gather};
use super::hygiene::AlertFilter;
use super::observer::{Observer, Snapshot, Wish};
use super::tally::Tally;
use super::thresholds::Losses;
use super::verify::{Scope, Verifier};
use super::worker::{WorkPlan, Worker};
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSlots, PacketSource};
use crate::flow::{FlowId, Keyer};
use crate::machine::{RuleSet, Rules, Suppressions};
use crate::spec::StoreSpec;
use crate::store::{Store, StoreError, StoreStats, StoreUser, with_store};

/// Nanoseconds a packet, on the machine they were measured on: kbf, the paper's rules, plain files.
const COST: PacketCost = PacketCost { reading: 38.0, counting: 17.0, working: 33.0 };
/// The same with an exact shadow beside the store.
const VERIFIED_COST: PacketCost = PacketCost { working: 140.0, ..COST };

/// Everything that a run goes by.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// Which store, how large.
    pub store: StoreSpec,
    /// The state machine of each flow, and what its rules are called.
    pub rules: Rules,
    /// The rules whose alerts are shown; the others are only counted.
    pub shown: RuleSet,
    /// What the user does not want to see.
    pub suppressions: Suppressions,
    /// How packets become flows.
    pub keyer: Keyer,
    /// The aging clock's phase.
    pub phase: Phase,
    /// How long "no session" rules stay mute at the start.
    pub startup_nanos: u64,
    /// Whose steps to show.
    pub watch: Option<Watch>,
    /// Seed of the thresholds' sketches.
    pub seed: u64,
    /// Whether look-ups that find nothing touch the cells they met.
    pub touch_absent: bool,
    /// How many threads, the one that reads among them: 1 to 16.
    pub workers: usize,
    /// Whether snapshots tell the busiest addresses.
    pub top_talkers: bool,
    /// Whether to compare with an exact shadow.
    pub verify: bool,
    /// Nanoseconds on some clock, for the histograms alone.
    pub stopwatch: fn() -> u64,
}

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    /// Frames, and why some were skipped.
    pub frames: FrameCounts,
    /// Lookups, errors, times.
    pub tally: Tally,
    /// What the stores say about themselves.
    pub stats: StoreStats,
    /// Alerts shown and left out.
    pub alerts: AlertCounts,
    /// What the thresholds' bounded memory left out.
    pub losses: Losses,
    /// Whether the capture seems to show one direction of its flows only.
    pub one_way: bool,
    /// Why reading ended early, if it did. What was read before it is in all figures.
    pub failure: Option<CaptureError>,
}

/// Why a run could not be brought to an end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store could not be made.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An output took no more.
    #[error("cannot write alerts")]
    Output(#[from] io::Error),
    /// A worker died.
    #[error(transparent)]
    Worker(#[from] WorkerLost),
}

/// Runs `source` through the machine. `observer` is told the number of frames now and then, and may
/// have wishes; the run ends early when `stop` is set.
pub fn run<'a, F: PacketSource, K: Sink>(
    plan: &'a RunPlan,
    source: &'a mut F,
    parser: &'a Parser,
    sink: &'a mut K,
    stop: &'a AtomicBool,
    observer: impl Observer<'a>,
) -> Result<Outcome, RunError> {
    let rules = &plan.rules;
    with_store(&plan.store, Job { plan, rules, source, parser, sink, stop, observer })?
}

/// A run that waits for the type of its store.
struct Job<'a, F, K, R> {
    plan: &'a RunPlan,
    /// Those in force.
    rules: &'a Rules,
    source: &'a mut F,
    parser: &'a Parser,
    sink: &'a mut K,
    stop: &'a AtomicBool,
    observer: R,
}

impl<'a, F: PacketSource, K: Sink, R: Observer<'a>> StoreUser for Job<'a, F, K, R> {
    type Output = Result<Outcome, RunError>;

    fn run<S: Store + 'static>(self, make: impl Fn() -> Result<S, StoreError>) -> Self::Output {
        let duties = Duties::new(self.plan.workers, packet_cost(self.plan));
        let mut workers = crew_of(self.plan, duties, make)?.into_iter();
        let Some(reader) = workers.next() else { return Err(WorkerLost.into()) };
        thread::scope(|scope| self.drive(Crew::new(reader, workers, scope)))
    }
}

/// What the plan's packets cost.
fn packet_cost(plan: &RunPlan) -> PacketCost {
    let cost = if plan.verify { VERIFIED_COST } else { COST };
    match Counting::is_needed(&plan.rules, plan.shown) {
        true => cost,
        false => PacketCost { counting: 0.0, ..cost },
    }
}

fn crew_of<S: Store>(
    plan: &RunPlan,
    duties: Duties,
    make: impl Fn() -> Result<S, StoreError>,
) -> Result<Vec<Worker<'_, S>>, StoreError> {
    let mut stores: Vec<Vec<(usize, S)>> = (0..duties.workers()).map(|_| Vec::new()).collect();
    for shard in 0..FlowId::SHARDS {
        stores[duties.owner(shard)].push((shard, make()?));
    }
    let work = WorkPlan {
        machine: &plan.rules.machine,
        shown: plan.shown,
        keyer: plan.keyer,
        touch_absent: plan.touch_absent,
        stopwatch: plan.stopwatch,
    };
    let scope = match (plan.verify, plan.watch) {
        (true, _) => Some(Scope::Everything),
        (false, Some(_)) => Some(Scope::Watched),
        (false, None) => None,
    };
    let worker = |(number, stores)| {
        let verifier = scope
            .map(|scope| Verifier::new(&plan.rules.machine, &plan.store, scope))
            .transpose()?;
        let counts = number == duties.counter();
        let counting = counts.then(|| Counting::new(&plan.rules, plan.shown, plan.seed));
        Ok(Worker::new(work, stores, verifier, counting))
    };
    stores.into_iter().enumerate().map(worker).collect()
}

impl<'a, F: PacketSource, K: Sink, R: Observer<'a>> Job<'a, F, K, R> {
    fn drive<'scope, S>(mut self, mut crew: Crew<'scope, 'a, S>) -> Result<Outcome, RunError>
    where
        'a: 'scope,
        S: Store + 'scope,
    {
        let mut front = Front::new(self.plan);
        let mut gather = gather_for(self.plan, self.sink);
        let mut frames = FrameCounts::default();
        let mut findings = Findings::default();
        let failure = loop {
            let silence = if self.source.may_wait() { self.source.wait() } else { Ok(None) };
            let more = match silence {
                Ok(None) => {
                    let source = &mut *self.source;
                    let mut reader = Reader { source, parser: self.parser, front: &mut front };
                    reader.fill(crew.filling(), &mut frames)
                }
                Ok(Some(now)) => {
                    crew.filling().silence = Some(front.idle(now));
                    Ok(true)
                }
                Err(error) => Err(error),
            };
            if crew.send(&mut findings)? {
                gather.round(&mut findings)?;
            }
            front.note_losses(self.source.lost_frames());
            let wish = self.observer.round(frames.packets);
            if self.source.may_wait() || !matches!(wish, Wish::GoOn) {
                show_all(&mut crew, &mut gather, &mut findings)?;
            }
            match wish {
                Wish::GoOn => {}
                Wish::Snapshot => {
                    let snapshot = snapshot(&front, &gather, &frames, crew.report()?);
                    self.observer.snapshot(snapshot);
                }
                Wish::Rules(new) => {
                    crew.follow(self.rules, new)?;
                    gather.follow(new);
                    self.rules = &new.rules;
                }
            }
            match more {
                Ok(true) if !self.stop.load(Ordering::Relaxed) => {}
                Ok(_) => break None,
                Err(error) => break Some(error),
            }
        };
        show_all(&mut crew, &mut gather, &mut findings)?;
        let CrewReport { tally, stats, losses, firings } = crew.finish(front.epoch())?;
        findings.firings = firings;
        gather.round(&mut findings)?;
        let (alerts, one_way) = (gather.finish(), front.is_one_way());
        Ok(Outcome { frames, tally, stats, alerts, losses, one_way, failure })
    }
}

/// Waits for all rounds on their way and shows what they found.
fn show_all<'scope, 'plan: 'scope, S: Store + 'scope, K: Sink>(
    crew: &mut Crew<'scope, 'plan, S>,
    gather: &mut Gather<'_, K>,
    findings: &mut Findings,
) -> Result<(), RunError> {
    while crew.receive(findings)? {
        gather.round(findings)?;
    }
    Ok(())
}

/// The run at this moment; no round is on its way.
fn snapshot<K: Sink>(
    front: &Front,
    gather: &Gather<'_, K>,
    frames: &FrameCounts,
    CrewReport { tally, stats, losses, .. }: CrewReport,
) -> Snapshot {
    let (shown, left_out) = gather.so_far();
    Snapshot {
        time: front.time(),
        frames: frames.clone(),
        tally,
        stats,
        shown,
        left_out,
        losses,
        one_way: front.is_one_way(),
        no_session_muted: front.mutes_no_session(),
        top: front.top().cloned(),
    }
}

fn gather_for<'a, K: Sink>(plan: &'a RunPlan, sink: &'a mut K) -> Gather<'a, K> {
    let filter = || AlertFilter::new(&plan.rules, &plan.suppressions, plan.keyer.hash_key);
    Gather::new(sink, plan.keyer, filter(), plan.verify.then(filter))
}

/// A round ends after so many frames, be they TCP or not: signals and progress bars wait for it.
const ROUND_FRAMES_MAX: usize = 8 * Round::PACKETS;

/// What it takes to fill a round.
struct Reader<'r, F> {
    source: &'r mut F,
    parser: &'r Parser,
    front: &'r mut Front,
}

impl<F: PacketSource> Reader<'_, F> {
    /// Fills one round, not to the brim if the source makes us wait. Says whether there may be
    /// more.
    #[inline(never)] // once per kind of source, not once more for each store
    fn fill(&mut self, round: &mut Round, frames: &mut FrameCounts) -> Result<bool, CaptureError> {
        let (source, front, parser) = (&mut *self.source, &mut *self.front, self.parser);
        let mut frames_left = ROUND_FRAMES_MAX;
        while round.packets.room() >= GROUP && frames_left > 0 {
            let places = round.packets.next_places(GROUP);
            let mut slots = PacketSlots::new(parser, places, frames);
            let more = source.fill(&mut slots);
            frames_left = frames_left.saturating_sub(GROUP);
            // What was read before an end or an error counts.
            let found = GROUP - slots.free();
            front.group(found, round, frames);
            if !more? {
                return Ok(false);
            }
            if source.may_wait() {
                break;
            }
        }
        Ok(true)
    }
}
