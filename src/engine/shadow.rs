//! The exact shadow: the same events through an exact table, by the same loop.
//!
//! Closed loop: store and shadow each step from their own answer, so that an error of the store can
//! lead to others; that is what a user gets. The shadow forgets by the store's rule, so that aging
//! and recycling are never counted as errors: it takes the store's own epochs, shard by shard.

use super::admission::Pending;
use super::alerts::{RawAlert, WatchStep};
use super::batch::{Event, Marks};
use super::errors::Errors;
use super::shard::{Answer, ShardWork, Step};
use super::shard_loop::StoreShard;
use crate::flow::FlowKey;
use crate::machine::Outcome;
use acsm_filters::{Epoch, Expire, GroundTruth, Lookup, StoreError, StoreSpec};

/// Flows that the shadow of a shard has room for before it first grows.
const FIRST_FLOWS: usize = 1 << 12;

/// What an exact table says about one event.
#[derive(Debug, Clone, Copy)]
pub struct Truth {
    /// What is true of the flow before the packet.
    pub answer: Lookup,
    /// What follows from it.
    pub outcome: Outcome,
    /// The number of the flow, in the order of first lookups.
    pub flow: u32,
    /// How many flows are alive after the packet.
    pub alive: u64,
}

impl Truth {
    #[inline]
    fn of(step: &Step<u32>, alive: u64) -> Truth {
        let flow = step.found.map_or(0, |found| found.handle);
        Truth { answer: step.answer, outcome: step.outcome, flow, alive }
    }
}

/// An exact table of all flows, driven like any other store.
pub type ExactShard = StoreShard<GroundTruth<FlowKey>>;

/// An empty exact table with room for `flows` flows before it grows. `timed`: flows age.
pub fn exact_shard(timed: bool, flows: usize) -> Result<ExactShard, StoreError> {
    GroundTruth::new(timed, flows).map(StoreShard::new)
}

/// Drives the exact table by all events, and hands `take` the truth about each.
pub fn find_truth(
    shard: &mut ExactShard,
    work: &ShardWork<'_>,
    mut take: impl FnMut(&Event, Truth),
) {
    shard.drive(work, |shard, event, step| {
        take(event, Truth::of(step, shard.store.alive()));
    });
}

/// How a shadow forgets: by the rule of its store.
#[derive(Debug, Clone, Copy)]
pub struct ShadowAging {
    /// The store's epochs, not the caller's, decide what the shadow forgets.
    by_store_epochs: bool,
    /// Whether the flow that makes a store recycle is the first of its next cycle.
    retains: bool,
}

impl ShadowAging {
    /// That of this store.
    pub fn of(store: &StoreSpec) -> ShadowAging {
        ShadowAging {
            by_store_epochs: !store.expire.is_timed(),
            retains: store.expire == Expire::Recycle && store.retain,
        }
    }

    /// Whether the shadow sees other events than its store.
    #[inline]
    pub fn alters_events(self) -> bool {
        self.by_store_epochs
    }

    /// The event as the shadow sees it.
    #[inline]
    pub fn event(self, event: &Event, answer: &Answer) -> Event {
        match self.by_store_epochs {
            // Late: no state ages sooner than others.
            true => {
                let marks = event.marks.with(Marks::LATE, true);
                Event { epoch: answer.epochs.0, marks, ..*event }
            }
            false => *event,
        }
    }

    /// The epoch that an event tells without the answer of the store, if it does.
    #[inline]
    pub fn epoch_of(self, event: &Event) -> Option<Epoch> {
        (!self.by_store_epochs).then_some(event.epoch)
    }

    /// The epoch in which the flow of an event is to be inserted again, if it made the store recycle.
    #[inline]
    pub fn retained_in(self, answer: &Answer) -> Option<Epoch> {
        let (before, after) = answer.epochs;
        (self.retains && before != after).then_some(after)
    }
}

/// Which packets the shadow sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All: to count errors.
    Everything,
    /// Those of the watched flow: to show the truth beside each step.
    Watched,
}

/// The exact shadow of one shard.
pub struct Shadow {
    exact: ExactShard,
    aging: ShadowAging,
    scope: Scope,
    errors: Errors,
    /// Whether the store was ever wrong about a flow, by the flow's number.
    wrong: Vec<bool>,
    /// The events that the shadow sees: a buffer that is reused.
    events: Vec<Event>,
}

/// What the shadow found in one batch.
#[derive(Debug, Default)]
pub struct ShadowOutput {
    /// Alerts by the truth.
    pub alerts: Vec<RawAlert>,
    /// Steps of the watched flow, each with its packet's index.
    pub steps: Vec<(u32, WatchStep)>,
}

impl ShadowOutput {
    /// Notes the alerts that follow from the truth, and the step of a watched flow.
    fn add(&mut self, work: &ShardWork<'_>, event: &Event, answer: &Answer, truth: &Truth) {
        for rule in truth.outcome.alerts.intersection(work.rules.shown).iter() {
            let (event, answer, state, confidence) = (*event, truth.answer, None, 1.0);
            let is_approximate = false;
            self.alerts.push(RawAlert { event, rule, answer, state, confidence, is_approximate });
        }
        if event.marks.has(Marks::WATCHED)
            && let Some(&packet) = work.packets.get(event.index as usize)
        {
            let (key, direction) = work.rules.keyer.key(&packet);
            let (truth, next) = (truth.answer, answer.outcome.next);
            let answer = answer.answer;
            let step = WatchStep { packet, key, direction, answer, truth, next };
            self.steps.push((event.index, step));
        }
    }
}

/// Notes that the store was wrong about a flow.
fn note_wrong(wrong: &mut Vec<bool>, flow: u32) {
    let flow = flow as usize;
    if wrong.len() <= flow {
        wrong.resize(flow + 1, false);
    }
    wrong[flow] = true;
}

impl Shadow {
    /// A shadow of a shard of `store`.
    pub fn new(store: &StoreSpec, scope: Scope) -> Result<Shadow, StoreError> {
        Ok(Shadow {
            exact: exact_shard(store.expire != Expire::None, FIRST_FLOWS)?.with_pending(
                store.pending.map(|_| Pending::Unbounded(Box::default())),
                store.expire,
            ),
            aging: ShadowAging::of(store),
            scope,
            errors: Errors::default(),
            wrong: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Compares the answers of the store, one for each event, with the truth.
    pub fn check(&mut self, work: &ShardWork<'_>, answers: &[Answer], output: &mut ShadowOutput) {
        let Shadow { exact, aging, scope, events, errors, wrong } = self;
        events.clear();
        let seen = |event: &Event| *scope == Scope::Everything || event.marks.has(Marks::WATCHED);
        let pairs = work.events.iter().zip(answers);
        let seen_pairs = pairs.filter(|(event, _)| seen(event));
        events.extend(seen_pairs.clone().map(|(event, answer)| aging.event(event, answer)));
        let mut pairs = seen_pairs;
        let work = ShardWork { events, given: None, ..*work };
        exact.drive(&work, |exact, _, step| {
            let Some((event, answer)) = pairs.next() else { return };
            let truth = Truth::of(step, 0);
            if errors.count(answer.answer, truth.answer) {
                note_wrong(wrong, truth.flow);
            }
            if let (Some(state), Some(epoch)) = (step.state, aging.retained_in(answer))
                && exact.has(&work, event, answer.epochs.0)
            {
                exact.insert(&work, event, state, epoch.stamp());
            }
            output.add(&work, event, answer, &truth);
        });
    }

    /// What was counted; `None` if the shadow did not see everything.
    pub fn errors(&self) -> Option<Errors> {
        let flows_total = self.exact.store.flows() as u64;
        let flows_wrong = self.wrong.iter().filter(|wrong| **wrong).count() as u64;
        let errors = Errors { flows_total, flows_wrong, ..self.errors };
        (self.scope == Scope::Everything).then_some(errors)
    }
}
