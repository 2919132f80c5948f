//! A consumer that is too slow loses packets, and every one of them is counted.

use std::net::UdpSocket;
use std::thread::sleep;
use std::time::Duration;

use crate::lab::{Lab, WATCHER, address};
use crate::monitor::Monitor;

const SENT: u64 = 20_000;

fn send_datagrams() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    for n in 0..SENT {
        // Nobody listens: the refusals come back as errors of later sends.
        while socket.send_to(&[0; 100], address(WATCHER, 9)).is_err() {}
        if n % 100 == 0 {
            // The cable's own queue is short.
            sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn sent_is_seen_and_dropped() {
    let Some(lab) = Lab::new() else { return };
    let monitor = Monitor::start(&lab, "--buffer 256KiB --filter udp[2:2]=9");
    monitor.signal("STOP");
    lab.send(send_datagrams);
    monitor.signal("CONT");
    let said = monitor.end();
    let (seen, dropped) =
        (said.count("/interfaces/0/packets"), said.count("/interfaces/0/kernel_drops"));
    assert_eq!(seen + dropped, SENT);
    assert!(seen > 100 && dropped > 1000, "{seen} seen, {dropped} dropped");
    assert_eq!(said.count("/trace/packets"), seen);
}
