//! The truth about one flow of a sample: where it is, in which state, and how a packet changes that.
//!
//! This is the rule of the shard's loop and of admission for a store without errors and without limits,
//! in one record: there is nothing to look up, and nothing to lose.

use crate::engine::admission::{PendingVisit, held_flow, is_ready};
use crate::engine::batch::Event;
use crate::engine::shard::{Answer, ShardWork};
use crate::machine::Next;
use acsm_filters::pending::{Evidence, PendingFlow};
use acsm_filters::{Epoch, Lookup, Stamp, State};

/// What is true of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrueFlow {
    /// There is none.
    Absent,
    /// It is pending, as of this epoch of the pending table.
    Pending(PendingFlow, Epoch),
    /// It belongs in the store.
    Stored(StoredFlow),
}

/// A flow that belongs in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredFlow {
    state: State,
    /// The last epoch in which it is alive without another packet.
    alive_until: Epoch,
}

/// One packet of a flow.
pub struct TrueStep {
    /// What was true before it.
    pub answer: Lookup,
    /// What is true after it.
    pub after: TrueFlow,
    /// What the flow of the other direction is given, where directions are flows of their own.
    pub evidence: Option<Evidence>,
}

impl StoredFlow {
    /// A flow that is inserted.
    pub fn new(state: State, stamp: Stamp) -> StoredFlow {
        StoredFlow { state, alive_until: stamp.last_alive() }
    }

    /// Its state.
    pub fn state(self) -> State {
        self.state
    }

    /// The same after a packet that leaves it in this state.
    pub fn touched(self, state: State, stamp: Stamp) -> StoredFlow {
        StoredFlow { state, alive_until: self.alive_until.max(stamp.last_alive()) }
    }

    /// A packet of the flow.
    #[inline]
    fn step(self, work: &ShardWork<'_>, event: &Event, has_pending: bool) -> TrueStep {
        let answer = Lookup::Known(self.state);
        let after = match event.step(work.machine, answer).next {
            Next::Go(state) if has_pending && work.rules.held[state.index()] => {
                let flow = held_flow(work, state);
                let after = TrueFlow::Pending(flow, event.pending_epoch);
                return TrueStep { answer, after, evidence: Some(flow.evidence) };
            }
            Next::Go(state) => TrueFlow::Stored(self.touched(state, stamp(work, event, state))),
            Next::Keep => {
                TrueFlow::Stored(self.touched(self.state, stamp(work, event, self.state)))
            }
            Next::Delete => TrueFlow::Absent,
        };
        TrueStep { answer, after, evidence: None }
    }
}

impl TrueFlow {
    /// Whether the flow is in the store in the state that the store has answered, and stays in it: most
    /// packets. Then it is touched.
    #[inline]
    pub fn stays(&mut self, work: &ShardWork<'_>, event: &Event, answer: &Answer) -> bool {
        let Some(flow) = self.stored(event.epoch) else { return false };
        let (state, (before, after)) = (flow.state, answer.epochs);
        let stays = answer.answer == Lookup::Known(state)
            && answer.outcome.next == Next::Keep
            && before == after;
        if stays {
            *self = TrueFlow::Stored(flow.touched(state, stamp(work, event, state)));
        }
        stays
    }

    /// The flow if it is in the store in this epoch.
    #[inline]
    pub fn stored(self, now: Epoch) -> Option<StoredFlow> {
        match self {
            TrueFlow::Stored(flow) if now <= flow.alive_until => Some(flow),
            _ => None,
        }
    }

    /// The flow if it is pending in this epoch of the pending table.
    #[inline]
    pub fn pending(self, now: Epoch) -> Option<PendingFlow> {
        match self {
            TrueFlow::Pending(flow, last) if !last.is_forgotten_at(now) => Some(flow),
            _ => None,
        }
    }

    /// Gives a pending flow the evidence of its other direction, and renews it: they share a slot.
    /// `is_admitted`: that one has just entered the store, and this flow enters it too if it can.
    pub fn share(
        &mut self,
        work: &ShardWork<'_>,
        event: &Event,
        evidence: Evidence,
        is_admitted: bool,
    ) {
        let Some(flow) = self.pending(event.pending_epoch) else { return };
        let flow = PendingFlow { evidence: evidence.reversed(), ..flow };
        if is_admitted && is_ready(work, &flow) {
            *self = TrueFlow::Stored(StoredFlow::new(flow.state, event.epoch.stamp()));
        } else {
            *self = TrueFlow::Pending(flow, event.pending_epoch);
        }
    }

    /// A packet of the flow, before a store without pending flows.
    #[inline]
    pub fn step(self, work: &ShardWork<'_>, event: &Event) -> TrueStep {
        match self.stored(event.epoch) {
            Some(flow) => flow.step(work, event, false),
            None => {
                let after = match event.step(work.machine, Lookup::Absent).next {
                    Next::Go(state) => {
                        TrueFlow::Stored(StoredFlow::new(state, stamp(work, event, state)))
                    }
                    Next::Keep | Next::Delete => TrueFlow::Absent,
                };
                TrueStep { answer: Lookup::Absent, after, evidence: None }
            }
        }
    }

    /// A packet of the flow, before a store whose flows are pending first. `reverse`: the flow of the
    /// other direction, where directions are flows of their own.
    #[inline]
    pub fn step_with_pending(
        self,
        work: &ShardWork<'_>,
        event: &Event,
        reverse: TrueFlow,
    ) -> TrueStep {
        if let Some(flow) = self.stored(event.epoch) {
            return flow.step(work, event, true);
        }
        let before = self.pending(event.pending_epoch);
        let evidence = match (before, reverse.pending(event.pending_epoch)) {
            (Some(flow), _) => flow.evidence,
            (None, Some(reverse)) => reverse.evidence.reversed(),
            (None, None) => Evidence::NONE,
        };
        let mut visit = PendingVisit::new(work, event, before, evidence);
        if visit.awaits_reverse() && reverse.stored(event.epoch).is_some() {
            visit.reverse_is_stored();
        }
        let after = match (visit.state_to_admit(work), visit.after()) {
            (Some(state), _) => TrueFlow::Stored(StoredFlow::new(state, event.epoch.stamp())),
            (None, Some(flow)) => TrueFlow::Pending(flow, event.pending_epoch),
            (None, None) => TrueFlow::Absent,
        };
        let evidence = visit.after().map(|flow| flow.evidence);
        TrueStep { answer: visit.answer(), after, evidence }
    }
}

/// What a packet leaves on a flow in this state.
#[inline]
fn stamp(work: &ShardWork<'_>, event: &Event, state: State) -> Stamp {
    event.tick().stamp(work.rules.half_open[state.index()])
}
