//! SIGHUP reads the rules again, SIGUSR1 opens the alert file again; flows are not forgotten.

use std::time::Duration;

use crate::monitor::{Monitor, wait_until};
use crate::namespaces::{NamespacePair, SENDER};

/// The shipped rules and one more.
fn rules(limit: u32) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let shipped = std::fs::read_to_string(folder.join("tcp-connection.toml")).unwrap();
    format!(
        r#"{shipped}
        [[rule]]
        name = "knocking"
        sid = 4000001
        severity = 2
        kind = "threshold"
        category = "network-scan"
        message = "knocks"
        threshold = {{ count = {limit}, of = "unanswered_ports", per = "source", window = "60s" }}
        "#
    )
}

#[test]
fn rules_are_read_again_and_alert_files_opened_again() {
    let Some(net) = NamespacePair::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.toml");
    std::fs::write(&path, rules(1000)).unwrap();
    let monitor = Monitor::start(&net, &format!("--rules {}", path.display()));
    net.scan(1..10);

    std::fs::write(&path, rules(5)).unwrap();
    monitor.signal("HUP");
    std::thread::sleep(Duration::from_secs(1));
    net.scan(10..20);
    let alert = monitor.wait_for(|alert| alert["acsm"]["rule"] == "knocking");
    assert_eq!(alert["src_ip"], SENDER);

    std::fs::rename(monitor.path("eve.json"), monitor.path("eve.json.1")).unwrap();
    monitor.signal("USR1");
    wait_until("the file is there again", || monitor.path("eve.json").exists().then_some(()));

    std::fs::write(&path, rules(5).replace("\"reset\"", "\"aborted\"")).unwrap();
    monitor.signal("HUP");
    std::thread::sleep(Duration::from_secs(1));
    net.scan(20..60);
    monitor.wait_for(|line| line["acsm"]["incident"]["status"] == "update");
    let output = monitor.end();
    assert!(output.stderr.contains("rules read again"), "{}", output.stderr);
    assert!(output.stderr.contains("the rules stay as they are"), "{}", output.stderr);
    // Updates of the incident still name its kind.
    assert!(!output.eve.contains(r#""rule":"knocking""#), "that one went to the old file");
    assert_eq!(output.count("/alerts/by_rule/knocking"), 1);
}
