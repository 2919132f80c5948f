//! Two hosts and their TCP connections, one after the other, in time.

use std::net::IpAddr;

use super::connection::{Connection, MIN_CONNECTION_PACKETS, Opening, Pace, Said, Side};
use super::facts::{FlowCounts, PairFacts};
use super::schedule::Step;
use super::segment::Segment;
use super::sizes::{heavy_tailed_wait, mostly_small};
use acsm_filters::rng::Random;

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

    /// Whether a side's packets are in the trace.
    pub const fn sees(self, side: Side) -> bool {
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

const MAX_CONNECTIONS: u64 = 8;
const FIRST_CLIENT_PORT: u16 = 32_768;
const CLIENT_PORTS: u16 = 28_000;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A conversation under way.
#[derive(Debug, Clone)]
pub struct Conversation {
    plan: Plan,
    rtt_nanos: u64,
    ecn: bool,
    connection: Connection,
    connections_left: u64,
    /// The client's and the server's.
    ports: [u16; 2],
    pairs: [PairFacts; 2],
    tuple_seen: [bool; 2],
    five_tuples: u64,
}

impl Conversation {
    /// A conversation whose first packet to be seen is due.
    pub fn new(mut plan: Plan) -> Self {
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
            ports: [client_port, server_port],
            pairs: [PairFacts::default(); 2],
            tuple_seen: [false; 2],
            five_tuples: 0,
        };
        while !conversation.plan.kind.sees(conversation.connection.side()) {
            conversation.connection.say(&mut conversation.plan.random);
            conversation.connection.advance(&mut conversation.plan.random);
        }
        conversation
    }

    /// The packet that is due at `now`, and when the next one is.
    pub fn step(&mut self, now: u64) -> Step {
        let said = self.connection.say(&mut self.plan.random);
        self.note(&said);
        let segment = self.segment(&said);
        self.plan.packets = self.plan.packets.saturating_sub(1);
        let mut next = now;
        while self.plan.packets > 0 {
            next += self.advance(next);
            if self.plan.kind.sees(self.connection.side()) {
                return Step { segment, next_nanos: Some(next) };
            }
            self.connection.say(&mut self.plan.random);
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

    fn note(&mut self, said: &Said) {
        let side = said.side as usize;
        self.pairs[side].add(said.flags);
        self.five_tuples += u64::from(!self.tuple_seen[side]);
        self.tuple_seen[side] = true;
    }

    fn segment(&self, said: &Said) -> Segment {
        let addresses = [self.plan.client, self.plan.server];
        let (mine, theirs) = (said.side as usize, said.side.other() as usize);
        Segment {
            src: addresses[mine],
            dst: addresses[theirs],
            src_port: self.ports[mine],
            dst_port: self.ports[theirs],
            seq: said.seq,
            ack: said.ack,
            flags: said.flags,
            payload_bytes: said.payload_bytes,
        }
    }

    /// Goes on to the next packet; returns how much later it is.
    fn advance(&mut self, now: u64) -> u64 {
        let natural = if self.connection.is_over() {
            self.reopen();
            SECOND + self.plan.random.below(2 * SECOND)
        } else {
            let pace = self.connection.advance(&mut self.plan.random);
            self.delay(pace)
        };
        // What is left to say has to fit into what is left of the time.
        let left = self.plan.end_nanos.saturating_sub(now) / (self.plan.packets + 1);
        natural.min(left).max(MICROSECOND)
    }

    /// A further connection: from another port, or once more from the same after its close.
    fn reopen(&mut self) {
        let may_reuse = self.connection.frees_ports() && !self.plan.well_behaved;
        if !(may_reuse && self.plan.random.chance(0.25)) {
            let next = (self.ports[0] - FIRST_CLIENT_PORT + 1) % CLIENT_PORTS;
            self.ports[0] = FIRST_CLIENT_PORT + next;
            self.tuple_seen = [false; 2];
        }
        self.connections_left = self.connections_left.saturating_sub(1);
        self.connection = open(&mut self.plan, self.connections_left, self.ecn, false);
    }

    fn delay(&mut self, pace: Pace) -> u64 {
        let random = &mut self.plan.random;
        let half_rtt = (self.rtt_nanos as f64 * (0.35 + 0.3 * random.unit())) as u64;
        match pace {
            Pace::Following => 5 * MICROSECOND + random.below(100 * MICROSECOND),
            Pace::Answering => half_rtt,
            Pace::Thinking(Side::Client) => half_rtt + think(random, 400 * MILLISECOND),
            Pace::Thinking(Side::Server) => half_rtt + think(random, 10 * MILLISECOND),
            Pace::Idling => 5 * SECOND + random.below(15 * SECOND),
            Pace::ResendingSyn => SECOND,
            Pace::Resending => 200 * MILLISECOND + self.rtt_nanos,
        }
    }
}

/// How many connections come after the first; each keeps room for a close and some data.
fn further_connections(plan: &mut Plan) -> u64 {
    let mut further = 0;
    while plan.kind.can_grow()
        && further + 1 < MAX_CONNECTIONS
        && plan.packets >= 2 * MIN_CONNECTION_PACKETS * (further + 2)
        && plan.random.chance(0.3)
    {
        further += 1;
    }
    further
}

/// Begins a connection with its share of the packets; `further` come after it.
fn open(plan: &mut Plan, further: u64, ecn: bool, is_first: bool) -> Connection {
    let kept_back = 2 * MIN_CONNECTION_PACKETS * further;
    let spare = plan.packets.saturating_sub(kept_back + MIN_CONNECTION_PACKETS);
    let opening = Opening {
        // Only the first can have been open before.
        kind: match plan.kind {
            Kind::MidStream if !is_first => Kind::Whole,
            kind => kind,
        },
        packets: match further {
            0 => plan.packets,
            _ => MIN_CONNECTION_PACKETS + plan.random.below(spare),
        },
        well_behaved: plan.well_behaved,
        ecn,
        is_last: further == 0,
    };
    Connection::new(opening, &mut plan.random)
}

/// How long someone thinks: never so long that a flow seems idle.
fn think(random: &mut Random, mean_nanos: u64) -> u64 {
    heavy_tailed_wait(random, mean_nanos).min(20 * SECOND)
}
