//! A worker: for each packet look the flow up, step its machine, write the store, age it.

use super::alert::WatchStep;
use super::counting::{Counting, Firings};
use super::event::{Event, Round, Silence};
use super::finding::{Finding, Findings};
use super::observer::{NewRules, carried_over};
use super::tally::Tally;
use super::thresholds::Losses;
use super::verify::Verifier;
use crate::flow::{FlowKey, Keyer, Packet};
use crate::machine::{Machine, Next, Outcome, RuleSet, Rules};
use acsm_filters::{Epoch, Flow, Stamp, Store, StoreStats};
use acsm_filters::{Lookup, State};

/// What every worker of a run goes by.
#[derive(Debug, Clone, Copy)]
pub struct WorkPlan<'a> {
    /// The state machine of each flow.
    pub machine: &'a Machine,
    /// The rules whose alerts are shown; the others are only counted.
    pub shown: RuleSet,
    /// How packets become flows.
    pub keyer: Keyer,
    /// Whether a look-up that finds nothing touches the cells it met (`--touch all`).
    pub touch_absent: bool,
    /// Nanoseconds on some clock, for the histograms alone.
    pub stopwatch: fn() -> u64,
}

/// An event's flow is located, and what it needs begins to load, so many events before its turn:
/// enough to hide the latency of memory, few enough to stay in the first-level cache.
const AHEAD: usize = 16;

/// A shard is swept each time it has seen so many events…
pub(super) const SWEEP_EVERY: u32 = 64;
/// …over so many cells: 4 a packet.
pub(super) const SWEEP_CELLS: usize = 256;

/// Owns some of the shards and all that happens to their flows.
pub struct Worker<'a, S: Store> {
    plan: WorkPlan<'a>,
    shards: Vec<Shard<S>>,
    /// Which states are half-open: they live shorter.
    half_open: [bool; State::LIMIT],
    /// Where the flows of the next events are: a ring, used again for each round.
    places: Vec<S::Place>,
    verifier: Option<Verifier>,
    /// In one of the workers.
    counting: Option<Counting>,
    tally: Tally,
}

/// What a worker says of itself.
#[derive(Debug, Default)]
pub struct WorkerReport {
    /// What it counted.
    pub tally: Tally,
    /// What each of its shards holds.
    pub shards: Vec<(usize, StoreStats)>,
    /// What its thresholds left out…
    pub losses: Losses,
    /// …and told at the end.
    pub firings: Firings,
}

/// What became of one packet.
struct Step {
    answer: Lookup,
    outcome: Outcome,
    /// The state that its flow is in now, if that is known.
    state: Option<State>,
    /// The store's epoch before it: one that recycles has epochs of its own.
    epoch_before: Epoch,
}

struct Shard<S> {
    number: usize,
    store: S,
    events: u32,
    /// The epoch of its last event.
    epoch: Epoch,
}

impl<'a, S: Store> Worker<'a, S> {
    /// A worker for `stores`, each with the number of its shard. It counts packets, if that is its
    /// duty.
    pub fn new(
        plan: WorkPlan<'a>,
        stores: Vec<(usize, S)>,
        verifier: Option<Verifier>,
        counting: Option<Counting>,
    ) -> Worker<'a, S> {
        let half_open = plan.machine.half_open();
        let shard = |(number, store)| Shard { number, store, events: 0, epoch: Epoch::default() };
        let shards = stores.into_iter().map(shard).collect();
        let places = Vec::with_capacity(AHEAD);
        Worker { plan, shards, half_open, places, verifier, counting, tally: Tally::default() }
    }

    /// Drives the flows of its shards by their events of a round, and notes what it found. Goes
    /// shard by shard, whatever the order of packets: what one shard takes of memory, and the
    /// tables by which the processor finds it, stay in the caches meanwhile.
    pub fn process(&mut self, round: &Round, findings: &mut Findings) {
        if let Some(silence) = round.silence {
            self.pass(silence, findings);
        }
        let Worker { plan, shards, half_open, places, verifier, counting, tally } = self;
        let packets = round.packets.as_slice();
        let start = (plan.stopwatch)();
        let mut worked = false;
        for shard in shards {
            let events = round.events.of_shard(shard.number);
            worked |= !events.is_empty();
            let mut desk = Desk { plan, half_open, verifier, tally, packets };
            desk.process(shard, events, places, findings);
        }
        if let Some(counting) = counting {
            worked |= counting.process(packets, &mut findings.firings);
        }
        if worked {
            tally.batch_nanos.record((plan.stopwatch)().saturating_sub(start));
        }
    }

    fn pass(&mut self, silence: Silence, findings: &mut Findings) {
        if let Some(epoch) = silence.aged {
            self.shards.iter_mut().for_each(|shard| shard.pass_to(epoch));
        }
        if let Some(counting) = &mut self.counting {
            counting.idle(silence.until, &mut findings.firings);
        }
    }

    /// Goes on under other rules, with the same states.
    pub fn follow(&mut self, rules: &Rules, new: &'a NewRules) {
        self.tally.only_counted = carried_over(&self.tally.only_counted, rules, &new.rules);
        (self.plan.machine, self.plan.shown) = (&new.rules.machine, new.shown);
        self.half_open = new.rules.machine.half_open();
        if let Some(counting) = &mut self.counting {
            counting.follow(new);
        }
    }

    /// How it stands, but for errors.
    pub fn report(&self) -> WorkerReport {
        let shards = self.shards.iter().map(|shard| (shard.number, shard.store.stats()));
        WorkerReport {
            tally: self.tally.clone(),
            shards: shards.collect(),
            losses: self.counting.as_ref().map(Counting::losses).unwrap_or_default(),
            firings: Firings::new(),
        }
    }

    /// Sweeps what is left, and says how it all ended.
    pub fn finish(mut self, now: Epoch) -> WorkerReport {
        for shard in &mut self.shards {
            while shard.store.sweep(now, usize::MAX) > 0 {}
        }
        let mut firings = Firings::new();
        if let Some(counting) = &mut self.counting {
            counting.finish(&mut firings);
        }
        let mut report = WorkerReport { firings, ..self.report() };
        if let Some(verifier) = self.verifier {
            report.tally.errors = verifier.finish();
        }
        report
    }
}

/// What it takes to work on a shard.
struct Desk<'d, 'a> {
    plan: &'d WorkPlan<'a>,
    half_open: &'d [bool; State::LIMIT],
    verifier: &'d mut Option<Verifier>,
    tally: &'d mut Tally,
    /// Those of the whole round; looked at only where a packet says more than its event.
    packets: &'d [Packet],
}

impl Desk<'_, '_> {
    /// Drives the flows of a shard by `events`, in order. `places` is room that is used again.
    fn process<S: Store>(
        &mut self,
        shard: &mut Shard<S>,
        events: &[Event],
        places: &mut Vec<S::Place>,
        findings: &mut Findings,
    ) {
        let tells_all = self.verifier.is_some();
        places.clear();
        for event in events.iter().take(AHEAD) {
            let place = self.locate(&shard.store, event);
            shard.store.prefetch(&place);
            if !S::LOCATES_FREELY {
                places.push(place);
            }
        }
        for (n, event) in events.iter().enumerate() {
            let place = match S::LOCATES_FREELY {
                true => self.locate(&shard.store, event),
                false => places[n % AHEAD],
            };
            let epoch_before = shard.store.epoch(event.epoch);
            let (answer, outcome, state) = self.advance(shard, event, &place);
            if tells_all || !outcome.alerts.is_empty() {
                let step = Step { answer, outcome, state, epoch_before };
                self.report(&shard.store, event, &step, findings);
                self.verify(&shard.store, event, &step, findings);
            }
            if let Some(soon) = events.get(n + AHEAD) {
                let place = self.locate(&shard.store, soon);
                shard.store.prefetch(&place);
                if !S::LOCATES_FREELY {
                    places[n % AHEAD] = place;
                }
            }
        }
    }

    /// Where the flow of an event is.
    #[inline(always)]
    fn locate<S: Store>(&self, store: &S, event: &Event) -> S::Place {
        let key = match S::BY_KEY {
            true => self.plan.keyer.key(&self.packets[event.index as usize]).0,
            false => FlowKey::UNSPECIFIED,
        };
        store.locate(&Flow { key, id: event.id })
    }

    /// Drives a flow by one event. Says what was known of it, what followed, and the state that it
    /// is in now if that is known.
    #[inline(always)] // what it says stays in registers
    fn advance<S: Store>(
        &mut self,
        shard: &mut Shard<S>,
        event: &Event,
        place: &S::Place,
    ) -> (Lookup, Outcome, Option<State>) {
        if event.epoch != shard.epoch {
            shard.pass_to(event.epoch);
        }
        let answer = shard.store.lookup(place, event.epoch);
        let outcome = event.step(self.plan.machine, answer);
        self.tally.lookups.count(answer);
        if let Next::Go(state) = outcome.next {
            self.tally.entered[state.index()] += 1;
        }

        let stamp = |state| event.tick().stamp(is_half_open(self.half_open, state));
        let state = write(&mut shard.store, place, answer, outcome.next, &stamp, event.epoch);
        if self.plan.touch_absent && answer == Lookup::Absent && state.is_none() {
            shard.store.touch(place, answer, event.epoch.stamp());
        }

        shard.events += 1;
        if shard.events == SWEEP_EVERY {
            shard.events = 0;
            let start = (self.plan.stopwatch)();
            if shard.store.sweep(event.epoch, SWEEP_CELLS) > 0 {
                self.tally.sweep_nanos.record((self.plan.stopwatch)().saturating_sub(start));
            }
        }
        (answer, outcome, state)
    }

    /// Notes the alerts of one packet.
    #[cold]
    fn report(&mut self, store: &impl Store, event: &Event, step: &Step, findings: &mut Findings) {
        let &Step { answer, state, outcome: Outcome { alerts, .. }, .. } = step;
        // Whoever verifies or watches comes by with every packet: figures only for those that tell.
        if alerts.is_empty() {
            return;
        }
        let stats = store.stats();
        for rule in alerts.without(self.plan.shown).iter() {
            self.tally.only_counted[usize::from(rule.0)] += 1;
        }
        for rule in alerts.intersection(self.plan.shown).iter() {
            let confidence = confidence(answer, stats.false_positive_chance);
            let event = *event;
            findings.alerts.push(Finding { event, rule, answer, state, confidence });
        }
    }

    /// Compares with the exact shadow, and lets it take the same packet.
    fn verify(&mut self, store: &impl Store, event: &Event, step: &Step, findings: &mut Findings) {
        let Some(verifier) = self.verifier else { return };
        if !verifier.follows(event) {
            return;
        }
        let packet = &self.packets[event.index as usize];
        let (key, direction) = self.plan.keyer.key(packet);
        let flow = Flow { key, id: event.id };
        let epochs = (step.epoch_before, store.epoch(event.epoch));
        let (truth, alerts) = verifier.check(&flow, event, step.answer, epochs, self.plan.machine);
        for rule in alerts.intersection(self.plan.shown).iter() {
            let (event, answer, state, confidence) = (*event, truth, None, 1.0);
            let exact = Finding { event, rule, answer, state, confidence };
            findings.shadow_alerts.push(exact);
        }
        if event.watched {
            let (packet, answer, next) = (*packet, step.answer, step.outcome.next);
            let step = WatchStep { packet, key, direction, answer, truth, next };
            findings.steps.push((event.index, step));
        }
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

/// The chance that an answer does not come from other flows.
fn confidence(answer: Lookup, false_positive_chance: f64) -> f64 {
    match answer {
        Lookup::Absent => 1.0,
        Lookup::Known(_) => 1.0 - false_positive_chance,
        Lookup::DontKnow => 0.0,
    }
}

/// Whether a flow is in the middle of its handshake, as far as is known.
#[inline]
pub(super) fn is_half_open(half_open: &[bool; State::LIMIT], state: Option<State>) -> bool {
    state.is_some_and(|state| half_open[state.index()])
}

/// Brings what follows into the store, and says which state the flow is in now if that is known.
/// The shadow does the same through this one function.
#[inline(always)] // most packets change nothing: as short as can be for them
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
            store.touch_again(place, answer, stamp(Some(state)));
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
            store.touch_again(place, answer, stamp(None));
            None
        }
    }
}
