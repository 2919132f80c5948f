//! Alerts that wait for confirmation: what an approximate store says of a flow may be another flow's state.
//!
//! A rule says what confirms its alerts and what refutes them ([`Confirmation`]). What came before is looked up
//! among the latest SYNs at once; for the rest the alert waits, in a table of fixed size, for the next
//! packets of its 5-tuple. What is refuted is dropped and counted; what is neither within the rule's time
//! is shown one severity lower, as not confirmed. So is all that finds no room.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use super::Alert;
use super::order::Indexed;
use crate::engine::incidents::PastSyns;
use crate::flow::{Packet, TcpFlags};
use crate::machine::{Confirmation, Evidence, EvidenceSet};
use crate::time::Timestamp;

/// Alerts that wait at once.
const CAPACITY: usize = 1 << 16;
/// Words of the bitmap in front of the table.
const FILTER_WORDS: usize = 64;

/// Both ends, the lower first.
type Ends = (SocketAddr, SocketAddr);
/// When an alert is overdue, and its number.
type Place = (Timestamp, u64);

/// The alerts that wait.
#[derive(Default)]
pub struct Confirmations {
    waiting: BTreeMap<Place, (Confirmation, Indexed)>,
    by_ends: HashMap<Ends, Vec<Place>>,
    filter: Filter,
    taken: u64,
}

/// What becomes of an alert that needs confirmation.
pub enum Decision {
    /// It was right, or nobody can tell: it is shown.
    Show,
    /// The store was wrong.
    Refuted,
    /// It waits.
    Waits,
}

/// A bitmap that answers for packets of which no alert waits.
#[derive(Default)]
struct Filter(Option<Box<[u64; FILTER_WORDS]>>);

impl Confirmations {
    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes an alert that needs confirmation; `past` is what was seen before it.
    pub fn take(
        &mut self,
        confirmation: Confirmation,
        found: &mut Indexed,
        past: PastSyns,
    ) -> Decision {
        let alert = &mut found.alert;
        if is_met_before(confirmation.by, past) {
            alert.confirmed = Some(true);
            return Decision::Show;
        }
        if confirmation.by.looks_back() && past.is_complete {
            return Decision::Refuted;
        }
        if self.waiting.len() >= CAPACITY || confirmation.by.looks_back() {
            give_up(alert);
            return Decision::Show;
        }
        self.taken += 1;
        let place = (alert.time.plus(confirmation.within_nanos), self.taken);
        let ends = ends(&alert.packet);
        self.filter.add(ends);
        self.by_ends.entry(ends).or_default().push(place);
        self.waiting.insert(place, (confirmation, found.clone()));
        Decision::Waits
    }

    /// The alerts that are decided by this packet, or overdue at its time, in order; with whether they are refuted.
    pub fn decide(&mut self, packet: &Packet) -> Vec<(Indexed, bool)> {
        let mut decided = self.overdue(packet.time);
        let ends = ends(packet);
        if !self.filter.may_have(ends) {
            return decided;
        }
        let Some(mut places) = self.by_ends.remove(&ends) else { return decided };
        places.retain(|place| {
            let Some((confirmation, waiting)) = self.waiting.get(place) else { return false };
            let alert = &waiting.alert;
            let is_other =
                packet.src == alert.packet.dst && packet.src_port == alert.packet.dst_port;
            let Some(seen) = is_other.then(|| evidence_of(packet)).flatten() else { return true };
            let verdict = match (confirmation.by.has(seen), confirmation.refuted_by.has(seen)) {
                (true, _) => false,
                (false, true) => true,
                _ => return true,
            };
            if let Some((_, mut waiting)) = self.waiting.remove(place) {
                waiting.alert.confirmed = Some(true);
                decided.push((waiting, verdict));
            }
            false
        });
        if !places.is_empty() {
            self.by_ends.insert(ends, places);
        } else if self.by_ends.is_empty() {
            self.filter = Filter::default();
        }
        decided
    }

    /// The alerts whose time is over.
    pub fn overdue(&mut self, now: Timestamp) -> Vec<(Indexed, bool)> {
        let mut over = Vec::new();
        while let Some(entry) = self.waiting.first_entry().filter(|first| first.key().0 <= now) {
            let (place, (_, mut waiting)) = entry.remove_entry();
            let ends = ends(&waiting.alert.packet);
            if let Some(places) = self.by_ends.get_mut(&ends) {
                places.retain(|other| *other != place);
                if places.is_empty() {
                    self.by_ends.remove(&ends);
                }
            }
            give_up(&mut waiting.alert);
            over.push((waiting, false));
        }
        if self.waiting.is_empty() {
            self.filter = Filter::default();
        }
        over
    }
}

/// Nobody can tell: one severity lower.
fn give_up(alert: &mut Alert) {
    alert.confirmed = Some(false);
    alert.severity = (alert.severity + 1).min(4);
}

fn evidence_of(packet: &Packet) -> Option<Evidence> {
    let has = |flag| packet.flags.has(flag);
    match (has(TcpFlags::RST), has(TcpFlags::SYN), has(TcpFlags::ACK)) {
        (true, ..) => Some(Evidence::Reset),
        (false, true, true) => Some(Evidence::SynAck),
        (false, false, true) => Some(Evidence::Segment),
        _ => None,
    }
}

/// Whether what came before confirms an alert.
fn is_met_before(wanted: EvidenceSet, past: PastSyns) -> bool {
    let PastSyns { of_sender, of_other, .. } = past;
    wanted.has(Evidence::OwnSynBefore) && of_sender
        || wanted.has(Evidence::SynBefore) && of_other
        || wanted.has(Evidence::SynsBefore) && of_sender && of_other
}

fn ends(packet: &Packet) -> Ends {
    let a = SocketAddr::new(packet.src, packet.src_port);
    let b = SocketAddr::new(packet.dst, packet.dst_port);
    (a.min(b), a.max(b))
}

impl Filter {
    fn add(&mut self, ends: Ends) {
        let (word, bit) = Filter::place(ends);
        let words = self.0.get_or_insert_with(|| Box::new([0; FILTER_WORDS]));
        words[word] |= bit;
    }

    fn may_have(&self, ends: Ends) -> bool {
        let (word, bit) = Filter::place(ends);
        self.0.as_ref().is_some_and(|words| words[word] & bit != 0)
    }

    /// By the ports: all that is needed to spare most packets the table.
    fn place((a, b): Ends) -> (usize, u64) {
        let ports = u64::from(a.port()) << 16 | u64::from(b.port());
        let hash = ports.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((hash >> 58) as usize % FILTER_WORDS, 1 << (hash >> 52 & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::alerts::Subject;
    use crate::flow::FlowId;
    use crate::machine::RuleId;
    use crate::time::NANOS_PER_SEC;

    const WITHIN: u64 = 5 * NANOS_PER_SEC;

    fn packet(seconds: u64, is_back: bool, flags: TcpFlags) -> Packet {
        let packet = Packet {
            time: Timestamp::from_nanos(seconds * NANOS_PER_SEC),
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
            src_port: 4000,
            dst_port: 80,
            flags,
            ..Packet::UNSPECIFIED
        };
        match is_back {
            false => packet,
            true => Packet {
                src: packet.dst,
                dst: packet.src,
                src_port: packet.dst_port,
                dst_port: packet.src_port,
                ..packet
            },
        }
    }

    fn found(packet: Packet) -> Indexed {
        let alert = Alert {
            rule: RuleId(0),
            severity: 3,
            subject: Subject::Flow,
            names_source: true,
            incident: None,
            time: packet.time,
            packet,
            flow: FlowId(0),
            answer: None,
            state: None,
            confidence: 0.5,
            confirmed: None,
            count: None,
            suppressed: 0,
        };
        Indexed { index: 0, muted: false, alert, is_approximate: true, hit: None }
    }

    fn wanted(by: Evidence, refuted_by: &[Evidence]) -> Confirmation {
        let refuted_by = refuted_by.iter().copied().collect();
        Confirmation { within_nanos: WITHIN, by: [by].into_iter().collect(), refuted_by }
    }

    fn of_syn() -> Confirmation {
        wanted(Evidence::Segment, &[Evidence::SynAck, Evidence::Reset])
    }

    #[test]
    fn what_the_other_end_says_decides() {
        let cases = [
            (TcpFlags::ACK, Some(false)),
            (TcpFlags::SYN.with(TcpFlags::ACK), Some(true)),
            (TcpFlags::RST, Some(true)),
            (TcpFlags::SYN, None),
        ];
        for (flags, refuted) in cases {
            let mut waiting = Confirmations::default();
            let mut alert = found(packet(10, false, TcpFlags::SYN));
            let decision = waiting.take(of_syn(), &mut alert, PastSyns::default());
            assert!(matches!(decision, Decision::Waits));
            let own = waiting.decide(&packet(11, false, TcpFlags::ACK));
            assert!(own.is_empty(), "the sender's packets decide nothing");
            let of_other_connection = Packet { dst_port: 4001, ..packet(11, true, TcpFlags::ACK) };
            assert!(
                waiting.decide(&of_other_connection).is_empty(),
                "nor do those of another connection"
            );
            let decided = waiting.decide(&packet(12, true, flags));
            assert_eq!(decided.first().map(|(_, is_refuted)| *is_refuted), refuted, "{flags}");
            assert_eq!(waiting.is_empty(), refuted.is_some());
            if let [(alert, false)] = &decided[..] {
                assert_eq!((alert.alert.confirmed, alert.alert.severity), (Some(true), 3));
            }
        }
    }

    #[test]
    fn what_nobody_decides_is_shown_in_time_one_severity_lower() {
        let mut waiting = Confirmations::default();
        let mut alert = found(packet(10, false, TcpFlags::SYN));
        waiting.take(of_syn(), &mut alert, PastSyns::default());
        let other = Packet { src_port: 1, ..packet(14, false, TcpFlags::ACK) };
        assert!(waiting.decide(&other).is_empty());
        let decided =
            waiting.decide(&Packet { time: packet(15, false, TcpFlags::ACK).time, ..other });
        let [(alert, false)] = &decided[..] else { panic!("{} decided", decided.len()) };
        assert_eq!((alert.alert.confirmed, alert.alert.severity), (Some(false), 4));
        assert!(waiting.is_empty() && waiting.by_ends.is_empty());
    }

    #[test]
    fn the_past_confirms_refutes_or_says_nothing() {
        let past = |of_sender, of_other, is_complete| PastSyns { of_sender, of_other, is_complete };
        let both = wanted(Evidence::SynsBefore, &[]);
        let decide = |past| {
            let mut alert = found(packet(10, false, TcpFlags::ACK));
            let decision = Confirmations::default().take(both, &mut alert, past);
            (matches!(decision, Decision::Refuted), alert.alert.confirmed, alert.alert.severity)
        };
        assert_eq!(decide(past(true, true, false)), (false, Some(true), 3));
        assert_eq!(decide(past(true, false, true)), (true, None, 3));
        assert_eq!(decide(past(true, false, false)), (false, Some(false), 4), "who knows");
    }

    #[test]
    fn a_full_table_shows_the_rest_as_not_confirmed() {
        let mut waiting = Confirmations::default();
        for n in 0..=CAPACITY {
            let mut packet = packet(10, false, TcpFlags::SYN);
            packet.src = std::net::Ipv4Addr::from(n as u32).into();
            let mut alert = found(packet);
            let decision = waiting.take(of_syn(), &mut alert, PastSyns::default());
            assert_eq!(matches!(decision, Decision::Waits), n < CAPACITY);
        }
    }
}
