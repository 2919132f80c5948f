//! The packets of one probe of an attack: who sends them, when, and with which numbers.

use super::attack_kind::AttackKind;
use crate::flow::TcpFlags;

/// Which side of an attack sends a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The attacker, or a host that it abuses.
    Attacker,
    /// The victim.
    Victim,
}

/// One packet of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbePacket {
    /// Who sends it.
    pub sender: Sender,
    /// Its TCP flags.
    pub flags: TcpFlags,
    /// How long after the packet before it.
    pub delay_nanos: u64,
    /// The length of its data.
    pub payload_bytes: u16,
    /// How far its sequence number is from the sender's next one. A packet that is not there repeats
    /// something or is out of the window: it does not move the next number.
    pub seq_offset: i32,
    /// Whether a guess of the attacker, who does not see the victim's packets, is in place of the victim's
    /// sequence number: as what an attacker acknowledges, and in the reset with which a victim answers it.
    pub is_guess: bool,
    /// Whether its checksum is wrong, so that a victim drops it without an answer.
    pub bad_checksum: bool,
}

/// The packets of one probe, in order.
pub type Exchange = &'static [ProbePacket];

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;

/// The time from a packet of a scan to its answer.
const ANSWER_NANOS: u64 = 20 * MILLISECOND;
/// The time from a packet of a flood to the victim's answer.
const FLOOD_ANSWER_NANOS: u64 = 200 * MICROSECOND;
/// The time after which an attacker that waits for no answer sends its next packet.
const NEXT_NANOS: u64 = 10 * MILLISECOND;
/// The round-trip time of a bot.
const BOT_NANOS: u64 = 100 * MILLISECOND;
/// A pause in which a small table forgets a flow.
const LATE_NANOS: u64 = 3_000 * MILLISECOND;

/// The data of a probe that sends some.
const DATA_BYTES: u16 = 100;
/// Where a second SYN is that asks for another connection on the same ports.
const OTHER_SYN_OFFSET: i32 = 5_000_000;

const fn attacker(flags: TcpFlags) -> ProbePacket {
    ProbePacket {
        sender: Sender::Attacker,
        flags,
        delay_nanos: ANSWER_NANOS,
        payload_bytes: 0,
        seq_offset: 0,
        is_guess: false,
        bad_checksum: false,
    }
}

const fn victim(flags: TcpFlags) -> ProbePacket {
    ProbePacket { sender: Sender::Victim, ..attacker(flags) }
}

impl ProbePacket {
    const fn after(self, delay_nanos: u64) -> Self {
        ProbePacket { delay_nanos, ..self }
    }

    const fn with_data(self) -> Self {
        ProbePacket { payload_bytes: DATA_BYTES, ..self }
    }

    const fn at_offset(self, seq_offset: i32) -> Self {
        ProbePacket { seq_offset, ..self }
    }

    const fn guessed(self) -> Self {
        ProbePacket { is_guess: true, ..self }
    }

    const fn dropped(self) -> Self {
        ProbePacket { bad_checksum: true, ..self }
    }
}

const PSH_ACK_FLAGS: TcpFlags = TcpFlags::PSH.with(TcpFlags::ACK);
const SYN_ACK_FLAGS: TcpFlags = TcpFlags::SYN.with(TcpFlags::ACK);
const RST_ACK_FLAGS: TcpFlags = TcpFlags::RST.with(TcpFlags::ACK);
const FIN_ACK_FLAGS: TcpFlags = TcpFlags::FIN.with(TcpFlags::ACK);

const SYN: ProbePacket = attacker(TcpFlags::SYN);
const FIN: ProbePacket = attacker(TcpFlags::FIN);
const NULL: ProbePacket = attacker(TcpFlags(0));
const XMAS: ProbePacket = attacker(TcpFlags(0x29));
const ACK: ProbePacket = attacker(TcpFlags::ACK);
const DATA: ProbePacket = attacker(PSH_ACK_FLAGS).with_data();
const RST: ProbePacket = attacker(TcpFlags::RST);
const RST_ACK: ProbePacket = attacker(RST_ACK_FLAGS);
const FIN_ACK: ProbePacket = attacker(FIN_ACK_FLAGS);
const SYN_ACK: ProbePacket = attacker(SYN_ACK_FLAGS);
/// A connection that a scanned host accepts, refuses, or does not know of.
const ACCEPTED: ProbePacket = victim(SYN_ACK_FLAGS);
const REFUSED: ProbePacket = victim(RST_ACK_FLAGS);
const DENIED: ProbePacket = victim(TcpFlags::RST);
/// The same from the victim of a flood, and its plain acknowledgement.
const GRANTED: ProbePacket = ACCEPTED.after(FLOOD_ANSWER_NANOS);
const RESET: ProbePacket = DENIED.after(FLOOD_ANSWER_NANOS);
const ACKED: ProbePacket = victim(TcpFlags::ACK).after(FLOOD_ANSWER_NANOS);

const REPEATED_SYN: Exchange = &[SYN, SYN.at_offset(-1).after(FLOOD_ANSWER_NANOS)];
const BLIND_ACK: Exchange = &[SYN, GRANTED, ACK.guessed().after(NEXT_NANOS), RESET.guessed()];
const BLIND_DATA: Exchange = &[
    SYN,
    GRANTED,
    ACK.guessed().dropped().after(NEXT_NANOS),
    DATA.guessed().dropped().after(NEXT_NANOS),
];
const CHALLENGE_ACK: Exchange = &[
    SYN,
    GRANTED,
    SYN.at_offset(OTHER_SYN_OFFSET).after(NEXT_NANOS),
    ACKED,
    ACK.guessed().dropped().after(NEXT_NANOS),
];
const LATE_ACK: Exchange = &[
    SYN,
    GRANTED,
    ACK.guessed().dropped().after(LATE_NANOS),
    // Data that ends at the right number, without an ACK flag: the victim acknowledges it.
    attacker(TcpFlags::PSH).with_data().at_offset(-(DATA_BYTES as i32)).after(NEXT_NANOS),
    ACKED,
];
/// A request and its answer; then both ends close.
const ANSWER: ProbePacket = victim(PSH_ACK_FLAGS).with_data().after(FLOOD_ANSWER_NANOS);
const CLOSED: ProbePacket = victim(FIN_ACK_FLAGS);
const SERVED: Exchange = &[
    SYN,
    GRANTED,
    ACK.after(NEXT_NANOS),
    DATA.after(NEXT_NANOS),
    ANSWER,
    FIN_ACK,
    CLOSED.after(FLOOD_ANSWER_NANOS),
    ACK.after(NEXT_NANOS),
];
/// The server greets, a password is wrong, the server closes.
const GUESS: Exchange =
    &[SYN, ACCEPTED, ACK, ANSWER, DATA, ANSWER, CLOSED, FIN_ACK, victim(TcpFlags::ACK)];
const EMPTY: Exchange = &[
    SYN,
    GRANTED,
    ACK.after(NEXT_NANOS),
    FIN_ACK.after(NEXT_NANOS),
    CLOSED.after(FLOOD_ANSWER_NANOS),
    ACK.after(NEXT_NANOS),
];
const GREETED: Exchange = &[SYN, GRANTED, ACK.after(BOT_NANOS)];
const TURNED_AWAY: Exchange = &[SYN, REFUSED.after(FLOOD_ANSWER_NANOS)];
const BOTNET: Exchange = &[SYN, GRANTED, ACK.after(BOT_NANOS), DATA.after(NEXT_NANOS), ACKED];

impl AttackKind {
    /// The packets of a probe, which depend on a random number below 100.
    pub const fn exchange(self, percent: u64) -> Exchange {
        match (self, percent) {
            // A full backlog does not answer.
            (AttackKind::SynFlood | AttackKind::SynFloodOneSource, 0..50) => &[SYN, ACCEPTED],
            (AttackKind::SynFlood | AttackKind::SynFloodOneSource, _) => &[SYN],
            (AttackKind::SynScan, 0..2) => &[SYN, ACCEPTED, RST],
            (AttackKind::PortScan, 0..2) => &[SYN, ACCEPTED, ACK, RST_ACK],
            (AttackKind::SynScan | AttackKind::PortScan, _) => &[SYN, REFUSED],
            // An open port is silent on the next three, a closed one resets.
            (AttackKind::FinScan, 0..2) => &[FIN],
            (AttackKind::FinScan, _) => &[FIN, REFUSED],
            (AttackKind::NullScan, 0..2) => &[NULL],
            (AttackKind::NullScan, _) => &[NULL, REFUSED],
            (AttackKind::XmasScan, 0..2) => &[XMAS],
            (AttackKind::XmasScan, _) => &[XMAS, REFUSED],
            // This scan looks for a firewall.
            (AttackKind::AckScan, 0..20) => &[ACK],
            (AttackKind::AckScan, _) => &[ACK, DENIED],
            (AttackKind::HostSweep, 0..10) => &[SYN, ACCEPTED, RST],
            (AttackKind::HostSweep, 10..50) => &[SYN, REFUSED],
            (AttackKind::HostSweep, _) => &[SYN],
            (AttackKind::RstStorm | AttackKind::RstFlood, _) => &[RST],
            (AttackKind::FinStorm | AttackKind::FinFlood, _) => &[FIN_ACK],
            (AttackKind::SynAckReflection, 0..50) => &[SYN_ACK, DENIED],
            (AttackKind::SynAckReflection, _) => &[SYN_ACK],
            (AttackKind::UnansweredSynFlood | AttackKind::SubnetSynFlood, _) => &[SYN],
            (AttackKind::RepeatedSynFlood, _) => REPEATED_SYN,
            (AttackKind::AnsweredSynFlood, _) => &[SYN, GRANTED],
            (AttackKind::BlindAckFlood, _) => BLIND_ACK,
            (AttackKind::BlindDataFlood, _) => BLIND_DATA,
            (AttackKind::ChallengeAckFlood, _) => CHALLENGE_ACK,
            (AttackKind::LateAckFlood, _) => LATE_ACK,
            (AttackKind::AckFlood, _) => &[ACK, RESET],
            (AttackKind::SynAckFlood, _) => &[SYN_ACK, RESET],
            (AttackKind::BotnetFlood, _) => BOTNET,
            (AttackKind::CarpetBombing, 0..20) => &[SYN, ACCEPTED],
            (AttackKind::CarpetBombing, _) => &[SYN],
            (AttackKind::LoginGuessing, _) => GUESS,
            (AttackKind::SlowPortScan, 0..50) => &[SYN, REFUSED],
            (AttackKind::SlowHostSweep, 0..5) => &[SYN, ACCEPTED, RST],
            (AttackKind::SlowHostSweep, 5..50) => &[SYN, REFUSED],
            (AttackKind::SlowPortScan | AttackKind::SlowHostSweep, _) => &[SYN],
            (AttackKind::ConnectionFlood, _) => GREETED,
            (AttackKind::Backscatter, 0..50) => &[SYN_ACK, DENIED],
            (AttackKind::Backscatter, _) => &[SYN_ACK],
            (AttackKind::BusyServer, 0) => &[SYN, GRANTED],
            (AttackKind::BusyServer, 1..4) => EMPTY,
            (AttackKind::BusyServer | AttackKind::ServiceRestart, _) => SERVED,
        }
    }

    /// The packets of a client when so much of a service's restart is over, in percent: it answers at
    /// first, refuses while it is down, and answers again.
    pub const fn restart(percent: u64) -> Exchange {
        match percent {
            25..85 => TURNED_AWAY,
            _ => SERVED,
        }
    }
}

/// The numbers of both sides of a probe.
#[derive(Debug, Clone, Copy)]
pub struct ProbeNumbers {
    /// The next sequence number of the attacker.
    pub attacker: u32,
    /// The next sequence number of the victim.
    pub victim: u32,
    /// What the attacker takes for the victim's.
    pub guess: u32,
}

impl ProbeNumbers {
    /// The sequence and acknowledgement numbers of `packet`.
    pub fn of(&self, packet: &ProbePacket) -> (u32, u32) {
        let victims = if packet.is_guess { self.guess } else { self.victim };
        let (next, ack) = match packet.sender {
            Sender::Attacker => (self.attacker, victims),
            Sender::Victim => (victims, self.attacker),
        };
        let seq = next.wrapping_add_signed(packet.seq_offset);
        (seq, if packet.flags.has(TcpFlags::ACK) { ack } else { 0 })
    }

    /// Moves the sender's next number past `packet`.
    pub fn advance(&mut self, packet: &ProbePacket) {
        if packet.seq_offset != 0 || packet.is_guess {
            return;
        }
        let controls = packet.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0);
        let length = controls.count_ones() + u32::from(packet.payload_bytes);
        let next = match packet.sender {
            Sender::Attacker => &mut self.attacker,
            Sender::Victim => &mut self.victim,
        };
        *next = next.wrapping_add(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sender, flags, sequence and acknowledgement number of each packet, with 1000 as the attacker's
    /// first number, 2000 as the victim's and 7777 as the guess.
    fn packets(kind: AttackKind) -> Vec<(char, u8, u32, u32)> {
        let mut numbers = ProbeNumbers { attacker: 1000, victim: 2000, guess: 7777 };
        let mut all = Vec::new();
        for packet in kind.exchange(99) {
            let sender = if packet.sender == Sender::Attacker { 'a' } else { 'v' };
            let (seq, ack) = numbers.of(packet);
            all.push((sender, packet.flags.0, seq, ack));
            numbers.advance(packet);
        }
        all
    }

    #[test]
    fn floods_have_the_numbers_that_their_senders_can_know() {
        let (syn, granted) = (('a', 0x02, 1000, 0), ('v', 0x12, 2000, 1001));
        assert_eq!(packets(AttackKind::RepeatedSynFlood), [syn, syn]);
        let blind = ('a', 0x10, 1001, 7777);
        let reset = ('v', 0x04, 7777, 0);
        assert_eq!(packets(AttackKind::BlindAckFlood), [syn, granted, blind, reset]);
        let blind_data = ('a', 0x18, 1001, 7777);
        assert_eq!(packets(AttackKind::BlindDataFlood), [syn, granted, blind, blind_data]);
        let (other_syn, challenge) = (('a', 0x02, 5_001_001, 0), ('v', 0x10, 2001, 1001));
        let expected = [syn, granted, other_syn, challenge, blind];
        assert_eq!(packets(AttackKind::ChallengeAckFlood), expected);
        let old_data = ('a', 0x08, 901, 0);
        let expected = [syn, granted, blind, old_data, challenge];
        assert_eq!(packets(AttackKind::LateAckFlood), expected);
        let (ack, data) = (('a', 0x10, 1001, 2001), ('a', 0x18, 1001, 2001));
        let expected = [syn, granted, ack, data, ('v', 0x10, 2001, 1101)];
        assert_eq!(packets(AttackKind::BotnetFlood), expected);
        let expected = [('a', 0x10, 1000, 2000), ('v', 0x04, 2000, 0)];
        assert_eq!(packets(AttackKind::AckFlood), expected);
        let expected = [('a', 0x12, 1000, 2000), ('v', 0x04, 2000, 0)];
        assert_eq!(packets(AttackKind::SynAckFlood), expected);
    }

    #[test]
    fn a_victim_answers_no_wrong_checksum() {
        for kind in AttackKind::every() {
            let exchange = kind.exchange(0);
            for (packet, answer) in exchange.iter().zip(&exchange[1..]) {
                let answered = answer.sender == Sender::Victim;
                assert!(!(packet.bad_checksum && answered), "{}", kind.name());
            }
        }
    }
}
