//! What a packet means for the first packet of its 5-tuple, or as a first packet itself.

use super::detector::{Thresholds, may_end};
use super::fates::{Failure, Fate, fail_synack, fate};
use super::hit::ThresholdHit;
use super::pending::{FirstKind, FirstPacket, Found};
use super::rule_counter::Event;
use super::services::{ServiceAt, Standing};
use crate::flow::{Packet, TcpFlags};
use crate::machine::{Counted, RuleId, Verdict};

impl Thresholds {
    /// A packet whose 5-tuple may have a pending first packet.
    #[inline(never)]
    pub(super) fn examine(
        &mut self,
        packet: &Packet,
        hash: u64,
        seen: bool,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        if may_end(packet.flags) {
            self.count_endings(packet, hash, seen, fired);
            if !seen && packet.flags.has(TcpFlags::RST) {
                self.decided.decide(Verdict::StrayReset, packet, self.now_nanos, fired);
            }
        }
        if let Some(rule) = self.odd_flags.rule(packet.flags) {
            self.count_odd_flags(packet, rule, fired);
        }
        let Some((found, first)) = self.pending.find(hash) else {
            self.begin(packet, hash, seen, fired);
            return;
        };
        let same_sender = first.forward == self.hasher.is_forward(packet);
        match fate(first, packet, same_sender) {
            Fate::Open => {
                if first.kind == FirstKind::Syn && same_sender && packet.flags.is_opening() {
                    self.count(Counted::RepeatedSyns, packet, fired);
                }
            }
            Fate::Completed => self.complete(found, packet, fired),
            Fate::Cleared => drop(self.pending.remove(found)),
            Fate::Failed(failure) => {
                if let Some(&first) = self.pending.remove(found) {
                    self.fail(&first, failure, self.now_nanos, fired);
                }
            }
            Fate::HadData => {
                if let Some(&first) = self.pending.remove(found) {
                    let of = (first.service, &first.packet);
                    self.services.has_data(of, true, self.now_nanos, &mut self.rules, fired);
                }
            }
        }
    }

    /// Counts an event of a packet, now.
    pub(super) fn count(
        &mut self,
        counted: Counted,
        packet: &Packet,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        self.rules.count(counted, &Event::of(packet, self.now_nanos), fired);
    }

    #[inline(never)]
    fn count_odd_flags(
        &mut self,
        packet: &Packet,
        rule: RuleId,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        self.count(Counted::OddFlags, packet, fired);
        let event = Event { rule: Some(rule), ..Event::of(packet, self.now_nanos) };
        self.rules.count(Counted::OddFlagTargets, &event, fired);
    }

    /// The opener of a connection has completed the handshake.
    #[inline(never)]
    fn complete(&mut self, found: Found, packet: &Packet, fired: &mut impl FnMut(ThresholdHit)) {
        let Some(first) = self.pending.get(found) else { return };
        let first = *first;
        self.rules.succeeded(packet);
        self.count(Counted::Connections, packet, fired);
        let syn_nanos = first.due_nanos.saturating_sub(self.answer_nanos);
        let follows = self.services.completed(first.service, packet, syn_nanos);
        if follows && packet.payload_bytes == 0 {
            let due_nanos = self.due_nanos();
            self.pending.renew(found, FirstKind::Opened, due_nanos);
            return;
        }
        self.pending.remove(found);
        if follows {
            let of = (first.service, packet);
            self.services.has_data(of, true, self.now_nanos, &mut self.rules, fired);
        }
    }

    /// The deadline of what begins now.
    fn due_nanos(&mut self) -> u64 {
        let due_nanos = self.now_nanos.saturating_add(self.answer_nanos);
        self.next_deadline_nanos = self.next_deadline_nanos.min(due_nanos);
        due_nanos
    }

    /// Adds a first packet to the pending ones, if it is of a kind that needs an answer.
    #[inline(never)]
    fn begin(
        &mut self,
        packet: &Packet,
        hash: u64,
        seen: bool,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let flags = packet.flags;
        let kind = match (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK)) {
            _ if flags.has(TcpFlags::RST) => return,
            (true, false) => FirstKind::Syn,
            (false, false) => FirstKind::Flagless,
            (true, true) if !seen => FirstKind::SynAck,
            (false, true) if !seen && packet.payload_bytes == 0 => FirstKind::BareAck,
            _ => return,
        };
        let (mut service, mut watch) = (ServiceAt(0), true);
        if kind == FirstKind::Syn {
            if seen {
                self.count(Counted::RepeatedSyns, packet, fired);
            }
            (service, watch) = self.services.syn(packet, self.now_nanos, &mut self.rules, fired);
        }
        if !watch {
            return;
        }
        let due_nanos = self.due_nanos();
        self.seen.unsettle(hash);
        let is_watched = self.pending.insert(FirstPacket {
            hash,
            packet: *packet,
            kind,
            forward: self.hasher.is_forward(packet),
            answered: false,
            granted_sum: None,
            service,
            amount: 1,
            due_nanos,
        });
        if is_watched && kind == FirstKind::Syn {
            self.services.watched(service);
        }
    }

    /// Counts a first packet that failed, or a connection that ended without data.
    #[inline(never)]
    pub(super) fn fail(
        &mut self,
        first: &FirstPacket,
        failure: Failure,
        at_nanos: u64,
        fired: &mut impl FnMut(ThresholdHit),
    ) {
        let rules = &mut self.rules;
        let packet = &first.packet;
        let event = Event { amount: first.amount, ..Event::of(packet, at_nanos) };
        match first.kind {
            FirstKind::Opened => {
                let of = (first.service, packet);
                return self.services.has_data(of, false, at_nanos, rules, fired);
            }
            FirstKind::SynAck => {
                self.decided.decide(Verdict::UnsolicitedSynAck, packet, at_nanos, fired);
                return fail_synack(rules, &event, fired);
            }
            FirstKind::Syn => {
                let (of, how) =
                    ((first.service, packet), (first.answered, failure == Failure::Refused));
                let standing = self.services.failed(of, how, at_nanos, rules, fired);
                if standing == Standing::Unknown {
                    rules.count(Counted::IncompleteSyns, &event, fired);
                }
                if failure != Failure::Refused {
                    rules.count(Counted::HalfOpen, &event, fired);
                }
            }
            FirstKind::BareAck if failure == Failure::Refused => {
                self.decided.decide(Verdict::RefusedAck, packet, at_nanos, fired);
            }
            FirstKind::Flagless | FirstKind::BareAck => {}
        }
        rules.count(Counted::Destinations, &event, fired);
        let mut scans = false;
        if !first.answered && failure != Failure::Aborted {
            scans = rules.count(Counted::UnansweredPorts, &event, fired);
        }
        if first.kind == FirstKind::BareAck && !scans {
            rules.count(Counted::StrayAcks, &event, fired);
        }
        rules.failed(packet);
    }
}
