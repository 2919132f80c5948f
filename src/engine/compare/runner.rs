//! One run: a store driven through the trace, and every answer held against the truth.

use std::collections::HashMap;

use super::batch::{Batch, Event, GROUP};
use super::erring::ErringFlows;
use super::plan::{ComparePlan, Feedback, StoreRun};
use super::timeline::Timeline;

use crate::engine::alert::Alert;
use crate::engine::gather::AlertDifference;
use crate::engine::hygiene::AlertFilter;
use crate::engine::verify::ErrorKind;
use crate::engine::worker::{SWEEP_CELLS, SWEEP_EVERY, is_half_open, write};
use crate::flow::{FlowId, Keyer, Packet};
use crate::machine::{RuleId, RuleSet};
use acsm_filters::{Epoch, Flow, Store, StoreError, StoreStats, StoreUser, with_store};
use acsm_filters::{Lookup, State};

/// Stores up to this size are swept whenever their fill is to be known…
const SWEEP_FREELY_CELLS: u64 = 1 << 20;
/// …larger ones if there were lookups enough to pay for it.
const SWEEP_CELLS_PER_LOOKUP: u64 = 32;

/// A run, whatever its store. Called once a batch: what is called once a packet is generic.
pub trait Runner: Send {
    /// Drives the store through a batch.
    fn process(&mut self, batch: &Batch);

    /// What was found.
    fn finish(self: Box<Self>, last: Epoch) -> Found;
}

/// What one run found.
#[derive(Debug)]
pub struct Found {
    /// Errors by kind and flow.
    pub erring: ErringFlows,
    /// Against what an exact table would have shown.
    pub alerts: AlertDifference,
    /// Step by step.
    pub timeline: Timeline,
    /// What the store says about itself.
    pub stats: StoreStats,
    /// Time spent on this run.
    pub nanos: u64,
}

/// Makes the run that `run` asks for.
pub fn runner<'a>(
    plan: &'a ComparePlan,
    run: &'a StoreRun,
) -> Result<Box<dyn Runner + 'a>, StoreError> {
    with_store(&run.store, Maker { plan, run })?
}

struct Maker<'a> {
    plan: &'a ComparePlan,
    run: &'a StoreRun,
}

impl<'a> StoreUser for Maker<'a> {
    type Output = Result<Box<dyn Runner + 'a>, StoreError>;

    fn run<S: Store + 'static>(self, make: impl Fn() -> Result<S, StoreError>) -> Self::Output {
        let Maker { plan, run } = self;
        let shard = || Ok(Shard { store: make()?, events: 0 });
        let shards = (0..FlowId::SHARDS).map(|_| shard()).collect::<Result<_, StoreError>>()?;
        let keyer = plan.keyer_of(run.seed);
        Ok(Box::new(Run {
            plan,
            open_loop: run.feedback == Feedback::Open,
            seed: run.seed,
            half_open: plan.rules.machine.half_open(),
            filter: AlertFilter::new(&plan.rules, &plan.suppressions, keyer.hash_key),
            keyer,
            shards,
            places: Vec::with_capacity(GROUP),
            erring: ErringFlows::default(),
            surplus: HashMap::new(),
            timeline: Timeline::default(),
            since_sweep: 0,
            nanos: 0,
        }))
    }
}

/// A run whose store is of a known type.
struct Run<'a, S: Store> {
    plan: &'a ComparePlan,
    open_loop: bool,
    seed: usize,
    keyer: Keyer,
    half_open: [bool; State::LIMIT],
    shards: Vec<Shard<S>>,
    /// Where the flows of a group are: room that is used again.
    places: Vec<S::Place>,
    filter: AlertFilter<'a>,
    erring: ErringFlows,
    /// Alerts shown less those that an exact table would have shown, by rule and flow. What is
    /// even is not kept.
    surplus: HashMap<(RuleId, u32), i64>,
    timeline: Timeline,
    /// Lookups since all cells were swept at once.
    since_sweep: u64,
    nanos: u64,
}

struct Shard<S> {
    store: S,
    events: u32,
}

impl<S: Store> Runner for Run<'_, S> {
    fn process(&mut self, batch: &Batch) {
        let start = (self.plan.stopwatch)();
        let Some(part) = batch.seeds.get(self.seed) else { return };
        let errors_before = self.erring.total();
        let mut places = std::mem::take(&mut self.places);
        let mut first = 0;
        for (events, ids) in batch.events.chunks(GROUP).zip(part.ids.chunks(GROUP)) {
            places.clear();
            places.extend(ids.iter().zip(&batch.packets[first..]).map(|(&id, packet)| {
                let store = &mut self.shards[id.shard()].store;
                let place = store.locate(&Flow { key: self.keyer.key(packet).0, id });
                store.prefetch(&place);
                place
            }));
            for (at, ((event, id), place)) in events.iter().zip(ids).zip(&places).enumerate() {
                self.advance(batch, first + at, event, (*id, place));
            }
            first += events.len();
        }
        self.places = places;
        let counts = self.timeline.at(batch.step);
        counts.lookups += batch.events.len() as u64;
        counts.errors += self.erring.total() - errors_before;
        self.since_sweep += batch.events.len() as u64;
        if let Some(last) = batch.events.last().filter(|_| batch.ends_step && self.may_sweep()) {
            self.measure_fill(last.tick.epoch);
        }
        self.nanos += (self.plan.stopwatch)().saturating_sub(start);
    }

    fn finish(mut self: Box<Self>, last: Epoch) -> Found {
        let stats = self.measure_fill(last);
        let alerts = self.surplus.values().copied().collect();
        let Run { erring, timeline, nanos, .. } = *self;
        Found { erring, alerts, timeline, stats, nanos }
    }
}

impl<S: Store> Run<'_, S> {
    /// One packet: look up, compare, step, write.
    #[inline]
    fn advance(
        &mut self,
        batch: &Batch,
        at: usize,
        event: &Event,
        (id, place): (FlowId, &S::Place),
    ) {
        let now = event.tick.epoch;
        let shard = &mut self.shards[id.shard()];
        let answer = shard.store.lookup(place, now);
        let (mut alerts, mut basis, mut next) = (event.alerts, event.truth, event.next);
        if answer != event.truth {
            if let Some(kind) = ErrorKind::of(answer, event.truth) {
                self.erring.count(event.flow, kind);
            }
            let outcome = self.plan.step(&batch.packets[at], answer);
            alerts = outcome.alerts.intersection(self.plan.shown);
            if !self.open_loop {
                (basis, next) = (answer, outcome.next);
            }
        }
        let stamp = |state| event.tick.stamp(is_half_open(&self.half_open, state));
        let now_in = write(&mut shard.store, place, basis, next, &stamp, now);
        if self.plan.touch_absent && basis == Lookup::Absent && now_in.is_none() {
            shard.store.touch(place, basis, now.stamp());
        }
        shard.events += 1;
        if shard.events == SWEEP_EVERY {
            shard.events = 0;
            shard.store.sweep(now, SWEEP_CELLS);
        }
        if !alerts.union(event.alerts).is_empty() {
            self.compare_alerts(batch, at, alerts);
        }
    }

    /// Shows what passes the filter, and notes what an exact table would not have shown, and what
    /// only it would have.
    #[cold]
    fn compare_alerts(&mut self, batch: &Batch, at: usize, alerts: RuleSet) {
        let (event, part) = (&batch.events[at], &batch.seeds[self.seed]);
        let shown =
            admitted(&mut self.filter, alerts, &batch.packets[at], part.ids[at], part.muted[at]);
        let exact = part.admitted[at];
        let differing = [(shown.without(exact), 1), (exact.without(shown), -1)];
        for (rules, sign) in differing {
            for rule in rules.iter() {
                let surplus = self.surplus.entry((rule, event.flow)).or_default();
                *surplus += sign;
                if *surplus == 0 {
                    self.surplus.remove(&(rule, event.flow));
                }
            }
        }
    }

    /// Whether to measure the fill is worth a complete sweep. A large store in a quiet time keeps
    /// the fill that was measured last.
    fn may_sweep(&self) -> bool {
        let cells: u64 = self.shards.iter().map(|shard| shard.store.stats().cells).sum();
        cells <= SWEEP_FREELY_CELLS || cells <= SWEEP_CELLS_PER_LOOKUP * self.since_sweep
    }

    /// Sweeps everything, so that only what is alive counts, and notes how full the store is.
    fn measure_fill(&mut self, now: Epoch) -> StoreStats {
        let mut stats = StoreStats::default();
        for shard in &mut self.shards {
            while shard.store.sweep(now, usize::MAX) > 0 {}
            stats += shard.store.stats();
        }
        self.since_sweep = 0;
        if let Some(step) = self.timeline.steps.last_mut() {
            step.fill_ratio = stats.fill_ratio();
        }
        stats
    }
}

/// Which of a packet's alerts the filter lets through.
pub fn admitted(
    filter: &mut AlertFilter<'_>,
    alerts: RuleSet,
    packet: &Packet,
    flow: FlowId,
    muted: bool,
) -> RuleSet {
    let admits = |rule: &RuleId| {
        let mut alert = Alert {
            rule: *rule,
            time: packet.time,
            packet: *packet,
            flow,
            answer: None,
            state: None,
            confidence: 1.0,
            count: None,
            left_out: 0,
        };
        filter.admits(&mut alert, muted)
    };
    alerts.iter().filter(admits).collect()
}
