//! The exact shadow: its errors are those that a slow model counts, under every way to expire.

use std::collections::{HashMap, HashSet};

use super::super::batch::{Event, Marks};
use super::super::build::build_shards;
use super::super::clock::Tick;
use super::super::errors::Errors;
use super::super::shadow::{Scope, Shadow, ShadowOutput};
use super::super::shard::{Answer, Shard, ShardOutput, ShardWork, Wanted};
use super::{KEYER, MANY_STATES, event, random_flags, rules, shard_rules};
use crate::flow::{FlowId, FlowKey, Packet};
use crate::machine::{Next, Rules};
use acsm_filters::{Backend, Budget, Epoch, Expire, Lookup, Random, State, StoreSpec};

const BATCHES: usize = 60;
const BATCH_EVENTS: usize = 50;

/// What is true of all flows, in a map.
struct Model {
    expire: Expire,
    retain: bool,
    half_open: [bool; State::LIMIT],
    /// The flows that exist: their state, and the period in which they were last seen.
    flows: HashMap<FlowKey, (State, i64)>,
    /// Of a store in two phases: which phase it is.
    phase: i64,
    seen: HashSet<FlowKey>,
    wrong: HashSet<FlowKey>,
    errors: Errors,
}

impl Model {
    fn new(spec: &StoreSpec, rules: &Rules) -> Model {
        Model {
            expire: spec.expire,
            retain: spec.retain,
            half_open: rules.machine.half_open(),
            flows: HashMap::new(),
            phase: 0,
            seen: HashSet::new(),
            wrong: HashSet::new(),
            errors: Errors::default(),
        }
    }

    /// The period that flows are forgotten by.
    fn period(&self, event: &Event) -> i64 {
        if self.expire.is_timed() { i64::from(event.epoch.0) } else { self.phase }
    }

    /// Counts the answer to one event, then lets the flow take its step.
    fn event(&mut self, rules: &Rules, event: &Event, packet: &Packet, answer: &Answer) -> Lookup {
        let (key, period) = (KEYER.key(packet).0, self.period(event));
        self.flows.retain(|_, (_, last)| *last >= period - 1);
        let truth = self.flows.get(&key).map_or(Lookup::Absent, |(state, _)| Lookup::Known(*state));
        self.seen.insert(key);
        self.count(key, truth, answer.answer);
        let old = self.flows.get(&key).copied();
        let state = match (old, event.step(&rules.machine, truth).next) {
            (old, Next::Keep) => old.map(|(state, _)| state),
            (_, Next::Go(state)) => Some(state),
            (_, Next::Delete) => None,
        };
        self.flows.remove(&key);
        if let Some(state) = state {
            let sooner =
                self.expire.is_timed() && self.half_open[state.index()] && !event.tick().is_late;
            let last = old.map_or(i64::MIN, |(_, last)| last).max(period - i64::from(sooner));
            self.flows.insert(key, (state, last));
        }
        if answer.epochs.0 != answer.epochs.1 {
            self.recycle(key);
        }
        truth
    }

    /// The store recycled at a packet of this flow.
    fn recycle(&mut self, key: FlowKey) {
        if self.expire == Expire::TwoPhase {
            self.phase += 1;
            return;
        }
        let kept = self.flows.get(&key).copied().filter(|_| self.retain);
        self.flows.clear();
        self.flows.extend(kept.map(|flow| (key, flow)));
    }

    fn count(&mut self, key: FlowKey, truth: Lookup, answer: Lookup) {
        let errors = &mut self.errors;
        let is_extant = truth != Lookup::Absent;
        *if is_extant { &mut errors.lookups_extant } else { &mut errors.lookups_absent } += 1;
        if answer == truth {
            return;
        }
        self.wrong.insert(key);
        let counter = match answer {
            Lookup::Known(_) if is_extant => &mut errors.false_return,
            Lookup::Known(_) => &mut errors.false_positive,
            Lookup::Absent => &mut errors.false_negative,
            Lookup::DontKnow if is_extant => &mut errors.dont_know,
            Lookup::DontKnow => &mut errors.dont_know_absent,
        };
        *counter += 1;
    }

    fn errors(&self) -> Errors {
        let (flows_wrong, flows_total) = (self.wrong.len() as u64, self.seen.len() as u64);
        Errors { flows_wrong, flows_total, ..self.errors }
    }
}

/// Packets of one shard between few hosts.
struct Traffic {
    random: Random,
    tick: Tick,
}

impl Traffic {
    fn batch(&mut self) -> (Vec<Packet>, Vec<Event>) {
        let mut packets = vec![];
        let mut events = vec![];
        while events.len() < BATCH_EVENTS {
            match self.random.below(200) {
                0 => self.tick = Tick { epoch: Epoch(self.tick.epoch.0 + 1), is_late: false },
                1 => self.tick = Tick { epoch: Epoch(self.tick.epoch.0 + 3), is_late: false },
                2..6 => self.tick.is_late = true,
                _ => {}
            }
            let ends = [0, 1].map(|net| [10, 0, net, self.random.below(60) as u8]);
            let [from, to] = if self.random.below(2) == 0 { ends } else { [ends[1], ends[0]] };
            let flags = random_flags(&mut self.random);
            let packet = Packet { src: from.into(), dst: to.into(), flags, ..Packet::UNSPECIFIED };
            let event = event(&packet, packets.len(), self.tick);
            if event.id.shard() == 0 {
                // One watched host.
                let watched = from[3] == 7 || to[3] == 7;
                let marks = event.marks.with(Marks::WATCHED, watched);
                events.push(Event { marks, ..event });
                packets.push(packet);
            }
        }
        (packets, events)
    }
}

/// A small store with a shadow of each scope beside it.
struct Run {
    shard: Box<dyn Shard>,
    shadows: [Shadow; 2],
    model: Model,
    rules: Rules,
}

impl Run {
    fn new(spec: &StoreSpec) -> Run {
        let rules = rules(spec.states);
        Run {
            shard: build_shards(spec, false).unwrap().swap_remove(0),
            shadows: [Scope::Everything, Scope::Watched]
                .map(|scope| Shadow::new(spec, scope).unwrap()),
            model: Model::new(spec, &rules),
            rules,
        }
    }

    fn batch(&mut self, (packets, events): (Vec<Packet>, Vec<Event>)) {
        let half_open = self.rules.machine.half_open();
        let work = ShardWork {
            events: &events,
            packets: &packets,
            machine: &self.rules.machine,
            rules: &shard_rules(&self.rules, &half_open, false),
            given: None,
            wanted: Wanted::AlertsAndAnswers,
            sampled_below: 0,
        };
        let mut output = ShardOutput::default();
        self.shard.process(&work, &mut output);
        let mut truths = HashMap::new();
        let mut alerts = vec![];
        for (event, answer) in events.iter().zip(&output.answers) {
            let packet = &packets[event.index as usize];
            let truth = self.model.event(&self.rules, event, packet, answer);
            truths.insert(event.index, (truth, answer));
            let fired = event.step(&self.rules.machine, truth).alerts;
            let shown = fired.intersection(work.rules.shown);
            alerts.extend(shown.iter().map(|rule| (event.index, rule, truth)));
        }
        let [all, watched] = &mut self.shadows;
        let mut found = ShadowOutput::default();
        all.check(&work, &output.answers, &mut found);
        let found_alerts: Vec<_> =
            found.alerts.iter().map(|a| (a.event.index, a.rule, a.answer)).collect();
        assert_eq!(found_alerts, alerts, "alerts follow from the truth");
        let mut only_watched = ShadowOutput::default();
        watched.check(&work, &output.answers, &mut only_watched);
        for found in [&found, &only_watched] {
            let expected: Vec<u32> = events
                .iter()
                .filter(|event| event.marks.has(Marks::WATCHED))
                .map(|event| event.index)
                .collect();
            assert!(found.steps.iter().map(|(index, _)| *index).eq(expected));
            for (index, step) in &found.steps {
                let (truth, answer) = truths[index];
                assert_eq!((step.truth, step.answer), (truth, answer.answer));
                assert_eq!(step.next, answer.outcome.next);
            }
        }
    }
}

/// Runs a store too small for its flows, and returns the errors that model and shadow agree on.
fn errors_of(spec: &StoreSpec) -> Errors {
    let mut run = Run::new(spec);
    let tick = Tick { epoch: Epoch(0), is_late: false };
    let mut traffic = Traffic { random: Random::new(4), tick };
    for _ in 0..BATCHES {
        run.batch(traffic.batch());
        assert_eq!(run.shadows[0].errors(), Some(run.model.errors()), "{spec:?}");
    }
    assert!(run.shadows[1].errors().is_none(), "it saw some packets only");
    let recycles = matches!(spec.expire, Expire::Recycle | Expire::TwoPhase);
    assert_eq!(run.shard.store_stats().recycles > 5, recycles, "{spec:?}");
    run.model.errors()
}

fn spec(backend: Backend, expire: Expire) -> StoreSpec {
    let budget = Budget::MemoryBytes(6 * 64 * FlowId::SHARDS as u64);
    StoreSpec { expire, budget, flows: 640, ..StoreSpec::new(backend, MANY_STATES) }
}

#[test]
fn errors_are_those_of_a_slow_model() {
    for backend in [Backend::Kbf, Backend::Sbf, Backend::Dbf, Backend::Fcf] {
        let mut total = Errors::default();
        for expire in [Expire::Timer, Expire::Stamps, Expire::None, Expire::TwoPhase] {
            if expire == Expire::TwoPhase && backend == Backend::Fcf {
                continue;
            }
            total.merge(&errors_of(&spec(backend, expire)));
        }
        assert!(total.total() > 100 && total.flows_wrong > 20, "{backend:?}: {total:?}");
    }
}

#[test]
fn a_flow_that_makes_a_store_recycle_is_retained_or_forgotten() {
    let recycling = |retain| StoreSpec { retain, ..spec(Backend::Kbf, Expire::Recycle) };
    let [retained, forgotten] = [true, false].map(|retain| errors_of(&recycling(retain)));
    assert_ne!(retained, forgotten);
}
