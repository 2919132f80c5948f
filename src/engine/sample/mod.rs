//! The sampled exact shadow: the error of the store, measured while it runs.
//!
//! The flows whose [sampling bits](FlowId::sampling_bits) are below a threshold T are followed exactly,
//! by the rules of the shard's loop and of admission. Every lookup of such a flow is compared with that.
//! If a shard has more flows than its part of the sample, T is halved; below a quarter of it, T is
//! doubled. With few flows, all are in the sample. The lookups of other flows cost one comparison.
//!
//! # What the figures mean
//!
//! *Measured error*: the share of wrong answers among the lookups of all flows, of the last 60 seconds of
//! packet time. How often the store answered "known", "absent" and "don't know" is counted for all
//! flows. "Don't know" is always wrong; which part of the others is wrong, the sample tells.
//! The following can go wrong with such a figure, and is provided for:
//!
//! * **Errors cluster by flow.** A flow that the store has wrong is wrong at every packet, so lookups
//!   are no independent trials. Sampling is by flow, and the [interval](MeasuredError) counts flows.
//! * **Flows are long and short.** The flows that go wrong are often the long-lived ones, which ask more
//!   than others. So flows count by their lookups: f flows with a₁ … lookups are worth (Σ aᵢ)² / Σ aᵢ²
//!   equal ones, and as many wrong flows, accordingly, by their wrong lookups. None wrong of f: at most
//!   3 / f.
//! * **A sample of lookups would be no sample of flows.** A flow is in it or not, from its first packet
//!   on, by its digest. Nobody who does not know the key can choose.
//! * **T changes within the minute, and each shard has its own T.** All counts are kept per flow, and
//!   only the flows below the smallest T of all shards and of the whole minute are added up: these have
//!   been followed throughout.
//! * **Flows that are older than the sample.** When T has been doubled, flows come in of which the
//!   shadow does not know the state. They count from when it is certain again: if they begin with a SYN,
//!   if every older flow has timed out, or else once the shadow has seen both of their ends. Then the
//!   store's state, if it tells one, is taken for true; "absent" and "don't know" are wrong.
//! * **A flood of forged packets** fills the sample with flows of one packet. T falls, and few of the
//!   flows before the flood remain in the sample; the interval says how few.
//!
//! Nothing depends on the number of workers or the size of batches: a shard's sample follows from its
//! events and from the seconds that begin between them.
//!
//! | file | subject |
//! |---|---|
//! | `flows` | the sampled flows of a shard, and their lookups of the last minute |
//! | `true_flow` | the truth about one flow, and how a packet changes it |
//! | `estimate` | from counts by flow to the measured error and its interval |

mod estimate;
mod flows;
mod true_flow;

pub use estimate::{MeasuredError, Measurement, WindowCounts, WorstMinute};

use super::batch::Event;
use super::errors::ErrorKind;
use super::shadow::ShadowAging;
use super::shard::{Answer, ShardWork};
use super::stats::Lookups;
use crate::flow::{FlowId, TcpFlags};
use acsm_filters::pending::PendingTable;
use acsm_filters::{Epoch, Lookup, StoreSpec};
use estimate::LEVELS;
use flows::{MINUTE_SECONDS, SampledFlows, Slot};
use true_flow::{StoredFlow, TrueFlow, TrueStep};

/// Flows in a sample unless another number is asked for.
pub const DEFAULT_FLOWS: u64 = 4096;

/// How many events ahead the memory of a flow is loaded.
const AHEAD: usize = 4;

/// The sample of one shard.
pub struct Sample {
    /// Whether flows are pending before they enter the store.
    has_pending: bool,
    /// Whether both directions of a connection enter the store with one packet.
    admits_both: bool,
    aging: ShadowAging,
    flows: SampledFlows,
    /// The most flows that are kept.
    flows_max: usize,
    /// T is 2³² / 2^level: a flow is in the sample if its level is not below this one.
    level: usize,
    /// When T was last doubled to take in the flows of a level; `None` if they were never left out.
    opened: [Option<Moment>; LEVELS],
    now: Moment,
}

/// A moment of both clocks that flows age by.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    epoch: Epoch,
    second: u64,
}

/// Halvings of T that leave a flow in the sample.
fn level_of(id: FlowId) -> usize {
    (id.sampling_bits().leading_zeros() as usize).min(LEVELS - 1)
}

impl Sample {
    /// The sample of one shard of `store`: its part of `flows` flows.
    pub fn new(store: &StoreSpec, flows: u64) -> Sample {
        let flows_max =
            usize::try_from(flows.div_ceil(FlowId::SHARDS as u64)).unwrap_or(usize::MAX);
        Sample {
            has_pending: store.pending.is_some(),
            admits_both: !store.expire.recycles(),
            aging: ShadowAging::of(store),
            flows: SampledFlows::default(),
            flows_max,
            level: 0,
            opened: [None; LEVELS],
            now: Moment::default(),
        }
    }

    /// T: flows whose sampling bits are below it are in the sample.
    pub fn threshold(&self) -> u64 {
        (1 << u32::BITS) >> self.level
    }

    /// Compares the answers of the store to events of sampled flows with the truth.
    pub fn check(&mut self, work: &ShardWork<'_>, sampled: &mut Vec<(Event, Answer)>) {
        for (n, (event, answer)) in sampled.iter().enumerate() {
            if let Some((later, _)) = sampled.get(n + AHEAD) {
                self.flows.prefetch(later.id);
            }
            self.check_one(work, event, answer);
        }
        sampled.clear();
        // Flows time out although none of those in the sample has a packet.
        if let Some(epoch) = work.events.last().and_then(|event| self.aging.epoch_of(event)) {
            self.now.epoch = self.now.epoch.max(epoch);
        }
    }

    fn check_one(&mut self, work: &ShardWork<'_>, event: &Event, answer: &Answer) {
        let altered;
        let event = match self.aging.alters_events() {
            true => {
                altered = self.aging.event(event, answer);
                &altered
            }
            false => event,
        };
        self.now.epoch = self.now.epoch.max(event.epoch);
        let found = self.flows.find(event.id);
        let Some(slot) = found.or_else(|| self.add(event, answer.answer)) else { return };
        if !self.flows.flow(slot).is_certain {
            self.adopt(work, event, slot, answer.answer);
        }
        if self.flows.flow(slot).truth.stays(work, event, answer) {
            return self.flows.count(slot, answer.answer, false);
        }
        let mut step = self.step(work, event, slot);
        if let (Some(epoch), TrueFlow::Stored(flow)) = (self.aging.retained_in(answer), step.after)
        {
            step.after = TrueFlow::Stored(StoredFlow::new(flow.state(), epoch.stamp()));
        }
        self.flows.flow(slot).truth = step.after;
        let is_wrong = ErrorKind::of(answer.answer, step.answer).is_some();
        self.flows.count(slot, answer.answer, is_wrong);
    }

    /// Takes a flow into the sample, if its level is required.
    fn add(&mut self, event: &Event, answer: Lookup) -> Option<Slot> {
        let level = level_of(event.id);
        while level >= self.level && self.flows.len() >= self.flows_max && self.level < LEVELS - 1 {
            self.halve();
        }
        if level < self.level || self.flows.len() >= self.flows_max {
            return None;
        }
        let is_certain = self.is_certain(level, event, answer);
        Some(self.flows.add(event.id, is_certain))
    }

    /// What the packet means for its flow, by the truth.
    #[inline]
    fn step(&mut self, work: &ShardWork<'_>, event: &Event, slot: Slot) -> TrueStep {
        let truth = self.flows.flow(slot).truth;
        if !self.has_pending {
            return truth.step(work, event);
        }
        let has_reverse = work.rules.keyer.is_directed();
        let reverse = has_reverse.then(|| self.flows.find(event.id.reverse())).flatten();
        let of_reverse = reverse.map_or(TrueFlow::Absent, |slot| self.flows.flow(slot).truth);
        let step = truth.step_with_pending(work, event, of_reverse);
        if let (Some(reverse), Some(evidence)) = (reverse, step.evidence) {
            let is_admitted = self.admits_both && step.after.stored(event.epoch).is_some();
            self.flows.flow(reverse).truth.share(work, event, evidence, is_admitted);
        }
        step
    }

    /// Whether the shadow knows a flow that it has not seen before: it does not exist.
    fn is_certain(&self, level: usize, event: &Event, answer: Lookup) -> bool {
        let Some(opened) = self.opened[level] else { return true };
        let pending_seconds = 2 * PendingTable::EPOCH_SECONDS;
        let all_seen = opened.epoch.is_forgotten_at(self.now.epoch)
            && self.now.second >= opened.second + pending_seconds;
        let begins = event.flags.has(TcpFlags::SYN) && !event.flags.has(TcpFlags::ACK);
        all_seen || begins && answer == Lookup::Absent
    }

    /// Takes the store's state of a flow for true, if the flow is older than the sample and the shadow
    /// has seen by now that it exists.
    fn adopt(&mut self, work: &ShardWork<'_>, event: &Event, slot: Slot, answer: Lookup) {
        let flow = self.flows.flow(slot);
        let Some(stored) = flow.truth.stored(event.epoch) else { return };
        if let Lookup::Known(told) = answer {
            if self.has_pending && work.rules.held[told.index()] {
                return; // it is pending there, and for how long is not known
            }
            let stamp = event.tick().stamp(work.rules.half_open[told.index()]);
            flow.truth = TrueFlow::Stored(match told == stored.state() {
                true => stored,
                false => stored.touched(told, stamp),
            });
        }
        flow.is_certain = true;
    }

    /// Leaves out half of the flows.
    fn halve(&mut self) {
        self.level += 1;
        let level = self.level;
        self.flows.retain(level, |id| level_of(id) >= level);
    }

    /// Begins a second. Hands `minute_over` the number of the minute that is over, if one is, and its
    /// counts. `lookups`: those of all flows of the shard since the start.
    pub fn begin_second(
        &mut self,
        second: u64,
        lookups: Lookups,
        mut minute_over: impl FnMut(u64, WindowCounts),
    ) {
        self.flows.note_all(lookups);
        let minute = self.now.second / MINUTE_SECONDS;
        if second / MINUTE_SECONDS > minute && self.now.second > 0 {
            self.pass_to(minute * MINUTE_SECONDS + MINUTE_SECONDS - 1);
            let counts = self.counts(lookups);
            if !counts.is_empty() {
                minute_over(minute, counts);
            }
        }
        self.pass_to(second);
    }

    /// Lets time pass. Flows that are over leave the sample; if it is nearly empty, T is doubled.
    fn pass_to(&mut self, second: u64) {
        self.now.second = self.now.second.max(second);
        if !self.flows.pass_to(second, self.level) {
            return;
        }
        self.flows.retire(self.now.epoch, PendingTable::epoch_of(self.now.second));
        if self.level > 0 && self.flows.len() < self.flows_max / 4 {
            self.level -= 1;
            self.opened[self.level] = Some(self.now);
        }
    }

    /// The lookups of the last minute. `lookups`: those of all flows of the shard since the start.
    pub fn counts(&self, lookups: Lookups) -> WindowCounts {
        self.flows.counts(lookups, level_of)
    }
}
