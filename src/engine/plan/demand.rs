//! What a trace asks of a store, counted exactly: how many flows at once, in which states, at
//! which rate.

use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSource};
use crate::engine::batch::{Event, PacketBatch};
use crate::engine::clock::{Phase, Tick};
use crate::engine::dispatch::{DispatchPlan, Dispatcher};
use crate::engine::shadow::{Truth, exact_shard, find_truth};
use crate::engine::shard::{NONE_HELD, ShardRules, ShardWork, Wanted};
use crate::flow::Keyer;
use crate::machine::{Machine, Next, RuleSet};
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::{Epoch, Lookup, State, StoreError};

/// Flows that the exact table has room for before it first grows.
const FIRST_FLOWS: usize = 1 << 16;

/// What was counted. Flows are alive as long as a timer of the phase asked for would keep them.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// Frames, and why some were skipped.
    pub frames: FrameCounts,
    /// Flows that arrived, each as often as it arrived again.
    pub flows_came: u64,
    /// The most that were alive at once.
    pub flows_peak: u64,
    /// How many of these were in which state.
    pub states_at_peak: [u64; State::LIMIT],
    /// How many of these were still in the state they came in.
    pub kept_at_peak: u64,
    /// Lookups of flows that were not there.
    pub lookups_absent: u64,
    /// All lookups: one per TCP packet.
    pub lookups: u64,
    lifetimes_nanos: u128,
}

impl Demand {
    /// Length of the trace.
    pub fn seconds(&self) -> f64 {
        let span = self.frames.span.map_or(0, |(first, last)| last.since(first));
        span as f64 / NANOS_PER_SEC as f64
    }

    /// From a flow's first packet to its last, on average.
    pub fn lifetime_seconds(&self) -> f64 {
        self.lifetimes_nanos as f64 / NANOS_PER_SEC as f64 / self.flows_came.max(1) as f64
    }
}

/// Why a trace could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum DemandError {
    /// It could not be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// There is no memory for the exact table.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads all of `source`, unless `goes_on` returns false; it is called every few thousand frames with
/// the number of frames read. Memory follows the number of flows.
pub fn demand(
    source: &mut dyn PacketSource,
    parser: &Parser,
    (keyer, machine): (&Keyer, &Machine),
    phase: Phase,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<Demand, DemandError> {
    let (keyer, startup_nanos) = (*keyer, 0);
    let plan = DispatchPlan { keyer, phase, startup_nanos, watch: None, top_talkers: false };
    let mut dispatcher = Dispatcher::new(&plan);
    let half_open = machine.half_open();
    let (shown, touch_absent, stopwatch) = (RuleSet::EMPTY, false, None);
    let held = &NONE_HELD;
    let rules = ShardRules { half_open: &half_open, held, shown, keyer, touch_absent, stopwatch };
    let mut exact = exact_shard(true, FIRST_FLOWS)?;
    let mut census = Census { half_open, ..Census::default() };
    let (mut batch, mut events) = (PacketBatch::default(), Vec::new());
    loop {
        batch.clear();
        let more = dispatcher.fill(source, parser, &mut batch, &mut census.demand.frames)?;
        let packets = batch.packets.as_slice();
        batch.events.in_capture_order(packets.len(), &mut events);
        let (given, wanted) = (None, Wanted::Answers);
        let work = ShardWork {
            events: &events,
            packets,
            machine,
            rules: &rules,
            given,
            wanted,
            sampled_below: 0,
        };
        find_truth(&mut exact, &work, |event, truth| {
            if let Some(packet) = packets.get(event.index as usize) {
                census.add(event, packet.time, truth);
            }
        });
        if !more || !goes_on(census.demand.frames.packets) {
            return Ok(census.finish());
        }
    }
}

/// A flow that is alive, or was.
#[derive(Debug, Clone, Copy)]
struct FlowRecord {
    state: State,
    is_alive: bool,
    /// The last epoch in which it is alive.
    until: Epoch,
    /// Still in its first state.
    kept: bool,
    first: Timestamp,
    last: Timestamp,
}

/// Counts flows as they come and go.
#[derive(Default)]
struct Census {
    half_open: [bool; State::LIMIT],
    epoch: Epoch,
    /// By the number of the flow.
    flows: Vec<Option<FlowRecord>>,
    /// The numbers of those that are alive.
    alive: Vec<u32>,
    count: u64,
    states: [u64; State::LIMIT],
    kept: u64,
    demand: Demand,
}

impl Census {
    fn add(&mut self, event: &Event, time: Timestamp, truth: Truth) {
        let tick = event.tick();
        if tick.epoch != self.epoch {
            self.epoch = tick.epoch;
            self.remove_stale();
        }
        self.demand.lookups += 1;
        self.demand.lookups_absent += u64::from(truth.answer == Lookup::Absent);
        match (truth.answer, truth.outcome.next) {
            (Lookup::Known(old), next) => {
                let state = if let Next::Go(state) = next { state } else { old };
                let until = self.until(state, tick);
                if let Some(Some(flow)) = self.flows.get_mut(truth.flow as usize) {
                    flow.until = flow.until.max(until);
                    flow.last = flow.last.max(time);
                }
                match next {
                    Next::Go(_) => self.change(truth.flow, state),
                    Next::Delete => self.remove(truth.flow),
                    Next::Keep => {}
                }
            }
            (_, Next::Go(state)) => self.insert(truth.flow, state, time, tick),
            _ => {}
        }
    }

    fn until(&self, state: State, tick: Tick) -> Epoch {
        tick.stamp(self.half_open[state.index()]).last_alive()
    }

    fn insert(&mut self, number: u32, state: State, time: Timestamp, tick: Tick) {
        let until = self.until(state, tick);
        let flow = FlowRecord { state, is_alive: true, until, kept: true, first: time, last: time };
        let index = number as usize;
        if self.flows.len() <= index {
            self.flows.resize(index + 1, None);
        }
        self.flows[index] = Some(flow);
        self.alive.push(number);
        self.count += 1;
        self.states[state.index()] += 1;
        self.kept += 1;
        self.demand.flows_came += 1;
        if self.count > self.demand.flows_peak {
            self.demand.flows_peak = self.count;
            (self.demand.states_at_peak, self.demand.kept_at_peak) = (self.states, self.kept);
        }
    }

    fn change(&mut self, number: u32, state: State) {
        if let Some(Some(flow)) = self.flows.get_mut(number as usize) {
            self.states[flow.state.index()] -= 1;
            self.states[state.index()] += 1;
            self.kept -= u64::from(flow.kept);
            (flow.state, flow.kept) = (state, false);
        }
    }

    fn remove(&mut self, number: u32) {
        if let Some(Some(flow)) = self.flows.get_mut(number as usize)
            && flow.is_alive
        {
            flow.is_alive = false;
            self.count -= 1;
            self.states[flow.state.index()] -= 1;
            self.kept -= u64::from(flow.kept);
            self.demand.lifetimes_nanos += u128::from(flow.last.since(flow.first));
        }
    }

    fn remove_stale(&mut self) {
        let epoch = self.epoch;
        self.remove_where(|flow| flow.until < epoch);
    }

    fn remove_where(&mut self, is_gone: impl Fn(&FlowRecord) -> bool) {
        let mut alive = std::mem::take(&mut self.alive);
        alive.retain(|&number| {
            let Some(&Some(flow)) = self.flows.get(number as usize) else { return false };
            if flow.is_alive && is_gone(&flow) {
                self.remove(number);
            }
            flow.is_alive && !is_gone(&flow)
        });
        self.alive = alive;
    }

    fn finish(mut self) -> Demand {
        self.remove_where(|_| true);
        self.demand
    }
}
