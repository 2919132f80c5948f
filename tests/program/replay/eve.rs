//! Alerts as programs read them: valid, complete, in packet order.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use acsm_test_support::corpus::Corpus;
use acsm_test_support::repository;
use acsm_test_support::schema::complaints;
use serde_json::{Value, json};

use crate::runner::{Folder, count, replay_with_alerts};

fn schema() -> Value {
    serde_json::from_str(&repository::read("docs/eve.schema.json")).unwrap()
}

/// Lines of many kinds: every backend, thresholds, IPv6, and VLANs if there is a corpus.
fn many_lines() -> (Vec<Value>, Vec<Value>) {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 15k --attacks all --ipv6-share 30%");
    let mut traces = repository::traces();
    let with_vlans = "curated-pcaps__tcp_0_1000_20190821.pcap";
    traces.extend(Corpus::find().map(|corpus| corpus.capture(with_vlans)));
    traces.push(trace);
    let traces: Vec<&Path> = traces.iter().map(|trace| trace.as_path()).collect();
    let (mut alerts, mut incidents) = (Vec::new(), Vec::new());
    for options in [
        "--preset paper --backend exact",
        "--preset paper --backend dbf --flows 100",
        "--preset paper --backend sbf --flows 100",
        "--preset paper --backend kbf --flows 100",
        "",
    ] {
        let run = replay_with_alerts(options, &traces);
        alerts.extend(run.alerts);
        incidents.extend(run.incidents);
    }
    (alerts, incidents)
}

#[test]
fn every_line_fits_the_schema() {
    let schema = schema();
    let (alerts, incidents) = many_lines();
    assert!(incidents.len() > 100);
    for line in &incidents {
        assert_eq!(complaints(&schema, line), Vec::<String>::new(), "{line}");
        let (signature, kind) = (&line["alert"]["signature"], &line["acsm"]["incident"]["kind"]);
        let begin = format!("{}: ", kind.as_str().unwrap());
        assert!(signature.as_str().unwrap().starts_with(&begin), "{signature}");
        let spoofed = line["acsm"]["incident"]["spoofed"] == true;
        let names_source = ["/src_ip", "/alert/source"].map(|key| line.pointer(key).is_some());
        assert!(!spoofed || names_source == [false, false], "{line}");
    }
    for alert in &alerts {
        assert_eq!(complaints(&schema, alert), Vec::<String>::new(), "{alert}");
        let (signature, rule) = (&alert["alert"]["signature"], &alert["acsm"]["rule"]);
        let begin = format!("{}: ", rule.as_str().unwrap());
        assert!(signature.as_str().unwrap().starts_with(&begin), "{signature}");
        assert!(alert["timestamp"].as_str().unwrap().ends_with("+0000"));
        // Floods name no source.
        for end in ["src_ip", "dest_ip"].into_iter().filter_map(|end| alert.get(end)) {
            end.as_str().unwrap().parse::<std::net::IpAddr>().unwrap();
        }
        flags_agree(&alert["tcp"]);
    }
    let of = |pointer: &str| -> BTreeSet<String> {
        alerts.iter().filter_map(|alert| alert.pointer(pointer)).map(Value::to_string).collect()
    };
    assert!(of("/acsm/rule").len() >= 12, "many rules: {:?}", of("/acsm/rule"));
    assert_eq!(of("/acsm/backend").len(), 5);
    assert_eq!(of("/acsm/answer").len(), 4, "known, absent, dont_know, null");
}

/// The named flags are those of the hex digits.
fn flags_agree(tcp: &Value) {
    let bits = u8::from_str_radix(tcp["tcp_flags"].as_str().unwrap(), 16).unwrap();
    for (bit, name) in ["fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"].iter().enumerate() {
        assert_eq!(tcp.get(name).is_some(), bits >> bit & 1 == 1, "{tcp}");
    }
}

/// The schema check itself must be able to fail.
#[test]
fn the_schema_refuses_what_is_wrong() {
    let schema = schema();
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 1k");
    let good = replay_with_alerts("--preset paper", &[&trace]).alerts.swap_remove(0);
    assert!(complaints(&schema, &good).is_empty());
    for (pointer, value) in [
        ("/flow_id", json!(1_u64 << 53)),
        ("/src_port", json!("80")),
        ("/event_type", json!("flow")),
        ("/alert/severity", json!(0)),
        ("/alert/extra", json!(1)),
        ("/extra", json!(1)),
        ("/acsm/answer", json!("perhaps")),
        ("/acsm/confidence", json!(1.5)),
        ("/tcp/tcp_flags", json!("012")),
    ] {
        let mut bad = good.clone();
        let (object, key) = pointer.rsplit_once('/').unwrap();
        bad.pointer_mut(object).unwrap()[key] = value;
        assert!(!complaints(&schema, &bad).is_empty(), "{pointer}");
    }
    for key in good.as_object().unwrap().keys() {
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(key);
        assert_eq!(complaints(&schema, &bad).len(), 1, "without {key}");
    }
}

/// Times of packets do not run backwards in generated traces; an alert about an
/// unanswered packet has the time at which waiting ended, which lies between the packets around it.
/// What sums up an hour's rest of a rule comes when the hour or the capture is over, one line per rule,
/// with the time of the last packet that it stands for.
#[test]
fn alerts_are_in_packet_order() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k --attacks all --seed 9");
    for options in ["--workers 1", "--workers 3", "--preset operator --workers 16"] {
        let run = replay_with_alerts(options, &[&trace]);
        let sums_up = |alert: &&Value| {
            let rule = alert["acsm"]["rule"].as_str().unwrap();
            ["tcp_ack_scan", "rst_no_session", "unsolicited_synack"].contains(&rule)
                && count(alert, "/acsm/left_out") > 0
        };
        let (sums, others): (Vec<&Value>, Vec<&Value>) = run.alerts.iter().partition(sums_up);
        let time = |alert: &&Value| alert["timestamp"].as_str().unwrap().to_owned();
        let times: Vec<String> = others.iter().map(time).collect();
        assert!(times.len() > 100 && times.is_sorted(), "{options}");
        let rules: BTreeSet<String> =
            sums.iter().map(|alert| alert["acsm"]["rule"].to_string()).collect();
        assert!(!sums.is_empty() && rules.len() == sums.len(), "{options}: {sums:?}");
        // The capture is shorter than an hour: they come last.
        assert!(run.alerts[others.len()..].iter().eq(sums.iter().copied()), "{options}: {sums:?}");
        let end = run.summary["trace"]["last_time"].as_str().unwrap();
        for sum in sums {
            // Both times have the same form up to the microseconds.
            assert!(time(&sum)[..26] <= end[..26], "{options}: {sum}");
            let of_rule = |alert: &&&Value| alert["acsm"]["rule"] == sum["acsm"]["rule"];
            assert_eq!(others.iter().filter(of_rule).count(), 60, "{options}: {sum}");
        }
        assert_eq!(run.alerts.len() as u64, count(&run.summary, "/alerts/total"));
    }
}

#[test]
fn both_directions_have_one_community_id_and_connections_one_flow_id() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k --ipv6-share 50%");
    let end = |alert: &Value, ip: &str, port: &str| format!("{} {}", alert[ip], alert[port]);
    for (key, flow_ids) in [("5-tuple", 2), ("connection", 1)] {
        let options = format!("--preset paper --backend exact --flow-key {key}");
        let run = replay_with_alerts(&options, &[&trace]);
        let mut connections: HashMap<[String; 2], Vec<&Value>> = HashMap::new();
        for alert in &run.alerts {
            let mut ends = [end(alert, "src_ip", "src_port"), end(alert, "dest_ip", "dest_port")];
            ends.sort();
            connections.entry(ends).or_default().push(alert);
        }
        let distinct = |alerts: &[&Value], key: &str| {
            alerts.iter().map(|alert| alert[key].to_string()).collect::<BTreeSet<_>>().len()
        };
        assert!(connections.values().all(|alerts| distinct(alerts, "community_id") == 1));
        assert!(connections.values().all(|alerts| distinct(alerts, "flow_id") <= flow_ids));
        let most = connections.values().map(|alerts| distinct(alerts, "flow_id")).max();
        assert_eq!(most, Some(flow_ids));
        let ids: BTreeSet<String> =
            run.alerts.iter().map(|alert| alert["community_id"].to_string()).collect();
        assert_eq!(ids.len(), connections.len(), "different connections, different ids");
    }
}
