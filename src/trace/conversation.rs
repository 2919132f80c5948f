//! Two hosts and their TCP connections, one after the other, packet by packet.
//!
//! A conversation has an exact number of packets to show. Each connection in it gets a share and
//! keeps back what its closing will take, so that the last packet of the share is the last of the
//! close. Packets of a direction that the trace does not see happen all the same: sequence numbers
//! and time move on.

use std::net::IpAddr;

use super::facts::{FlowCounts, PairFacts};
use super::schedule::Step;
use super::segment::Segment;
use crate::flow::TcpFlags;
use crate::random::Random;

/// How much of a conversation there is to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Both directions of connections, from the first SYN on.
    Whole,
    /// A connection that was open before the trace began.
    MidStream,
    /// Only what the client sends.
    ClientOnly,
    /// Only what the server sends.
    ServerOnly,
    /// A SYN answered by a reset.
    Refused,
    /// A SYN, and again, that nobody answers.
    Unanswered,
}

impl Kind {
    /// The fewest packets that such a conversation can have.
    pub const fn min_packets(self) -> u64 {
        match self {
            Kind::Refused => 2,
            Kind::Unanswered => 3,
            _ => MIN_CONNECTION_PACKETS,
        }
    }

    /// Whether there can be more packets than the fewest.
    pub const fn can_grow(self) -> bool {
        !matches!(self, Kind::Refused | Kind::Unanswered)
    }

    const fn sees(self, side: Side) -> bool {
        match side {
            Side::Client => !matches!(self, Kind::ServerOnly),
            Side::Server => !matches!(self, Kind::ClientOnly | Kind::Unanswered),
        }
    }
}

/// Who talks to whom, and how much.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The side that opens.
    pub client: IpAddr,
    /// The side that answers; of the same family.
    pub server: IpAddr,
    /// How much there is to see.
    pub kind: Kind,
    /// Exactly how many packets there are to see, at least [`Kind::min_packets`].
    pub packets: u64,
    /// When it must be over, in nanoseconds of the trace.
    pub end_nanos: u64,
    /// Nothing but connections that are opened and closed properly: no loss, no resets.
    pub well_behaved: bool,
    /// Where its chances come from.
    pub random: Random,
}

/// SYN, SYN+ACK, ACK, FIN, FIN, ACK.
const MIN_CONNECTION_PACKETS: u64 = 6;
/// From here on a connection has room for losses and late data.
const ROOMY_CONNECTION_PACKETS: u64 = 16;
const MAX_CONNECTIONS: u64 = 8;
const SEGMENT_BYTES: u64 = 1440;
const FIRST_CLIENT_PORT: u16 = 32_768;
const CLIENT_PORTS: u16 = 28_000;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
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
    /// FIN, FIN, ACK; with an ACK of the first FIN of its own, and with data after it.
    Orderly {
        own_ack: bool,
        late_packets: u64,
    },
    Reset,
    /// Left open at the end of the trace.
    None,
}

/// A conversation under way.
#[derive(Debug, Clone)]
pub struct Conversation {
    plan: Plan,
    rtt_nanos: u64,
    ecn: bool,
    connections_left: u64,
    /// How many packets of the connection under way are still to be seen.
    connection_left: u64,
    phase: Phase,
    ending: Ending,
    closer: Side,
    ports: [u16; 2],
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
    /// Whether the sender changed just now and may think first.
    turned: bool,
    pairs: [PairFacts; 2],
    tuple_seen: [bool; 2],
    five_tuples: u64,
}

impl Conversation {
    /// A conversation whose first visible packet is due.
    pub fn new(mut plan: Plan) -> Self {
        let random = &mut plan.random;
        let server_port = match random.below(100) {
            0..60 => 443,
            60..85 => 80,
            85..90 => 22,
            90..94 => 993,
            94..97 => 25,
            _ => 8080,
        };
        let client_port = FIRST_CLIENT_PORT + random.below(CLIENT_PORTS.into()) as u16;
        let mut connections = 1;
        while plan.kind.can_grow()
            && connections < MAX_CONNECTIONS
            && plan.packets >= 2 * MIN_CONNECTION_PACKETS * (connections + 1)
            && random.chance(0.3)
        {
            connections += 1;
        }
        let rtt_millis = 5.0 * (random.unit() * 4.0).exp();
        let ecn = random.chance(0.1);
        let mut conversation = Conversation {
            plan,
            rtt_nanos: (rtt_millis * MILLISECOND as f64) as u64,
            ecn,
            connections_left: connections,
            connection_left: 0,
            phase: Phase::Syn,
            ending: Ending::None,
            closer: Side::Client,
            ports: [client_port, server_port],
            seq: [0; 2],
            repeats: false,
            last_sequence_bytes: 0,
            will_repeat_syn: false,
            will_repeat_fin: false,
            sender: Side::Client,
            burst_left: 1,
            unacked: 0,
            turned: false,
            pairs: [PairFacts::default(); 2],
            tuple_seen: [false; 2],
            five_tuples: 0,
        };
        conversation.open();
        if conversation.plan.kind == Kind::MidStream {
            conversation.phase = Phase::Data;
        }
        while !conversation.plan.kind.sees(conversation.side()) {
            conversation.send();
            conversation.phase = conversation.next_phase();
        }
        conversation
    }

    /// The packet that is due at `now`, and when the next one is.
    pub fn step(&mut self, now: u64) -> Step {
        let side = self.side();
        let segment = self.send();
        self.pairs[side as usize].add(segment.flags);
        if !self.tuple_seen[side as usize] {
            self.tuple_seen[side as usize] = true;
            self.five_tuples += 1;
        }
        self.plan.packets = self.plan.packets.saturating_sub(1);
        self.connection_left = self.connection_left.saturating_sub(1);
        let mut next = now;
        while self.plan.packets > 0 {
            next += self.advance(next);
            if self.plan.kind.sees(self.side()) {
                return Step { segment, next_nanos: Some(next) };
            }
            self.send();
        }
        Step { segment, next_nanos: None }
    }

    /// Whether everything that is said in it is in the trace.
    pub fn is_seen_whole(&self) -> bool {
        matches!(self.plan.kind, Kind::Whole | Kind::Refused)
    }

    /// What was seen of its flows.
    pub fn counts(&self) -> FlowCounts {
        let mut counts = FlowCounts { five_tuples: self.five_tuples, ..FlowCounts::default() };
        self.pairs.iter().for_each(|pair| counts.add_pair(*pair));
        counts
    }

    /// Begins a connection: which share of the packets is its, and how it will go.
    fn open(&mut self) {
        let random = &mut self.plan.random;
        self.connections_left = self.connections_left.saturating_sub(1);
        let is_last = self.connections_left == 0;
        let kept_back = 2 * MIN_CONNECTION_PACKETS * self.connections_left;
        let spare = self.plan.packets.saturating_sub(kept_back + MIN_CONNECTION_PACKETS);
        self.connection_left = match is_last {
            true => self.plan.packets,
            false => MIN_CONNECTION_PACKETS + random.below(spare),
        };
        let roomy =
            self.connection_left >= ROOMY_CONNECTION_PACKETS && self.plan.kind != Kind::Unanswered;
        let orderly = Ending::Orderly {
            own_ack: self.connection_left > MIN_CONNECTION_PACKETS && random.chance(0.5),
            late_packets: if roomy && random.chance(0.05) { 1 + random.below(6) } else { 0 },
        };
        let lossy = roomy && !self.plan.well_behaved;
        self.ending = match random.below(100) {
            _ if self.plan.well_behaved => orderly,
            0..6 => Ending::Reset,
            6..12 if is_last => Ending::None,
            _ => orderly,
        };
        self.closer = if random.chance(0.6) { Side::Client } else { Side::Server };
        self.will_repeat_syn = lossy && random.chance(0.02);
        self.will_repeat_fin = lossy && random.chance(0.02);
        self.seq = [random.next_u64() as u32, random.next_u64() as u32];
        self.phase = Phase::Syn;
        (self.sender, self.burst_left, self.unacked) = (Side::Client, 1, 0);
    }

    /// Chooses the packet that comes next; returns how much later it is.
    fn advance(&mut self, now: u64) -> u64 {
        let side_before = self.side();
        let ended = matches!(self.phase, Phase::LastAck | Phase::Reset | Phase::Refusal);
        if self.connection_left == 0 || ended {
            self.reopen();
        } else {
            self.phase = self.next_phase();
        }
        let natural = self.natural_delay(side_before);
        let left = self.plan.end_nanos.saturating_sub(now) / (self.plan.packets + 1);
        natural.min(left).max(MICROSECOND)
    }

    /// A further connection: from another port, or once more from the same after its close.
    fn reopen(&mut self) {
        let was_closed = self.ending != Ending::None;
        let same_port = was_closed && !self.plan.well_behaved && self.plan.random.chance(0.25);
        if !same_port {
            let next = (self.ports[0] - FIRST_CLIENT_PORT + 1) % CLIENT_PORTS;
            self.ports[0] = FIRST_CLIENT_PORT + next;
            self.tuple_seen = [false; 2];
        }
        self.open();
    }

    /// The side that sends the next packet.
    fn side(&self) -> Side {
        match self.phase {
            Phase::Syn | Phase::OpeningAck | Phase::KeepAlive => Side::Client,
            Phase::SynAck | Phase::KeepAliveAck | Phase::Refusal => Side::Server,
            Phase::Data => self.sender,
            Phase::DataAck => self.sender.other(),
            Phase::Fin | Phase::LateAck | Phase::LastAck | Phase::Reset => self.closer,
            Phase::FinAck | Phase::LateData | Phase::SecondFin => self.closer.other(),
        }
    }

    /// What follows the packet just sent, within a connection.
    fn next_phase(&mut self) -> Phase {
        self.repeats = false;
        match self.phase {
            Phase::Syn if self.plan.kind == Kind::Unanswered => self.repeat(Phase::Syn),
            Phase::Syn if self.plan.kind == Kind::Refused => Phase::Refusal,
            Phase::Syn if std::mem::take(&mut self.will_repeat_syn) => self.repeat(Phase::Syn),
            Phase::Syn => Phase::SynAck,
            Phase::SynAck => Phase::OpeningAck,
            Phase::KeepAlive => Phase::KeepAliveAck,
            Phase::OpeningAck | Phase::Data | Phase::DataAck | Phase::KeepAliveAck => {
                if self.connection_left > self.closing_packets() {
                    return self.next_data_phase();
                }
                match self.ending {
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

    /// The next packet while data flows: bursts, answered every other segment.
    fn next_data_phase(&mut self) -> Phase {
        let random = &mut self.plan.random;
        match self.phase {
            Phase::Data if self.burst_left > 0 && self.unacked < 2 => {
                let lost = !self.plan.well_behaved && !self.repeats && random.chance(0.01);
                if lost { self.repeat(Phase::Data) } else { Phase::Data }
            }
            // The answer to a finished burst often carries its acknowledgement.
            Phase::Data if self.burst_left > 0 || random.chance(0.5) => Phase::DataAck,
            Phase::DataAck if self.burst_left > 0 => Phase::Data,
            Phase::OpeningAck => Phase::Data,
            _ => {
                self.sender = self.sender.other();
                (self.turned, self.unacked) = (true, 0);
                self.burst_left = match self.sender {
                    Side::Client => 1 + random.below(2),
                    Side::Server => 1 + random.below(20),
                };
                let room = self.connection_left >= self.closing_packets() + 4;
                let idles = room && !self.plan.well_behaved && self.sender == Side::Client;
                let keep_alive = idles && self.plan.random.chance(0.01);
                if keep_alive { Phase::KeepAlive } else { Phase::Data }
            }
        }
    }

    /// How many visible packets the close will take.
    fn closing_packets(&self) -> u64 {
        let closers = u64::from(self.plan.kind.sees(self.closer));
        let others = u64::from(self.plan.kind.sees(self.closer.other()));
        match self.ending {
            Ending::None => 0,
            Ending::Reset => closers,
            Ending::Orderly { own_ack, late_packets } => {
                let (own_acks, late) = if own_ack { (others, late_packets) } else { (0, 0) };
                closers * (2 + u64::from(self.will_repeat_fin)) + others + own_acks + late
            }
        }
    }

    fn has_late_data(&self) -> bool {
        let last_two = u64::from(self.plan.kind.sees(self.closer))
            + u64::from(self.plan.kind.sees(self.closer.other()));
        self.connection_left > last_two
    }

    fn natural_delay(&mut self, side_before: Side) -> u64 {
        let same_side = self.side() == side_before;
        let random = &mut self.plan.random;
        let burst_begins = std::mem::take(&mut self.turned);
        let half_rtt = (self.rtt_nanos as f64 * (0.35 + 0.3 * random.unit())) as u64;
        match (self.phase, self.sender) {
            (Phase::Syn, _) if self.repeats => SECOND,
            (Phase::Syn, _) => SECOND + random.below(2 * SECOND),
            (Phase::KeepAlive, _) => 5 * SECOND + random.below(15 * SECOND),
            _ if self.repeats => 200 * MILLISECOND + self.rtt_nanos,
            (_, Side::Client) if burst_begins => half_rtt + think(random, 400 * MILLISECOND),
            (_, Side::Server) if burst_begins => half_rtt + think(random, 10 * MILLISECOND),
            _ if same_side => 5 * MICROSECOND + random.below(100 * MICROSECOND),
            _ => half_rtt,
        }
    }

    /// Makes the packet of this phase and moves its sender's sequence number on.
    fn send(&mut self) -> Segment {
        let side = self.side();
        let (mut flags, payload_bytes) = self.flags_and_payload();
        if self.ecn && self.phase == Phase::Syn {
            flags = flags.with(TcpFlags::ECE).with(TcpFlags::CWR);
        } else if self.ecn && self.phase == Phase::SynAck {
            flags = flags.with(TcpFlags::ECE);
        }
        let (mine, theirs) = (side as usize, side.other() as usize);
        let seq = match self.phase {
            Phase::KeepAlive => self.seq[mine].wrapping_sub(1),
            Phase::Refusal => 0,
            _ if self.repeats => self.seq[mine].wrapping_sub(self.last_sequence_bytes),
            _ => self.seq[mine],
        };
        let controls = flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0);
        if !self.repeats {
            self.last_sequence_bytes = payload_bytes as u32 + controls.count_ones();
            self.seq[mine] = self.seq[mine].wrapping_add(self.last_sequence_bytes);
        }
        let addresses = [self.plan.client, self.plan.server];
        Segment {
            src: addresses[mine],
            dst: addresses[theirs],
            src_port: self.ports[mine],
            dst_port: self.ports[theirs],
            seq,
            ack: if flags.has(TcpFlags::ACK) { self.seq[theirs] } else { 0 },
            flags,
            payload_bytes: payload_bytes as u16,
        }
    }

    fn flags_and_payload(&mut self) -> (TcpFlags, u64) {
        let random = &mut self.plan.random;
        match self.phase {
            Phase::Syn => (TcpFlags::SYN, 0),
            Phase::SynAck => (TcpFlags::SYN.with(TcpFlags::ACK), 0),
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

/// How long someone thinks: exponential, but never so long that a flow seems idle.
fn think(random: &mut Random, mean_nanos: u64) -> u64 {
    let nanos = -(1.0 - random.unit()).ln() * mean_nanos as f64;
    nanos.min(20.0 * SECOND as f64) as u64
}
