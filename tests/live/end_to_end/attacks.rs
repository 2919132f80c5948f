//! Ordinary connections, a refused port, a scan and a flood: found as they happen, and found again in
//! the recording.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::arrivals::Arrivals;
use crate::lab::{Lab, SILENT, WATCHER, address, knock};
use crate::monitor::Monitor;

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
        let Some(lab) = Lab::new() else { return };
        let monitor = Monitor::start(&lab, &format!("--write seen.pcap {options}"));
        let arrivals = Arrivals::of(monitor.path("eve.json"));
        let server = lab.echo_server(8080, 20);
        lab.send(|| talk(8080, 20));
        server.join().unwrap();
        lab.scan(1..41);
        let scan = monitor.wait_for(is_of("port_scan"));
        assert_eq!(scan["src_ip"], crate::lab::SENDER);
        arrivals.assert_at_once(&scan);
        // Of an address that does not answer, told when it is certain: five seconds later.
        lab.send(|| {
            for _ in 0..250 {
                knock(SILENT, 80, BRIEFLY);
            }
        });
        let flood = monitor.wait_for(is_of("syn_flood"));
        assert_eq!(flood["dest_ip"], SILENT);
        arrivals.assert_at_once(&flood);

        let said = monitor.end();
        let (again, eve_again) = said.replay(options, &said.path("seen.pcap"));
        assert_eq!(said.eve, eve_again, "{options}");
        for part in ["lookups", "alerts", "trace"] {
            assert_eq!(said.summary[part], again[part], "{options}");
        }
        assert!(said.count("/trace/tcp_packets") > 20 * 8 + 2 * 40 + 250, "{}", said.summary);
        assert_eq!(said.summary["interfaces"][0]["kernel_drops"], 0);
    }
}

#[test]
fn only_flows_with_alerts_are_written_if_so_wanted() {
    let Some(lab) = Lab::new() else { return };
    let options = "--write odd.pcap --write-only alerts --seed 1";
    let monitor = Monitor::start(&lab, options);
    let server = lab.echo_server(8080, 5);
    lab.send(|| talk(8080, 5));
    server.join().unwrap();
    lab.scan(1..41);
    let scan = monitor.wait_for(is_of("port_scan"));
    let said = monitor.end();
    let (again, _) = said.replay("", &said.path("odd.pcap"));
    // The SYN that was one too many, and the RST that refused it: its flow's past and future.
    assert_eq!(again["trace"]["packets"], 2, "{scan}");
    assert!(said.count("/trace/packets") > 100);
}

#[test]
fn a_ring_of_files_holds_the_latest() {
    let Some(lab) = Lab::new() else { return };
    let monitor = Monitor::start(&lab, "--write ring.pcap --write-size 2KiB --write-files 3");
    let server = lab.echo_server(8080, 20);
    lab.send(|| talk(8080, 20));
    server.join().unwrap();
    let said = monitor.end();
    let rings: Vec<_> = std::fs::read_dir(said.path("."))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("ring-"))
        .collect();
    assert_eq!(rings.len(), 3);
    assert!(rings.iter().all(|entry| entry.metadata().unwrap().len() <= 2048));
    let (again, _) = said.replay("", &rings[0].path());
    assert!(again["trace"]["damaged"].is_null());
}

#[test]
fn errors_are_counted_live_as_in_a_replay() {
    let Some(lab) = Lab::new() else { return };
    let options = "--verify --seed 9 --backend kbf --flows 20 --fp-rate 0.3";
    let monitor = Monitor::start(&lab, &format!("{options} --write seen.pcap"));
    // Fifty times what it is made for: it errs.
    lab.scan(1..1001);
    let said = monitor.end();
    assert!(said.talk.contains("--verify keeps every flow in an exact table"), "{}", said.talk);
    assert!(said.count("/errors/lookups_extant") >= 500, "{}", said.summary);
    assert!(said.count("/errors/flows_wrong") > 0, "{}", said.summary);
    let (again, _) = said.replay(options, &said.path("seen.pcap"));
    assert_eq!(said.summary["errors"], again["errors"]);
}
