//! What an operator meets beside the ordinary attacks: found by the rule that the truth names, and nothing
//! grave where there is no attack.

use acsm::generate::AttackKind;
use serde_json::Value;

use crate::runner::{Folder, replay_with_alerts};

/// The alerts between the first packet of an attack and ten seconds after its last.
fn during<'a>(alerts: &'a [Value], label: &Value) -> Vec<&'a Value> {
    let second = |text: &Value| text.as_str().unwrap()[..19].to_owned();
    let (first, last) = (second(&label["first_time"]), second(&label["last_time"]));
    let is_own = |alert: &&Value| {
        let time = second(&alert["timestamp"]);
        // The date is the same for all.
        time >= first && seconds(&time) <= seconds(&last) + 10
    };
    alerts.iter().filter(is_own).collect()
}

/// Since midnight, of `2024-01-01T00:01:02`.
fn seconds(time: &str) -> u64 {
    time[11..].split(':').fold(0, |all, part| all * 60 + part.parse::<u64>().unwrap())
}

/// One at a time: in each trace nothing else is odd.
fn alerts_of(kind: AttackKind, backend: &str) -> (Vec<Value>, Value) {
    let folder = Folder::new();
    // The rule of a prefix needs 2,000 SYNs, more than a trace of this size has of its own.
    let size = if kind == AttackKind::CarpetBombing { ":3k" } else { "" };
    let options = format!("--packets 60k --attacks {}{size} --duration 30m --seed 5", kind.name());
    let (trace, truth) = folder.generate("x.pcap", &options);
    let run = replay_with_alerts(&format!("--flows 20k --backend {backend}"), &[&trace]);
    let label = truth["attacks"][0].clone();
    if kind == AttackKind::CarpetBombing {
        let incidents = run.summary["incidents"].as_array().unwrap();
        assert_eq!(incidents.len(), 1, "one, not one per host: {incidents:?}");
        assert_eq!(incidents[0]["victims"], label["victims"], "of the prefix: {incidents:?}");
    }
    (during(&run.alerts, &label).into_iter().cloned().collect(), label)
}

#[test]
fn scenarios_are_found_by_their_rule() {
    for kind in AttackKind::SCENARIOS {
        let Some(rule) = kind.rule() else { continue };
        for backend in ["fcf", "kbf"] {
            let (alerts, label) = alerts_of(kind, backend);
            let is_found = alerts.iter().any(|alert| alert["acsm"]["rule"] == rule);
            assert!(is_found, "{backend}: {label}: {alerts:?}");
        }
    }
}

#[test]
fn a_restart_and_a_busy_server_are_nothing_grave() {
    for kind in [AttackKind::ServiceRestart, AttackKind::BusyServer] {
        let (alerts, label) = alerts_of(kind, "fcf");
        let grave: Vec<&Value> =
            alerts.iter().filter(|alert| alert["alert"]["severity"].as_u64() <= Some(2)).collect();
        assert!(grave.is_empty(), "{label}: {grave:?}");
    }
}
