//! The reading end: each packet is parsed once, and the truth about it found once, for all runs.

use super::batch::{Batch, Event, GROUP};
use super::plan::ComparePlan;
use super::runner::admitted;
use super::timeline::Steps;
use crate::capture::parse::Parser;
use crate::capture::{CaptureError, FrameCounts, PacketSource};
use crate::engine::clock::Clock;
use crate::engine::hygiene::AlertFilter;
use crate::engine::learning::Learning;
use crate::engine::worker::{is_half_open, write};
use crate::flow::{Direction, FlowId, FlowKey, FlowKeyKind, Keyer, Packet};
use crate::machine::RuleSet;
use crate::state::{Lookup, State};
use crate::store::{Epoch, ExactPlace, Flow, History, Store, StoreError};

/// Reading pauses after so many frames, be they TCP or not: signals and progress bars wait for it.
const GROUP_FRAMES_MAX: usize = 4096;

/// A packet whose flow is being fetched from memory.
#[derive(Debug, Clone, Copy)]
pub struct Located {
    /// The packet.
    pub packet: Packet,
    key: FlowKey,
    direction: Direction,
    id: FlowId,
    place: ExactPlace,
}

/// Packets that are located together, so that what they need comes from memory meanwhile.
pub type Group = [Option<Located>; GROUP];

/// The exact truth, and everything that must see all packets in their order.
pub struct Front<'a> {
    plan: &'a ComparePlan,
    keyer: Keyer,
    clock: Clock,
    /// Cuts trace time into the timeline's steps.
    pub steps: Steps,
    half_open: [bool; State::LIMIT],
    seeds: Vec<SeedFront<'a>>,
    /// Every flow that ever was.
    pub history: History,
    /// What the trace is like.
    pub load: Load,
    last: Epoch,
}

/// What depends on the digests, and so on the seed.
struct SeedFront<'a> {
    keyer: Keyer,
    learning: Learning,
    filter: AlertFilter<'a>,
}

/// What a trace asks of a store, counted exactly.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Load {
    /// Flows that ever were.
    pub flows_total: u64,
    /// The most that were alive at once.
    pub flows_peak: u64,
    /// Lookups of flows that exist, by state.
    pub lookups_extant: [u64; State::LIMIT],
    /// Lookups of flows that do not.
    pub lookups_absent: u64,
    /// Alerts that an exact table leads to, thresholds aside.
    pub alerts: u64,
}

impl<'a> Front<'a> {
    /// The reading end of all runs of `plan`.
    pub fn new(plan: &'a ComparePlan) -> Result<Front<'a>, StoreError> {
        let sees_both_directions = plan.keyer.kind == FlowKeyKind::Connection;
        let seed = |index| {
            let keyer = plan.keyer_of(index);
            SeedFront {
                keyer,
                learning: Learning::new(plan.startup_nanos, sees_both_directions),
                filter: AlertFilter::new(&plan.rules, &plan.suppressions, keyer.hash_key),
            }
        };
        Ok(Front {
            plan,
            keyer: plan.keyer_of(0),
            clock: Clock::new(plan.phase),
            steps: Steps::new(),
            half_open: plan.rules.machine.half_open(),
            seeds: (0..plan.seeds.len()).map(seed).collect(),
            history: History::new(plan.timed, plan.flows_expected)?,
            load: Load::default(),
            last: Epoch::default(),
        })
    }

    /// Reads until the group is full; says whether there may be more.
    pub fn read(
        &mut self,
        source: &mut impl PacketSource,
        parser: &Parser,
        frames: &mut FrameCounts,
        group: &mut Group,
    ) -> Result<bool, CaptureError> {
        let mut frames_left = GROUP_FRAMES_MAX;
        for place in group.iter_mut() {
            let packet = loop {
                if frames_left == 0 {
                    return Ok(true);
                }
                frames_left -= 1;
                let Some(frame) = source.next_frame()? else { return Ok(false) };
                let parsed = parser.parse(&frame);
                frames.add(frame.time, parsed.map(|packet| packet.wire_bytes));
                if let Ok(packet) = parsed {
                    break packet;
                }
            };
            *place = Some(self.locate(packet));
        }
        // By now the first of them have their buckets.
        for located in group.iter().flatten() {
            self.history.prefetch_entry(&located.place);
        }
        Ok(true)
    }

    #[inline]
    fn locate(&mut self, packet: Packet) -> Located {
        let (key, direction) = self.keyer.key(&packet);
        let id = self.keyer.id(&key);
        let place = self.history.locate(&Flow { key, id });
        self.history.prefetch(&place);
        Located { packet, key, direction, id, place }
    }

    /// Finds the truth about a packet, lets the exact table take it, and adds it to `batch`.
    #[inline]
    pub fn take(&mut self, located: &Located, batch: &mut Batch) {
        let Located { packet, key, direction, id, place } = located;
        let tick = self.clock.advance(packet.time);
        self.last = tick.epoch;
        let truth = self.history.lookup(place, tick.epoch);
        let flow = self.history.flow();
        let outcome = self.plan.step_along(packet, *direction, truth);
        let stamp = |state| tick.stamp(is_half_open(&self.half_open, state));
        write(&mut self.history, place, truth, outcome.next, &stamp, tick.epoch);
        match truth {
            Lookup::Known(state) => self.load.lookups_extant[state.index()] += 1,
            Lookup::Absent | Lookup::DontKnow => {
                self.load.lookups_absent += 1;
                self.load.flows_peak = self.load.flows_peak.max(self.history.alive());
            }
        }
        let alerts = outcome.alerts.intersection(self.plan.shown);
        batch.events.push(Event { tick, flow, truth, next: outcome.next, alerts });
        batch.packets.push(*packet);
        for (n, (seed, part)) in self.seeds.iter_mut().zip(&mut batch.seeds).enumerate() {
            let id = if n == 0 { *id } else { seed.keyer.id(key) };
            seed.learning.observe(packet.time, id, *direction);
            let muted = seed.learning.mutes_no_session();
            part.ids.push(id);
            part.muted.push(muted);
            part.admitted.push(match alerts.is_empty() {
                true => RuleSet::EMPTY,
                false => admitted(&mut seed.filter, alerts, packet, id, muted),
            });
        }
    }

    /// The epoch of the last packet.
    pub fn epoch(&self) -> Epoch {
        self.last
    }

    /// What the trace is like, and every flow that was in it.
    pub fn finish(self) -> (Load, History) {
        let alerts = self.seeds.first().map_or(0, |seed| seed.filter.shown.iter().sum());
        let flows_total = self.history.flows() as u64;
        (Load { flows_total, alerts, ..self.load }, self.history)
    }
}
