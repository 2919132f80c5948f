//! Real captures: their scans, sweeps and floods are found, ordinary ones raise no alarm.

use acsm_test_support::corpus::Corpus;
use serde_json::Value;

use super::contract::marks_are_what_inspect_counts;
use crate::runner::{count, replay};

/// Rules about scans and floods.
const ALARMS: [&str; 10] = [
    "syn_flood",
    "port_scan",
    "host_sweep",
    "rst_storm",
    "fin_storm",
    "synack_flood",
    "tcp_null_scan",
    "tcp_xmas_scan",
    "tcp_xmas_full",
    "tcp_fin_scan",
];

/// What a category of the manifest must raise; `None` for captures that are odd on purpose.
fn expected(category: &str) -> Option<&'static [&'static str]> {
    Some(match category {
        "scan-syn" | "scan-connect" => &["port_scan"],
        "scan-null" => &["port_scan", "tcp_null_scan"],
        "scan-xmas" => &["port_scan", "tcp_xmas_scan"],
        "scan-fin" => &["port_scan", "tcp_fin_scan"],
        "scan-mixed" => &["port_scan", "tcp_null_scan", "tcp_xmas_scan", "tcp_syn_fin"],
        "sweep" => &["host_sweep"],
        "syn-flood" => &["syn_flood"],
        "fuzz" | "flags" | "ipv4-frag" => return None,
        // scan-udp too: it hardly has TCP.
        _ => &[],
    })
}

fn fired(summary: &Value, rule: &str) -> bool {
    count(summary, &format!("/alerts/by_rule/{rule}")) > 0
}

fn attacks_are_found(preset: &str) {
    let Some(corpus) = Corpus::find() else { return };
    let (mut attacks, mut ordinary) = (0, 0);
    for row in corpus.manifest() {
        let (file, category) = (&row["file"], row["category"].as_str());
        let Some(rules) = expected(category) else { continue };
        let options = format!("--backend exact --flows 50k --preset {preset}");
        let summary = replay(&options, &[&corpus.capture(file)]);
        for rule in rules {
            assert!(fired(&summary, rule), "{file} ({category}), {preset}: no {rule}");
        }
        if rules.is_empty() {
            let alarm = ALARMS.iter().find(|rule| fired(&summary, rule));
            assert!(alarm.is_none(), "{file} ({category}), {preset}: {alarm:?}");
        }
        *if rules.is_empty() { &mut ordinary } else { &mut attacks } += 1;
    }
    assert!(attacks >= 9 && ordinary >= 20, "{attacks} attacks, {ordinary} ordinary captures");
}

#[test]
fn attacks_are_found_and_ordinary_captures_are_quiet_in_preset_paper() {
    attacks_are_found("paper");
}

#[test]
fn attacks_are_found_and_ordinary_captures_are_quiet_in_preset_operator() {
    attacks_are_found("operator");
}

#[test]
fn marks_of_real_captures_are_what_inspect_counts() {
    let Some(corpus) = Corpus::find() else { return };
    for row in corpus.manifest() {
        marks_are_what_inspect_counts(&corpus.capture(&row["file"]));
    }
}
