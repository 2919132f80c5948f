//! The interface of a shard: what it is given to work on, and what it returns.
//!
//! [`Shard`] is called once per batch; everything below it is generic in the store (`shard_loop`).

use super::alerts::RawAlert;
use super::batch::Event;
use super::stats::ShardStats;
use crate::flow::{FlowId, FlowKey, Keyer, Packet};
use crate::machine::{Machine, Next, Outcome, RuleSet};
use acsm_filters::pending::PendingStats;
use acsm_filters::{Epoch, Found, Lookup, State, StoreStats};

/// One shard of flow state, whatever its store.
pub trait Shard: Send {
    /// Drives the flows of the shard by its events of a batch.
    fn process(&mut self, work: &ShardWork<'_>, output: &mut ShardOutput);

    /// Moves on to a later epoch without an event.
    fn advance_to(&mut self, epoch: Epoch);

    /// Clears all that is stale, so that the figures of the store are right.
    fn sweep_all(&mut self, now: Epoch);

    /// What the store answers about a flow. Nothing is touched or counted, and a pending table is not
    /// asked.
    fn ask(&mut self, id: FlowId, key: FlowKey, now: Epoch) -> Lookup;

    /// Puts a flow into the store, past machine and pending table.
    fn put(&mut self, id: FlowId, key: FlowKey, state: State, now: Epoch);

    /// Memory of the cache of lookups, in bytes: 0 if it has none.
    fn cache_bytes(&self) -> u64;

    /// What the store says about itself.
    fn store_stats(&self) -> StoreStats;

    /// What its pending table says about itself, if it has one.
    fn pending_stats(&self) -> Option<PendingStats>;

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
    /// Flows whose [sampling bits](FlowId::sampling_bits) are below this are sampled: 0
    /// for none, 2³² for all.
    pub sampled_below: u64,
}

impl ShardWork<'_> {
    /// The open loop: the true answer, and what follows from it.
    #[inline(never)]
    pub fn follow_truth(
        &self,
        event: &Event,
        truths: &[Lookup],
        (answer, next): (Lookup, Next),
    ) -> (Lookup, Next) {
        match truths.get(event.index as usize) {
            Some(&truth) if truth != answer => (truth, event.step(self.machine, truth).next),
            _ => (answer, next),
        }
    }
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
    /// The states in which a flow is pending, where there is a pending table: it is half-open or over.
    pub held: &'a [bool; State::LIMIT],
    /// The rules whose alerts are shown; the others are only counted.
    pub shown: RuleSet,
    /// How packets become flows.
    pub keyer: Keyer,
    /// Whether a lookup that finds nothing touches the cells in use (`--touch all`).
    pub touch_absent: bool,
    /// Nanoseconds on some clock, if the times of sweeps are wanted.
    pub stopwatch: Option<fn() -> u64>,
}

/// No state is held by a pending table: there is none.
pub const NONE_HELD: [bool; State::LIMIT] = [false; State::LIMIT];

/// What a shard found in one batch.
#[derive(Debug, Default)]
pub struct ShardOutput {
    /// Alerts by the answers of the store.
    pub alerts: Vec<RawAlert>,
    /// One for each event, in order, if wanted.
    pub answers: Vec<Answer>,
    /// The events of sampled flows, in order.
    pub sampled: Vec<(Event, Answer)>,
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

/// One event as the loop saw it.
pub struct Step<H> {
    /// What the store answered.
    pub answer: Lookup,
    /// What follows from that answer.
    pub outcome: Outcome,
    /// The state of the flow now, if known.
    pub state: Option<State>,
    /// The store's epoch at the lookup.
    pub epoch: Epoch,
    /// What the lookup found; `None` where the cache knew the answer.
    pub found: Option<Found<H>>,
    /// Whether the answer is the store's own, and not that of the pending table.
    pub is_of_store: bool,
}

/// What tells the flows of a store apart beyond the digest, made from a packet.
pub trait PacketKey: Copy + Default {
    /// The key of a packet's flow.
    fn of(keyer: &Keyer, packet: &Packet) -> Self;

    /// The key of a flow, from its full key.
    fn of_flow(key: FlowKey) -> Self;

    /// The key of the flow in the other direction.
    fn reversed(self) -> Self;
}

/// Filters go by the digest alone.
impl PacketKey for () {
    #[inline(always)]
    fn of(_keyer: &Keyer, _packet: &Packet) {}

    fn of_flow(_key: FlowKey) {}

    fn reversed(self) {}
}

/// Exact tables compare full keys.
impl PacketKey for FlowKey {
    #[inline(always)]
    fn of(keyer: &Keyer, packet: &Packet) -> FlowKey {
        keyer.key(packet).0
    }

    fn of_flow(key: FlowKey) -> FlowKey {
        key
    }

    fn reversed(self) -> FlowKey {
        FlowKey::reversed(self)
    }
}
