//! The command itself: files, exit codes, messages.

use std::process::Output;

use acsm::generate::AttackKind;

use crate::runner::{Folder, command, stderr};

fn acsm(arguments: &[&str]) -> Output {
    command("generate", &[]).args(arguments).output().expect("acsm runs")
}

#[test]
fn writes_the_trace_and_the_truth_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let trace = path("x.pcap");
    let output =
        acsm(&["-o", trace.to_str().unwrap(), "--packets", "5k", "--attacks", "rst_storm"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    let said = stderr(&output);
    assert!(said.starts_with("wrote 5000 packets, ") && said.contains("x.truth.json"), "{said}");
    let truth: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path("x.truth.json")).unwrap()).unwrap();
    assert_eq!(truth["packets"], 5000);
    assert_eq!(truth["attacks"][0]["rule"], "rst_storm");
    let written = std::fs::read(&trace).unwrap();
    assert_eq!(super::records(&written).len(), 5000);

    // The same on standard output, where there is no truth unless it is asked for.
    let output = acsm(&["-o", "-", "--packets", "5_000", "--attacks", "rst_storm"]);
    assert!(output.stdout == written);
    assert!(!stderr(&output).contains("ground truth"));
    let truth_path = path("y.json");
    acsm(&["-o", "-", "--packets", "5e3", "--truth", truth_path.to_str().unwrap()]);
    assert!(truth_path.exists());
}

#[test]
fn wrong_usage_exits_2_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("x.pcap");
    let trace = trace.to_str().unwrap();
    for (args, advice) in [
        (&["--packets", "many"][..], "10M"),
        (&["--packets", "0"], "at least 1"),
        (&["--flows", "0"], "number of flows"),
        (&["--truth", trace], "would overwrite the trace"),
        (&["--truth", "-"], "a file of its own"),
        (&["--packets", "100", "--flows", "1000"], "raise --packets or lower --flows"),
        (&["--attacks", "smurf"], "all, every, syn_flood, "),
        (&["--attacks", "syn_flood,smurf"], "late_ack_flood, ack_flood, synack_flood"),
        (&["--attacks", "ack_flood:many"], "10M"),
        (&["--attacks", "ack_flood:10@"], "10M"),
        (&["--attacks", "ack_flood:0"], "the number of probes must be at least 1"),
        (&["--attacks", "ack_flood@0"], "probes per second must be at least 1"),
        (&["--attacks", "port_scan:70k"], "enough for 65535; lower"),
        (&["--attacks", "ack_flood:20M"], "enough for 10000000"),
        (&["--attacks", "ack_flood:2M"], "and the attacks"),
        (&["--long-lived", "100k"], "and the long-lived connections"),
        (&["--profile", "paper", "--long-lived", "10"], "--profile realistic"),
        (&["--profile", "paper", "--silent-share", "10%"], "--profile realistic"),
        (&["--well-behaved", "--silent-share", "10%"], "end silently"),
        (&["--silent-share", "1.5"], "10%"),
        (&["--profile", "paper", "--packets", "900k"], "908522 flows"),
        (&["--profile", "paper", "--well-behaved"], "--profile realistic"),
        (&["--well-behaved", "--attacks", "all"], "no attacks"),
        (&["--snaplen", "0"], "1..=65535"),
        (&["--ipv6-share", "2"], "10%"),
    ] {
        let output = acsm(&[&["-o", trace], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(advice), "{args:?}: {}", stderr(&output));
        assert!(!std::path::Path::new(trace).exists(), "nothing is written for {args:?}");
    }
    assert_eq!(acsm(&[]).status.code(), Some(2));
}

#[test]
fn all_means_the_same_twelve_attacks_for_good_and_every_means_floods_and_scenarios_too() {
    const ALL: &str = "syn_flood syn_flood_one_source syn_scan fin_scan null_scan xmas_scan ack_scan \
                       port_scan host_sweep rst_storm fin_storm synack_reflection";
    const FLOODS: &str = "unanswered_syn_flood repeated_syn_flood answered_syn_flood blind_ack_flood \
                          blind_data_flood challenge_ack_flood late_ack_flood ack_flood \
                          synack_flood rst_flood fin_flood botnet_flood subnet_syn_flood";
    const SCENARIOS: &str = "carpet_bombing login_guessing slow_port_scan slow_host_sweep \
                             connection_flood backscatter service_restart busy_server";
    // The slow ones go on all the time; labels are in the order of the first packet.
    const EVERY_STARTS_WITH: &str = "syn_flood syn_flood_one_source slow_port_scan slow_host_sweep";
    let folder = Folder::new();
    let attacks = |words: &str| -> (String, Vec<u64>) {
        let options = format!("--packets 60k --flows 1k --attacks {words}");
        let (_, truth) = folder.generate("x.pcap", &options);
        let attacks = truth["attacks"].as_array().unwrap();
        let names: Vec<&str> = attacks.iter().map(|a| a["name"].as_str().unwrap()).collect();
        let sources = attacks.iter().map(|a| a["attacker_count"].as_u64().unwrap()).collect();
        (names.join(" "), sources)
    };
    assert_eq!(attacks("all").0, ALL);
    let (every, _) = attacks("every");
    assert!(every.starts_with(EVERY_STARTS_WITH), "{every}");
    let is_slow = |name: &&str| name.starts_with("slow_");
    let without_slow = |names: &str| -> Vec<String> {
        names.split_whitespace().filter(|name| !is_slow(name)).map(str::to_owned).collect()
    };
    assert_eq!(without_slow(&every), without_slow(&format!("{ALL} {FLOODS} {SCENARIOS}")));
    assert_eq!(every.split(' ').filter(is_slow).count(), 2);
    let (again, _) = attacks("all,rst_flood,carpet_bombing,every");
    assert_eq!(again.split(' ').count(), 33);
    let (names, sources) =
        attacks("ack_flood,fin_flood:2k@100,rst_flood@50,ack_flood:500,fin_flood");
    assert_eq!(names, "ack_flood fin_flood rst_flood");
    assert_eq!(sources, [500, 2000, 400]);
}

#[test]
fn a_path_that_cannot_be_written_is_named() {
    let output = acsm(&["-o", "no-such-folder/x.pcap", "--packets", "1000"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no-such-folder/x.pcap"), "{}", stderr(&output));
}

#[test]
fn help_teaches_by_example() {
    let output = acsm(&["--help"]);
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(help.contains("acsm generate -o big.pcap --packets 10M --flows 1M"), "{help}");
    for kind in AttackKind::every() {
        assert!(help.contains(kind.name()), "{}", kind.name());
    }
    assert!(help.contains("--attacks blind_ack_flood:1M@100k"), "{help}");
    assert!(help.contains("--silent-share 20%") && help.contains("--long-lived 2k"), "{help}");
}
