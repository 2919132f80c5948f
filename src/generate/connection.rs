//! One TCP connection, packet by packet: handshake, bursts of data, close.
//!
//! A connection has an exact number of packets in the trace and reserves those that closing it takes,
//! so that its last packet is the last of the close. Packets of a direction that is not in the trace
//! advance the sequence numbers all the same.

use crate::flow::TcpFlags;
use acsm_filters::rng::Random;

/// The fewest packets of a connection: SYN, SYN+ACK, ACK, FIN, FIN, ACK.
pub const MIN_CONNECTION_PACKETS: u64 = 6;
/// Connections of at least this length have losses and late data.
const LONG_CONNECTION_PACKETS: u64 = 16;
const SEGMENT_BYTES: u64 = 1440;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Opens the connection.
    Client,
    /// Accepts the connection.
    Server,
}

impl Side {
    /// The other end.
    pub const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// Which packets of a conversation are in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// Both directions of connections, from the first SYN on.
    Complete,
    /// A connection that was open before the trace began.
    MidStream,
    /// Only what the client sends.
    ClientOnly,
    /// Only what the server sends.
    ServerOnly,
    /// A SYN answered by a reset.
    Refused,
    /// A SYN and its repetitions, without an answer.
    Unanswered,
}

impl Coverage {
    /// The fewest packets that such a conversation can have.
    pub const fn min_packets(self) -> u64 {
        match self {
            Coverage::Refused => 2,
            Coverage::Unanswered => 3,
            _ => MIN_CONNECTION_PACKETS,
        }
    }

    /// Whether there can be more packets than that.
    pub const fn can_grow(self) -> bool {
        !matches!(self, Coverage::Refused | Coverage::Unanswered)
    }

    /// Whether the packets of a side are in the trace.
    pub const fn includes(self, side: Side) -> bool {
        match side {
            Side::Client => !matches!(self, Coverage::ServerOnly),
            Side::Server => !matches!(self, Coverage::ClientOnly | Coverage::Unanswered),
        }
    }
}

/// Which packet of a connection comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Syn,
    SynAck,
    OpeningAck,
    Data,
    DataAck,
    KeepAlive,
    KeepAliveAck,
    Fin,
    FinAck,
    LateData,
    LateAck,
    SecondFin,
    LastAck,
    Reset,
    Refusal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// FIN, FIN, ACK; with a separate ACK of the first FIN, then maybe data (half-closed).
    Orderly {
        own_ack: bool,
        late_packets: u64,
    },
    Reset,
    /// Both sides fall silent.
    None,
}

/// The parameters of a connection.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionPlan {
    /// Which of its packets are in the trace.
    pub coverage: Coverage,
    /// How many packets of it are in the trace.
    pub packets: u64,
    /// No loss, no reset, no keep-alive.
    pub well_behaved: bool,
    /// The probability of a silent end; `None`: a small one, and only for the last of a conversation.
    pub silent_share: Option<f64>,
    /// Whether it asks for explicit congestion notification.
    pub ecn: bool,
    /// Whether it is the last of its conversation and may stay open.
    pub is_last: bool,
}

/// One packet of a connection, without addresses and ports.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // as in `Segment`
pub struct ConnectionPacket {
    pub side: Side,
    pub seq: u32,
    pub ack: u32,
    pub flags: TcpFlags,
    pub payload_bytes: u16,
}

/// Why a packet is sent when it is, which determines its delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Directly after the one before, from the same side.
    Following,
    /// In answer to the other side.
    Answering,
    /// After a user or a server took its time.
    Thinking(Side),
    /// After a long idle time.
    Idling,
    /// After a time-out, because a SYN was lost.
    ResendingSyn,
    /// After a time-out, because another packet was lost.
    Resending,
}

/// An active connection.
#[derive(Debug, Clone)]
pub struct Connection {
    plan: ConnectionPlan,
    /// How many packets in the trace are left.
    left: u64,
    phase: Phase,
    ending: Ending,
    closer: Side,
    /// The next sequence number of each side.
    seq: [u32; 2],
    /// Whether the next packet repeats the one before, and how much sequence space that took.
    repeats: bool,
    last_sequence_bytes: u32,
    will_repeat_syn: bool,
    will_repeat_fin: bool,
    sender: Side,
    burst_left: u64,
    unacked: u8,
}

impl Connection {
    /// A connection whose first packet is due.
    pub fn new(plan: ConnectionPlan, random: &mut Random) -> Self {
        let is_long = plan.packets >= LONG_CONNECTION_PACKETS;
        let orderly = Ending::Orderly {
            own_ack: plan.packets > MIN_CONNECTION_PACKETS && random.chance(0.5),
            late_packets: if is_long && random.chance(0.05) { 1 + random.below(6) } else { 0 },
        };
        let ending = match random.below(100) {
            _ if plan.well_behaved => orderly,
            0..6 => Ending::Reset,
            6..12 if plan.is_last => Ending::None,
            _ => orderly,
        };
        let ending = match plan.silent_share {
            Some(share) if random.chance(share) => Ending::None,
            Some(_) if ending == Ending::None => orderly,
            _ => ending,
        };
        let lossy = is_long && !plan.well_behaved;
        Connection {
            plan,
            left: plan.packets,
            phase: if plan.coverage == Coverage::MidStream { Phase::Data } else { Phase::Syn },
            ending,
            closer: if random.chance(0.6) { Side::Client } else { Side::Server },
            seq: [random.next_u64() as u32, random.next_u64() as u32],
            repeats: false,
            last_sequence_bytes: 0,
            will_repeat_syn: lossy && random.chance(0.02),
            will_repeat_fin: lossy && random.chance(0.02),
            sender: Side::Client,
            burst_left: 1,
            unacked: 0,
        }
    }

    /// Whether it has no more packets in the trace.
    pub fn is_over(&self) -> bool {
        self.left == 0 || matches!(self.phase, Phase::LastAck | Phase::Reset | Phase::Refusal)
    }

    /// Whether it ends without FIN and RST, so that its ports are not free again.
    pub fn ends_silently(&self) -> bool {
        self.ending == Ending::None
    }

    /// The side that sends the next packet.
    pub fn side(&self) -> Side {
        match self.phase {
            Phase::Syn | Phase::OpeningAck | Phase::KeepAlive => Side::Client,
            Phase::SynAck | Phase::KeepAliveAck | Phase::Refusal => Side::Server,
            Phase::Data => self.sender,
            Phase::DataAck => self.sender.other(),
            Phase::Fin | Phase::LateAck | Phase::LastAck | Phase::Reset => self.closer,
            Phase::FinAck | Phase::LateData | Phase::SecondFin => self.closer.other(),
        }
    }

    /// The packet that is due; advances the sequence number of its sender.
    pub fn send(&mut self, random: &mut Random) -> ConnectionPacket {
        let side = self.side();
        if self.plan.coverage.includes(side) {
            self.left = self.left.saturating_sub(1);
        }
        let (flags, payload_bytes) = self.flags_and_payload(random);
        let (mine, theirs) = (side as usize, side.other() as usize);
        let seq = match self.phase {
            Phase::KeepAlive => self.seq[mine].wrapping_sub(1),
            Phase::Refusal => 0,
            _ if self.repeats => self.seq[mine].wrapping_sub(self.last_sequence_bytes),
            _ => self.seq[mine],
        };
        if !self.repeats {
            let controls = flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0);
            self.last_sequence_bytes = payload_bytes as u32 + controls.count_ones();
            self.seq[mine] = self.seq[mine].wrapping_add(self.last_sequence_bytes);
        }
        let ack = if flags.has(TcpFlags::ACK) { self.seq[theirs] } else { 0 };
        ConnectionPacket { side, seq, ack, flags, payload_bytes: payload_bytes as u16 }
    }

    /// Advances to the packet after the one just sent.
    pub fn advance(&mut self, random: &mut Random) -> Delay {
        let (side_before, sender_before) = (self.side(), self.sender);
        self.repeats = false;
        self.phase = self.next_phase(random);
        match self.phase {
            Phase::Syn => Delay::ResendingSyn,
            Phase::KeepAlive => Delay::Idling,
            _ if self.repeats => Delay::Resending,
            _ if self.sender != sender_before => Delay::Thinking(self.sender),
            _ if self.side() == side_before => Delay::Following,
            _ => Delay::Answering,
        }
    }

    fn next_phase(&mut self, random: &mut Random) -> Phase {
        match self.phase {
            Phase::Syn if self.plan.coverage == Coverage::Unanswered => self.repeat(Phase::Syn),
            Phase::Syn if self.plan.coverage == Coverage::Refused => Phase::Refusal,
            Phase::Syn if std::mem::take(&mut self.will_repeat_syn) => self.repeat(Phase::Syn),
            Phase::Syn => Phase::SynAck,
            Phase::SynAck => Phase::OpeningAck,
            Phase::KeepAlive => Phase::KeepAliveAck,
            Phase::OpeningAck | Phase::Data | Phase::DataAck | Phase::KeepAliveAck => {
                match self.ending {
                    _ if self.left > self.closing_packets() => self.next_data_phase(random),
                    Ending::Orderly { .. } => Phase::Fin,
                    Ending::Reset => Phase::Reset,
                    Ending::None => Phase::Data,
                }
            }
            Phase::Fin if std::mem::take(&mut self.will_repeat_fin) => self.repeat(Phase::Fin),
            Phase::Fin => match self.ending {
                Ending::Orderly { own_ack: true, .. } => Phase::FinAck,
                _ => Phase::SecondFin,
            },
            Phase::LateData if self.has_late_data() => Phase::LateAck,
            Phase::FinAck | Phase::LateAck if self.has_late_data() => Phase::LateData,
            Phase::FinAck | Phase::LateData | Phase::LateAck => Phase::SecondFin,
            Phase::SecondFin | Phase::LastAck | Phase::Reset | Phase::Refusal => Phase::LastAck,
        }
    }

    fn repeat(&mut self, phase: Phase) -> Phase {
        self.repeats = true;
        phase
    }

    /// The next packet while data flows: bursts, acknowledged every other segment.
    fn next_data_phase(&mut self, random: &mut Random) -> Phase {
        match self.phase {
            Phase::OpeningAck => Phase::Data,
            Phase::Data if self.burst_left > 0 && self.unacked < 2 => {
                let lost = !self.plan.well_behaved && random.chance(0.01);
                if lost { self.repeat(Phase::Data) } else { Phase::Data }
            }
            // The answer to a finished burst often carries its acknowledgement.
            Phase::Data if self.burst_left > 0 || random.chance(0.5) => Phase::DataAck,
            Phase::DataAck if self.burst_left > 0 => Phase::Data,
            _ => self.change_sender(random),
        }
    }

    /// Changes the sending side, sometimes after a long idle time.
    fn change_sender(&mut self, random: &mut Random) -> Phase {
        self.sender = self.sender.other();
        self.unacked = 0;
        self.burst_left = match self.sender {
            Side::Client => 1 + random.below(2),
            Side::Server => 1 + random.below(20),
        };
        let has_spare = self.left >= self.closing_packets() + 4;
        let may_idle = has_spare && !self.plan.well_behaved && self.sender == Side::Client;
        if may_idle && random.chance(0.01) { Phase::KeepAlive } else { Phase::Data }
    }

    /// 1 if the packets of a side are in the trace, 0 otherwise.
    fn included(&self, side: Side) -> u64 {
        u64::from(self.plan.coverage.includes(side))
    }

    /// How many packets in the trace closing it takes.
    fn closing_packets(&self) -> u64 {
        let (closers, others) = (self.included(self.closer), self.included(self.closer.other()));
        match self.ending {
            Ending::None => 0,
            Ending::Reset => closers,
            Ending::Orderly { own_ack, late_packets } => {
                let (own_acks, late) = if own_ack { (others, late_packets) } else { (0, 0) };
                closers * (2 + u64::from(self.will_repeat_fin)) + others + own_acks + late
            }
        }
    }

    /// Whether more is left than the second FIN and its acknowledgement.
    fn has_late_data(&self) -> bool {
        self.left > self.included(self.closer) + self.included(self.closer.other())
    }

    fn flags_and_payload(&mut self, random: &mut Random) -> (TcpFlags, u64) {
        let ecn = |flags: u8| TcpFlags(if self.plan.ecn { flags } else { 0 });
        match self.phase {
            Phase::Syn => (TcpFlags::SYN.with(ecn(0xc0)), 0),
            Phase::SynAck => (TcpFlags::SYN.with(TcpFlags::ACK).with(ecn(0x40)), 0),
            Phase::Fin | Phase::SecondFin => (TcpFlags::FIN.with(TcpFlags::ACK), 0),
            Phase::Reset | Phase::Refusal => (TcpFlags::RST.with(TcpFlags::ACK), 0),
            Phase::Data if self.repeats => (TcpFlags::ACK, u64::from(self.last_sequence_bytes)),
            Phase::Data => {
                self.burst_left = self.burst_left.saturating_sub(1);
                self.unacked += 1;
                match self.burst_left {
                    0 => (TcpFlags::PSH.with(TcpFlags::ACK), 1 + random.below(SEGMENT_BYTES)),
                    _ => (TcpFlags::ACK, SEGMENT_BYTES),
                }
            }
            Phase::LateData => (TcpFlags::PSH.with(TcpFlags::ACK), 1 + random.below(SEGMENT_BYTES)),
            Phase::DataAck => {
                self.unacked = 0;
                (TcpFlags::ACK, 0)
            }
            _ => (TcpFlags::ACK, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All packets of a connection, those that are not in the trace, too.
    fn packets_of(plan: ConnectionPlan, seed: u64) -> Vec<ConnectionPacket> {
        let mut random = Random::new(seed);
        let mut connection = Connection::new(plan, &mut random);
        let mut all = vec![connection.send(&mut random)];
        while !connection.is_over() {
            connection.advance(&mut random);
            all.push(connection.send(&mut random));
        }
        all
    }

    #[test]
    fn has_exactly_as_many_packets_as_planned() {
        let coverages =
            [Coverage::Complete, Coverage::MidStream, Coverage::ClientOnly, Coverage::ServerOnly];
        for coverage in coverages {
            for packets in 6..80 {
                for seed in 0..200 {
                    let is_last = seed % 2 == 0;
                    let plan = ConnectionPlan {
                        coverage,
                        packets,
                        well_behaved: false,
                        silent_share: [None, Some(0.5)][seed as usize / 2 % 2],
                        ecn: true,
                        is_last,
                    };
                    let all = packets_of(plan, seed);
                    let included = all.iter().filter(|packet| coverage.includes(packet.side));
                    assert_eq!(included.count() as u64, packets, "{plan:?} {seed} {all:?}");
                }
            }
        }
    }

    #[test]
    fn sequence_numbers_follow_from_what_was_sent() {
        for seed in 0..500 {
            let plan = ConnectionPlan {
                coverage: Coverage::Complete,
                packets: 60,
                well_behaved: true,
                silent_share: None,
                ecn: false,
                is_last: true,
            };
            let mut next: [Option<u32>; 2] = [None; 2];
            for sent in packets_of(plan, seed) {
                let (mine, theirs) = (sent.side as usize, sent.side.other() as usize);
                assert!(next[mine].is_none_or(|seq| seq == sent.seq), "{sent:?}");
                if sent.flags.has(TcpFlags::ACK) {
                    assert_eq!(Some(sent.ack), next[theirs], "{sent:?}");
                }
                let controls = (sent.flags.0 & 3).count_ones();
                let length = u32::from(sent.payload_bytes) + controls;
                next[mine] = Some(sent.seq.wrapping_add(length));
            }
        }
    }
}
