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
//!   The two share their evidence, and each admits the other: also a flow whose reverse is in the store
//!   is admitted with its next plain segment. SYNs leave the evidence as it is.
//! * `pair`: the connections between two addresses are one flow in each direction. Sums of different
//!   connections do not agree, so what counts is a plain segment of each end with no segment of
//!   another connection between them. With n connections that talk at random, one in n segments is
//!   followed by one like that.
//! * In a capture that shows one direction only, a second plain segment of the same end admits. That
//!   can be forged; the cap of the store is what protects it then.
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

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::batch::Event;
use super::digest_hasher::BuildDigestHasher;
use super::shard::ShardWork;
use crate::flow::{Direction, TcpFlags};
use crate::machine::{Next, Outcome, Resumption};
use acsm_filters::pending::{End, Evidence, PendingFlow, PendingStats, PendingTable, Segment};
use acsm_filters::{Epoch, FlowId, Lookup, State};

/// The pending flows of one shard.
pub enum Pending {
    /// In fixed memory.
    Table(Box<PendingTable>),
    /// All of them: for the exact shadow.
    Unbounded(Box<UnboundedPending>),
}

/// The store behind a pending table, as the flow of one event needs it.
pub trait AdmittingStore {
    /// Whether the flow's other direction is in the store.
    fn has_reverse(&mut self) -> bool;

    /// Brings the flow into the store in this state. Returns whether there was room for it.
    fn admit(&mut self, state: State) -> bool;
}

/// What becomes of a pending flow after a packet.
enum Fate {
    /// There is no such flow, and none begins.
    Nothing,
    /// It is pending.
    Pending(PendingFlow),
    /// It is in the store now, with this evidence.
    Admitted(Evidence),
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
    /// Whether it should be in the store as of now, and there is no room for it.
    pub is_refused: bool,
    /// Whether it was taken to be over, and both ends have gone on.
    pub is_resumed: bool,
}

impl PendingStep {
    /// By the state machine alone.
    fn new(work: &ShardWork<'_>, event: &Event, flow: Option<PendingFlow>) -> PendingStep {
        let answer = flow.map_or(Lookup::Absent, |flow| Lookup::Known(flow.state));
        let outcome = event.step(work.machine, answer);
        let state = match outcome.next {
            Next::Keep => flow.map(|flow| flow.state),
            Next::Go(state) => Some(state),
            Next::Delete => None,
        };
        PendingStep { answer, outcome, state, is_refused: false, is_resumed: false }
    }

    /// With the evidence for the flow before the packet, which may show that the flow was never over.
    /// Also returns the flow after it.
    fn with_evidence(
        work: &ShardWork<'_>,
        event: &Event,
        flow: Option<PendingFlow>,
        evidence: Evidence,
        segment: Segment,
    ) -> (PendingStep, Option<PendingFlow>) {
        let mut step = PendingStep::new(work, event, flow);
        let mut evidence = evidence.after(segment);
        let resumption = flow.and_then(|flow| work.machine.resumption(flow.state));
        if let Some(resumption) = resumption.filter(|_| evidence.is_complete()) {
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

impl Pending {
    /// Starts loading the memory of a flow.
    #[inline(always)]
    pub fn prefetch(&self, id: FlowId) {
        if let Pending::Table(table) = self {
            table.prefetch(id);
        }
    }

    /// Steps a flow that `store` does not have.
    pub fn step(
        &mut self,
        work: &ShardWork<'_>,
        event: &Event,
        store: &mut impl AdmittingStore,
    ) -> PendingStep {
        let directed = work.rules.keyer.is_directed();
        let segment = segment(event, directed);
        let mut result = None;
        self.apply((event.id, directed), event.pending_epoch, |flow, evidence| {
            let (mut step, mut next) =
                PendingStep::with_evidence(work, event, flow, evidence, segment);
            let was_heard = evidence.has_heard(segment);
            if let Some(next) = &mut next
                && !next.evidence.is_complete()
                && !work.rules.held[next.state.index()]
                && (event.is_one_way && was_heard
                    || directed && segment.is_plain() && store.has_reverse())
            {
                next.evidence = Evidence::COMPLETE;
            }
            let fate = match next {
                None if flow.is_some() => Fate::Deleted,
                None => Fate::Nothing,
                Some(next) if is_ready(work, &next) => match store.admit(next.state) {
                    true => Fate::Admitted(next.evidence),
                    false => {
                        // Flows are counted, not the packets with which they are tried again.
                        step.is_refused = !flow.is_some_and(|flow| is_ready(work, &flow));
                        Fate::Pending(next)
                    }
                },
                Some(next) => Fate::Pending(next),
            };
            result = Some(step);
            fate
        });
        result.unwrap_or_else(|| PendingStep::new(work, event, None))
    }

    /// Takes a flow that has left the store. Of a directed flow that is half-open again, the evidence
    /// stands: its SYN may be that of another connection.
    pub fn hold(&mut self, work: &ShardWork<'_>, event: &Event, state: State) {
        let directed = work.rules.keyer.is_directed();
        let evidence = match directed && work.rules.half_open[state.index()] {
            true => Evidence::COMPLETE,
            false => Evidence::NONE,
        };
        let flow = PendingFlow { state, evidence };
        self.apply((event.id, false), event.pending_epoch, |_, _| Fate::Pending(flow));
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

    /// Replaces what is known of a flow: `f` is given the flow and its evidence, which a `directed`
    /// flow that is not there takes over from its reverse.
    fn apply(
        &mut self,
        (id, directed): (FlowId, bool),
        now: Epoch,
        f: impl FnOnce(Option<PendingFlow>, Evidence) -> Fate,
    ) {
        let table = match self {
            Pending::Table(table) => table,
            Pending::Unbounded(flows) => return flows.apply((id, directed), now, f),
        };
        let lookup = table.lookup(id, now);
        let evidence = match lookup.flow {
            Some(flow) => flow.evidence,
            None if directed => table.evidence_of_reverse(&lookup),
            None => Evidence::NONE,
        };
        let fate = f(lookup.flow, evidence);
        match fate {
            Fate::Nothing => {}
            Fate::Pending(flow) => table.put(&lookup, flow),
            Fate::Admitted(_) => table.admit(&lookup),
            Fate::Deleted => table.delete(&lookup),
        }
        if let Some(evidence) = fate.evidence().filter(|_| directed) {
            table.share_with_reverse(&lookup, evidence);
        }
    }
}

impl Fate {
    /// The evidence, where there is a flow.
    fn evidence(&self) -> Option<Evidence> {
        match self {
            Fate::Pending(flow) => Some(flow.evidence),
            Fate::Admitted(evidence) => Some(*evidence),
            Fate::Nothing | Fate::Deleted => None,
        }
    }
}

/// Whether a flow belongs in the store: both ends were heard, and it is neither half-open nor over.
fn is_ready(work: &ShardWork<'_>, flow: &PendingFlow) -> bool {
    flow.evidence.is_complete() && !work.rules.held[flow.state.index()]
}

/// What a packet contributes to the evidence that both ends take part. To a directed flow, whose
/// packets all come from one end, a SYN says nothing: it may be that of another connection.
fn segment(event: &Event, directed: bool) -> Segment {
    let &Event { flags, sum, direction, .. } = event;
    match (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK)) {
        _ if flags.has(TcpFlags::RST) => Segment::Other,
        (true, false) if directed => Segment::Other,
        (true, false) => Segment::Syn,
        (true, true) => Segment::SynAck(sum),
        (false, true) => match direction {
            Direction::Forward => Segment::Plain(End::Forward, sum),
            Direction::Backward => Segment::Plain(End::Backward, sum),
        },
        (false, false) => Segment::Other,
    }
}

/// All pending flows, however many. They live as long as in the table of fixed size, but none is
/// lost.
#[derive(Default)]
pub struct UnboundedPending {
    flows: HashMap<FlowId, (PendingFlow, Epoch), BuildDigestHasher>,
    epoch: Epoch,
}

impl UnboundedPending {
    fn apply(
        &mut self,
        (id, directed): (FlowId, bool),
        now: Epoch,
        f: impl FnOnce(Option<PendingFlow>, Evidence) -> Fate,
    ) {
        if now > self.epoch {
            self.epoch = now;
            self.flows.retain(|_, (_, last)| !last.is_forgotten_at(now));
        }
        let reverse =
            directed.then(|| self.flows.get(&id.reverse())).flatten().map(|(flow, _)| *flow);
        let mut entry = self.flows.entry(id);
        let flow = match &mut entry {
            Entry::Occupied(entry) => Some(entry.get().0),
            Entry::Vacant(_) => None,
        };
        let evidence = match (flow, reverse) {
            (Some(flow), _) => flow.evidence,
            (None, Some(reverse)) => reverse.evidence.reversed(),
            (None, None) => Evidence::NONE,
        };
        let fate = f(flow, evidence);
        let evidence = fate.evidence();
        match (fate, entry) {
            (Fate::Pending(flow), entry) => drop(entry.insert_entry((flow, self.epoch))),
            (Fate::Admitted(_) | Fate::Deleted, Entry::Occupied(entry)) => drop(entry.remove()),
            _ => {}
        }
        if let (Some(evidence), Some(_)) = (evidence, reverse)
            && let Some((reverse, _)) = self.flows.get_mut(&id.reverse())
        {
            reverse.evidence = evidence.reversed();
        }
    }
}
