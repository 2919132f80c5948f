//! The JSON that programs rely on: names, and figures that can be counted by hand.

use std::path::Path;

use acsm_test_support::repository;
use serde_json::Value;

use super::wire::{ACK, FIN, RST, SYN, Wire};
use crate::runner::{Folder, count, json, replay};

/// The names of the contract, then those that we add.
const NAMES: [(&str, &[&str], &[&str]); 12] = [
    (
        "",
        &[
            "trace",
            "store",
            "pending",
            "flows",
            "lookups",
            "alerts",
            "incidents",
            "errors",
            "error",
            "overload",
            "speed",
        ],
        &["seed"],
    ),
    (
        "/pending",
        &["slots", "bits", "used", "lifetime_seconds", "inserted", "admitted", "retired", "lost"],
        &[],
    ),
    (
        "/trace",
        &["packets", "tcp_packets", "skipped", "link_types", "first_time", "last_time", "damaged"],
        &[],
    ),
    (
        "/store",
        &["backend", "cells", "hashes", "bits", "bits_per_flow", "layout", "expire", "workers"],
        &[
            "recycle_at",
            "cell_bits",
            "table_bits",
            "fill_ratio",
            "planned_error",
            "predicted_error",
            "inserts_of_present",
            "writes_to_absent",
            "saturations",
            "evicted",
            "full",
            "refused",
        ],
    ),
    (
        "/flows",
        &["inserted", "deleted", "live", "live_estimated", "cells_aged", "fin", "rst"],
        &["recycles", "moved", "cells_shared", "reset_ignored"],
    ),
    (
        "/incidents/0",
        &[
            "number",
            "id",
            "kind",
            "severity",
            "first_seen",
            "last_seen",
            "count",
            "peak_rate",
            "sources_estimated",
            "top_sources",
            "spoofed",
            "victims",
            "ports",
            "ports_open",
            "hints",
        ],
        &["victims_estimated", "ports_total", "answered", "alerts"],
    ),
    ("/lookups", &["known", "absent", "dont_know"], &[]),
    ("/alerts", &["total", "by_rule"], &["only_counted", "left_out", "thresholds"]),
    (
        "/errors",
        &[
            "lookups_extant",
            "lookups_absent",
            "false_positive",
            "dont_know_absent",
            "false_negative",
            "dont_know",
            "false_return",
            "false_positive_rate",
            "false_negative_rate",
            "dont_know_rate",
            "false_return_rate",
            "total_rate",
            "flows_wrong",
            "flows_total",
            "alerts_missed",
            "alerts_spurious",
        ],
        &["dont_know_absent_rate"],
    ),
    ("/error/measured", &["wrong", "asked", "flows", "low", "high", "worst"], &[]),
    ("/overload", &["entered", "over", "seconds"], &[]),
    ("/speed", &["seconds", "packets_per_second"], &[]),
];

#[test]
fn the_summary_has_the_names_of_the_contract() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 10k --attacks all");
    let summary = replay("--verify", &[&trace]);
    for (pointer, contract, ours) in NAMES {
        let object = summary.pointer(pointer).and_then(Value::as_object).expect(pointer);
        for name in contract {
            assert!(object.contains_key(*name), "{pointer} has no {name}");
        }
        for name in object.keys().map(String::as_str) {
            assert!(contract.contains(&name) || ours.contains(&name), "{pointer}: what is {name}?");
        }
    }
    let other = replay("--preset paper --sample none", &[&trace]);
    assert!(other["errors"].is_null(), "errors only with --verify");
    assert!(other["pending"].is_null(), "no pending table in preset paper");
    assert!(other["error"]["measured"].is_null(), "--sample none");
}

/// Two flows of five and three packets, a FIN, a RST, both counted by hand.
#[test]
fn figures_of_a_small_trace_are_exact() {
    let trace = Wire::new()
        .packet(0, (1, 2), (1000, 80), SYN)
        .packet(1, (2, 1), (80, 1000), SYN | ACK)
        .packet(2, (1, 2), (1000, 80), ACK)
        .packet(3, (1, 2), (1000, 80), ACK)
        .packet(4, (2, 1), (80, 1000), FIN | ACK)
        .packet(5, (1, 2), (1000, 80), FIN | ACK)
        .packet(6, (2, 1), (80, 1000), RST)
        .packet(7, (1, 2), (1000, 80), FIN | ACK);
    let folder = Folder::new();
    let path = folder.write("small.pcap", trace.bytes());
    for backend in ["exact", "dbf", "sbf", "kbf", "bhbf", "fcf"] {
        let summary =
            replay(&format!("--preset paper --verify --backend {backend} --flows 1000"), &[&path]);
        let figures = [
            ("/trace/packets", 8),
            ("/trace/tcp_packets", 8),
            ("/flows/inserted", 2),
            ("/flows/deleted", 0),
            ("/flows/live", 2),
            ("/flows/cells_aged", 0),
            ("/lookups/known", 6),
            ("/lookups/absent", 2),
            ("/lookups/dont_know", 0),
            ("/alerts/total", 3),
            ("/alerts/by_rule/flow_fin", 2),
            ("/alerts/by_rule/flow_rst", 1),
            ("/flows/fin", 2),
            ("/flows/rst", 1),
            ("/errors/lookups_extant", 6),
            ("/errors/lookups_absent", 2),
            ("/errors/flows_total", 2),
            ("/errors/flows_wrong", 0),
        ];
        for (pointer, expected) in figures {
            assert_eq!(count(&summary, pointer), expected, "{backend} {pointer}");
        }
        assert_eq!(summary["flows"]["live_estimated"], backend != "exact");
        assert_eq!(summary["store"]["backend"], backend);
        assert_eq!(summary["trace"]["first_time"], "2023-11-15T00:00:00.000000000Z");
        assert_eq!(summary["trace"]["last_time"], "2023-11-15T00:00:00.007000000Z");
    }
}

#[test]
fn inspect_says_what_the_generator_wrote() {
    let folder = Folder::new();
    for options in
        ["--packets 20k --attacks all --seed 5", "--profile paper --packets 20k --flows 4k"]
    {
        let (trace, truth) = folder.generate("x.pcap", options);
        let inspected = json("inspect --json --quiet", &[&trace]);
        let keys = inspected.as_object().unwrap();
        assert!(keys.len() >= 17, "the contract has 17 keys");
        for (key, value) in keys {
            assert_eq!(Some(value), truth.get(key), "{options}: {key}");
        }
    }
}

/// With an exact store that forgets nothing, marks are `inspect`'s counts.
pub fn marks_are_what_inspect_counts(capture: &Path) {
    let inspected = json("inspect --json --quiet", &[capture]);
    let replayed = replay("--preset paper --backend exact --expire none --flows 50k", &[capture]);
    for (rule, key) in [("flow_fin", "flows_fin"), ("flow_rst", "flows_rst")] {
        let marks = count(&replayed, &format!("/alerts/by_rule/{rule}"));
        assert_eq!(marks, count(&inspected, &format!("/{key}")), "{key} of {}", capture.display());
    }
    assert_eq!(count(&replayed, "/flows/inserted"), count(&inspected, "/flows"));
    assert_eq!(replayed["trace"]["skipped"], inspected["skipped"]);
}

#[test]
fn marks_of_generated_and_bundled_traces_are_what_inspect_counts() {
    let folder = Folder::new();
    for seed in [1, 2] {
        let options = format!("--packets 20k --attacks all --seed {seed} --link ethernet");
        marks_are_what_inspect_counts(&folder.generate("x.pcap", &options).0);
    }
    for capture in repository::traces() {
        marks_are_what_inspect_counts(&capture);
    }
}
