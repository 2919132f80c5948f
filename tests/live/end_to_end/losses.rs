//! A consumer that is too slow loses packets, and every one of them is counted.

use crate::monitor::Monitor;
use crate::namespaces::NamespacePair;

const SENT: u64 = 20_000;

#[test]
fn sent_is_seen_and_dropped() {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, "--buffer 256KiB --filter udp[2:2]=9");
    monitor.signal("STOP");
    net.send_datagrams(SENT);
    monitor.signal("CONT");
    let output = monitor.end();
    let (seen, dropped) =
        (output.count("/interfaces/0/packets"), output.count("/interfaces/0/kernel_drops"));
    assert_eq!(seen + dropped, SENT);
    assert!(seen > 100 && dropped > 1000, "{seen} seen, {dropped} dropped");
    assert_eq!(output.count("/trace/packets"), seen);
}
