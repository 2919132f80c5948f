//! The build without libpcap (`--no-default-features`): files are read as usual, and options that need
//! libpcap are errors that say so. `scripts/test` runs this module alone for that build.

use acsm_test_support::repository;

use crate::runner::{Folder, acsm, count, replay_with_alerts, stderr};

/// Asserts that the command fails with `code` and an error that names the remedy.
#[track_caller]
fn assert_needs_libpcap(line: &str, code: i32) {
    let output = acsm(line, &[]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{line}: {message}");
    assert!(message.contains("needs libpcap: build acsm with its default features"), "{message}");
    assert!(output.stdout.is_empty(), "{line}");
}

#[test]
fn live_capture_and_the_list_of_interfaces_are_refused() {
    assert_needs_libpcap("live -i lo --duration 1s", 1);
    assert_needs_libpcap("live -i lo --plain --json", 1);
    assert_needs_libpcap("interfaces", 1);
}

#[test]
fn options_of_live_capture_can_be_read_from_a_file() {
    let folder = Folder::new();
    let config = folder.write("live.toml", "interface = [\"eth0\"]\nflows = \"1k\"\n");
    assert_needs_libpcap(&format!("live --config {}", config.display()), 1);
}

#[test]
fn filters_are_refused_by_every_command_that_takes_one() {
    for command in ["replay", "inspect", "compare"] {
        assert_needs_libpcap(&format!("{command} --filter tcp traces/mixed.pcap"), 2);
    }
}

#[test]
fn captures_are_replayed() {
    let run = replay_with_alerts("--preset operator", &[&repository::trace("attacks.pcap.gz")]);
    assert!(count(&run.summary, "/alerts/by_rule/port_scan") > 0, "{}", run.summary);
    assert_eq!(run.alerts.len() as u64, count(&run.summary, "/alerts/total"));
}
