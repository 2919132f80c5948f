//! Runs as a dashboard would see them.

use std::net::IpAddr;

use acsm::capture::live::InterfaceCounts;
use acsm::live::{
    Counts, DropCounts, History, IncidentsView, LookupCounts, OverloadView, Sample, SeenAlert,
    StoreView, TalkerView, View,
};
use acsm::report::replay::{CurrentError, OverloadReport};
use acsm_filters::Backend;
use serde_json::{Value, json};

fn map(value: Value) -> Counts {
    let counts = value.as_object().unwrap();
    counts.iter().map(|(name, count)| (name, count.as_u64().unwrap())).collect()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A run that has just begun on an idle link.
pub fn silent() -> View {
    View {
        time: "2026-11-16T09:15:02.000000000Z".to_owned(),
        uptime_seconds: 1.0,
        packets: 0,
        tcp_packets: 0,
        bytes: 0,
        skipped: Counts::default(),
        interfaces: vec![interface("eth0")],
        drops: DropCounts::default(),
        lookups: LookupCounts::default(),
        entered: map(json!({ "syn_sent": 0, "syn_answered": 0, "crossed": 0, "open": 0,
                             "one_way": 0, "closing": 0, "closed": 0, "reset": 0 })),
        alerts: Counts::default(),
        rules: vec![],
        only_counted: Counts::default(),
        left_out: Counts::default(),
        incidents: IncidentsView::default(),
        store: StoreView {
            backend: Backend::Fcf,
            bits: 24_000_000,
            fill_ratio: 0.0,
            live_flows: 0,
            live_estimated: false,
            flows: 1_000_000,
            predicted_error: 0.0.into(),
            inserted: 0,
            deleted: 0,
            evicted: 0,
            full: 0,
            refused: 0,
        },
        pending: None,
        error: CurrentError { measured: None },
        overload: OverloadView {
            totals: OverloadReport { entered: 0, over: 0, seconds: 0 },
            since: None,
        },
        one_way: false,
        no_session_muted: true,
        batch_seconds: [0.0, 0.0],
        batches: 0,
        batches_total_seconds: 0.0,
        top_sources: vec![],
        top_destinations: vec![],
        latest_alerts: vec![],
    }
}

pub fn interface(name: &str) -> InterfaceCounts {
    InterfaceCounts {
        interface: name.to_owned(),
        packets: 0,
        bytes: 0,
        kernel_drops: 0,
        interface_drops: 0,
        is_open: true,
        losses_of_link: 0,
    }
}

/// Three minutes of a run on a busy link, second by second.
pub fn busy() -> (View, History) {
    let mut history = History::default();
    let mut before = busy_at(0);
    for second in 1..=180 {
        let view = busy_at(second);
        history.add(Sample::between(&before, &view));
        before = view;
    }
    (View { latest_alerts: alerts(), ..before }, history)
}

/// Rates rise and fall once per minute; drops begin in the last seconds.
fn busy_at(second: u64) -> View {
    let swing = (0..second).map(|second| 2 + second % 60 / 6).sum::<u64>();
    let packets = 1_200 * swing;
    View {
        uptime_seconds: second as f64,
        packets,
        tcp_packets: packets * 97 / 100,
        bytes: packets * 640,
        interfaces: vec![interface("eth0"), interface("eth1")],
        drops: DropCounts { kernel: second.saturating_sub(178) * 200, interface: 0 },
        lookups: LookupCounts { known: packets, absent: packets / 9, dont_know: packets / 5000 },
        entered: map(json!({ "syn_sent": 40 * swing, "syn_answered": 36 * swing, "crossed": 0,
                             "open": 35 * swing, "one_way": second, "closing": 30 * swing,
                             "closed": 28 * swing, "reset": 5 * swing })),
        alerts: map(json!({ "port_scan": second / 18, "syn_flood": second / 18,
                            "tcp_syn_fin": second / 18, "data_before_established": second / 18 })),
        store: StoreView {
            backend: Backend::Kbf,
            bits: 96_000_000,
            fill_ratio: 0.452,
            live_flows: 41_234,
            live_estimated: true,
            flows: 100_000,
            predicted_error: 0.0012.into(),
            inserted: 40 * swing,
            deleted: 28 * swing,
            ..silent().store
        },
        no_session_muted: true,
        top_sources: talkers([
            "10.0.0.7",
            "2001:db8:85a3:1234:5678:8a2e:370:7334",
            "192.168.100.101",
        ]),
        top_destinations: talkers(["192.168.7.80", "fe80::1", "10.0.0.7"]),
        ..silent()
    }
}

/// Ten of them: the three that are given, and neighbours.
fn talkers(first: [&str; 3]) -> Vec<TalkerView> {
    let neighbours = (1..=7).map(|host| IpAddr::from([172, 16, 0, host]));
    let addresses = first.into_iter().map(ip).chain(neighbours);
    let view = |(rank, address): (usize, IpAddr)| {
        let packets = 4_500_000 >> (2 * rank);
        // The second sends the largest packets.
        let bytes = packets * if rank == 1 { 12_000 } else { 640 };
        TalkerView { address, packets, bytes, at_most_over: 17 }
    };
    addresses.enumerate().map(view).collect()
}

/// Forty, of four kinds.
fn alerts() -> Vec<SeenAlert> {
    let kinds = [
        ("port_scan", "many ports of one host tried", 2, Some(31), "10.99.0.1", "10.99.0.2"),
        (
            "syn_flood",
            "many half-open connections to one host",
            1,
            Some(12_345),
            "172.16.0.3",
            "192.168.7.80",
        ),
        ("tcp_syn_fin", "SYN and FIN in one packet", 2, None, "192.168.100.101", "192.168.200.201"),
        (
            "data_before_established",
            "data before the handshake was complete",
            3,
            None,
            "2001:db8:85a3:1234:5678:8a2e:370:7334",
            "fe80::1",
        ),
    ];
    let alert = |number: u64| {
        let (rule, message, severity, count, src, dst) = kinds[number as usize % kinds.len()];
        SeenAlert {
            number,
            time: format!("2026-11-16T09:1{}:{:02}.123456789Z", 2 + number / 15, 4 * number % 60),
            rule: rule.to_owned(),
            message: message.to_owned(),
            severity,
            src_ip: ip(src),
            src_port: 40_000 + number as u16,
            dest_ip: ip(dst),
            dest_port: 443,
            tcp_flags: "S".to_owned(),
            count,
        }
    };
    (1..=40).map(alert).collect()
}
