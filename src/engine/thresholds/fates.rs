//! What becomes of a pending first packet.

use super::hit::ThresholdHit;
use super::pending::{FirstKind, FirstPacket};
use super::rule_counter::Event;
use super::rule_counters::RuleCounters;
use crate::flow::{Packet, TcpFlags};
use crate::machine::Counted;

/// What the next packet of its 5-tuple makes of a first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing yet.
    Open,
    /// Its sender has completed the handshake.
    Completed,
    /// It was no probe.
    Cleared,
    /// The connection has data.
    HadData,
    /// It came to nothing.
    Failed(Failure),
}

/// Why a first packet failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The other end sent RST.
    Refused,
    /// No answer within the time limit.
    TimedOut,
    /// Its sender took it back with RST, or the other end reset what it had granted.
    Aborted,
}

const SYN_ACK: TcpFlags = TcpFlags::SYN.with(TcpFlags::ACK);
const FIN_OR_RST: u8 = TcpFlags::FIN.0 | TcpFlags::RST.0;

/// How far the numbers of the ACK that completes a handshake may be from those that were granted: data
/// whose segments were not captured. A guess is that near once in 2048 times.
const NEAR: u32 = 1 << 20;

/// What `packet` makes of the first packet of its 5-tuple.
pub(super) fn fate(first: &mut FirstPacket, packet: &Packet, same_sender: bool) -> Fate {
    let (reset, ack) = (packet.flags.has(TcpFlags::RST), packet.flags.has(TcpFlags::ACK));
    match (first.kind, same_sender) {
        (FirstKind::Syn, true) if reset => Fate::Failed(Failure::Aborted),
        (FirstKind::Syn, false) if reset && !first.answered => Fate::Failed(Failure::Refused),
        (FirstKind::Syn, false) if reset => Fate::Failed(Failure::Aborted),
        (FirstKind::Syn, false) => {
            first.answered = true;
            if packet.flags.has(SYN_ACK) {
                first.granted_sum = Some(packet.sequence_sum);
            }
            Fate::Open
        }
        (FirstKind::Syn, true) if !ack || !knows_numbers(first, packet) => Fate::Open,
        (FirstKind::Syn, true) => Fate::Completed,
        (FirstKind::Flagless, true) if !ack => Fate::Open,
        (FirstKind::SynAck, true) if packet.flags.has(SYN_ACK) || reset => Fate::Open,
        (FirstKind::Opened, _) if packet.payload_bytes > 0 => Fate::HadData,
        (FirstKind::Opened, _) if packet.flags.0 & FIN_OR_RST != 0 => {
            Fate::Failed(Failure::Aborted)
        }
        (FirstKind::Opened, _) => Fate::Open,
        (_, false) if reset => Fate::Failed(Failure::Refused),
        _ => Fate::Cleared,
    }
}

/// Whether the sender of an ACK has seen the SYN+ACK that it acknowledges, as far as that was captured.
fn knows_numbers(first: &FirstPacket, packet: &Packet) -> bool {
    first.granted_sum.is_none_or(|granted| {
        packet.sequence_sum.wrapping_sub(granted).wrapping_add(NEAR) < 2 * NEAR
    })
}

/// Counts a SYN+ACK that answered no SYN: its target reset it, or nothing followed. From one port to many
/// hosts it is what the victim of a flood with made-up sources sends; from many ports it is a scan.
pub(super) fn fail_synack(
    rules: &mut RuleCounters,
    event: &Event<'_>,
    fired: &mut impl FnMut(ThresholdHit),
) {
    rules.count(Counted::UnsolicitedSynAcks, event, fired);
    let is_backscatter = rules.count(Counted::UnsolicitedSynAckHosts, event, fired);
    if is_backscatter || rules.distinct(Counted::UnsolicitedSynAckHosts, event.packet) > 1 {
        return;
    }
    // The sender's port has to vary: so it, and not the target's, is what is counted.
    let of_scan = Event { item: Some(event.packet.src_port.into()), ..*event };
    rules.count(Counted::UnansweredPorts, &of_scan, fired);
    rules.count(Counted::Destinations, &of_scan, fired);
    rules.failed(event.packet);
}
