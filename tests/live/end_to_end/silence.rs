//! A link that falls silent still ages its flows.

use std::thread::sleep;
use std::time::Duration;

use crate::lab::{Lab, SILENT, knock};
use crate::monitor::Monitor;

#[test]
fn flows_age_without_packets() {
    let Some(lab) = Lab::new() else { return };
    let options = "--seed 3 --backend kbf --idle-timeout 1s --write seen.pcap";
    let monitor = Monitor::start(&lab, options);
    lab.send(|| {
        for port in 1..=30 {
            knock(SILENT, port, Duration::from_millis(1));
        }
    });
    // SYNs are sent again after one second, after two more and after four more, each in a socket
    // that is open; ours are closed. So there is silence after them.
    sleep(Duration::from_secs(4));
    let said = monitor.end();
    assert_eq!(said.count("/flows/inserted"), 30, "{}", said.summary);
    assert_eq!(said.count("/flows/live"), 0);
    assert!(said.count("/flows/cells_aged") >= 30);
    // A replay ends with the last packet, when they were alive.
    let (again, eve) =
        said.replay("--seed 3 --backend kbf --idle-timeout 1s", &said.path("seen.pcap"));
    assert!(again["flows"]["live"].as_u64().unwrap() >= 25, "{again}");
    assert_eq!(eve, said.eve);
}
