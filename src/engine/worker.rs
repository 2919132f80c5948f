//! A worker: for each packet look the flow up, step its machine, write the store, age it.

use super::alert::WatchStep;
use super::clock::Tick;
use super::finding::{Finding, Findings};
use super::observer::{NewRules, carried_over};
use super::tally::Tally;
use super::verify::Verifier;
use crate::flow::{Direction, FlowId, Keyer, Packet};
use crate::machine::{Machine, Next, Outcome, RuleSet, Rules};
use crate::state::{Lookup, State};
use crate::store::{Epoch, Flow, Stamp, Store, StoreStats};

/// A TCP packet on its way to the worker that owns its flow.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// What the packet says.
    pub packet: Packet,
    /// Its flow's digest.
    pub id: FlowId,
    /// When in the life of flows it comes.
    pub tick: Tick,
    /// Its place in its round: results are put back in this order.
    pub index: u32,
    /// Which way it goes along its flow.
    pub direction: Direction,
    /// Whether somebody wants to see each step of its flow.
    pub watched: bool,
    /// Whether rules about packets without a session are mute at this time.
    pub no_session_muted: bool,
}

impl Event {
    /// What follows from the packet for a flow that was looked up.
    #[inline]
    pub fn step(&self, machine: &Machine, lookup: Lookup) -> Outcome {
        machine.step(lookup, self.direction, self.packet.flags, self.packet.payload_bytes > 0)
    }
}

/// What every worker of a run goes by.
#[derive(Debug, Clone, Copy)]
pub struct WorkPlan<'a> {
    /// The state machine of each flow.
    pub machine: &'a Machine,
    /// The rules whose alerts are shown; the others are only counted.
    pub shown: RuleSet,
    /// How packets become flows.
    pub keyer: Keyer,
    /// Cells per flow; 0 for stores that do not guess.
    pub hashes: usize,
    /// Whether a look-up that finds nothing touches the cells it met (`--touch all`).
    pub touch_absent: bool,
    /// Nanoseconds on some clock, for the histograms alone.
    pub stopwatch: fn() -> u64,
}

/// So many events are located and prefetched before the first of them is looked up: enough to
/// hide the latency of memory, few enough to stay in the first-level cache.
const GROUP: usize = 16;

/// A shard is swept each time it has seen so many events…
const SWEEP_EVERY: u32 = 64;
/// …over so many cells: 4 a packet.
const SWEEP_CELLS: usize = 256;

/// Owns some of the shards and all that happens to their flows.
pub struct Worker<'a, S: Store> {
    plan: WorkPlan<'a>,
    shards: Vec<Shard<S>>,
    /// Maps a flow's shard to its place in `shards`.
    shard_at: [usize; FlowId::SHARDS],
    /// Which states are half-open: they live shorter.
    half_open: [bool; State::LIMIT],
    /// Where the flows of a group are: room that is used again.
    places: Vec<S::Place>,
    verifier: Option<Verifier>,
    tally: Tally,
}

struct Shard<S> {
    number: usize,
    store: S,
    events: u32,
    /// The epoch of its last event.
    epoch: Epoch,
}

impl<'a, S: Store> Worker<'a, S> {
    /// A worker for `stores`, each with the number of its shard.
    pub fn new(
        plan: WorkPlan<'a>,
        stores: Vec<(usize, S)>,
        verifier: Option<Verifier>,
    ) -> Worker<'a, S> {
        let mut shard_at = [0; FlowId::SHARDS];
        for (place, (number, _)) in stores.iter().enumerate() {
            shard_at[*number] = place;
        }
        let half_open = plan.machine.half_open();
        let shard = |(number, store)| Shard { number, store, events: 0, epoch: Epoch::default() };
        let shards = stores.into_iter().map(shard).collect();
        let places = Vec::with_capacity(GROUP);
        Worker { plan, shards, shard_at, half_open, places, verifier, tally: Tally::default() }
    }

    /// Drives the flows of `events`, in order, and notes what it found.
    pub fn process(&mut self, events: &[Event], findings: &mut Findings) {
        let start = (self.plan.stopwatch)();
        let mut places = std::mem::take(&mut self.places);
        for group in events.chunks(GROUP) {
            places.clear();
            places.extend(group.iter().map(|event| {
                let store = &self.shards[self.shard_at[event.id.shard()]].store;
                let key = self.plan.keyer.key(&event.packet).0;
                let place = store.locate(&Flow { key, id: event.id });
                store.prefetch(&place);
                place
            }));
            for (event, place) in group.iter().zip(&places) {
                self.advance(event, place, findings);
            }
        }
        self.places = places;
        if !events.is_empty() {
            self.tally.batch_nanos.record((self.plan.stopwatch)().saturating_sub(start));
        }
    }

    #[inline]
    fn advance(&mut self, event: &Event, place: &S::Place, findings: &mut Findings) {
        let shard = &mut self.shards[self.shard_at[event.id.shard()]];
        if event.tick.epoch != shard.epoch {
            shard.pass_to(event.tick.epoch);
        }
        let answer = shard.store.lookup(place, event.tick.epoch);
        let outcome = event.step(self.plan.machine, answer);
        self.tally.lookups.count(answer);
        if let Next::Go(state) = outcome.next {
            self.tally.entered[state.index()] += 1;
        }

        let stamp = |state| event.tick.stamp(is_half_open(&self.half_open, state));
        let now_in = write(&mut shard.store, place, answer, outcome.next, &stamp, event.tick.epoch);
        if self.plan.touch_absent && answer == Lookup::Absent && now_in.is_none() {
            shard.store.touch(place, answer, event.tick.epoch.stamp());
        }

        shard.events += 1;
        if shard.events == SWEEP_EVERY {
            shard.events = 0;
            let start = (self.plan.stopwatch)();
            if shard.store.sweep(event.tick.epoch, SWEEP_CELLS) > 0 {
                self.tally.sweep_nanos.record((self.plan.stopwatch)().saturating_sub(start));
            }
        }
        if !outcome.alerts.is_empty() {
            self.report(event, answer, now_in, outcome.alerts, findings);
        }
        if self.verifier.is_some() {
            self.verify(event, answer, outcome, findings);
        }
    }

    /// Notes the alerts of one packet. Rare: kept out of the hot path.
    #[cold]
    fn report(
        &mut self,
        event: &Event,
        answer: Lookup,
        state: Option<State>,
        alerts: RuleSet,
        findings: &mut Findings,
    ) {
        let stats = self.shards[self.shard_at[event.id.shard()]].store.stats();
        for rule in alerts.without(self.plan.shown).iter() {
            self.tally.only_counted[usize::from(rule.0)] += 1;
        }
        for rule in alerts.intersection(self.plan.shown).iter() {
            let confidence = confidence(answer, stats.fill_ratio(), self.plan.hashes);
            findings.alerts.push(Finding { event: *event, rule, answer, state, confidence });
        }
    }

    /// Compares with the exact shadow, and lets it take the same packet.
    fn verify(&mut self, event: &Event, answer: Lookup, outcome: Outcome, findings: &mut Findings) {
        let Some(verifier) = &mut self.verifier else { return };
        if !verifier.follows(event) {
            return;
        }
        let (key, direction) = self.plan.keyer.key(&event.packet);
        let flow = Flow { key, id: event.id };
        let (truth, alerts) = verifier.check(&flow, event, answer, self.plan.machine);
        for rule in alerts.intersection(self.plan.shown).iter() {
            let exact =
                Finding { event: *event, rule, answer: truth, state: None, confidence: 1.0 };
            findings.shadow_alerts.push(exact);
        }
        if event.watched {
            let next = outcome.next;
            let step = WatchStep { packet: event.packet, key, direction, answer, truth, next };
            findings.steps.push((event.index, step));
        }
    }

    /// A whole epoch passed in silence, up to `now`: all that was alive has aged.
    pub fn pass_silence(&mut self, now: Epoch) {
        self.shards.iter_mut().for_each(|shard| shard.pass_to(now));
    }

    /// Goes on under other rules, with the same states.
    pub fn follow(&mut self, rules: &Rules, new: &'a NewRules) {
        self.tally.only_counted = carried_over(&self.tally.only_counted, rules, &new.rules);
        (self.plan.machine, self.plan.shown) = (&new.rules.machine, new.shown);
        self.half_open = new.rules.machine.half_open();
    }

    /// What this worker counted so far, but for errors, and what each shard holds.
    pub fn counts(&self) -> (Tally, Vec<(usize, StoreStats)>) {
        let shards = self.shards.iter().map(|shard| (shard.number, shard.store.stats()));
        (self.tally.clone(), shards.collect())
    }

    /// Sweeps what is left, and says what this worker counted and what each shard holds.
    pub fn finish(mut self, now: Epoch) -> (Tally, Vec<(usize, StoreStats)>) {
        let mut stats = Vec::with_capacity(self.shards.len());
        for shard in &mut self.shards {
            while shard.store.sweep(now, usize::MAX) > 0 {}
            stats.push((shard.number, shard.store.stats()));
        }
        if let Some(verifier) = self.verifier {
            self.tally.errors = verifier.finish();
        }
        (self.tally, stats)
    }
}

impl<S: Store> Shard<S> {
    /// Comes to a later epoch. After a whole one in silence nothing is alive: it is swept at once,
    /// so that what is seen of a silent link (live, by a tick) and what comes after it (also in a
    /// replay, where silence is a gap between packets) finds the same.
    #[cold]
    fn pass_to(&mut self, epoch: Epoch) {
        if epoch.0.saturating_sub(self.epoch.0) > 1 {
            while self.store.sweep(epoch, usize::MAX) > 0 {}
        }
        self.epoch = self.epoch.max(epoch);
    }
}

/// The chance that an answer does not come from other flows: a filter of this fill finds k cells
/// in use for a flow that is not there with fill^k.
fn confidence(answer: Lookup, fill_ratio: f64, hashes: usize) -> f64 {
    match (answer, hashes) {
        (Lookup::Absent, _) | (_, 0) => 1.0,
        (Lookup::Known(_), hashes) => 1.0 - fill_ratio.powi(hashes as i32),
        (Lookup::DontKnow, _) => 0.0,
    }
}

/// Whether a flow is in the middle of its handshake, as far as is known.
#[inline]
pub(super) fn is_half_open(half_open: &[bool; State::LIMIT], state: Option<State>) -> bool {
    state.is_some_and(|state| half_open[state.index()])
}

/// Brings what follows into the store, and says which state the flow is in now if that is known.
/// The shadow does the same through this one function.
#[inline]
pub(super) fn write<S: Store>(
    store: &mut S,
    place: &S::Place,
    answer: Lookup,
    next: Next,
    stamp: &impl Fn(Option<State>) -> Stamp,
    now: Epoch,
) -> Option<State> {
    match (answer, next) {
        (Lookup::Absent, Next::Go(state)) => {
            store.insert(place, state, stamp(Some(state)));
            Some(state)
        }
        (Lookup::Absent, _) => None,
        (Lookup::Known(state), Next::Keep) => {
            store.touch(place, answer, stamp(Some(state)));
            Some(state)
        }
        (Lookup::Known(_), Next::Go(state)) => {
            store.modify(place, answer, state, stamp(Some(state)));
            Some(state)
        }
        (Lookup::DontKnow, Next::Go(state)) if S::WRITES_UNKNOWN => {
            store.modify(place, answer, state, stamp(Some(state)));
            Some(state)
        }
        (Lookup::Known(_), Next::Delete) => {
            store.delete(place, answer, now);
            None
        }
        (Lookup::DontKnow, Next::Delete) if S::WRITES_UNKNOWN => {
            store.delete(place, answer, now);
            None
        }
        (Lookup::DontKnow, _) => {
            store.touch(place, answer, stamp(None));
            None
        }
    }
}
