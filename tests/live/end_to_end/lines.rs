//! Without a terminal: alerts and `stats` events as EVE lines on standard output.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::namespaces::{CABLE, NamespacePair};
use acsm_test_support::schema::complaints;

/// Lines of a run of four seconds on a link with a scan.
#[test]
fn lines_are_what_the_schemas_say() {
    let Some(net) = NamespacePair::new() else { return };
    let mut child = net
        .command(env!("CARGO_BIN_EXE_acsm"))
        .args(["live", "-i", CABLE, "--pending", "none", "--stats", "1s", "--duration", "4s"])
        .arg("--quiet")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The first `stats` event shows that it captures.
    let first = lines.next().unwrap();
    net.scan(1..41);
    let events: Vec<Value> = std::iter::once(first)
        .chain(lines)
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert!(child.wait().unwrap().success());
    for (kind, schema) in [
        ("alert", include_str!("../../../docs/eve.schema.json")),
        ("stats", include_str!("../../../docs/eve-stats.schema.json")),
    ] {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let of_kind: Vec<&Value> =
            events.iter().filter(|event| event["event_type"] == kind).collect();
        assert!(!of_kind.is_empty(), "no {kind} among {} events", events.len());
        for event in of_kind {
            assert_eq!(complaints(&schema, event), [""; 0], "{event}");
        }
    }
    let last = events.iter().rfind(|event| event["event_type"] == "stats").unwrap();
    assert_eq!(last["acsm"]["alerts"]["port_scan"], 1, "{last}");
    assert_eq!(last["acsm"]["entered"]["syn_sent"], 40, "{last}");
    assert_eq!(last["acsm"]["store"]["live_flows"], 40, "{last}");
}

#[test]
fn events_that_cannot_be_written_are_no_success() {
    let Some(net) = NamespacePair::new() else { return };
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = net
        .command(env!("CARGO_BIN_EXE_acsm"))
        .args(["live", "-i", CABLE, "--stats", "1s"])
        .stdout(full)
        .output()
        .unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(
        messages.contains("cannot write alerts") && messages.contains("No space left"),
        "{messages}"
    );
}
