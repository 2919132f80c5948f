//! What a trace asks of a store, counted exactly: how many flows at once, in which states, at
//! which pace.

use std::collections::HashMap;

use super::clock::{Clock, Phase, Tick};
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSource};
use crate::flow::{FlowKey, Keyer, Packet};
use crate::machine::{Machine, Next};
use crate::state::{Lookup, State};
use crate::time::{NANOS_PER_SEC, Timestamp};

/// Frames between two questions whether to go on.
const ASK_EVERY: u64 = 4096;

/// What was counted. Flows are alive as long as a timer of the phase asked for would keep them.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// Frames, and why some were skipped.
    pub frames: FrameCounts,
    /// Flows that came, each as often as it came anew.
    pub flows_came: u64,
    /// The most that were alive at once.
    pub flows_peak: u64,
    /// How many of these were in which state.
    pub states_at_peak: [u64; State::LIMIT],
    /// How many of these were still in the state they came in.
    pub kept_at_peak: u64,
    /// Lookups of flows that were not there.
    pub lookups_absent: u64,
    /// All lookups: one a TCP packet.
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

/// Reads all of `source`, unless `goes_on`, told every few thousand frames how many were read, says
/// no. Memory follows the number of flows alive at once.
pub fn demand<F: PacketSource>(
    source: &mut F,
    parser: &Parser,
    (keyer, machine): (&Keyer, &Machine),
    phase: Phase,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<Demand, CaptureError> {
    let mut count = Count {
        machine,
        clock: Clock::new(phase),
        half_open: machine.half_open(),
        epoch: 0,
        flows: HashMap::new(),
        states: [0; State::LIMIT],
        kept: 0,
        demand: Demand::default(),
    };
    while let Some(frame) = source.next_frame()? {
        let parsed = parser.parse(&frame);
        count.demand.frames.add(frame.time, parsed.map(|packet| packet.wire_bytes));
        if let Ok(packet) = parsed {
            count.add(keyer, &packet);
        }
        let frames = count.demand.frames.packets;
        if frames.is_multiple_of(ASK_EVERY) && !goes_on(frames) {
            break;
        }
    }
    Ok(count.finish())
}

struct Alive {
    state: State,
    /// The last epoch in which it is alive.
    until: u32,
    kept: bool,
    first: Timestamp,
    last: Timestamp,
}

struct Count<'a> {
    machine: &'a Machine,
    clock: Clock,
    half_open: [bool; State::LIMIT],
    epoch: u32,
    flows: HashMap<FlowKey, Alive>,
    states: [u64; State::LIMIT],
    kept: u64,
    demand: Demand,
}

impl Count<'_> {
    fn add(&mut self, keyer: &Keyer, packet: &Packet) {
        let tick = self.clock.advance(packet.time);
        if tick.epoch.0 != self.epoch {
            self.epoch = tick.epoch.0;
            self.forget(|flow, epoch| flow.until < epoch);
        }
        let (key, direction) = keyer.key(packet);
        let known = self.flows.get(&key).map(|flow| flow.state);
        let answer = known.map_or(Lookup::Absent, Lookup::Known);
        self.demand.lookups += 1;
        self.demand.lookups_absent += u64::from(known.is_none());
        let data = packet.payload_bytes > 0;
        match (known, self.machine.step(answer, direction, packet.flags, data).next) {
            (None, Next::Go(state)) => self.insert(key, state, packet.time, tick),
            (Some(old), next) => {
                let state = if let Next::Go(state) = next { state } else { old };
                let until = self.until(state, tick);
                if let Some(flow) = self.flows.get_mut(&key) {
                    flow.until = flow.until.max(until);
                    flow.last = flow.last.max(packet.time);
                }
                match next {
                    Next::Go(_) => self.change(&key, state),
                    Next::Delete => self.remove(&key),
                    Next::Keep => {}
                }
            }
            (None, _) => {}
        }
    }

    fn until(&self, state: State, tick: Tick) -> u32 {
        let half_open = self.half_open[state.index()] && !tick.is_late;
        tick.epoch.0.saturating_add(u32::from(!half_open))
    }

    fn insert(&mut self, key: FlowKey, state: State, time: Timestamp, tick: Tick) {
        let until = self.until(state, tick);
        self.flows.insert(key, Alive { state, until, kept: true, first: time, last: time });
        self.states[state.index()] += 1;
        self.kept += 1;
        self.demand.flows_came += 1;
        let alive = self.flows.len() as u64;
        if alive > self.demand.flows_peak {
            self.demand.flows_peak = alive;
            (self.demand.states_at_peak, self.demand.kept_at_peak) = (self.states, self.kept);
        }
    }

    fn change(&mut self, key: &FlowKey, state: State) {
        if let Some(flow) = self.flows.get_mut(key) {
            self.states[flow.state.index()] -= 1;
            self.states[state.index()] += 1;
            self.kept -= u64::from(flow.kept);
            (flow.state, flow.kept) = (state, false);
        }
    }

    fn remove(&mut self, key: &FlowKey) {
        if let Some(flow) = self.flows.remove(key) {
            self.leave(&flow);
        }
    }

    fn leave(&mut self, flow: &Alive) {
        self.states[flow.state.index()] -= 1;
        self.kept -= u64::from(flow.kept);
        self.demand.lifetimes_nanos += u128::from(flow.last.since(flow.first));
    }

    fn forget(&mut self, is_dead: impl Fn(&Alive, u32) -> bool) {
        let epoch = self.epoch;
        let mut flows = std::mem::take(&mut self.flows);
        flows.retain(|_, flow| {
            let dead = is_dead(flow, epoch);
            if dead {
                self.leave(flow);
            }
            !dead
        });
        self.flows = flows;
    }

    fn finish(mut self) -> Demand {
        self.forget(|_, _| true);
        self.demand
    }
}
