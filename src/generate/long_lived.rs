//! The long-lived connections of a trace: those that a store must not lose.
//!
//! They are added to the ordinary traffic, each between a client of its own and a server that it shares
//! with others.

use super::address_plan::{LONG_LIVED_CLIENTS, LONG_LIVED_SERVERS};
use super::distributions::RandomStream;
use super::long_lived_connection::{LongLivedConnection, LongLivedPlan, Timing};
use super::schedule::{Start, Talker};

/// The parameters of all long-lived connections.
#[derive(Debug, Clone, Copy)]
pub struct LongLivedSpec {
    /// How many.
    pub connections: u64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// How long the trace is.
    pub duration_nanos: u64,
    /// The share of connections in IPv6.
    pub ipv6_share: f64,
}

const CLIENTS_PER_SERVER: u64 = 50;

/// The long-lived connections of a trace, in the order of their starts.
#[derive(Debug)]
pub struct LongLived {
    spec: LongLivedSpec,
    timing: Timing,
    next: u64,
}

impl LongLived {
    /// Plans the connections.
    pub fn new(spec: LongLivedSpec) -> Self {
        LongLived { spec, timing: Timing::new(spec.duration_nanos), next: 0 }
    }

    /// How many packets they have in all.
    pub fn total_packets(&self) -> u64 {
        self.timing.packets().saturating_mul(self.spec.connections)
    }
}

impl Iterator for LongLived {
    type Item = Start;

    fn next(&mut self) -> Option<Start> {
        let LongLivedSpec { connections, seed, ipv6_share, .. } = self.spec;
        let index = self.next;
        if index >= connections {
            return None;
        }
        self.next += 1;
        let mut random = RandomStream::LongLived.random(seed, index);
        let (clients, servers) = match random.chance(ipv6_share) {
            true => (LONG_LIVED_CLIENTS.v6, LONG_LIVED_SERVERS.v6),
            false => (LONG_LIVED_CLIENTS.v4, LONG_LIVED_SERVERS.v4),
        };
        let slot = (index as f64 + random.unit()) / connections as f64;
        let opening_nanos = self.timing.opening_nanos(slot);
        let connection = LongLivedConnection::new(LongLivedPlan {
            client: clients.scattered_host(index, seed),
            server: servers.scattered_host(index / CLIENTS_PER_SERVER, seed),
            timing: self.timing,
            opening_nanos,
            random,
        });
        Some(Start { at_nanos: opening_nanos, talker: Talker::LongLived(connection) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Schedule;
    use super::*;
    use crate::time::NANOS_PER_SEC;
    use std::collections::HashMap;

    /// From traces of nanoseconds to a day.
    const DURATIONS: [u64; 6] =
        [1, 1_000, 1_000_000, 20 * NANOS_PER_SEC, 300 * NANOS_PER_SEC, 86_400 * NANOS_PER_SEC];

    #[test]
    fn every_connection_has_its_packets_within_the_trace_and_in_order() {
        for duration_nanos in DURATIONS {
            let spec = LongLivedSpec { connections: 20, seed: 3, duration_nanos, ipv6_share: 0.3 };
            let long_lived = LongLived::new(spec);
            let total = long_lived.total_packets();
            let mut packets_of = HashMap::new();
            let (mut packets, mut last_nanos) = (0, 0);
            let mut schedule = Schedule::new(long_lived);
            while let Some((nanos, segment, _)) = schedule.next_packet() {
                assert!(nanos >= last_nanos && nanos <= duration_nanos);
                (last_nanos, packets) = (nanos, packets + 1);
                let client = if segment.dst_port == 443 { segment.src } else { segment.dst };
                *packets_of.entry(client).or_insert(0) += 1;
            }
            assert_eq!(packets, total, "{duration_nanos} ns");
            assert_eq!(packets_of.len(), 20);
            assert!(packets_of.values().all(|packets| packets * 20 == total));
        }
    }

    #[test]
    fn starts_are_in_time_order() {
        let duration_nanos = 300 * NANOS_PER_SEC;
        let spec = LongLivedSpec { connections: 1000, seed: 1, duration_nanos, ipv6_share: 0.1 };
        let starts: Vec<u64> = LongLived::new(spec).map(|start| start.at_nanos).collect();
        assert!(starts.is_sorted() && starts.len() == 1000);
        assert!(starts[999] > 5 * NANOS_PER_SEC && starts[999] < 6 * NANOS_PER_SEC);
    }
}
