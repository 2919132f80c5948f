//! How runs end early: full disks, closed pipes, signals. What was written stays valid.
#![cfg(unix)]

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use acsm_test_support::repository;
use serde_json::Value;

use crate::runner::{Folder, command, count, stderr};

/// Asserts that every line is complete and valid JSON; returns the number of alerts.
fn valid_lines(eve: &str) -> usize {
    assert!(eve.is_empty() || eve.ends_with('\n'), "the last line is whole");
    let is_alert = |line: &&str| {
        let event: Value = serde_json::from_str(line).expect(line);
        assert_eq!(event["event_type"], "alert");
        event["acsm"]["rule"].is_string()
    };
    eve.lines().filter(is_alert).count()
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error_wherever_it_is() {
    let trace = repository::trace("mixed.pcap");
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = |line: &str| command(line, &[&trace]).stdout(full()).output().unwrap();
    for (output, name) in [
        (run("replay --alerts /dev/full"), "--alerts /dev/full"),
        (run("replay --alerts -"), "standard output"),
        (run("replay"), "standard output"),
        (run("replay --json"), "standard output"),
    ] {
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(said.contains(name) && said.contains("No space left"), "{said}");
    }
    // This message cannot be written, but the program must not panic (101).
    let missing = command("replay missing.pcap", &[]).stderr(full()).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
}

/// A limit on the size of files acts as a full disk, without privileges.
#[test]
fn a_file_that_may_not_grow_holds_whole_lines() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k");
    let alerts = folder.path("alerts.json");
    let limited = |blocks: u32, workers: u32| -> Output {
        let line = format!(
            "ulimit -f {blocks}; exec {} replay -q --preset paper --workers {workers} --alerts {} {}",
            env!("CARGO_BIN_EXE_acsm"),
            alerts.display(),
            trace.display()
        );
        Command::new("sh").args(["-c", &line]).output().unwrap()
    };
    for (blocks, workers) in [(0, 1), (1, 2), (100, 1), (333, 3)] {
        let output = limited(blocks, workers);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("File too large"), "{}", stderr(&output));
        let written = std::fs::read_to_string(&alerts).unwrap();
        // A block is 512 or 1024 bytes, by the shell; a line has some 600.
        assert_eq!(valid_lines(&written) > 0, blocks >= 100);
        assert!(written.len() + 2000 > 512 * blocks as usize, "what fits is there");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k");
    for line in ["--alerts -", "", "--workers 1 --alerts -"] {
        let mut child = spawn(command(&format!("replay --preset paper {line}"), &[&trace]));
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.contains("flow_"), "{first}");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(stderr(&output), "", "{line}");
    }
}

fn spawn(mut command: Command) -> Child {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().unwrap()
}

fn send(signal: &str, child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// Waits no longer than ten seconds.
fn ends(mut child: Child, what: &str) -> Output {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(10) {
            child.kill().unwrap();
            panic!("{what}: still running ten seconds after the signal");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn waits_until(it_is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !it_is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "timed out");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The pipe stays open, in the middle of a packet, and delivers nothing more.
#[test]
fn a_signal_ends_it_with_the_summary_so_far() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 30k");
    let bytes = std::fs::read(&trace).unwrap();
    let some = &bytes[..bytes.len() / 2 + 3];
    let alerts = folder.path("alerts.json");
    for (signal, workers) in [("-INT", 1), ("-TERM", 3)] {
        let line = format!(
            "replay --json --preset paper --workers {workers} --alerts {} -",
            alerts.display()
        );
        let mut child = spawn(command(&line, &[]));
        let mut input = child.stdin.take().unwrap();
        input.write_all(some).unwrap();
        waits_until(|| std::fs::metadata(&alerts).is_ok_and(|file| file.len() > 0));
        send(signal, &child);
        let output = ends(child, signal);
        drop(input);
        assert_eq!(output.status.code(), Some(0), "{signal}");
        assert!(stderr(&output).contains("interrupted; the summary covers what was read"));
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        let packets = count(&summary, "/trace/packets");
        // The first alerts appear as soon as the pipe blocks; half of the trace has arrived by then.
        assert!((1..16_000).contains(&packets), "{packets}: what had come is counted");
        assert!(summary["trace"]["damaged"].is_null(), "an interruption is no damage");
        let shown = valid_lines(&std::fs::read_to_string(&alerts).unwrap());
        assert_eq!(shown as u64, count(&summary, "/alerts/total"));
        std::fs::remove_file(&alerts).unwrap();
    }
}

/// Alerts from a pipe are shown while it stays open, even for less than a batch of packets.
#[test]
fn alerts_do_not_wait_for_a_pipe_to_end() {
    let trace = repository::trace("resets.pcap");
    let folder = Folder::new();
    let alerts = folder.path("alerts.json");
    for workers in [1, 2] {
        let line =
            format!("replay -q --preset paper --workers {workers} --alerts {} -", alerts.display());
        let mut child = spawn(command(&line, &[]));
        let mut input = child.stdin.take().unwrap();
        input.write_all(&std::fs::read(&trace).unwrap()).unwrap();
        waits_until(|| std::fs::metadata(&alerts).is_ok_and(|file| file.len() > 0));
        drop(input);
        assert_eq!(ends(child, "the pipe's end").status.code(), Some(0));
        std::fs::remove_file(&alerts).unwrap();
    }
}

/// The same with a text page, and while the run is busy.
#[test]
fn a_signal_while_working_ends_it_too() {
    let folder = Folder::new();
    let (trace, _) = folder.generate("x.pcap", "--packets 20k");
    let many = vec![trace.as_path(); 100];
    let mut child = spawn(command("replay --preset paper", &many));
    let mut output_so_far = child.stdout.take().unwrap();
    let mut some = [0; 4096];
    output_so_far.read_exact(&mut some).unwrap();
    send("-INT", &child);
    let reader = std::thread::spawn(move || {
        let mut rest = String::new();
        output_so_far.read_to_string(&mut rest).map(|_| rest)
    });
    let output = ends(child, "working");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rest = reader.join().unwrap().unwrap();
    assert!(rest.contains("\nTRAFFIC ") && rest.contains("\nSTORE "), "the page is there");
    assert!(!rest.contains(" 2,000,000 packets"), "it ended early");
}
