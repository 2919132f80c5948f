//! One packet of a pending flow: what the state machine and the evidence make of it, wherever the flow
//! is kept.
//!
//! # Resets that nobody obeys
//!
//! Anyone can send a RST that names the addresses and ports of a connection. An end drops it unless
//! its sequence number is right (RFC 5961), and goes on. In the machine alone the connection would be
//! reset for good. The pending table, where it lingers, hears both ends: if each sends a plain segment
//! after the RST, and their sums agree, the RST was not one of theirs, and the connection is open again
//! (`[resume]` of the rules). Without a pending table the machine is as it always was.
//!
//! Can somebody who does not see the packets keep a connection open that is over?
//!
//! * One that both ends have closed cannot be resumed: only a reset one can.
//! * After a real RST the end that sent it has no connection. It answers every segment, forged or not,
//!   with a RST, which is no plain segment. So its part has to be forged, and the other end has to
//!   send a plain segment with the sum that was guessed: 5 in 4096 for each answer. The other end
//!   answers only if the RST did not reach it, and then one end of the connection is open indeed.
//! * Somebody who can forge packets of both ends past the tap makes sums that agree. That holds for
//!   every admission, and there the cap of the store is what protects it.
//! * What he gains is that the entry stays until it is silent for an idle timeout, which a forged
//!   segment per timeout achieves for any connection whose addresses and ports are known.
//!
//! A RST that a middlebox sends in the name of an end is resumed as well if both ends had segments
//! under way, until the ends' own RSTs follow.

use super::batch::{Event, Marks};
use super::shard::ShardWork;
use crate::flow::{Direction, TcpFlags};
use crate::machine::{Next, Outcome, Resumption};
use acsm_filters::pending::{End, Evidence, PendingFlow, Segment};
use acsm_filters::{Lookup, State};

/// One event of a flow that the store does not have.
pub struct PendingStep {
    /// The state of the pending flow, or absent.
    pub answer: Lookup,
    /// What follows from that answer.
    pub outcome: Outcome,
    /// The state of the flow now, if there is one.
    pub state: Option<State>,
    /// How many flows should be in the store as of now for which there is no room: this one, and that of
    /// the other direction.
    pub refused: u64,
    /// Whether both ends have been heard as of now.
    pub completes: bool,
    /// Whether it was taken to be over, and both ends have gone on.
    pub is_resumed: bool,
}

impl PendingStep {
    /// By the state machine alone.
    #[inline(always)]
    fn new(work: &ShardWork<'_>, event: &Event, flow: Option<PendingFlow>) -> PendingStep {
        let answer = flow.map_or(Lookup::Absent, |flow| Lookup::Known(flow.state));
        let outcome = event.step(work.machine, answer);
        let state = match outcome.next {
            Next::Keep => flow.map(|flow| flow.state),
            Next::Go(state) => Some(state),
            Next::Delete => None,
        };
        PendingStep { answer, outcome, state, refused: 0, completes: false, is_resumed: false }
    }

    /// Of most packets: of a connection whose ends have not both been heard, whatever the packet adds, so
    /// that it stays in the table. Also returns the flow after it. `None` if more is to be considered: the
    /// store, the other direction, whether a reset is obeyed.
    #[inline(always)]
    pub fn of_connection(
        work: &ShardWork<'_>,
        event: &Event,
        flow: Option<PendingFlow>,
    ) -> Option<(PendingStep, Option<PendingFlow>)> {
        if work.rules.keyer.is_directed() || event.marks.has(Marks::ONE_WAY) {
            return None;
        }
        let evidence = flow.map_or(Evidence::NONE, |flow| flow.evidence);
        let evidence = evidence.after(segment(event, false));
        if evidence.is_complete() {
            return None;
        }
        let step = PendingStep::new(work, event, flow);
        if let Next::Go(state) = step.outcome.next
            && work.machine.resumption(state).is_some()
        {
            return None;
        }
        let after = step.state.map(|state| PendingFlow { state, evidence });
        Some((step, after))
    }

    /// With the evidence for the flow before the packet, which may show that the flow was never over.
    /// Also returns the flow after it.
    #[inline(always)]
    pub fn with_evidence(
        work: &ShardWork<'_>,
        event: &Event,
        flow: Option<PendingFlow>,
        evidence: Evidence,
        segment: Segment,
    ) -> (PendingStep, Option<PendingFlow>) {
        let mut step = PendingStep::new(work, event, flow);
        let mut evidence = evidence.after(segment);
        if evidence.is_complete()
            && let Some(flow) = flow
            && let Some(resumption) = work.machine.resumption(flow.state)
        {
            step = step.resumed(work, event, resumption);
        }
        if let Next::Go(state) = step.outcome.next
            && work.machine.resumption(state).is_some()
        {
            // Only what follows its end tells that it was none.
            evidence = Evidence::NONE;
        }
        let next = step.state.map(|state| PendingFlow { state, evidence });
        (step, next)
    }

    /// The same, if the flow has been in another state all the time: it goes on from there. Rules that
    /// the packet fires are those of the state that it was taken to be in, and those of the
    /// resumption.
    #[cold]
    fn resumed(self, work: &ShardWork<'_>, event: &Event, resumption: Resumption) -> PendingStep {
        let outcome = event.step(work.machine, Lookup::Known(resumption.state));
        let next = match outcome.next {
            Next::Keep => Next::Go(resumption.state),
            next => next,
        };
        let state = if let Next::Go(state) = next { Some(state) } else { None };
        let alerts = self.outcome.alerts.union(resumption.alerts);
        PendingStep { outcome: Outcome { next, alerts }, state, is_resumed: true, ..self }
    }
}

/// What a packet contributes to the evidence that both ends take part. To a directed flow, whose
/// packets all come from one end, a SYN says nothing: it may be that of another connection.
#[inline(always)]
pub fn segment(event: &Event, directed: bool) -> Segment {
    let &Event { flags, sum, .. } = event;
    match (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK)) {
        _ if flags.has(TcpFlags::RST) => Segment::Other,
        (true, false) if directed => Segment::Other,
        (true, false) => Segment::Syn,
        (true, true) => Segment::SynAck(sum),
        (false, true) => match event.direction() {
            Direction::Forward => Segment::Plain(End::Forward, sum),
            Direction::Backward => Segment::Plain(End::Backward, sum),
        },
        (false, false) => Segment::Other,
    }
}
