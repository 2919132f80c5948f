//! A conversation: two hosts and their TCP connections, one after the other.

use std::net::IpAddr;

use super::connection::{
    Connection, ConnectionPacket, ConnectionPlan, Coverage, Delay, MIN_CONNECTION_PACKETS, Side,
};
use super::counts::{FlowCounts, PairFlags};
use super::distributions::{heavy_tailed_wait, mostly_small};
use super::segment::{Segment, Step};
use acsm_filters::rng::Random;

/// The parameters of a conversation.
#[derive(Debug, Clone)]
pub struct ConversationPlan {
    /// The host that opens connections.
    pub client: IpAddr,
    /// The host that accepts them; of the same address family.
    pub server: IpAddr,
    /// Which packets are in the trace.
    pub coverage: Coverage,
    /// How many packets are in the trace, at least [`Coverage::min_packets`].
    pub packets: u64,
    /// When it must be over, in nanoseconds since the start.
    pub end_nanos: u64,
    /// Only connections that are opened and closed properly: no loss, no resets.
    pub well_behaved: bool,
    /// The share of connections that end silently; see [`ConnectionPlan::silent_share`].
    pub silent_share: Option<f64>,
    /// Its random numbers.
    pub random: Random,
}

/// How many connections there were, and how many ended silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndingCounts {
    /// Connections that were opened.
    pub connections: u64,
    /// Those that ended without FIN and RST.
    pub silent: u64,
}

impl EndingCounts {
    fn add(&mut self, connection: &Connection) {
        self.connections += 1;
        self.silent += u64::from(connection.ends_silently());
    }
}

const MAX_CONNECTIONS: u64 = 8;
const FIRST_CLIENT_PORT: u16 = 32_768;
const CLIENT_PORTS: u16 = 28_000;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// An active conversation.
#[derive(Debug, Clone)]
pub struct Conversation {
    plan: ConversationPlan,
    rtt_nanos: u64,
    ecn: bool,
    connection: Connection,
    connections_left: u64,
    endings: EndingCounts,
    /// Of the client and of the server.
    ports: [u16; 2],
    pairs: [PairFlags; 2],
    tuple_seen: [bool; 2],
    five_tuples: u64,
}

impl Conversation {
    /// A conversation whose first packet in the trace is due.
    pub fn new(mut plan: ConversationPlan) -> Self {
        let random = &mut plan.random;
        let client_port = FIRST_CLIENT_PORT + random.below(CLIENT_PORTS.into()) as u16;
        let server_port = match random.below(100) {
            0..60 => 443,
            60..85 => 80,
            85..90 => 22,
            90..94 => 993,
            94..97 => 25,
            _ => 8080,
        };
        let rtt_nanos = mostly_small(random, 10e6, 300e6) as u64;
        let ecn = random.chance(0.1);
        let connections_left = further_connections(&mut plan);
        let connection = open(&mut plan, connections_left, ecn, true);
        let mut conversation = Conversation {
            plan,
            rtt_nanos,
            ecn,
            connection,
            connections_left,
            endings: EndingCounts::default(),
            ports: [client_port, server_port],
            pairs: [PairFlags::default(); 2],
            tuple_seen: [false; 2],
            five_tuples: 0,
        };
        conversation.endings.add(&conversation.connection);
        while !conversation.plan.coverage.includes(conversation.connection.side()) {
            conversation.connection.send(&mut conversation.plan.random);
            conversation.connection.advance(&mut conversation.plan.random);
        }
        conversation
    }

    /// The packet that is due at `now`, and when the next one is.
    pub fn step(&mut self, now: u64) -> Step {
        let packet = self.connection.send(&mut self.plan.random);
        self.count(&packet);
        let segment = self.segment(&packet);
        self.plan.packets = self.plan.packets.saturating_sub(1);
        let mut next = now;
        while self.plan.packets > 0 {
            next += self.advance(next);
            if self.plan.coverage.includes(self.connection.side()) {
                return Step { segment, next_nanos: Some(next) };
            }
            self.connection.send(&mut self.plan.random);
        }
        Step { segment, next_nanos: None }
    }

    /// The counts of its connections so far; those that were never open are none.
    pub fn endings(&self) -> EndingCounts {
        if self.plan.coverage.can_grow() { self.endings } else { EndingCounts::default() }
    }

    /// Whether all of its packets are in the trace.
    pub fn is_complete(&self) -> bool {
        matches!(self.plan.coverage, Coverage::Complete | Coverage::Refused)
    }

    /// The counts of its flows so far.
    pub fn counts(&self) -> FlowCounts {
        let mut counts = FlowCounts { five_tuples: self.five_tuples, ..FlowCounts::default() };
        self.pairs.iter().for_each(|pair| counts.add_pair(*pair));
        counts
    }

    fn count(&mut self, packet: &ConnectionPacket) {
        let side = packet.side as usize;
        self.pairs[side].add(packet.flags);
        self.five_tuples += u64::from(!self.tuple_seen[side]);
        self.tuple_seen[side] = true;
    }

    fn segment(&self, packet: &ConnectionPacket) -> Segment {
        let addresses = [self.plan.client, self.plan.server];
        let (mine, theirs) = (packet.side as usize, packet.side.other() as usize);
        Segment {
            src: addresses[mine],
            dst: addresses[theirs],
            src_port: self.ports[mine],
            dst_port: self.ports[theirs],
            seq: packet.seq,
            ack: packet.ack,
            flags: packet.flags,
            payload_bytes: packet.payload_bytes,
            bad_checksum: false,
        }
    }

    /// Advances to the next packet; returns how much later it is.
    fn advance(&mut self, now: u64) -> u64 {
        let natural = if self.connection.is_over() {
            self.reopen();
            SECOND + self.plan.random.below(2 * SECOND)
        } else {
            let delay = self.connection.advance(&mut self.plan.random);
            self.delay_nanos(delay)
        };
        // The remaining packets have to fit into the remaining time.
        let left = self.plan.end_nanos.saturating_sub(now) / (self.plan.packets + 1);
        natural.min(left).max(MICROSECOND)
    }

    /// A further connection: from another port, or once more from the same after its close.
    fn reopen(&mut self) {
        let may_reuse = !self.connection.ends_silently() && !self.plan.well_behaved;
        if !(may_reuse && self.plan.random.chance(0.25)) {
            let next = (self.ports[0] - FIRST_CLIENT_PORT + 1) % CLIENT_PORTS;
            self.ports[0] = FIRST_CLIENT_PORT + next;
            self.tuple_seen = [false; 2];
        }
        self.connections_left = self.connections_left.saturating_sub(1);
        self.connection = open(&mut self.plan, self.connections_left, self.ecn, false);
        self.endings.add(&self.connection);
    }

    fn delay_nanos(&mut self, delay: Delay) -> u64 {
        let random = &mut self.plan.random;
        let half_rtt = (self.rtt_nanos as f64 * (0.35 + 0.3 * random.unit())) as u64;
        match delay {
            Delay::Following => 5 * MICROSECOND + random.below(100 * MICROSECOND),
            Delay::Answering => half_rtt,
            Delay::Thinking(Side::Client) => half_rtt + think_nanos(random, 400 * MILLISECOND),
            Delay::Thinking(Side::Server) => half_rtt + think_nanos(random, 10 * MILLISECOND),
            Delay::Idling => 5 * SECOND + random.below(15 * SECOND),
            Delay::ResendingSyn => SECOND,
            Delay::Resending => 200 * MILLISECOND + self.rtt_nanos,
        }
    }
}

/// How many connections come after the first; packets for a close and some data are reserved for
/// each.
fn further_connections(plan: &mut ConversationPlan) -> u64 {
    let mut further = 0;
    while plan.coverage.can_grow()
        && further + 1 < MAX_CONNECTIONS
        && plan.packets >= 2 * MIN_CONNECTION_PACKETS * (further + 2)
        && plan.random.chance(0.3)
    {
        further += 1;
    }
    further
}

/// Opens a connection with its share of the packets; `further` come after it.
fn open(plan: &mut ConversationPlan, further: u64, ecn: bool, is_first: bool) -> Connection {
    let reserved = 2 * MIN_CONNECTION_PACKETS * further;
    let spare = plan.packets.saturating_sub(reserved + MIN_CONNECTION_PACKETS);
    let connection = ConnectionPlan {
        // Only the first can have been open before the trace began.
        coverage: match plan.coverage {
            Coverage::MidStream if !is_first => Coverage::Complete,
            coverage => coverage,
        },
        packets: match further {
            0 => plan.packets,
            _ => MIN_CONNECTION_PACKETS + plan.random.below(spare),
        },
        well_behaved: plan.well_behaved,
        silent_share: plan.silent_share,
        ecn,
        is_last: further == 0,
    };
    Connection::new(connection, &mut plan.random)
}

/// The time until a user or a server sends: never so long that a flow seems idle.
fn think_nanos(random: &mut Random, mean_nanos: u64) -> u64 {
    heavy_tailed_wait(random, mean_nanos).min(20 * SECOND)
}
