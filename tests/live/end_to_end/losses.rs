//! A consumer that is too slow loses packets, and every one of them is counted.

use crate::lab::Lab;
use crate::monitor::Monitor;

const SENT: u64 = 20_000;

#[test]
fn sent_is_seen_and_dropped() {
    let Some(lab) = Lab::new() else { return };
    let monitor = Monitor::start(&lab, "--buffer 256KiB --filter udp[2:2]=9");
    monitor.signal("STOP");
    lab.send_datagrams(SENT);
    monitor.signal("CONT");
    let said = monitor.end();
    let (seen, dropped) =
        (said.count("/interfaces/0/packets"), said.count("/interfaces/0/kernel_drops"));
    assert_eq!(seen + dropped, SENT);
    assert!(seen > 100 && dropped > 1000, "{seen} seen, {dropped} dropped");
    assert_eq!(said.count("/trace/packets"), seen);
}
