//! Labelled attacks are found, clean traffic raises none, and errors of filters are accounted for.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

use acsm::machine::Network;
use serde_json::Value;

use crate::runner::{Folder, Run, count, replay_with_alerts};

/// An answer to a first packet is awaited at most this long, so alerts may be this late.
const LATE_NANOS: u64 = 10_000_000_000;

fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer}"))
}

fn address(alert: &Value, key: &str) -> IpAddr {
    alert[key].as_str().unwrap().parse().unwrap()
}

/// The source, which alerts about floods do not name.
fn source(alert: &Value) -> Option<IpAddr> {
    alert.get("src_ip").map(|_| address(alert, "src_ip"))
}

fn is_in(address: IpAddr, networks: &Value) -> bool {
    let networks = networks.as_array().unwrap().iter().map(|network| network.as_str().unwrap());
    networks.map(|network| network.parse::<Network>().unwrap()).any(|net| net.contains(address))
}

fn nanos(time: &str) -> u64 {
    let time = time.replace("+0000", "Z");
    time.parse::<acsm::time::Timestamp>().unwrap().as_nanos()
}

/// Whether `alert` is what the label of `attack` asks for: rule, ends and time.
fn notices(alert: &Value, attack: &Value) -> bool {
    let time = nanos(text(alert, "/timestamp"));
    let (first, last) = (nanos(text(attack, "/first_time")), nanos(text(attack, "/last_time")));
    text(alert, "/acsm/rule") == text(attack, "/rule")
        && source(alert).is_none_or(|source| is_in(source, &attack["attackers"]))
        && is_in(address(alert, "dest_ip"), &attack["victims"])
        && (first..last + LATE_NANOS).contains(&(time + 999))
}

fn is_grave(alert: &Value) -> bool {
    count(alert, "/alert/severity") <= 2
}

pub fn all_found_and_none_on_clean_flows(run: &Run, truth: &Value, what: &str) {
    let attacks = truth["attacks"].as_array().unwrap();
    assert_eq!(attacks.len(), 12);
    for attack in attacks {
        let found = run.alerts.iter().any(|alert| notices(alert, attack));
        assert!(found, "{what}: {} is not noticed by {}", attack["name"], attack["rule"]);
    }
    for alert in run.alerts.iter().filter(|alert| is_grave(alert)) {
        for end in [source(alert), Some(address(alert, "dest_ip"))].into_iter().flatten() {
            for innocent in ["clean", "partly_seen"] {
                let false_alarm = is_in(end, &truth[innocent]["networks"]);
                assert!(!false_alarm, "{what}: {alert} falls on {innocent} flows");
            }
        }
    }
}

#[test]
fn every_labelled_attack_is_found_and_clean_flows_are_left_alone() {
    let folder = Folder::new();
    for options in [
        "--packets 20k --seed 1",
        "--packets 10k --seed 2",
        "--packets 30k --seed 3 --duration 20m",
    ] {
        let (trace, truth) = folder.generate("x.pcap", &format!("--attacks all {options}"));
        for preset in ["paper", "operator"] {
            let run = replay_with_alerts(&format!("--backend exact --preset {preset}"), &[&trace]);
            all_found_and_none_on_clean_flows(&run, &truth, &format!("{options}, {preset}"));
        }
    }
}

#[test]
fn well_behaved_traffic_raises_nothing_grave() {
    let folder = Folder::new();
    for seed in 1..4 {
        let options = format!("--packets 10k --well-behaved --seed {seed} --duration 1m");
        let (trace, _) = folder.generate("x.pcap", &options);
        for store in ["paper --backend exact", "paper", "operator --backend exact", "operator"] {
            let run = replay_with_alerts(&format!("--preset {store}"), &[&trace]);
            let grave = run.alerts.iter().find(|alert| is_grave(alert));
            assert!(grave.is_none(), "seed {seed}, {store}: {grave:?}");
        }
    }
}

/// Alerts as a multiset over (rule, flow key).
fn multiset(alerts: &[Value], preset: &str) -> HashMap<(String, String), i64> {
    let mut set = HashMap::new();
    for alert in alerts {
        let flow = match preset {
            _ if source(alert).is_none() => text(alert, "/dest_ip").to_owned(),
            "paper" => format!("{} {}", text(alert, "/src_ip"), text(alert, "/dest_ip")),
            _ => text(alert, "/community_id").to_owned(),
        };
        *set.entry((text(alert, "/acsm/rule").to_owned(), flow)).or_default() += 1;
    }
    set
}

fn differences_are_accounted_for(trace: &Path, preset: &str, store: &str) -> (Run, u64) {
    // A pending table would leave too few flows for errors.
    let options = format!("--preset {preset} --flows 5k --pending none");
    let exact = replay_with_alerts(&format!("--backend exact {options}"), &[trace]);
    let filter = replay_with_alerts(&format!("--verify {options} {store}"), &[trace]);
    let mut surplus = multiset(&filter.alerts, preset);
    for (key, number) in multiset(&exact.alerts, preset) {
        *surplus.entry(key).or_default() -= number;
    }
    let missed: i64 = surplus.values().filter(|n| **n < 0).map(|n| -n).sum();
    let spurious: i64 = surplus.values().filter(|n| **n > 0).sum();
    let errors = |key: &str| count(&filter.summary, &format!("/errors/{key}")) as i64;
    assert_eq!(errors("alerts_missed"), missed, "{preset} {store}");
    assert_eq!(errors("alerts_spurious"), spurious, "{preset} {store}");
    assert_eq!(count(&filter.summary, "/alerts/total"), filter.alerts.len() as u64);
    (filter, (missed + spurious) as u64)
}

#[test]
fn what_filters_miss_or_make_up_is_counted_exactly() {
    let folder = Folder::new();
    let (trace, truth) = folder.generate("x.pcap", "--packets 15k --attacks all --seed 4");
    for preset in ["paper", "operator"] {
        let filters = [
            ("kbf", "--memory 8KiB"),
            ("sbf", "--memory 8KiB"),
            ("bhbf", "--memory 8KiB"),
            ("fcf", "--fp-rate 0.5 --flows 500"),
        ];
        for (backend, too_small) in filters {
            let good = format!("--backend {backend} --fp-rate 0.001");
            let (run, _) = differences_are_accounted_for(&trace, preset, &good);
            all_found_and_none_on_clean_flows(&run, &truth, &format!("{preset} {good}"));
            // Far too small: many errors, and still every one accounted for.
            let bad = format!("--backend {backend} {too_small}");
            let (_, differences) = differences_are_accounted_for(&trace, preset, &bad);
            assert!(differences > 0, "{preset} {bad}: nothing to account for");
        }
    }
}
