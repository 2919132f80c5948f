//! `replay --stats`: EVE `stats` events by packet time; overloads among the alerts.

use acsm_test_support::repository;
use acsm_test_support::schema::complaints;

use crate::runner::{Folder, events_of, replay_with_alerts};

#[test]
fn stats_come_by_packet_time() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 60k --flows 3k --duration 10m");
    let options = "--preset operator --backend kbf --flows 1k --stats 2m";
    let run = replay_with_alerts(options, &[&trace]);
    let stats = events_of(&run.eve, "stats");
    assert!((3..=5).contains(&stats.len()), "{}", stats.len());
    let schema = serde_json::from_str(&repository::read("docs/eve-stats.schema.json")).unwrap();
    let mut uptime = 0;
    for event in &stats {
        assert_eq!(complaints(&schema, event), [""; 0]);
        let now = event["stats"]["uptime"].as_u64().unwrap();
        assert!(now >= uptime + 60, "{now} after {uptime}");
        uptime = now;
        assert!(event["acsm"]["error"]["measured"]["asked"].as_u64().unwrap() > 1000);
    }
    let divided = replay_with_alerts(&format!("{options} --workers 16"), &[&trace]);
    assert!(divided.eve == run.eve, "workers change nothing");
}

#[test]
fn an_overload_is_among_the_alerts() {
    let options = "--preset operator --pending 192 --idle-timeout 5s";
    let run = replay_with_alerts(options, &[&repository::trace("attacks.pcap.gz")]);
    let overloads = events_of(&run.eve, "anomaly");
    let first = overloads.first().expect("a flood overloads a table of 192 flows");
    assert_eq!(first["anomaly"]["event"], "store_overload");
    assert_eq!(first["acsm"]["overload"]["status"], "start");
    assert!(first["acsm"]["overload"]["pending_lifetime_seconds"].as_f64().unwrap() < 3.0);
    assert!(run.summary["overload"]["entered"].as_u64().unwrap() > 0);
}
