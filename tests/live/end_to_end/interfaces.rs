//! Interfaces that disappear and return, several at once, and the list of interfaces.

use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::Value;

use crate::monitor::{Monitor, wait_until};
use crate::namespaces::{CABLE, NamespacePair, WATCHER, must, try_connect};

#[test]
fn an_interface_may_go_down_and_up_and_away_and_come_back() {
    goes_and_comes("");
}

#[test]
fn an_interface_shared_by_threads_may_too() {
    goes_and_comes("--capture-threads 3");
}

fn goes_and_comes(options: &str) {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, options);
    net.scan(1..6);
    must(&format!("-n {} link set {CABLE} down", net.watcher));
    must(&format!("-n {} link set {CABLE} up", net.watcher));
    net.scan(6..11);
    std::thread::sleep(Duration::from_secs(1));
    net.remove_link();
    std::thread::sleep(Duration::from_millis(500));
    net.add_link();
    // Reopening is tried once per second.
    std::thread::sleep(Duration::from_secs(3));
    net.scan(11..16);
    let output = monitor.end();
    assert_eq!(output.count("/pending/inserted"), 15, "{}\n{}", output.summary, output.stderr);
    assert_eq!(output.count("/interfaces/0/losses_of_link"), 1);
    assert_eq!(output.stderr.matches("cable0 is gone").count(), 1, "{}", output.stderr);
    assert_eq!(output.stderr.matches("cable0 is back").count(), 1, "{}", output.stderr);
    assert_eq!(output.summary["interfaces"][0]["is_open"], true);
}

#[test]
fn several_interfaces_are_merged_in_time_order() {
    merges_two("");
}

#[test]
fn several_interfaces_shared_by_threads_are_too() {
    merges_two("--capture-threads 2");
}

/// Both ends of a second cable inside the watcher's namespace would be one machine talking to
/// itself; so a second cable between the two.
fn plug_in_another(net: &NamespacePair) {
    let NamespacePair { sender, watcher } = net;
    must(&format!("link add other0 netns {sender} type veth peer name other0 netns {watcher}"));
    for (namespace, address) in [(sender, "10.98.0.1"), (watcher, "10.98.0.2")] {
        must(&format!("-n {namespace} addr add {address}/24 dev other0"));
        must(&format!("-n {namespace} link set other0 up"));
    }
}

#[test]
fn an_interface_comes_back_though_another_is_busy() {
    let Some(net) = NamespacePair::new() else { return };
    plug_in_another(&net);
    let monitor = Monitor::start(&net, "-i other0");
    let (enough, is_enough) = std::sync::mpsc::channel::<()>();
    let busy = NamespacePair::inside(&net.sender, move || {
        let mut port = 0;
        while is_enough.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout) {
            port += 1;
            try_connect("10.98.0.2", port, Duration::from_secs(5));
        }
        u64::from(port)
    });
    net.remove_link();
    std::thread::sleep(Duration::from_millis(500));
    net.add_link();
    std::thread::sleep(Duration::from_secs(2));
    net.scan(1..6);
    enough.send(()).unwrap();
    let others = busy.join().unwrap();
    let output = monitor.end();
    assert_eq!(
        output.count("/pending/inserted"),
        others + 5,
        "{}\n{}",
        output.summary,
        output.stderr
    );
}

fn merges_two(options: &str) {
    let Some(net) = NamespacePair::new() else { return };
    plug_in_another(&net);
    let monitor = Monitor::start(&net, &format!("-i other0 --write both.pcap --seed 1 {options}"));
    net.send(|| {
        for port in 1..=100 {
            try_connect(WATCHER, port, Duration::from_secs(5));
            try_connect("10.98.0.2", port, Duration::from_secs(5));
        }
    });
    monitor.wait_for(|alert| alert["dest_ip"] == "10.98.0.2");
    wait_until("both alerts", || (monitor.alerts().len() >= 2).then_some(()));
    let output = monitor.end();
    assert!(output.count("/interfaces/0/packets") >= 200, "{}", output.summary);
    assert!(output.count("/interfaces/1/packets") >= 200, "{}", output.summary);
    let (again, eve) = output.replay("--seed 1", &output.path("both.pcap"));
    assert_eq!(output.eve, eve);
    assert_eq!(output.summary["trace"], again["trace"]);
    let times = frame_times(&output.path("both.pcap"));
    assert!(times.is_sorted(), "merged out of order");
}

fn frame_times(path: &std::path::Path) -> Vec<acsm::time::Timestamp> {
    use acsm::capture::{FileSource, PacketSource as _, TimeWindow};

    let mut source = FileSource::open(&[path.to_owned()], TimeWindow::default()).unwrap();
    let mut times = vec![];
    while let Some(frame) = source.next_frame().unwrap() {
        times.push(frame.time);
    }
    times
}

#[test]
fn settings_that_merge_packets_are_reported_at_the_start() {
    let Some(net) = NamespacePair::new() else { return };
    for (setting, is_reported) in [("on", true), ("off", false)] {
        let mut ethtool = net.command("ethtool");
        let changed = ethtool.args(["-K", CABLE, "gro", setting]).output().unwrap();
        if !changed.status.success() {
            let why = String::from_utf8_lossy(&changed.stderr);
            eprintln!("SKIPPED: no ethtool here, offloads were not tried: {why}");
            return;
        }
        let output = Monitor::start(&net, "--capture-threads 2").end();
        let reports = output.stderr.matches("ethtool -K cable0 gro off").count();
        assert_eq!(reports, usize::from(is_reported), "{setting}: {}", output.stderr);
    }
}

/// The kernel removes VLAN tags and keeps them as metadata; they must be restored.
#[test]
fn vlan_tags_that_the_kernel_took_off_are_back() {
    let Some(net) = NamespacePair::new() else { return };
    let monitor = Monitor::start(&net, "");
    net.send(|| {
        let device = pcap::Capture::from_device(CABLE).unwrap();
        device.open().unwrap().sendpacket(tagged_syn_fin(5)).unwrap();
    });
    let alert = monitor.wait_for(|alert| alert["acsm"]["rule"] == "tcp_syn_fin");
    assert_eq!(alert["vlan"], serde_json::json!([5]));
}

/// Ethernet, a VLAN tag, IPv4, and TCP with SYN and FIN.
fn tagged_syn_fin(vlan: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1, 0x81, 0, 0, vlan, 8, 0]);
    frame.extend([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 99, 0, 1, 10, 99, 0, 2]);
    frame.extend([4, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 3, 0, 0, 0, 0, 0, 0]);
    frame
}

#[test]
fn interfaces_are_listed() {
    let Some(net) = NamespacePair::new() else { return };
    let acsm = env!("CARGO_BIN_EXE_acsm");
    let list = |options: &[&str]| net.command(acsm).arg("interfaces").args(options).output();
    let document: Value = serde_json::from_slice(&list(&["--json"]).unwrap().stdout).unwrap();
    let interfaces = document["interfaces"].as_array().unwrap();
    let cable = interfaces.iter().find(|interface| interface["name"] == CABLE).unwrap();
    assert_eq!((&cable["state"], &cable["capture_allowed"]), (&"up".into(), &true.into()));
    assert!(cable["addresses"].as_array().unwrap().contains(&WATCHER.into()), "{cable}");
    let table = String::from_utf8(list(&[]).unwrap().stdout).unwrap();
    assert!(table.lines().any(|line| line.starts_with(CABLE) && line.contains(WATCHER)), "{table}");
}

/// The exit code and the messages of `acsm live` with these options.
fn refused(options: &str) -> (Option<i32>, String) {
    let options = ["live", "--duration", "1s"].into_iter().chain(options.split_whitespace());
    let output = Command::new(env!("CARGO_BIN_EXE_acsm")).args(options).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let (code, stderr) = refused("-i nonesuch");
    assert_eq!(code, Some(1));
    assert!(stderr.contains("nonesuch"), "{stderr}");
}

#[test]
fn interfaces_must_be_named_each_once() {
    let (code, stderr) = refused("");
    assert!(code == Some(2) && stderr.contains("Say -i with one of: "), "{stderr}");
    assert!(stderr.contains("lo") && !stderr.contains("dbus"), "{stderr}");
    let (code, stderr) = refused("-i lo -i any -i lo");
    assert!(code == Some(2) && stderr.contains("-i lo is there twice"), "{stderr}");
}

#[test]
fn a_filter_that_makes_no_sense_is_wrong_usage() {
    let Some(net) = NamespacePair::new() else { return };
    let mut acsm = net.command(env!("CARGO_BIN_EXE_acsm"));
    let output = acsm.args(["live", "-i", CABLE, "--filter", "tcp prot 80"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--filter `tcp prot 80`: ") && stderr.contains("tcpdump"), "{stderr}");
}
