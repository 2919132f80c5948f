//! Interfaces that go and come, several at once, and the list of them.

use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::Value;

use crate::lab::{CABLE, Lab, WATCHER, knock, must};
use crate::monitor::{Monitor, wait_until};

#[test]
fn an_interface_may_go_down_and_up_and_away_and_come_back() {
    goes_and_comes("");
}

#[test]
fn an_interface_shared_by_threads_may_too() {
    goes_and_comes("--capture-threads 3");
}

fn goes_and_comes(options: &str) {
    let Some(lab) = Lab::new() else { return };
    let monitor = Monitor::start(&lab, options);
    lab.scan(1..6);
    must(&format!("-n {} link set {CABLE} down", lab.watcher));
    must(&format!("-n {} link set {CABLE} up", lab.watcher));
    lab.scan(6..11);
    std::thread::sleep(Duration::from_secs(1));
    lab.pull_out();
    std::thread::sleep(Duration::from_millis(500));
    lab.plug_in();
    // It is tried once a second.
    std::thread::sleep(Duration::from_secs(3));
    lab.scan(11..16);
    let said = monitor.end();
    assert_eq!(said.count("/flows/inserted"), 15, "{}\n{}", said.summary, said.talk);
    assert_eq!(said.count("/interfaces/0/losses_of_link"), 1);
    assert_eq!(said.talk.matches("cable0 is gone").count(), 1, "{}", said.talk);
    assert_eq!(said.talk.matches("cable0 is back").count(), 1, "{}", said.talk);
    assert_eq!(said.summary["interfaces"][0]["is_open"], true);
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
fn plug_in_another(lab: &Lab) {
    let Lab { sender, watcher } = lab;
    must(&format!("link add other0 netns {sender} type veth peer name other0 netns {watcher}"));
    for (namespace, address) in [(sender, "10.98.0.1"), (watcher, "10.98.0.2")] {
        must(&format!("-n {namespace} addr add {address}/24 dev other0"));
        must(&format!("-n {namespace} link set other0 up"));
    }
}

#[test]
fn an_interface_comes_back_though_another_is_busy() {
    let Some(lab) = Lab::new() else { return };
    plug_in_another(&lab);
    let monitor = Monitor::start(&lab, "-i other0");
    let (enough, is_enough) = std::sync::mpsc::channel::<()>();
    let busy = Lab::inside(&lab.sender, move || {
        let mut port = 0;
        while is_enough.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout) {
            port += 1;
            knock("10.98.0.2", port, Duration::from_secs(5));
        }
        u64::from(port)
    });
    lab.pull_out();
    std::thread::sleep(Duration::from_millis(500));
    lab.plug_in();
    std::thread::sleep(Duration::from_secs(2));
    lab.scan(1..6);
    enough.send(()).unwrap();
    let others = busy.join().unwrap();
    let said = monitor.end();
    assert_eq!(said.count("/flows/inserted"), others + 5, "{}\n{}", said.summary, said.talk);
}

fn merges_two(options: &str) {
    let Some(lab) = Lab::new() else { return };
    plug_in_another(&lab);
    let monitor = Monitor::start(&lab, &format!("-i other0 --write both.pcap --seed 1 {options}"));
    lab.send(|| {
        for port in 1..=100 {
            knock(WATCHER, port, Duration::from_secs(5));
            knock("10.98.0.2", port, Duration::from_secs(5));
        }
    });
    monitor.wait_for(|alert| alert["dest_ip"] == "10.98.0.2");
    wait_until("both are told", || (monitor.alerts().len() >= 2).then_some(()));
    let said = monitor.end();
    assert!(said.count("/interfaces/0/packets") >= 200, "{}", said.summary);
    assert!(said.count("/interfaces/1/packets") >= 200, "{}", said.summary);
    let (again, eve) = said.replay("--seed 1", &said.path("both.pcap"));
    assert_eq!(said.eve, eve);
    assert_eq!(said.summary["trace"], again["trace"]);
    let times = frame_times(&said.path("both.pcap"));
    assert!(times.is_sorted(), "merged out of order");
}

fn frame_times(path: &std::path::Path) -> Vec<acsm::time::Timestamp> {
    use acsm::capture::{FileSource, Source as _, TimeWindow};

    let mut source = FileSource::open(&[path.to_owned()], TimeWindow::default()).unwrap();
    let mut times = vec![];
    while let Some(frame) = source.next_frame().unwrap() {
        times.push(frame.time);
    }
    times
}

#[test]
fn settings_that_merge_packets_are_told_at_the_start() {
    let Some(lab) = Lab::new() else { return };
    for (setting, is_told) in [("on", true), ("off", false)] {
        let mut ethtool = lab.command("ethtool");
        let changed = ethtool.args(["-K", CABLE, "gro", setting]).output().unwrap();
        if !changed.status.success() {
            let why = String::from_utf8_lossy(&changed.stderr);
            eprintln!("SKIPPED: no ethtool here, offloads were not tried: {why}");
            return;
        }
        let said = Monitor::start(&lab, "--capture-threads 2").end();
        let told = said.talk.matches("ethtool -K cable0 gro off").count();
        assert_eq!(told, usize::from(is_told), "{setting}: {}", said.talk);
    }
}

/// The kernel takes VLAN tags off and keeps them beside the packet; they must be back.
#[test]
fn vlan_tags_that_the_kernel_took_off_are_back() {
    let Some(lab) = Lab::new() else { return };
    let monitor = Monitor::start(&lab, "");
    lab.send(|| {
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
    let Some(lab) = Lab::new() else { return };
    let acsm = env!("CARGO_BIN_EXE_acsm");
    let list = |options: &[&str]| lab.command(acsm).arg("interfaces").args(options).output();
    let document: Value = serde_json::from_slice(&list(&["--json"]).unwrap().stdout).unwrap();
    let interfaces = document["interfaces"].as_array().unwrap();
    let cable = interfaces.iter().find(|interface| interface["name"] == CABLE).unwrap();
    assert_eq!((&cable["state"], &cable["capture_allowed"]), (&"up".into(), &true.into()));
    assert!(cable["addresses"].as_array().unwrap().contains(&WATCHER.into()), "{cable}");
    let table = String::from_utf8(list(&[]).unwrap().stdout).unwrap();
    assert!(table.lines().any(|line| line.starts_with(CABLE) && line.contains(WATCHER)), "{table}");
}

/// The exit code and the words of `acsm live` with these options.
fn refused(options: &str) -> (Option<i32>, String) {
    let options = ["live", "--duration", "1s"].into_iter().chain(options.split_whitespace());
    let output = Command::new(env!("CARGO_BIN_EXE_acsm")).args(options).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let (code, talk) = refused("-i nonesuch");
    assert_eq!(code, Some(1));
    assert!(talk.contains("nonesuch"), "{talk}");
}

#[test]
fn interfaces_must_be_named_each_once() {
    let (code, talk) = refused("");
    assert!(code == Some(2) && talk.contains("Say -i with one of: "), "{talk}");
    assert!(talk.contains("lo") && !talk.contains("dbus"), "{talk}");
    let (code, talk) = refused("-i lo -i any -i lo");
    assert!(code == Some(2) && talk.contains("-i lo is there twice"), "{talk}");
}

#[test]
fn a_filter_that_makes_no_sense_is_wrong_usage() {
    let Some(lab) = Lab::new() else { return };
    let mut acsm = lab.command(env!("CARGO_BIN_EXE_acsm"));
    let output = acsm.args(["live", "-i", CABLE, "--filter", "tcp prot 80"]).output().unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(talk.contains("--filter `tcp prot 80`: ") && talk.contains("tcpdump"), "{talk}");
}
