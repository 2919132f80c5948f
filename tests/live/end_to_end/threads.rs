//! Several capture threads see what one sees, and lose nothing uncounted.

use std::fs::File;
use std::io::Read as _;
use std::net::UdpSocket;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use super::attacks::talk;
use crate::monitor::{Monitor, wait_until};
use crate::namespaces::{NamespacePair, WATCHER, address};

/// Connections over many ports, so that the kernel has something to share out, and a scan.
fn send_traffic(net: &NamespacePair) {
    let server = net.echo_server(8080, 40);
    net.send(|| talk(8080, 40));
    net.scan(1..41);
    server.join().unwrap();
}

#[test]
fn threads_see_what_one_thread_sees() {
    let Some(net) = NamespacePair::new() else { return };
    let options = "--seed 7 --backend exact --write seen.pcap --filter tcp";
    let alone = Monitor::start(&net, options);
    let shared = Monitor::start(&net, &format!("{options} --capture-threads 3"));
    let capturing =
        |monitor: &Monitor| monitor.threads().iter().filter(|name| *name == "capture").count();
    wait_until("it captures", || (capturing(&shared) == 3).then_some(()));
    assert_eq!(capturing(&alone), 0);
    send_traffic(&net);
    let (alone, shared) = (alone.end(), shared.end());
    assert!(alone.count("/trace/tcp_packets") > 40 * 8 + 40 * 2, "{}", alone.summary);
    // Both directions of every connection: only the scan raises alerts.
    assert_eq!(shared.summary["alerts"]["by_rule"], serde_json::json!({"port_scan": 1}));
    for part in ["flows", "lookups", "alerts", "interfaces"] {
        assert_eq!(shared.summary[part], alone.summary[part]);
    }
    let (again, eve) = shared.replay("--seed 7 --backend exact", &shared.path("seen.pcap"));
    assert_eq!(shared.eve, eve);
    assert_eq!(shared.summary["lookups"], again["lookups"]);
    assert_eq!(shared.summary["trace"], again["trace"]);
}

/// Fragments are counted one by one, as they came over the wire.
#[test]
fn fragments_are_seen_as_they_come() {
    let Some(net) = NamespacePair::new() else { return };
    // Ports are in the first fragment only; a filter by them would miss the others.
    let options = "--filter ip[9]=17 --capture-threads 4";
    let monitor = Monitor::start(&net, options);
    net.send(|| {
        for _ in 0..10 {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.send_to(&[0; 4000], address(WATCHER, 9)).unwrap();
        }
    });
    let output = monitor.end();
    assert_eq!(output.count("/interfaces/0/packets"), 10 * 3, "{}", output.summary);
    assert!(!output.stderr.contains("larger than its MTU"), "{}", output.stderr);
}

const SOCKETS: u64 = 50;
/// More than all buffers and queues have room for.
const DATAGRAMS_EACH: u64 = 800;

/// Of many flows in turn, so that every thread has some.
fn send_datagrams() {
    let bind = |_| UdpSocket::bind("0.0.0.0:0").unwrap();
    let sockets: Vec<UdpSocket> = (0..SOCKETS).map(bind).collect();
    for _ in 0..DATAGRAMS_EACH {
        for socket in &sockets {
            // The port is closed: the refusals come back as errors of later sends.
            while socket.send_to(&[0; 100], address(WATCHER, 9)).is_err() {}
        }
        // The cable's own queue is short.
        sleep(Duration::from_millis(1));
    }
}

/// The recording goes to a pipe that is not read while there is traffic: the queues from the threads fill
/// up, then the kernel's buffers.
#[test]
fn a_slow_consumer_loses_only_what_is_counted() {
    let Some(net) = NamespacePair::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.pcap");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let path = pipe.clone();
    let (sent, all_sent) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut file = File::open(path).unwrap();
        all_sent.recv().unwrap();
        let mut recorded = vec![];
        file.read_to_end(&mut recorded).unwrap();
        recorded.len() as u64
    });
    let options = "--capture-threads 2 --buffer 256KiB --filter udp[2:2]=9 --write";
    let monitor = Monitor::start(&net, &format!("{options} {}", pipe.display()));
    net.send(send_datagrams);
    sent.send(()).unwrap();
    let output = monitor.end();
    let (seen, dropped) =
        (output.count("/interfaces/0/packets"), output.count("/interfaces/0/kernel_drops"));
    assert_eq!(seen + dropped, SOCKETS * DATAGRAMS_EACH);
    assert!(seen > 300 && dropped > 1000, "{seen} seen, {dropped} dropped");
    assert_eq!(output.count("/trace/packets"), seen);
    // Ethernet, IPv4, UDP and a hundred bytes, each with its header, after the file's.
    assert_eq!(reader.join().unwrap(), 24 + seen * (16 + 14 + 20 + 8 + 100));
}

#[test]
fn as_many_threads_as_there_may_be() {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, "--capture-threads 16 --buffer 1MiB --filter tcp");
    net.scan(1..51);
    let output = monitor.end();
    assert_eq!(output.count("/interfaces/0/packets"), 100, "{}", output.summary);
    for threads in ["0", "17", "many"] {
        let mut acsm = Command::new(env!("CARGO_BIN_EXE_acsm"));
        let output =
            acsm.args(["live", "-i", "lo", "--capture-threads", threads]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(messages.contains("--capture-threads"), "{messages}");
    }
}
