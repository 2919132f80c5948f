//! Contradictory options are refused before anything is read; failures are reported.

use std::fs::File;

use acsm_test_support::repository;

use crate::runner::{Folder, acsm, command, stderr};

fn bundled() -> std::path::PathBuf {
    repository::trace("realistic.pcap")
}

#[test]
fn wrong_usage_exits_with_two_and_names_a_remedy() {
    for (options, says) in [
        ("--fp-rates 0", "between 0 and 1"),
        ("--fp-rates 0.1,1", "between 0 and 1"),
        ("--fp-rates ,", "a share"),
        ("--fp-rates=", "--fp-rates"),
        ("--fp-rates 1e-30", "--fp-rate"),
        ("--fp-rates 0.1,10%", "twice"),
        ("--backends kbf,kbf", "twice"),
        ("--backends kbf,bloom", "kbf:literal"),
        ("--backends exact", "memory of another"),
        ("--equal size", "cells"),
        ("--loop open,open", "twice"),
        ("--repeat 0", "--repeat"),
        ("--flows 0", "at least one"),
        ("--flows many", "auto"),
        ("--hashes 99", "--hashes"),
        ("--backends sbf,bhbf --equal memory --flows 10", "bhbf at p = 0.1"),
        ("--min-severity 2", "--min-severity"),
        ("--warm-up --expire none", "--warm-up"),
        ("--memory-limit 1MiB --flows 1M", "--fp-rates"),
        ("--preset paper --rules tcp-connection", "--flow-key"),
    ] {
        let output = acsm(&format!("compare {options}"), &[&bundled()]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{options}: {said}");
        assert!(said.contains(says), "{options}: {said}");
        assert!(output.stdout.is_empty(), "{options}");
    }
}

#[test]
fn what_cannot_be_read_or_written_exits_with_one() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    let inside = file.join("report");
    for (options, input, says) in [
        (format!("--out {}", file.display()), bundled(), "--out"),
        (format!("--out {}", inside.display()), bundled(), "--out"),
        (String::new(), folder.path("missing.pcap"), "missing.pcap"),
    ] {
        let output = acsm(&format!("compare {options}"), &[&input]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
}

/// A pipe can be read only once, so the number of flows must be given.
#[test]
fn a_pipe_takes_a_number_of_flows() {
    let piped = |options: &str| {
        let line = format!("compare --fp-rates 0.1 --json {options} -");
        command(&line, &[]).stdin(File::open(bundled()).unwrap()).output().unwrap()
    };
    let refused = piped("");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--flows N"), "{}", stderr(&refused));
    let done = piped("--flows 10");
    assert!(done.status.success());
    assert!(stderr(&done).contains("alive at once"), "overfull is said: {}", stderr(&done));
    assert!(serde_json::from_slice::<serde_json::Value>(&done.stdout).is_ok());
}
