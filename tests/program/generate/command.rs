//! The command itself: files, exit codes, messages.

use std::process::Output;

use crate::runner::{command, stderr};

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
        (&["--attacks", "smurf"], "synack_reflection"),
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
}
