//! Selecting packets, and watching one flow.

use super::wire::{ACK, FIN, SYN, Wire};
use crate::runner::{Folder, acsm, count, replay, stderr, stdout};

/// A whole connection between 1 and 2, one packet per second, and a flow from 3 to 2.
fn trace() -> Wire {
    let (there, back) = ((1, 2), (2, 1));
    Wire::new()
        .packet(0, there, (1000, 80), SYN)
        .packet(1000, back, (80, 1000), SYN | ACK)
        .packet(2000, there, (1000, 80), ACK)
        .packet(2500, (3, 2), (7, 80), ACK)
        .packet(3000, there, (1000, 80), FIN | ACK)
        .packet(4000, back, (80, 1000), FIN | ACK)
        .packet(5000, there, (1000, 80), ACK)
}

#[test]
fn a_window_of_time_is_half_open() {
    let folder = Folder::new();
    let path = folder.write("x.pcap", trace().bytes());
    let packets = |options: &str| count(&replay(options, &[&path]), "/trace/packets");
    assert_eq!(packets(""), 7);
    assert_eq!(packets("--from 2023-11-15T00:00:01Z --to 2023-11-15T00:00:03Z"), 3);
    assert_eq!(packets("--from 1700006405"), 1);
    assert_eq!(packets("--to 2023-11-15T00:00:00Z"), 0);
}

#[test]
#[cfg(feature = "live")]
fn a_filter_keeps_what_tcpdump_would() {
    let folder = Folder::new();
    let path = folder.write("x.pcap", trace().bytes());
    let filtered = |filter: &str| {
        let line = "replay --json --quiet --preset paper --filter";
        let mut command = crate::runner::command(line, &[]);
        let output = command.arg(filter).arg(&path).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let one = filtered("src host 192.0.2.1");
    assert_eq!((count(&one, "/trace/packets"), count(&one, "/flows/inserted")), (4, 1));
    assert_eq!(count(&filtered("tcp[tcpflags] & tcp-fin != 0"), "/trace/packets"), 2);
    assert_eq!(count(&filtered("udp"), "/trace/packets"), 0);
}

/// The steps of the connection by the rules of tcp-connection, from either end's point of view.
#[test]
fn watching_shows_every_step_of_a_flow_and_of_no_other() {
    let folder = Folder::new();
    let path = folder.write("x.pcap", trace().bytes());
    let steps = [
        "SYN: fcf says absent (right), goes to syn_sent",
        "SYN+ACK: fcf says syn_sent (right), goes to syn_answered",
        "ACK: fcf says syn_answered (right), goes to open",
        "FIN+ACK: fcf says open (right), goes to closing",
        "FIN+ACK: fcf says closing (right), goes to closed",
        "ACK: fcf says closed (right), stays",
    ];
    for (ends, workers) in [("192.0.2.1,192.0.2.2", 1), ("192.0.2.2,192.0.2.1", 3)] {
        let line = format!("replay --workers {workers} --watch {ends}");
        let page = stdout(&acsm(&line, &[&path]));
        let shown: Vec<&str> = page.lines().filter(|line| line.contains(" says ")).collect();
        assert_eq!(shown.len(), steps.len(), "{page}");
        for (line, step) in shown.iter().zip(steps) {
            assert!(line.ends_with(step), "{line}");
        }
        // With JSON on stdout the steps go to stderr.
        let output = acsm(&format!("{line} --json --quiet"), &[&path]);
        assert_eq!(stderr(&output).lines().collect::<Vec<_>>(), shown);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    }
}

/// A filter that is far too small is caught erring on the flow.
#[test]
fn watching_shows_the_truth_where_the_store_is_wrong() {
    let folder = Folder::new();
    let (path, _) = folder.generate("x.pcap", "--packets 5k --well-behaved --ipv6-share 0");
    let busiest = replay("--verify --backend exact", &[&path]);
    assert_eq!(count(&busiest, "/errors/flows_wrong"), 0, "exact is right by definition");
    let inspected = stdout(&acsm("inspect", &[&path]));
    let (src, dst) = inspected
        .lines()
        .filter_map(|line| line.rsplit_once(" → "))
        .map(|(left, dst)| (left.rsplit(' ').next().unwrap(), dst))
        .next()
        .expect("inspect shows the busiest pairs");
    let line = format!(
        "replay --preset paper --backend dbf --layout spread --expire none --flows 1M --memory 1KiB \
         --watch {src},{dst}"
    );
    let page = stdout(&acsm(&line, &[&path]));
    assert!(page.contains("WRONG, it is "), "1 KiB for 500 flows is never wrong?");
}
