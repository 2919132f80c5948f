//! Connections of ordinary traffic: their numbers, how they end, and those that live as long as the trace.

use std::collections::HashMap;

use acsm::generate::TraceSpec;
use acsm::machine::Network;
use serde_json::Value;

use super::recount::Record;
use super::{confirm, connections, every_attack, realistic};

/// The connections that were opened and of which both directions are in the trace, in order of packets.
/// A SYN after the end of a connection on the same ports opens another one.
fn opened(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut all: Vec<Vec<&Record>> = Vec::new();
    for packets in connections(records).into_values() {
        let mut ended = true;
        let mut own: Vec<Vec<&Record>> = Vec::new();
        for packet in packets {
            if ended && packet.flags & 0x12 == 0x02 {
                own.push(Vec::new());
            }
            ended = packet.flags & 0x05 != 0 || (ended && packet.flags & 0x02 == 0);
            if let Some(connection) = own.last_mut() {
                connection.push(packet);
            }
        }
        all.extend(own);
    }
    all.retain(|packets| packets.iter().any(|packet| packet.flags & 0x16 == 0x12));
    all.retain(|packets| packets.iter().any(|packet| packet.flags & 0x16 == 0x10));
    all
}

fn only(records: Vec<Record>, part: &Value) -> Vec<Record> {
    let networks = part["networks"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let networks: Vec<Network> = networks.map(|name| name.parse().unwrap()).collect();
    records.into_iter().filter(|r| networks.iter().any(|net| net.contains(r.src))).collect()
}

/// The sum rule: (seq + ack) >> 20 is the same in both directions, but for data in flight.
#[test]
fn sums_of_sequence_and_acknowledgement_numbers_agree_in_every_connection() {
    let spec = TraceSpec {
        attacks: every_attack(),
        long_lived: 100,
        silent_share: Some(0.1),
        seed: 6,
        ..realistic(300_000, 10_000)
    };
    let (records, truth) = confirm(spec);
    for (part, least) in [("clean", 3_000), ("partly_seen", 50), ("long_lived", 100)] {
        let own = only(records.clone(), &truth[part]);
        let mut compared = 0;
        for packets in connections(&own).values() {
            // The last plain segment of each end since the last SYN.
            let mut sums: HashMap<bool, u32> = HashMap::new();
            let mut both = false;
            for packet in packets {
                if packet.flags & 0x02 != 0 {
                    sums.clear();
                }
                if packet.flags & 0x16 != 0x10 {
                    continue;
                }
                let side = packet.src == packets[0].src;
                let sum = packet.seq.wrapping_add(packet.ack) >> 20;
                if let Some(other) = sums.get(&!side) {
                    let apart = sum.wrapping_sub(*other).wrapping_add(2) & 0xfff;
                    assert!(apart <= 4, "{part}: {sum:x} and {other:x} of {packet:?}");
                    both = true;
                }
                sums.insert(side, sum);
            }
            compared += usize::from(both);
        }
        assert!(compared >= least, "{part}: {compared} connections compared");
    }
    assert!(records.iter().any(|record| record.checksum_is_right == Some(false)));
    for part in ["clean", "partly_seen", "long_lived"] {
        let mut own = only(records.clone(), &truth[part]).into_iter();
        assert!(own.all(|record| record.checksum_is_right != Some(false)), "{part}");
    }
}

#[test]
fn the_share_of_silent_ends_is_the_one_that_was_asked_for() {
    for (share, seed) in [(0.0, 1), (0.03, 2), (0.25, 3), (0.9, 4), (1.0, 5)] {
        let spec = TraceSpec { silent_share: Some(share), seed, ..realistic(120_000, 10_000) };
        let (records, truth) = confirm(spec);
        let own = only(records, &truth["clean"]);
        let opened = opened(&own);
        let is_silent = |packets: &&Vec<&Record>| packets.iter().all(|p| p.flags & 0x05 == 0);
        let (connections, silent) = (opened.len(), opened.iter().filter(is_silent).count());
        assert!(connections > 4_000);
        let counted = ["connections", "silent"].map(|key| truth["silent_ends"][key].as_u64());
        assert_eq!(counted, [Some(connections as u64), Some(silent as u64)], "{share}");
        assert_eq!(truth["silent_ends"]["share"], share);
        // Binomial: five standard deviations.
        let (n, mean) = (connections as f64, connections as f64 * share);
        let deviation = (n * share * (1.0 - share)).sqrt();
        assert!((silent as f64 - mean).abs() <= 5.0 * deviation, "{share}: {silent} of {n}");
    }
    let (_, truth) = confirm(realistic(5_000, 400));
    assert!(truth.get("silent_ends").is_none() && truth.get("long_lived").is_none());
}

#[test]
fn long_lived_connections_span_the_trace_and_talk_regularly() {
    for (seconds, most_silent_seconds) in [(300u64, 10.0), (1_200, 10.0), (20, 2.0)] {
        let spec = TraceSpec {
            long_lived: 80,
            duration_nanos: seconds * 1_000_000_000,
            ipv6_share: 0.3,
            ..realistic(90_000, 1_000)
        };
        let (records, truth) = confirm(spec);
        assert_eq!(truth["long_lived"]["flows"], 160);
        let own = only(records, &truth["long_lived"]);
        let start = TraceSpec::START.as_nanos();
        let at = |packet: &Record| (packet.time.as_nanos() - start) as f64 / 1e9;
        let by_ends = connections(&own);
        assert_eq!(by_ends.len(), 80);
        let ipv6 = by_ends.values().filter(|packets| packets[0].src.is_ipv6()).count();
        assert!((5..60).contains(&ipv6), "{ipv6} of 80 in IPv6");
        for packets in by_ends.values() {
            let (first, last) = (packets[0], packets[packets.len() - 1]);
            let flags: Vec<u8> = packets.iter().map(|packet| packet.flags).collect();
            assert_eq!(flags[..3], [0x02, 0x12, 0x10]);
            assert_eq!(flags[flags.len() - 3..], [0x11, 0x11, 0x10]);
            assert!(at(first) <= 0.02 * seconds as f64, "{first:?}");
            assert!(at(last) >= 0.979 * seconds as f64, "{last:?}");
            assert!(at(last) <= seconds as f64, "{last:?}");
            let gaps = packets.windows(2).map(|two| at(two[1]) - at(two[0]));
            let longest = gaps.fold(0.0, f64::max);
            assert!(longest <= most_silent_seconds, "silent for {longest} of {seconds} s");
            let requests = packets.iter().filter(|packet| packet.payload_bytes == 100);
            let requests: Vec<f64> = requests.map(|packet| at(packet)).collect();
            let interval =
                (requests[requests.len() - 1] - requests[0]) / (requests.len() - 1) as f64;
            assert!((interval / (most_silent_seconds / 2.0) - 1.0).abs() < 0.03, "{interval} s");
            super::in_sequence(packets);
        }
    }
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let refusal = |spec: TraceSpec| acsm::generate::Trace::new(spec).unwrap_err().to_string();
    let silent = |spec| TraceSpec { silent_share: Some(0.5), ..spec };
    let lasting = |spec| TraceSpec { long_lived: 10, ..spec };
    assert!(refusal(silent(super::paper(1_000, 100))).contains("one direction"));
    assert!(refusal(lasting(super::paper(1_000, 100))).contains("one direction"));
    let well_behaved = || TraceSpec { well_behaved: true, ..realistic(5_000, 100) };
    assert!(refusal(silent(well_behaved())).contains("silently"));
    // 122 packets each, in 5 minutes.
    let error = refusal(lasting(realistic(1_500, 100)));
    assert!(error.contains("long-lived"), "{error}");
    assert!(refusal(TraceSpec { long_lived: 5_000_000, ..realistic(10, 1) }).contains("10000001"));
    let (_, truth) = confirm(lasting(well_behaved()));
    assert_eq!(truth["flows"], 120);
}
