//! Ordinary connections, a refused port, a scan and a flood: found as they happen, and found again in
//! the recording.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::arrivals::Arrivals;
use crate::monitor::Monitor;
use crate::namespaces::{NamespacePair, SILENT, WATCHER, address, try_connect};

const BRIEFLY: Duration = Duration::from_millis(1);

/// Connections that are opened, used and closed as they should be.
pub fn talk(port: u16, connections: usize) {
    for _ in 0..connections {
        let mut stream = TcpStream::connect(address(WATCHER, port)).unwrap();
        stream.write_all(b"hello").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "hello");
    }
}

fn is_of(rule: &'static str) -> impl Fn(&Value) -> bool {
    move |alert| alert["acsm"]["rule"] == rule
}

#[test]
fn attacks_are_found_at_once_and_again_in_the_recording() {
    for options in ["--seed 7 --workers 2", "--seed 8 --backend kbf --flows 100 --fp-rate 0.2"] {
        let Some(net) = NamespacePair::new() else { return };
        let monitor = Monitor::start(&net, &format!("--write seen.pcap {options}"));
        let arrivals = Arrivals::of(monitor.path("eve.json"));
        let server = net.echo_server(8080, 20);
        net.send(|| talk(8080, 20));
        server.join().unwrap();
        net.scan(1..41);
        let scan = monitor.wait_for(is_of("port_scan"));
        assert_eq!(scan["src_ip"], crate::namespaces::SENDER);
        arrivals.assert_at_once(&scan);
        // A flood at an address that does not answer: reported five seconds later, when that is certain.
        net.send(|| {
            for _ in 0..250 {
                try_connect(SILENT, 80, BRIEFLY);
            }
        });
        let flood = monitor.wait_for(is_of("syn_flood"));
        assert_eq!(flood["dest_ip"], SILENT);
        arrivals.assert_at_once(&flood);

        let output = monitor.end();
        let (again, eve_again) = output.replay(options, &output.path("seen.pcap"));
        assert_eq!(output.eve, eve_again, "{options}");
        for part in ["lookups", "alerts", "trace"] {
            assert_eq!(output.summary[part], again[part], "{options}");
        }
        assert!(output.count("/trace/tcp_packets") > 20 * 8 + 2 * 40 + 250, "{}", output.summary);
        assert_eq!(output.summary["interfaces"][0]["kernel_drops"], 0);
    }
}

#[test]
fn only_flows_with_alerts_are_written_if_so_wanted() {
    let Some(net) = NamespacePair::new() else { return };
    let options = "--write odd.pcap --write-only alerts --seed 1";
    let monitor = Monitor::start(&net, options);
    let server = net.echo_server(8080, 5);
    net.send(|| talk(8080, 5));
    server.join().unwrap();
    net.scan(1..41);
    let scan = monitor.wait_for(is_of("port_scan"));
    let output = monitor.end();
    let (again, _) = output.replay("", &output.path("odd.pcap"));
    // The SYN that exceeded the threshold, and the RST that refused it: before and after the alert.
    assert_eq!(again["trace"]["packets"], 2, "{scan}");
    assert!(output.count("/trace/packets") > 100);
}

#[test]
fn a_ring_of_files_holds_the_latest() {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, "--write ring.pcap --write-size 2KiB --write-files 3");
    let server = net.echo_server(8080, 20);
    net.send(|| talk(8080, 20));
    server.join().unwrap();
    let output = monitor.end();
    let rings: Vec<_> = std::fs::read_dir(output.path("."))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("ring-"))
        .collect();
    assert_eq!(rings.len(), 3);
    assert!(rings.iter().all(|entry| entry.metadata().unwrap().len() <= 2048));
    let (again, _) = output.replay("", &rings[0].path());
    assert!(again["trace"]["damaged"].is_null());
}

#[test]
fn errors_are_counted_live_as_in_a_replay() {
    let Some(net) = NamespacePair::new() else { return };
    let options = "--verify --seed 9 --pending none --backend kbf --flows 20 --fp-rate 0.3";
    let monitor = Monitor::start(&net, &format!("{options} --write seen.pcap"));
    // Fifty times the flows that the store is sized for: it errs.
    net.scan(1..1001);
    let output = monitor.end();
    assert!(
        output.stderr.contains("--verify keeps every flow in an exact table"),
        "{}",
        output.stderr
    );
    assert!(output.count("/errors/lookups_extant") >= 500, "{}", output.summary);
    assert!(output.count("/errors/flows_wrong") > 0, "{}", output.summary);
    let (again, _) = output.replay(options, &output.path("seen.pcap"));
    assert_eq!(output.summary["errors"], again["errors"]);
}
