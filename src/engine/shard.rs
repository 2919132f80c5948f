//! The interface of a shard: what it is given to work on, and what it returns.
//!
//! [`Shard`] is called once per batch; everything below it is generic in the store (`shard_loop`).

use super::alerts::RawAlert;
use super::batch::Event;
use super::stats::ShardStats;
use crate::flow::{Keyer, Packet};
use crate::machine::{Machine, Outcome, RuleSet};
use acsm_filters::{Epoch, Lookup, State, StoreStats};

/// One shard of flow state, whatever its store.
pub trait Shard: Send {
    /// Drives the flows of the shard by its events of a batch.
    fn process(&mut self, work: &ShardWork<'_>, output: &mut ShardOutput);

    /// Moves on to a later epoch without an event.
    fn advance_to(&mut self, epoch: Epoch);

    /// Clears all that is stale, so that the figures of the store are right.
    fn sweep_all(&mut self, now: Epoch);

    /// What the store says about itself.
    fn store_stats(&self) -> StoreStats;

    /// What the shard counted.
    fn stats(&mut self) -> &mut ShardStats;
}

/// What a shard is given to work on.
#[derive(Clone, Copy)]
pub struct ShardWork<'a> {
    /// The events of its flows.
    pub events: &'a [Event],
    /// The packets of the whole batch; read only where an event does not say enough.
    pub packets: &'a [Packet],
    /// The state machine of each flow.
    pub machine: &'a Machine,
    /// How events are judged beside.
    pub rules: &'a ShardRules<'a>,
    /// The true answers, by packet, to go on from in place of the store's own: the open loop.
    pub given: Option<&'a [Lookup]>,
    /// Which results are wanted.
    pub wanted: Wanted,
}

/// Which results a shard is to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The alerts.
    Alerts,
    /// The alerts, and the answer to every event.
    AlertsAndAnswers,
    /// The answer to every event.
    Answers,
}

/// How events are judged: the same for all shards of a run.
#[derive(Debug, Clone, Copy)]
pub struct ShardRules<'a> {
    /// The half-open states of the machine, which age sooner.
    pub half_open: &'a [bool; State::LIMIT],
    /// The rules whose alerts are shown; the others are only counted.
    pub shown: RuleSet,
    /// How packets become flows.
    pub keyer: Keyer,
    /// Whether a lookup that finds nothing touches the cells in use (`--touch all`).
    pub touch_absent: bool,
    /// Nanoseconds on some clock, if the times of sweeps are wanted.
    pub stopwatch: Option<fn() -> u64>,
}

/// What a shard found in one batch.
#[derive(Debug, Default)]
pub struct ShardOutput {
    /// Alerts by the answers of the store.
    pub alerts: Vec<RawAlert>,
    /// One for each event, in order, if wanted.
    pub answers: Vec<Answer>,
}

/// What a shard answered for one event.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// What the store answered.
    pub answer: Lookup,
    /// What follows from that answer.
    pub outcome: Outcome,
    /// The store's epoch at the lookup, and after the write: they differ if it recycled.
    pub epochs: (Epoch, Epoch),
}
