//! Flows age while the link is idle.

use std::thread::sleep;
use std::time::Duration;

use crate::monitor::Monitor;
use crate::namespaces::{NamespacePair, SILENT, try_connect};

#[test]
fn flows_age_without_packets() {
    let Some(net) = NamespacePair::new() else { return };
    let options = "--seed 3 --pending none --backend kbf --idle-timeout 1s";
    let monitor = Monitor::start(&net, &format!("{options} --write seen.pcap"));
    net.send(|| {
        for port in 1..=30 {
            try_connect(SILENT, port, Duration::from_millis(1));
        }
    });
    // SYNs are sent again after one second, after two more and after four more, each in a socket
    // that is open; ours are closed. So the link is idle afterwards.
    sleep(Duration::from_secs(4));
    let output = monitor.end();
    assert_eq!(output.count("/flows/inserted"), 30, "{}", output.summary);
    assert_eq!(output.count("/flows/live"), 0);
    assert!(output.count("/flows/cells_aged") >= 30);
    // A replay ends with the last packet, when they were alive.
    let (again, eve) = output.replay(options, &output.path("seen.pcap"));
    assert!(again["flows"]["live"].as_u64().unwrap() >= 25, "{again}");
    assert_eq!(eve, output.eve);
}
