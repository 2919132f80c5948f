//! Admission: a flow enters the store once both of its ends have spoken, and is pending until then.
//!
//! The flows that a store does not have are looked up in the [pending table](acsm_filters::pending)
//! before it. They are stepped there by the same machine, so alerts are those of a store that takes
//! every flow. What a flood of forged packets brings stays in the pending table and falls out of it.
//! A flow that is over leaves the store and lingers in the pending table.
//!
//! # Flow keys and captures
//!
//! * `connection`: the rule of [evidence](acsm_filters::pending::Evidence).
//! * `5-tuple` and `pair`: a flow has the packets of one direction, and its reverse those of the other.
//!   The two have one slot and share their evidence, and each admits the other: both enter the store with
//!   the packet that completes it (where the store recycles, each with its own next packet), and a
//!   flow whose reverse is in the store is admitted with its next plain segment.
//!   SYNs leave the evidence as it is.
//! * `pair`: the connections between two addresses are one flow in each direction. Sums of different
//!   connections do not agree, so what counts is a plain segment of each end with no segment of
//!   another connection between them. With n connections that talk at random, one in n segments is
//!   followed by one like that.
//! * In a capture that shows one direction only, a second plain segment of the same end admits. That
//!   can be forged; the cap of the store is what protects it then.

use super::batch::{Event, Marks};
use super::pending_step::{PendingStep, segment};
use super::shard::ShardWork;
use super::unbounded_pending::UnboundedPending;
use acsm_filters::pending::{Evidence, PendingFlow, PendingLookup, PendingStats, PendingTable};
use acsm_filters::{FlowId, Lookup, State};

/// The pending flows of one shard.
pub enum Pending {
    /// In fixed memory.
    Table(Box<PendingTable>),
    /// All of them: for the exact shadow.
    Unbounded(Box<UnboundedPending>),
}

/// One event of a flow that the store does not have, as far as the pending table alone can tell.
pub enum Visit {
    /// The flow stays in the table, or is gone.
    Settled(PendingStep),
    /// The store decides: [`finish`](Pending::finish) must follow.
    Open(PendingVisit),
}

/// One event of a flow that the store does not have, before it is decided where the flow is kept: the
/// store may have room for it or not.
pub struct PendingVisit {
    step: PendingStep,
    /// The flow before the packet…
    before: Option<PendingFlow>,
    /// …and after it.
    after: Option<PendingFlow>,
    /// Whether it belongs in the store if the flow of the other direction is there.
    awaits_reverse: bool,
    /// Whether both ends had been heard before the packet.
    was_complete: bool,
    /// Where the table keeps it.
    lookup: Option<PendingLookup>,
}

impl Pending {
    /// Starts loading the memory of a flow.
    #[inline(always)]
    pub fn prefetch(&self, id: FlowId) {
        if let Pending::Table(table) = self {
            table.prefetch(id);
        }
    }

    /// Looks up and steps a flow that the store does not have.
    #[inline(never)] // once for all stores
    pub fn visit(&mut self, work: &ShardWork<'_>, event: &Event) -> Visit {
        match self {
            Pending::Table(table) => {
                let lookup = table.lookup(event.id, event.pending_epoch);
                if let Some((step, after)) = PendingStep::of_connection(work, event, lookup.flow) {
                    match after {
                        Some(after) => table.put(&lookup, after),
                        None => table.delete(&lookup),
                    }
                    return Visit::Settled(step);
                }
                let evidence = match lookup.flow {
                    Some(flow) => flow.evidence,
                    None => table.evidence_of_reverse(&lookup),
                };
                let visit = PendingVisit::new(work, event, lookup.flow, evidence);
                if visit.is_open(work) {
                    return Visit::Open(PendingVisit { lookup: Some(lookup), ..visit });
                }
                match visit.after {
                    Some(after) => table.put(&lookup, after),
                    None => table.delete(&lookup),
                }
                Visit::Settled(visit.step)
            }
            Pending::Unbounded(flows) => {
                flows.advance_to(event.pending_epoch);
                let (before, evidence) = (flows.get(event.id), flows.evidence(event.id));
                let visit = PendingVisit::new(work, event, before, evidence);
                if visit.is_open(work) {
                    return Visit::Open(visit);
                }
                self.keep(event, None, visit.after, false);
                Visit::Settled(visit.step)
            }
        }
    }

    /// Keeps what follows from a visit. `admitted`: whether the store has taken the flow, if it
    /// [belongs](PendingVisit::state_to_admit) there.
    #[inline(never)] // once for all stores
    pub fn finish(
        &mut self,
        work: &ShardWork<'_>,
        event: &Event,
        visit: PendingVisit,
        admitted: bool,
    ) -> PendingStep {
        let PendingVisit { mut step, before, after, lookup, was_complete, .. } = visit;
        self.keep(event, lookup, after, admitted);
        // Flows are counted, not the packets with which they are tried again.
        let is_ready = |flow: Option<PendingFlow>| flow.is_some_and(|flow| is_ready(work, &flow));
        step.completes = !was_complete && after.is_some_and(|flow| flow.evidence.is_complete());
        if !admitted && is_ready(after) && !is_ready(before) {
            let has_reverse = step.completes
                && work.rules.keyer.is_directed()
                && self.reverse_to_admit(work, event).is_some();
            step.refused = 1 + u64::from(has_reverse);
        }
        step
    }

    /// Keeps a flow as it is after the event, unless the store has taken it.
    #[inline(always)]
    fn keep(
        &mut self,
        event: &Event,
        lookup: Option<PendingLookup>,
        after: Option<PendingFlow>,
        admitted: bool,
    ) {
        match (self, lookup, after) {
            (Pending::Table(table), Some(lookup), Some(after)) => match admitted {
                true => table.admit(&lookup, after.evidence),
                false => table.put(&lookup, after),
            },
            (Pending::Table(table), Some(lookup), None) => table.delete(&lookup),
            (Pending::Unbounded(flows), _, Some(after)) => {
                flows.set(event.id, Some(after.state).filter(|_| !admitted), after.evidence);
            }
            (Pending::Unbounded(flows), _, None) => flows.remove(event.id),
            (Pending::Table(_), None, _) => {}
        }
    }

    /// The state of the flow of the other direction, if it is pending and belongs in the store.
    pub fn reverse_to_admit(&mut self, work: &ShardWork<'_>, event: &Event) -> Option<State> {
        let flow = match self {
            Pending::Table(table) => table.lookup(event.id.reverse(), event.pending_epoch).flow,
            Pending::Unbounded(flows) => flows.get(event.id.reverse()),
        };
        flow.filter(|flow| is_ready(work, flow)).map(|flow| flow.state)
    }

    /// Notes that the flow of the other direction is in the store.
    pub fn admitted_reverse(&mut self, event: &Event) {
        match self {
            Pending::Table(table) => {
                let lookup = table.lookup(event.id.reverse(), event.pending_epoch);
                table.admit(&lookup, Evidence::COMPLETE);
            }
            Pending::Unbounded(flows) => flows.remove(event.id.reverse()),
        }
    }

    /// Takes a flow that has left the store.
    pub fn hold(&mut self, work: &ShardWork<'_>, event: &Event, state: State) {
        let flow = held_flow(work, state);
        match self {
            Pending::Table(table) => {
                let lookup = table.lookup(event.id, event.pending_epoch);
                table.put(&lookup, flow);
            }
            Pending::Unbounded(flows) => {
                flows.advance_to(event.pending_epoch);
                flows.set(event.id, Some(flow.state), flow.evidence);
            }
        }
    }

    /// Counts; those of the unbounded table are not kept.
    pub fn stats(&self) -> PendingStats {
        match self {
            Pending::Table(table) => table.stats(),
            Pending::Unbounded(_) => PendingStats::default(),
        }
    }
}

impl PendingVisit {
    /// Of a flow that is pending or, if `before` is none, absent.
    #[inline(always)]
    pub fn new(
        work: &ShardWork<'_>,
        event: &Event,
        before: Option<PendingFlow>,
        evidence: Evidence,
    ) -> PendingVisit {
        let directed = work.rules.keyer.is_directed();
        let segment = segment(event, directed);
        let (step, mut after) = PendingStep::with_evidence(work, event, before, evidence, segment);
        let mut awaits_reverse = false;
        if let Some(after) = &mut after
            && !after.evidence.is_complete()
            && !work.rules.held[after.state.index()]
        {
            if event.marks.has(Marks::ONE_WAY) && evidence.has_heard(segment) {
                after.evidence = Evidence::COMPLETE;
            } else {
                awaits_reverse = directed && segment.is_plain();
            }
        }
        let was_complete = evidence.is_complete();
        PendingVisit { step, before, after, awaits_reverse, was_complete, lookup: None }
    }

    /// By the state machine and the evidence, wherever the flow is kept.
    pub fn step(self) -> PendingStep {
        self.step
    }

    /// Whether the store decides where the flow is kept.
    #[inline(always)]
    fn is_open(&self, work: &ShardWork<'_>) -> bool {
        self.awaits_reverse || self.state_to_admit(work).is_some()
    }

    /// The state before the packet, or absent.
    pub fn answer(&self) -> Lookup {
        self.step.answer
    }

    /// The flow after the packet, wherever it is kept.
    pub fn after(&self) -> Option<PendingFlow> {
        self.after
    }

    /// The state in which the flow belongs in the store, if it does.
    #[inline]
    pub fn state_to_admit(&self, work: &ShardWork<'_>) -> Option<State> {
        self.after.filter(|flow| is_ready(work, flow)).map(|flow| flow.state)
    }

    /// Whether it belongs in the store if the flow of the other direction is there.
    #[inline]
    pub fn awaits_reverse(&self) -> bool {
        self.awaits_reverse
    }

    /// Notes that the flow of the other direction is in the store.
    pub fn reverse_is_stored(&mut self) {
        if let Some(after) = &mut self.after {
            after.evidence = Evidence::COMPLETE;
        }
    }
}

/// A flow that has left the store in this state. Of a directed flow that is half-open again, the evidence
/// stands: its SYN may be that of another connection.
pub fn held_flow(work: &ShardWork<'_>, state: State) -> PendingFlow {
    let evidence = match work.rules.keyer.is_directed() && work.rules.half_open[state.index()] {
        true => Evidence::COMPLETE,
        false => Evidence::NONE,
    };
    PendingFlow { state, evidence }
}

/// Whether a flow belongs in the store: both ends were heard, and it is neither half-open nor over.
pub fn is_ready(work: &ShardWork<'_>, flow: &PendingFlow) -> bool {
    flow.evidence.is_complete() && !work.rules.held[flow.state.index()]
}
