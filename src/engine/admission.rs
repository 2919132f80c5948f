//! Admission: a flow enters the store once both of its ends have spoken, and is pending until then.
//!
//! The flows that a store does not have are looked up in the [pending table](acsm_filters::pending)
//! before it. They are stepped there by the same machine, so alerts are those of a store that takes
//! every flow. What a flood of forged packets brings stays in the pending table and falls out of it.
//! A flow that is over leaves the store and lingers in the pending table.

use std::collections::HashMap;

use super::batch::Event;
use super::shard::ShardWork;
use crate::flow::{Direction, Packet, TcpFlags};
use crate::machine::{Next, Outcome};
use crate::time::{NANOS_PER_SEC, Timestamp};
use acsm_filters::pending::{End, Evidence, PendingFlow, PendingStats, PendingTable, Segment, Sum};
use acsm_filters::{Epoch, FlowId, Lookup, State};

/// The pending flows of one shard.
pub enum Pending {
    /// In fixed memory.
    Table(Box<PendingTable>),
    /// All of them: for the exact shadow.
    Unbounded(Box<UnboundedPending>),
}

/// What becomes of a pending flow after a packet.
enum Fate {
    /// There is no such flow, and none begins.
    Nothing,
    /// It is pending.
    Pending(PendingFlow),
    /// It is in the store now.
    Admitted,
    /// The machine deletes it.
    Deleted,
}

/// One event of a flow that the store does not have.
pub struct PendingStep {
    /// The state of the pending flow, or absent.
    pub answer: Lookup,
    /// What follows from that answer.
    pub outcome: Outcome,
    /// The state of the flow now, if there is one.
    pub state: Option<State>,
}

impl Pending {
    /// Steps a flow that the store does not have. `admit` brings a flow in this state into the store,
    /// and returns whether there was room for it.
    pub fn step(
        &mut self,
        work: &ShardWork<'_>,
        event: &Event,
        admit: impl FnOnce(State) -> bool,
    ) -> PendingStep {
        let packet = work.packets.get(event.index as usize).unwrap_or(&Packet::UNSPECIFIED);
        let mut step = None;
        self.apply(event.id, epoch_of(packet.time), |flow| {
            let answer = flow.map_or(Lookup::Absent, |flow| Lookup::Known(flow.state));
            let outcome = event.step(work.machine, answer);
            let state = match outcome.next {
                Next::Keep => flow.map(|flow| flow.state),
                Next::Go(state) => Some(state),
                Next::Delete => None,
            };
            step = Some(PendingStep { answer, outcome, state });
            let Some(state) = state else {
                return if flow.is_some() { Fate::Deleted } else { Fate::Nothing };
            };
            let evidence = flow.map_or(Evidence::NONE, |flow| flow.evidence);
            let evidence = evidence.after(segment(packet, event.direction));
            let is_ready = evidence.is_complete() && !work.rules.held[state.index()];
            match is_ready && admit(state) {
                true => Fate::Admitted,
                false => Fate::Pending(PendingFlow { state, evidence }),
            }
        });
        let (answer, outcome) = (Lookup::Absent, event.step(work.machine, Lookup::Absent));
        step.unwrap_or(PendingStep { answer, outcome, state: None })
    }

    /// Takes a flow that has left the store.
    pub fn hold(&mut self, work: &ShardWork<'_>, event: &Event, state: State) {
        let packet = work.packets.get(event.index as usize).unwrap_or(&Packet::UNSPECIFIED);
        let flow = PendingFlow { state, evidence: Evidence::NONE };
        self.apply(event.id, epoch_of(packet.time), |_| Fate::Pending(flow));
    }

    /// Forgets all flows but those to `keep`, in an unbounded table.
    pub fn retain(&mut self, keep: impl Fn(FlowId) -> bool) {
        if let Pending::Unbounded(flows) = self {
            flows.flows.retain(|id, _| keep(*id));
        }
    }

    /// Counts; those of the unbounded table are not kept.
    pub fn stats(&self) -> PendingStats {
        match self {
            Pending::Table(table) => table.stats(),
            Pending::Unbounded(_) => PendingStats::default(),
        }
    }

    fn apply(&mut self, id: FlowId, now: Epoch, f: impl FnOnce(Option<PendingFlow>) -> Fate) {
        match self {
            Pending::Table(table) => {
                let lookup = table.lookup(id, now);
                match f(lookup.flow) {
                    Fate::Nothing => {}
                    Fate::Pending(flow) => table.put(&lookup, flow),
                    Fate::Admitted => table.admit(&lookup),
                    Fate::Deleted => table.delete(&lookup),
                }
            }
            Pending::Unbounded(flows) => flows.apply(id, now, f),
        }
    }
}

/// What a packet contributes to the evidence that both ends take part.
fn segment(packet: &Packet, direction: Direction) -> Segment {
    let sum = Sum::of(packet.sequence_sum, 0);
    let (syn, ack) = (packet.flags.has(TcpFlags::SYN), packet.flags.has(TcpFlags::ACK));
    match (syn, ack) {
        _ if packet.flags.has(TcpFlags::RST) => Segment::Other,
        (true, false) => Segment::Syn,
        (true, true) => Segment::SynAck(sum),
        (false, true) => match direction {
            Direction::Forward => Segment::Plain(End::Forward, sum),
            Direction::Backward => Segment::Plain(End::Backward, sum),
        },
        (false, false) => Segment::Other,
    }
}

/// The pending table's own epoch.
fn epoch_of(time: Timestamp) -> Epoch {
    let epoch = time.as_nanos() / (PendingTable::EPOCH_SECONDS * NANOS_PER_SEC);
    Epoch(u32::try_from(epoch).unwrap_or(u32::MAX))
}

/// All pending flows, however many. They live as long as in the table of fixed size, but none is
/// lost.
#[derive(Default)]
pub struct UnboundedPending {
    flows: HashMap<FlowId, (PendingFlow, Epoch)>,
    epoch: Epoch,
}

impl UnboundedPending {
    fn apply(&mut self, id: FlowId, now: Epoch, f: impl FnOnce(Option<PendingFlow>) -> Fate) {
        if now > self.epoch {
            self.epoch = now;
            self.flows.retain(|_, (_, last)| !last.is_forgotten_at(now));
        }
        match f(self.flows.get(&id).map(|(flow, _)| *flow)) {
            Fate::Nothing => {}
            Fate::Pending(flow) => drop(self.flows.insert(id, (flow, self.epoch))),
            Fate::Admitted | Fate::Deleted => drop(self.flows.remove(&id)),
        }
    }
}
