//! Artificial views: a small one for exact texts, and the sequence of a busy run.

use acsm::capture::live::InterfaceCounts;
use acsm::live::{
    Counts, DropCounts, IncidentsView, LookupCounts, OverloadView, RuleView, SeenAlert, StoreView,
    TalkerView, View,
};
use acsm::report::replay::{CurrentError, MeasuredReport, OverloadReport, PendingReport};
use acsm_filters::Backend;
use serde_json::{Value, json};

/// A view with something in every part.
pub fn small_view() -> View {
    View {
        time: "2026-11-16T12:00:00.250000000Z".to_owned(),
        uptime_seconds: 61.5,
        packets: 100,
        tcp_packets: 88,
        bytes: 2500,
        skipped: map(json!({"udp": 12})),
        interfaces: vec![InterfaceCounts {
            interface: "eth0".to_owned(),
            packets: 100,
            bytes: 2500,
            kernel_drops: 3,
            interface_drops: 1,
            is_open: true,
            losses_of_link: 2,
        }],
        drops: DropCounts { kernel: 3, interface: 1 },
        lookups: LookupCounts { known: 70, absent: 17, dont_know: 1 },
        entered: map(json!({"syn_sent": 9, "established": 8})),
        rules: vec![
            rule("port_scan", 2, true),
            rule("syn_flood", 1, true),
            rule("flow_fin", 3, false),
        ],
        alerts: map(json!({"syn_flood": 2})),
        only_counted: map(json!({"flow_fin": 5})),
        left_out: map(json!({"muted": 4, "cooled_down": 0})),
        incidents: IncidentsView { open: 1, total: 3, latest: vec![] },
        store: StoreView {
            backend: Backend::Fcf,
            bits: 24_001,
            fill_ratio: 0.25,
            live_flows: 7,
            live_estimated: true,
            flows: 1000,
            predicted_error: 0.00012.into(),
            inserted: 9,
            deleted: 2,
            evicted: 0,
            full: 1,
            refused: 3,
        },
        pending: Some(PendingReport {
            slots: 192,
            bits: 8192,
            used: 5,
            lifetime_seconds: Some(2.5),
            inserted: 30,
            admitted: 9,
            retired: 14,
            lost: 2,
        }),
        error: CurrentError {
            measured: Some(MeasuredReport {
                wrong: 1,
                asked: 80,
                flows: 7,
                low: 0.0003,
                high: 0.07,
                worst: 0.02,
            }),
        },
        overload: OverloadView {
            totals: OverloadReport { entered: 2, over: 1, seconds: 4 },
            since: Some("2026-10-05T10:00:00.000000000Z".to_owned()),
        },
        one_way: false,
        no_session_muted: true,
        batch_seconds: [0.000_012, 0.000_25],
        batches: 40,
        batches_total_seconds: 0.005,
        top_sources: vec![talker("192.0.2.1", 60)],
        top_destinations: vec![talker("2001:db8::1", 60)],
        latest_alerts: vec![alert(2, "syn_flood", 1)],
    }
}

pub fn rule(name: &str, severity: u8, is_shown: bool) -> RuleView {
    RuleView { name: name.to_owned(), severity, is_shown }
}

pub fn talker(address: &str, packets: u64) -> TalkerView {
    let address = address.parse().unwrap();
    TalkerView { address, packets, bytes: packets * 25, at_most_over: 1 }
}

pub fn map(value: Value) -> Counts {
    let counts = value.as_object().unwrap();
    counts.iter().map(|(name, count)| (name, count.as_u64().unwrap())).collect()
}

pub fn alert(number: u64, rule: &str, severity: u8) -> SeenAlert {
    SeenAlert {
        number,
        time: format!("2026-11-16T12:{:02}:{:02}.125000000Z", number / 60 % 60, number % 60),
        rule: rule.to_owned(),
        message: format!("what {rule} <b>is</b> about"),
        severity,
        src_ip: [192, 0, 2, (number % 250) as u8].into(),
        src_port: 40_000 + (number % 1000) as u16,
        dest_ip: [198, 51, 100, 2].into(),
        dest_port: 80,
        tcp_flags: "SYN".to_owned(),
        count: (rule == "syn_flood").then_some(200),
    }
}

/// What the states of a busy run are called.
const STATES: [&str; 11] = [
    "syn_sent",
    "syn_received",
    "established",
    "fin_wait",
    "close_wait",
    "closing",
    "last_ack",
    "time_wait",
    "closed",
    "reset",
    "data_first",
];
const RULES: [(&str, u8); 6] = [
    ("syn_flood", 1),
    ("port_scan", 2),
    ("host_sweep", 2),
    ("tcp_null_scan", 2),
    ("rst_storm", 3),
    ("data_after_reset", 3),
];

/// The view after `second` seconds of a busy run: every figure changes.
pub fn busy_view(second: u64) -> View {
    let t = second as f64;
    // Sums of rates that rise and fall, so that totals only grow.
    let total = |base: f64, period: f64| {
        let swing = (1.0 - (t / period).cos()) * period;
        (base * (t + 0.6 * swing + 0.1 * (t * 1.7).sin())).max(0.0) as u64
    };
    let packets = total(8_000.0, 60.0);
    let alerts = second / 3;
    let live = 42_000.0 + 30_000.0 * (t / 90.0).sin();
    let entered = STATES.iter().enumerate().map(|(at, name)| {
        ((*name).to_owned(), total(900.0 / (at + 1) as f64, 20.0 + 9.0 * at as f64))
    });
    let addresses = |net: u8| {
        (1..=10_u64).map(move |n| talker(&format!("10.{net}.3.{n}"), packets / (2 * n))).collect()
    };
    let small = small_view();
    View {
        uptime_seconds: t,
        packets,
        tcp_packets: packets / 10 * 9,
        bytes: packets * 700,
        drops: DropCounts { kernel: second / 200 * 50, interface: 0 },
        lookups: LookupCounts { known: packets, absent: packets / 9, dont_know: packets / 5000 },
        skipped: map(json!({"udp": packets / 11, "arp": second, "icmp": second * 2})),
        entered: entered.collect(),
        rules: RULES.iter().map(|(name, severity)| rule(name, *severity, true)).collect(),
        alerts: RULES
            .iter()
            .zip([5, 4, 3, 2, 1, 1])
            .map(|((name, _), part)| ((*name).to_owned(), alerts * part / 16))
            .collect(),
        interfaces: vec![
            InterfaceCounts { packets, bytes: packets * 700, ..small.interfaces[0].clone() },
            InterfaceCounts { interface: "eth1".to_owned(), is_open: true, ..Default::default() },
        ],
        store: StoreView {
            bits: 9_000_000,
            flows: 100_000,
            live_flows: live as u64,
            fill_ratio: live / 140_000.0,
            predicted_error: (0.0004 + live / 1e8).into(),
            full: 0,
            ..small.store
        },
        no_session_muted: second < 60,
        top_sources: addresses(1),
        top_destinations: addresses(2),
        latest_alerts: (alerts.saturating_sub(255).max(1)..=alerts)
            .map(|number| {
                let (name, severity) = RULES[(number % 6) as usize];
                alert(number, name, severity)
            })
            .collect(),
        ..small
    }
}
