//! Floods as incidents: whom they are about, how large they are, and whom they do not blame.

use std::net::Ipv4Addr;

use serde_json::Value;

use super::wire::{ACK, FIN, RST, SYN, Wire};
use crate::runner::{Folder, Run, count, replay_with_alerts};

const PSH: u8 = 0x08;

/// A packet: milliseconds, ends, ports, flags.
type Sent = (u64, (Ipv4Addr, Ipv4Addr), (u16, u16), u8);

fn replayed(mut packets: Vec<Sent>) -> Run {
    packets.sort_by_key(|(millis, ..)| *millis);
    let wire = packets.iter().fold(Wire::new(), |wire, &(millis, ends, ports, flags)| {
        // Only segments with PSH have data.
        wire.segment(millis, ends, ports, (flags, if flags & PSH > 0 { 100 } else { 0 }))
    });
    let folder = Folder::new();
    let path = folder.write("x.pcap", wire.bytes());
    replay_with_alerts("", &[&path])
}

fn victim(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, last)
}

/// An address that looks drawn at random.
fn forged(n: u64) -> Ipv4Addr {
    let bits = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 35;
    Ipv4Addr::from(0x2000_0000 | bits as u32)
}

fn incidents(run: &Run) -> &[Value] {
    run.summary["incidents"].as_array().unwrap()
}

/// No line about this rule names a source.
fn assert_names_nobody(run: &Run, rule: &str) {
    let alerts: Vec<&Value> = run.alerts.iter().filter(|a| a["acsm"]["rule"] == rule).collect();
    assert!(!alerts.is_empty(), "no alert of {rule}");
    for line in run.incidents.iter().chain(alerts) {
        for key in ["src_ip", "src_port", "flow_id", "community_id"] {
            assert!(line.get(key).is_none(), "{key}: {line}");
        }
        assert!(line["alert"].get("source").is_none(), "{line}");
    }
}

/// Eight hosts of a /24, one after the other, twenty seconds apart.
#[test]
fn neighbours_that_are_flooded_one_after_the_other_are_incidents_of_their_own() {
    let syn = |n: u64, host: u64| {
        let ends = (forged(host * 1000 + n), victim(10 + host as u8));
        (host * 20_000 + n * 4, ends, (4000, 80), SYN)
    };
    let run = replayed((0..8).flat_map(|host| (0..400).map(move |n| syn(n, host))).collect());
    let found = incidents(&run);
    assert_eq!(found.len(), 8, "{found:#?}");
    for (incident, host) in found.iter().zip(10..) {
        assert_eq!(incident["kind"], "syn_flood");
        assert_eq!(incident["victims"], serde_json::json!([victim(host).to_string()]));
        assert!(count(incident, "/count").abs_diff(400) < 40, "{incident:#}");
    }
    assert_names_nobody(&run, "syn_flood");
}

/// All at once: an attack on their prefix.
#[test]
fn neighbours_that_are_flooded_at_once_are_one_incident() {
    let syn = |n: u64| {
        let ends = (forged(n), victim(10 + (n % 8) as u8));
        (n * 2, ends, (4000, 80), SYN)
    };
    let run = replayed((0..4000).map(syn).collect());
    let [flood] = incidents(&run) else { panic!("{:#?}", incidents(&run)) };
    assert_eq!(flood["victims"], serde_json::json!(["192.0.2.0/24"]));
    assert!(count(flood, "/count").abs_diff(4000) < 800, "{flood:#}");
}

#[test]
fn a_storm_of_forged_resets_has_its_sources_and_names_nobody() {
    for (flags, rule) in [(RST, "rst_storm"), (FIN | ACK, "fin_storm")] {
        let packet = |n: u64| (n * 2, (forged(n), victim(9)), (4000, 80), flags);
        let run = replayed((0..1500).map(packet).collect());
        let [storm] = incidents(&run) else { panic!("{:#?}", incidents(&run)) };
        assert_eq!((&storm["kind"], &storm["spoofed"]), (&rule.into(), &true.into()));
        assert!(count(storm, "/sources_estimated").abs_diff(1500) < 300, "{storm:#}");
        assert_names_nobody(&run, rule);
    }
}

#[test]
fn a_storm_of_one_host_names_it() {
    let attacker = Ipv4Addr::new(203, 0, 113, 7);
    let reset = |n: u64| (n * 2, (attacker, victim(9)), (4000, n as u16), RST);
    let run = replayed((1..1500).map(reset).collect());
    let [storm] = incidents(&run) else { panic!("{:#?}", incidents(&run)) };
    assert_eq!(storm["top_sources"], serde_json::json!([attacker.to_string()]));
    assert_eq!((count(storm, "/sources_estimated"), &storm["spoofed"]), (1, &false.into()));
    for line in &run.incidents {
        assert_eq!(line["src_ip"], attacker.to_string(), "{line}");
    }
    let alert = run.alerts.iter().find(|alert| alert["acsm"]["rule"] == "rst_storm").unwrap();
    assert_eq!(alert["src_ip"], attacker.to_string());
}

/// Twenty connections per second, from a minute before a flood until three minutes after it.
#[test]
fn a_flood_of_a_busy_service_has_its_own_size_and_ends() {
    let client = |n: u64| Ipv4Addr::from(0x0a00_0000 + (n % 500) as u32);
    let service = victim(9);
    let connection = |n: u64| {
        let (at, port) = (n * 50, 20_000 + (n / 500) as u16);
        let (there, back) = ((client(n), service), (service, client(n)));
        [
            (at, there, (port, 443), SYN),
            (at + 1, back, (443, port), SYN | ACK),
            (at + 2, there, (port, 443), ACK),
            (at + 3, there, (port, 443), PSH | ACK),
            (at + 4, there, (port, 443), FIN | ACK),
            (at + 5, back, (443, port), FIN | ACK),
        ]
    };
    let flood = |n: u64| (60_000 + n * 2, (forged(n), service), (4000, 443), SYN);
    let packets = (0..4_800).flat_map(connection).chain((0..10_000).map(flood)).collect();
    let run = replayed(packets);
    let [found] = incidents(&run) else { panic!("{:#?}", incidents(&run)) };
    assert_eq!(found["kind"], "syn_flood");
    assert!(count(found, "/count").abs_diff(10_000) <= 2_000, "{found:#}");
    assert!(count(found, "/sources_estimated").abs_diff(10_000) <= 3_000, "{found:#}");
    let last = found["last_seen"].as_str().unwrap();
    assert!(last < "2023-11-15T00:01:40", "the flood ends after 80 seconds: {last}");
}

/// Clients are accepted, then refused for a while although they ask again and again.
#[test]
fn a_restart_soon_after_the_beginning_is_a_service_that_is_down() {
    let client = |n: u64| Ipv4Addr::new(10, 3, 0, (n % 16) as u8);
    let service = victim(9);
    let attempt = |n: u64| -> Vec<Sent> {
        let (at, port) = (n * 20, 20_000 + n as u16);
        let (there, back) = ((client(n), service), (service, client(n)));
        let asks = (at, there, (port, 5432), SYN);
        if (150..500).contains(&n) {
            return vec![asks, (at + 1, back, (5432, port), RST | ACK)];
        }
        vec![
            asks,
            (at + 1, back, (5432, port), SYN | ACK),
            (at + 2, there, (port, 5432), ACK),
            (at + 3, there, (port, 5432), PSH | ACK),
            (at + 4, there, (port, 5432), FIN | ACK),
            (at + 5, back, (5432, port), FIN | ACK),
        ]
    };
    let run = replayed((0..700).flat_map(attempt).collect());
    let kinds: Vec<&Value> = incidents(&run).iter().map(|incident| &incident["kind"]).collect();
    assert_eq!(kinds, ["service_down"], "{:#?}", incidents(&run));
}
