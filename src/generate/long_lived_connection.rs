//! A connection as long as the trace: it opens at the beginning, exchanges a request and a response
//! every few seconds, and closes at the end.

use std::net::IpAddr;

use super::counts::{FlowCounts, PairFlags};
use super::segment::{Segment, Step};
use crate::flow::TcpFlags;
use crate::time::NANOS_PER_SEC;
use acsm_filters::rng::Random;

/// From one exchange to the next, in a trace of at least 100 seconds; else a twentieth of it.
const INTERVAL_NANOS: u64 = 5 * NANOS_PER_SEC;
/// Connections open in the first 10 seconds and close in the last 10, in a trace of at least 500 seconds;
/// else in the first and the last fiftieth of it.
const EDGE_NANOS: u64 = 10 * NANOS_PER_SEC;
const RTT_NANOS: u64 = 20_000_000;
/// An exchange is late by up to this part of the interval.
const JITTER_SHARE: f64 = 0.3;

const FIRST_CLIENT_PORT: u16 = 32_768;
const CLIENT_PORTS: u64 = 28_000;
const SERVER_PORT: u16 = 443;
const REQUEST_BYTES: u16 = 100;
const RESPONSE_BYTES: u16 = 400;

/// SYN, SYN+ACK, ACK; FIN, FIN, ACK.
const HANDSHAKE_PACKETS: u64 = 3;
const CLOSING_PACKETS: u64 = 3;

/// When connections talk and close, in nanoseconds since their opening, the same for all.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// All open within this time.
    edge_nanos: u64,
    life_nanos: u64,
    interval_nanos: u64,
    rtt_nanos: u64,
    exchanges: u64,
}

impl Timing {
    /// For a trace of this duration.
    pub fn new(duration_nanos: u64) -> Self {
        let edge_nanos = EDGE_NANOS.min(duration_nanos / 50);
        let life_nanos = duration_nanos - edge_nanos;
        let interval_nanos = INTERVAL_NANOS.min(duration_nanos / 20);
        let rtt_nanos = RTT_NANOS.min(edge_nanos / 8);
        let exchanges = (life_nanos - 4 * rtt_nanos) / interval_nanos.max(1);
        Timing { edge_nanos, life_nanos, interval_nanos, rtt_nanos, exchanges }
    }

    /// How many packets a connection has.
    pub fn packets(&self) -> u64 {
        HANDSHAKE_PACKETS + 2 * self.exchanges + CLOSING_PACKETS
    }

    /// When a connection opens, for a number in [0, 1).
    pub fn opening_nanos(&self, slot: f64) -> u64 {
        (slot * self.edge_nanos as f64) as u64
    }
}

/// The parameters of a long-lived connection.
#[derive(Debug, Clone)]
pub struct LongLivedPlan {
    /// The host that opens it.
    pub client: IpAddr,
    /// The host that accepts it; of the same address family.
    pub server: IpAddr,
    /// When it talks.
    pub timing: Timing,
    /// When it opens, in nanoseconds since the start.
    pub opening_nanos: u64,
    /// Its random numbers.
    pub random: Random,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// An active long-lived connection.
#[derive(Debug, Clone)]
pub struct LongLivedConnection {
    timing: Timing,
    /// Of the client and of the server, as the other arrays.
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    next_seq: [u32; 2],
    opening_nanos: u64,
    sent: u64,
    random: Random,
    pairs: [PairFlags; 2],
}

impl LongLivedConnection {
    /// A connection whose first packet is due.
    pub fn new(plan: LongLivedPlan) -> Self {
        let LongLivedPlan { client, server, timing, opening_nanos, mut random } = plan;
        LongLivedConnection {
            timing,
            addresses: [client, server],
            ports: [FIRST_CLIENT_PORT + random.below(CLIENT_PORTS) as u16, SERVER_PORT],
            next_seq: [random.next_u64() as u32, random.next_u64() as u32],
            opening_nanos,
            sent: 0,
            random,
            pairs: [PairFlags::default(); 2],
        }
    }

    /// The packet that is due at `now`, and when the next one is.
    pub fn step(&mut self, now: u64) -> Step {
        let (mine, flags, payload_bytes) = self.packet(self.sent);
        let theirs = 1 - mine;
        let segment = Segment {
            src: self.addresses[mine],
            dst: self.addresses[theirs],
            src_port: self.ports[mine],
            dst_port: self.ports[theirs],
            seq: self.next_seq[mine],
            ack: if flags.has(TcpFlags::ACK) { self.next_seq[theirs] } else { 0 },
            flags,
            payload_bytes,
            bad_checksum: false,
        };
        let controls = flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0);
        let length = u32::from(payload_bytes) + controls.count_ones();
        self.next_seq[mine] = self.next_seq[mine].wrapping_add(length);
        self.pairs[mine].add(flags);
        self.sent += 1;
        let is_over = self.sent == self.timing.packets();
        Step { segment, next_nanos: (!is_over).then(|| self.due_nanos(now)) }
    }

    /// Sender, flags and data of packet number `number`.
    fn packet(&self, number: u64) -> (usize, TcpFlags, u16) {
        let fin_ack = TcpFlags::FIN.with(TcpFlags::ACK);
        let data = TcpFlags::PSH.with(TcpFlags::ACK);
        let to_end = self.timing.packets() - number;
        match (number, to_end) {
            (0, _) => (CLIENT, TcpFlags::SYN, 0),
            (1, _) => (SERVER, TcpFlags::SYN.with(TcpFlags::ACK), 0),
            (2, _) | (_, 1) => (CLIENT, TcpFlags::ACK, 0),
            (_, 3) => (CLIENT, fin_ack, 0),
            (_, 2) => (SERVER, fin_ack, 0),
            _ if self.is_request(number) => (CLIENT, data, REQUEST_BYTES),
            _ => (SERVER, data, RESPONSE_BYTES),
        }
    }

    fn is_request(&self, number: u64) -> bool {
        number.wrapping_sub(HANDSHAKE_PACKETS).is_multiple_of(2)
    }

    /// When the next packet is due, after the last one at `now`.
    fn due_nanos(&mut self, now: u64) -> u64 {
        let Timing { life_nanos, interval_nanos, rtt_nanos, exchanges, .. } = self.timing;
        let (talk, close) = (HANDSHAKE_PACKETS, HANDSHAKE_PACKETS + 2 * exchanges);
        let due = if self.sent == close {
            self.opening_nanos + life_nanos - rtt_nanos
        } else if (talk..close).contains(&self.sent) && self.is_request(self.sent) {
            let exchange = (self.sent - talk) / 2;
            let jitter = JITTER_SHARE * self.random.unit() * interval_nanos as f64;
            self.opening_nanos + 2 * rtt_nanos + exchange * interval_nanos + jitter as u64
        } else {
            now + rtt_nanos / 2
        };
        due.max(now)
    }

    /// The counts of its flows so far.
    pub fn counts(&self) -> FlowCounts {
        let seen = self.pairs.iter().filter(|pair| pair.is_seen()).count();
        let mut counts = FlowCounts { five_tuples: seen as u64, ..FlowCounts::default() };
        self.pairs.iter().for_each(|pair| counts.add_pair(*pair));
        counts
    }
}
