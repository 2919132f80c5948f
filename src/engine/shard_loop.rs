//! The loop of a shard: for each event look the flow up, step its machine, write the store, age it.
//!
//! This is the one loop that drives flows. `replay`, `live` and `compare` run it on the store that
//! was chosen; `--verify`, `compare` and `plan --trace` run it on an exact table beside (`shadow`).

use super::admission::Pending;
use super::alerts::RawAlert;
use super::base_rates::BaseRates;
use super::batch::Event;
use super::lookup_cache::{Cached, LookupCache};
use super::shard::{Answer, PacketKey, Shard, ShardOutput, ShardWork, Step, Wanted};
use super::stats::ShardStats;
use crate::flow::{FlowId, FlowKey};
use crate::machine::{Next, RuleSet};
use acsm_filters::pending::PendingStats;
use acsm_filters::{Epoch, Expire, Found, Insertion, Lookup, Stamp, State, Store, StoreStats};

/// How many events ahead a flow is located and its memory prefetched: enough to hide the latency of
/// memory, few enough to stay in the first-level cache.
const AHEAD: usize = 16;

/// A slice of the store is swept after this number of events.
const SWEEP_EVERY: u32 = 64;

/// A shard with a store of this type.
pub struct StoreShard<S: Store> {
    pub(super) store: S,
    /// The flows that are not in the store yet, or no longer.
    pub(super) pending: Option<Pending>,
    /// Whether both directions of a connection enter the store with one packet. Not where it recycles:
    /// each of them may begin a cycle, and a packet tells its shadow of one.
    pub(super) admits_both: bool,
    cache: LookupCache<S::Place>,
    /// The places of the next events, where the cache does not keep them: a ring.
    places: [S::Place; AHEAD],
    pub(super) epoch: Epoch,
    pub(super) events_since_sweep: u32,
    /// The chance that an absent flow seems to be present, as of an alert since the last sweep.
    pub(super) false_positive_chance: Option<f64>,
    base_rates: BaseRates,
    pub(super) stats: ShardStats,
}

impl<S: Store<Key: PacketKey>> StoreShard<S> {
    /// Whether answers can be cached: where the digest alone tells flows apart.
    const CACHES: bool = size_of::<S::Key>() == 0;

    /// A shard that begins with this store.
    pub fn new(store: S) -> StoreShard<S> {
        let place = store.locate(FlowId(0), S::Key::default());
        StoreShard {
            cache: LookupCache::new(&store),
            store,
            pending: None,
            admits_both: true,
            places: [place; AHEAD],
            epoch: Epoch::default(),
            events_since_sweep: 0,
            false_positive_chance: None,
            base_rates: BaseRates::default(),
            stats: ShardStats::default(),
        }
    }

    /// The same with a pending table before the store, which expires flows in this way.
    pub fn with_pending(self, pending: Option<Pending>, expire: Expire) -> StoreShard<S> {
        StoreShard { pending, admits_both: !expire.recycles(), ..self }
    }

    /// Drives the flows by all events, in order, and shows `observe` each step.
    #[inline(always)]
    pub fn drive(
        &mut self,
        work: &ShardWork<'_>,
        mut observe: impl FnMut(&mut Self, &Event, &Step<S::Handle>),
    ) {
        for n in 0..AHEAD.min(work.events.len()) {
            self.prepare(work, n);
        }
        for (n, event) in work.events.iter().enumerate() {
            let step = self.advance(work, n, event);
            observe(self, event, &step);
            self.prepare(work, n + AHEAD);
        }
    }

    /// Locates the flow of the n-th event, if there is one, and prefetches its memory.
    #[inline(always)]
    fn prepare(&mut self, work: &ShardWork<'_>, n: usize) {
        let Some(event) = work.events.get(n) else { return };
        if Self::CACHES && self.cache.has(event.id) {
            return;
        }
        if let Some(pending) = &self.pending {
            pending.prefetch(event.id);
        }
        if Self::CACHES {
            self.cache.index_of(event.id, &self.store);
            return;
        }
        if let Some(packet) = work.packets.get(event.index as usize) {
            let place = self.store.locate(event.id, S::Key::of(&work.rules.keyer, packet));
            self.store.prefetch(&place);
            self.places[n % AHEAD] = place;
        }
    }

    /// The place that is kept at this index.
    #[inline(always)]
    pub(super) fn place(&self, index: usize) -> S::Place {
        if Self::CACHES { self.cache.place(index) } else { self.places[index % AHEAD] }
    }

    /// One event: look up, step, write, sweep now and then.
    #[inline(always)] // what it returns stays in registers
    fn advance(&mut self, work: &ShardWork<'_>, n: usize, event: &Event) -> Step<S::Handle> {
        if event.epoch != self.epoch {
            self.pass_to(event.epoch);
        }
        let epoch = self.store.epoch(event.epoch);
        let index = match Self::CACHES {
            true => self.cache.index_of(event.id, &self.store),
            false => n % AHEAD,
        };
        let cached = if Self::CACHES { self.cache.get(index, epoch) } else { None };
        let step = Self::unchanged(work, event, epoch, cached)
            .unwrap_or_else(|| self.look_up_and_write(work, index, event, epoch, cached));
        self.stats.lookups.count(step.answer);
        self.events_since_sweep += 1;
        if self.events_since_sweep == SWEEP_EVERY {
            self.sweep_slice(event.epoch, work.rules.stopwatch);
        }
        step
    }

    /// The step of most packets, which changes nothing: the answer is known, the flow was touched in
    /// this epoch before, and stays in its state.
    #[inline(always)]
    fn unchanged(
        work: &ShardWork<'_>,
        event: &Event,
        epoch: Epoch,
        cached: Option<Cached>,
    ) -> Option<Step<S::Handle>> {
        let Cached { answer, is_fresh } = cached.filter(|_| work.given.is_none())?;
        let (Lookup::Known(state), true) = (answer, is_fresh) else { return None };
        let outcome = event.step(work.machine, answer);
        let state = Some(state);
        (outcome.next == Next::Keep).then_some(Step {
            answer,
            outcome,
            state,
            epoch,
            found: None,
            is_of_store: true,
        })
    }

    /// Any other step.
    #[inline(never)]
    fn look_up_and_write(
        &mut self,
        work: &ShardWork<'_>,
        index: usize,
        event: &Event,
        epoch: Epoch,
        cached: Option<Cached>,
    ) -> Step<S::Handle> {
        let (answer, is_fresh, found) = match cached {
            Some(cached) => (cached.answer, cached.is_fresh, None),
            None => {
                let found = self.store.lookup(&self.place(index), event.epoch);
                if Self::CACHES {
                    self.cache.keep(index, &found, epoch);
                }
                (found.answer, false, Some(found))
            }
        };
        if answer == Lookup::Absent {
            self.base_rates.absent(event.flags);
        }
        if answer == Lookup::Absent && self.pending.is_some() {
            let (answer, outcome, state) = self.step_pending(work, index, event);
            return Step { answer, outcome, state, epoch, found, is_of_store: false };
        }
        let outcome = event.step(work.machine, answer);
        let state = self.follow(work, index, event, (answer, outcome.next, is_fresh), found);
        Step { answer, outcome, state, epoch, found, is_of_store: true }
    }

    /// What follows from an answer: writes the store where anything changes. Returns the state of
    /// the flow now, if known.
    #[inline]
    fn follow(
        &mut self,
        work: &ShardWork<'_>,
        index: usize,
        event: &Event,
        (answer, next, is_fresh): (Lookup, Next, bool),
        found: Option<Found<S::Handle>>,
    ) -> Option<State> {
        if let Next::Go(state) = next {
            self.stats.entered[state.index()] += 1;
        }
        let (basis, next) = match work.given {
            None => (answer, next),
            Some(truths) => work.follow_truth(event, truths, (answer, next)),
        };
        match (basis, next) {
            (Lookup::Known(state), Next::Keep) if is_fresh && basis == answer => Some(state),
            (Lookup::DontKnow, Next::Keep) if is_fresh && basis == answer => None,
            (Lookup::Absent, Next::Keep | Next::Delete) if !work.rules.touch_absent => None,
            _ => self.write(work, index, event, (answer, basis, next), found),
        }
    }

    /// Brings what follows into the store. Returns the state of the flow now, if known.
    #[inline]
    fn write(
        &mut self,
        work: &ShardWork<'_>,
        index: usize,
        event: &Event,
        (answer, basis, next): (Lookup, Lookup, Next),
        found: Option<Found<S::Handle>>,
    ) -> Option<State> {
        let place = self.place(index);
        let now = event.epoch;
        let found = match found {
            Some(found) => Found { answer: basis, ..found },
            None => {
                let handle = self.store.handle_of(&place, answer, now);
                Found { answer: basis, settled: true, handle }
            }
        };
        let half_open = work.rules.half_open;
        let stamp = |state: Option<State>| {
            event.tick().stamp(state.is_some_and(|state| half_open[state.index()]))
        };
        let is_writable = basis != Lookup::DontKnow || S::WRITES_WITHOUT_OLD_STATE;
        match (basis, next) {
            (Lookup::Absent, Next::Go(state)) => {
                let insertion = self.store.insert(&place, state, stamp(Some(state)));
                let answer = match insertion {
                    Insertion::Stored { answer, .. } => answer,
                    _ => None,
                };
                self.wrote(index, answer, stamp(Some(state)));
                Some(state)
            }
            (Lookup::Absent, _) => {
                if work.rules.touch_absent {
                    self.touch(index, &place, &found, now.stamp());
                }
                None
            }
            (Lookup::Known(state), Next::Keep) => {
                self.touch(index, &place, &found, stamp(Some(state)));
                Some(state)
            }
            (_, Next::Go(state)) if is_writable => match self.pending {
                Some(_) if work.rules.held[state.index()] => {
                    self.retire(work, index, event, (&place, &found), state)
                }
                _ => self.modify(index, &place, &found, (state, stamp(Some(state)))),
            },
            (_, Next::Delete) if is_writable => self.delete(index, &place, &found, now),
            _ => {
                self.touch(index, &place, &found, stamp(None));
                None
            }
        }
    }

    #[inline]
    fn touch(&mut self, index: usize, place: &S::Place, found: &Found<S::Handle>, stamp: Stamp) {
        self.store.touch(place, found, stamp);
        if Self::CACHES {
            if !found.settled {
                // It may have moved the flow.
                self.cache.wrote(index);
            }
            let epoch = self.store.epoch(stamp.now());
            self.cache.touched(index, found.answer, !stamp.is_half(), epoch);
        }
    }

    #[inline]
    fn modify(
        &mut self,
        index: usize,
        place: &S::Place,
        found: &Found<S::Handle>,
        (state, stamp): (State, Stamp),
    ) -> Option<State> {
        let answer = self.store.modify(place, found, state, stamp);
        self.wrote(index, answer, stamp);
        Some(state)
    }

    pub(super) fn delete(
        &mut self,
        index: usize,
        place: &S::Place,
        found: &Found<S::Handle>,
        now: Epoch,
    ) -> Option<State> {
        self.store.delete(place, found, now);
        if Self::CACHES {
            self.cache.wrote(index);
        }
        None
    }

    /// Notes a write in the cache.
    #[inline]
    pub(super) fn wrote(&mut self, index: usize, answer: Option<Lookup>, stamp: Stamp) {
        if Self::CACHES {
            self.cache.wrote(index);
            let epoch = self.store.epoch(stamp.now());
            self.cache.keep_written(index, answer, !stamp.is_half(), epoch);
        }
    }

    /// Notes a write to the place of another flow.
    pub(super) fn wrote_at(&mut self, place: &S::Place) {
        if Self::CACHES {
            self.cache.wrote_lines(self.store.lines(place));
        }
    }

    /// Notes the alerts of one event.
    #[cold]
    fn report(
        &mut self,
        shown: RuleSet,
        event: &Event,
        step: &Step<S::Handle>,
        alerts: &mut Vec<RawAlert>,
    ) {
        let &Step { answer, state, outcome, is_of_store, .. } = step;
        // Computed once per sweep: a flood can make every packet an alert.
        let chance = match answer {
            Lookup::Known(_) if is_of_store => {
                let chance = || self.store.stats().false_positive_chance;
                *self.false_positive_chance.get_or_insert_with(chance)
            }
            _ => 0.0,
        };
        for rule in outcome.alerts.without(shown).iter() {
            self.stats.only_counted[usize::from(rule.0)] += 1;
        }
        for rule in outcome.alerts.intersection(shown).iter() {
            let confidence = match answer {
                Lookup::DontKnow => 0.0,
                _ => self.base_rates.confidence(rule, event.flags, chance),
            };
            let is_approximate = chance > 0.0;
            let event = *event;
            alerts.push(RawAlert { event, rule, answer, state, confidence, is_approximate });
        }
    }
}

impl<S: Store<Key: PacketKey>> Shard for StoreShard<S> {
    fn process(&mut self, work: &ShardWork<'_>, output: &mut ShardOutput) {
        let ShardOutput { alerts, answers, sampled } = output;
        let reports = work.wanted != Wanted::Answers;
        let answers_wanted = work.wanted != Wanted::Alerts;
        self.drive(work, |shard, event, step| {
            if reports && !step.outcome.alerts.is_empty() {
                shard.report(work.rules.shown, event, step, alerts);
            }
            let is_sampled = u64::from(event.id.sampling_bits()) < work.sampled_below;
            if answers_wanted || is_sampled {
                let epochs = (step.epoch, shard.store.epoch(event.epoch));
                let answer = Answer { answer: step.answer, outcome: step.outcome, epochs };
                if answers_wanted {
                    answers.push(answer);
                }
                if is_sampled {
                    sampled.push((*event, answer));
                }
            }
        });
    }

    fn advance_to(&mut self, epoch: Epoch) {
        self.pass_to(epoch);
    }

    fn sweep_all(&mut self, now: Epoch) {
        while self.store.sweep(now, usize::MAX) > 0 {}
    }

    fn ask(&mut self, id: FlowId, key: FlowKey, now: Epoch) -> Lookup {
        self.answer_about(id, key, now)
    }

    fn put(&mut self, id: FlowId, key: FlowKey, state: State, now: Epoch) {
        self.put_in(id, key, state, now);
    }

    fn cache_bytes(&self) -> u64 {
        if Self::CACHES { size_of_val(&self.cache) as u64 } else { 0 }
    }

    fn store_stats(&self) -> StoreStats {
        self.store.stats()
    }

    fn pending_stats(&self) -> Option<PendingStats> {
        self.pending.as_ref().map(Pending::stats)
    }

    fn stats(&mut self) -> &mut ShardStats {
        &mut self.stats
    }
}
