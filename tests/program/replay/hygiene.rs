//! Limits on alerts, counted exactly: cool-down, budget, home networks, suppression, severity.

use std::path::PathBuf;

use acsm_test_support::repository;

use super::wire::{ACK, RST, SYN, Wire};
use crate::runner::{Folder, acsm, count, replay_with_alerts, stdout};

const NULL: u8 = 0;

/// A shipped rules file with this `[hygiene]` table.
fn rules_with(folder: &Folder, hygiene: &str) -> PathBuf {
    let shipped = stdout(&acsm("rules show tcp-flags", &[]));
    folder.write("mine.toml", format!("{shipped}\n[hygiene]\n{hygiene}\n"))
}

/// One null packet per second for two minutes, from each of two sources.
#[test]
fn a_cool_down_admits_one_per_minute_and_counts_the_others() {
    let mut trace = Wire::new();
    for second in 0..120 {
        for source in [1, 2] {
            trace = trace.packet(second * 1000, (source, 9), (1000, 80), NULL);
        }
    }
    let folder = Folder::new();
    let path = folder.write("x.pcap", trace.bytes());
    let run = replay_with_alerts("--backend exact", &[&path]);
    let shown: Vec<(&str, u64)> = run
        .alerts
        .iter()
        .filter(|alert| alert["acsm"]["rule"] == "tcp_null_scan")
        .map(|alert| (alert["src_ip"].as_str().unwrap(), count(alert, "/acsm/left_out")))
        .collect();
    let expected = [("192.0.2.1", 0), ("192.0.2.2", 0), ("192.0.2.1", 59), ("192.0.2.2", 59)];
    assert_eq!(shown, expected);
    assert_eq!(count(&run.summary, "/alerts/by_rule/tcp_null_scan"), 4);
    assert_eq!(count(&run.summary, "/alerts/left_out/cooled_down"), 240 - 4);
}

/// Twenty sources in one second, a budget of five alerts per second; marks are exempt, and the next
/// second has its own budget.
#[test]
fn a_budget_suppresses_the_rest_and_reports_it_at_the_end() {
    let mut trace = Wire::new();
    for source in 1..=20 {
        trace = trace.packet(u64::from(source), (source, 99), (1000, 80), NULL);
        trace = trace.packet(u64::from(source), (source, 99), (1000, 80), RST | ACK);
    }
    for source in 21..=23 {
        trace = trace.packet(1000, (source, 99), (1000, 80), NULL);
    }
    let folder = Folder::new();
    let path = folder.write("x.pcap", trace.bytes());
    let rules = rules_with(&folder, "alerts_per_second = 5");
    let options = format!("--preset paper --backend exact --rules {}", rules.display());
    let run = replay_with_alerts(&options, &[&path]);
    assert_eq!(count(&run.summary, "/alerts/by_rule/tcp_null_scan"), 5 + 3);
    assert_eq!(count(&run.summary, "/alerts/by_rule/flow_rst"), 20, "marks are exempt");
    assert_eq!(count(&run.summary, "/alerts/left_out/over_budget"), 15);
    assert_eq!(run.alerts.len() as u64, count(&run.summary, "/alerts/total"));
    let page = stdout(&acsm(&format!("replay -v {options}"), &[&path]));
    let line = page.lines().find(|line| line.contains("over_budget")).expect("the page tells");
    assert!(line.ends_with(" 15"), "{line}");
}

/// Pairs of a home host, of a foreign one, and of both.
fn three_pairs(folder: &Folder) -> PathBuf {
    let host = |text: &str| text.parse().unwrap();
    let pairs = [
        ("192.0.2.1", "198.51.100.1"),
        ("198.51.100.1", "203.0.113.5"),
        ("203.0.113.5", "192.0.2.77"),
    ];
    let mut trace = Wire::new();
    for (millis, (src, dst)) in (0..).zip(pairs) {
        trace = trace.between(millis, (host(src), host(dst)), (1000, 80), NULL);
        trace = trace.between(millis, (host(src), host(dst)), (1000, 80), RST);
    }
    folder.write("pairs.pcap", trace.bytes())
}

#[test]
fn alerts_between_foreign_hosts_are_left_out_where_home_is_known() {
    let folder = Folder::new();
    let path = three_pairs(&folder);
    let rules = rules_with(&folder, "home_networks = [\"192.0.2.0/24\", \"2001:db8::/32\"]");
    let options = format!("--preset paper --backend exact --rules {}", rules.display());
    let run = replay_with_alerts(&options, &[&path]);
    assert_eq!(count(&run.summary, "/alerts/by_rule/tcp_null_scan"), 2);
    assert_eq!(count(&run.summary, "/alerts/by_rule/flow_rst"), 2);
    assert_eq!(count(&run.summary, "/alerts/left_out/foreign"), 2);
    for alert in &run.alerts {
        let ends = [&alert["src_ip"], &alert["dest_ip"]];
        assert!(ends.iter().any(|end| end.as_str().unwrap().starts_with("192.0.2.")), "{alert}");
    }
}

#[test]
fn a_suppression_file_suppresses_what_it_names() {
    let folder = Folder::new();
    let path = three_pairs(&folder);
    let shown = |list: &str| {
        let list = folder.write("suppress.toml", list);
        let options = format!("--preset paper --backend exact --suppress {}", list.display());
        let run = replay_with_alerts(&options, &[&path]);
        let left_out = count(&run.summary, "/alerts/left_out/suppressed");
        assert_eq!(run.alerts.len() as u64 + left_out, 6);
        ["tcp_null_scan", "flow_rst"]
            .map(|rule| count(&run.summary, &format!("/alerts/by_rule/{rule}")))
    };
    assert_eq!(shown(""), [3, 3]);
    assert_eq!(shown("[[suppress]]\nrule = \"flow_rst\"\n"), [3, 0]);
    let source = "[[suppress]]\nrule = \"tcp_null_scan\"\nsource = [\"198.51.100.0/24\"]\n";
    assert_eq!(shown(source), [2, 3]);
    assert_eq!(shown("[[suppress]]\ndestination = [\"192.0.2.77\"]\nreason = \"lab\"\n"), [2, 2]);
    let both = "[[suppress]]\nsource = [\"192.0.2.1\"]\ndestination = [\"192.0.2.77\"]\n";
    assert_eq!(shown(both), [3, 3], "both ends must match");
}

#[test]
fn least_severity_hides_lines_and_counts_all_the_same() {
    let trace = repository::trace("mixed.pcap");
    let all = replay_with_alerts("--preset paper", &[&trace]);
    for severity in 1..=4 {
        let run =
            replay_with_alerts(&format!("--preset paper --min-severity {severity}"), &[&trace]);
        assert_eq!(run.summary["alerts"], all.summary["alerts"]);
        let graver = |alert: &&serde_json::Value| count(alert, "/alert/severity") <= severity;
        let expected: Vec<_> = all.alerts.iter().filter(graver).collect();
        assert_eq!(run.alerts.iter().collect::<Vec<_>>(), expected);
    }
    let grave = all.alerts.iter().filter(|alert| count(alert, "/alert/severity") <= 2).count();
    assert!(grave > 0 && grave < all.alerts.len());
}

const AT_ONCE: &str = r#"
about = "SYN+ACKs of no flow"
flow_keys = ["connection"]

[[state]]
name = "seen"
doc = "a SYN+ACK went by"

[[transition]]
in = ["absent"]
set = "SYN+ACK"
go = "seen"
alert = ["stray"]

[[rule]]
name = "stray"
sid = 1000001
severity = 3
category = "misc-activity"
kind = "no_session"
message = "SYN+ACK of no flow"
"#;

/// Rules about packets without a session are muted while a capture begins; thresholds are not.
#[test]
fn the_start_of_a_capture_mutes_what_it_cannot_judge() {
    let mut trace = Wire::new();
    for (second, source) in [(0, 1), (30, 2), (59, 3), (60, 4), (61, 5)] {
        trace = trace.packet(second * 1000, (source, 99), (443, 50_000), SYN | ACK);
    }
    let folder = Folder::new();
    let path = folder.write("x.pcap", trace.bytes());
    // The shipped rules are decided by what follows: all packets are counted, and decided from then on.
    let run = replay_with_alerts("", &[&path]);
    let sources: Vec<&str> =
        run.alerts.iter().map(|alert| alert["src_ip"].as_str().unwrap()).collect();
    assert_eq!(sources, ["192.0.2.4", "192.0.2.5"]);
    assert_eq!(count(&run.summary, "/alerts/by_rule/unsolicited_synack"), 2);
    assert_eq!(count(&run.summary, "/alerts/only_counted/unsolicited_synack"), 5);

    // Rules that fire with the packet.
    let rules = folder.write("mine.toml", AT_ONCE);
    let run = replay_with_alerts(&format!("--rules {}", rules.display()), &[&path]);
    assert_eq!(count(&run.summary, "/alerts/by_rule/stray"), 2);
    assert_eq!(count(&run.summary, "/alerts/left_out/muted"), 3);
}
