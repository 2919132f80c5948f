//! Unusable input is refused before anything is read: a clear message, the right exit code.

use std::path::{Path, PathBuf};

use acsm_test_support::repository;

use crate::runner::{Folder, acsm, stderr};

fn capture() -> PathBuf {
    repository::trace("refused.pcap")
}

/// The run fails with `code`, says `message` once, and prints no data.
fn fails(options: &str, files: &[&Path], code: i32, message: &str) {
    let output = acsm(&format!("replay {options}"), files);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{options}: {said}");
    assert!(said.contains(message), "{options}: said {said}, not {message}");
    assert!(said.lines().count() <= 8 && said.len() < 1200, "{options}: {said}");
    assert!(output.stdout.is_empty(), "{options}: printed something");
}

#[test]
fn wrong_usage_exits_with_2_and_names_the_option() {
    let cases = [
        ("--fp-rate 0", "--fp-rate"),
        ("--fp-rate 1", "--fp-rate"),
        ("--fp-rate NaN", "--fp-rate"),
        ("--fp-rate=-0.1", "--fp-rate"),
        ("--fp-rate inf", "--fp-rate"),
        ("--fp-rate 1e-300", "--fp-rate 1e-300"),
        ("--fp-rate 0.1 --memory 1MiB", "--memory"),
        ("--flows 0", "--flows 0"),
        ("--flows -5", "-5"),
        ("--flows 1e15", "the limit is"),
        ("--memory 10B", "--memory 10B is too small: the least that works here is"),
        ("--memory 10TB", "the limit is"),
        ("--memory 50GiB --backend dbf --no-counters", "cells, the limit is"),
        ("--memory 0", "too small"),
        ("--memory much", "64MiB"),
        ("--memory 10B --backend exact", "too small"),
        ("--memory 10TB --backend exact", "the limit is"),
        ("--hashes 0 --backend kbf", "--hashes 0"),
        ("--hashes 33 --backend kbf", "--hashes 33"),
        ("--hashes 3 --backend exact", "--hashes does not apply to --backend exact"),
        ("--hashes 3 --backend fcf", "--hashes does not apply to --backend fcf"),
        ("--cell-bits 8 --backend fcf", "--cell-bits does not apply to --backend fcf"),
        ("--layout spread --backend fcf", "--layout does not apply to --backend fcf"),
        ("--fp-rate 1e-10 --backend fcf", "fingerprints of 32 bits reach 4.4e-10"),
        ("--flows 1M --memory 64KiB --backend fcf", "too small"),
        ("--cell-bits 7 --backend kbf", "8, 16 or 32"),
        ("--cell-bits 8 --backend exact", "--cell-bits"),
        ("--cell-bits 8 --backend bhbf", "bhbf has cells of 16 bits"),
        ("--decode literal --backend sbf", "--decode does not apply to --backend sbf"),
        ("--sbf-rules stateful", "--sbf-rules does not apply to --backend fcf"),
        ("--no-counters", "--no-counters does not apply to --backend fcf"),
        ("--no-counters --backend dbf --expire none", "--expire timer"),
        ("--backend bloom", "kbf"),
        ("--layout blocked:4", "blocked:3"),
        ("--layout blocked", "blocked:1"),
        ("--layout blocked:1 --backend exact", "--layout does not apply to --backend exact"),
        ("--backend kbf --layout blocked:1 --cell-bits 32 --hashes 15", "have 7 cells for a flow"),
        ("--expire recycle --backend exact", "does not apply to --backend exact"),
        ("--recycle-at fill:0.5 --backend kbf", "add --expire recycle or two-phase"),
        ("--recycle-at fill:2 --expire recycle", "fill:0.5"),
        ("--recycle-at 100 --expire recycle", "flows:1M"),
        ("--no-retain --expire two-phase --backend kbf", "add --expire recycle"),
        ("--workers 0", "1..=16"),
        ("--workers 17", "1..=16"),
        ("--min-severity 0", "1..=4"),
        ("--idle-timeout 0", "--idle-timeout"),
        ("--idle-timeout soon", "60s"),
        ("--phase ops:0", "ops:N"),
        ("--phase 60s", "ops:N"),
        ("--watch nonsense", "SRC,DST"),
        ("--watch 192.0.2.1", "SRC,DST"),
        ("--watch 192.0.2.1,there", "SRC,DST"),
        ("--json --alerts -", "--alerts -"),
        ("--from 2024-01-02T00:00:00Z --to 2024-01-01T00:00:00Z", "is not before"),
        ("--from yesterday", "--from"),
        ("--flow-key pair --rules tcp-connection", "`connection`"),
        ("--seed x", "--seed"),
        ("--quiet --verbose", "--verbose"),
        ("--no-such-option", "--no-such-option"),
    ];
    for (options, message) in cases {
        fails(options, &[&capture()], 2, message);
    }
    fails("", &[], 2, "<FILE>");
    #[cfg(feature = "live")]
    fails("--filter nonsense", &[&capture()], 2, "--filter `nonsense`");
}

/// A typing error must not destroy a capture.
#[test]
fn alerts_never_overwrite_what_is_read() {
    let folder = Folder::new();
    let bytes = std::fs::read(capture()).unwrap();
    let mine = folder.write("mine.pcap", &bytes);
    let options = format!("--alerts {}/./mine.pcap", folder.path("").display());
    fails(&options, &[&mine], 2, "would be read and overwritten");
    // Nor a capture in a directory that is read; other files there are not read.
    let directory = folder.path("");
    fails(&options, &[&directory], 2, "would be read and overwritten");
    assert!(std::fs::read(&mine).unwrap() == bytes);
    let eve = folder.write("eve.json", "{}\n");
    let output = acsm(&format!("replay --alerts {}", eve.display()), &[&directory]);
    assert!(output.status.success(), "{}", stderr(&output));
    fails("- -", &[], 2, "only once");
}

#[test]
fn captures_that_cannot_be_read_fail_with_1() {
    let folder = Folder::new();
    let text = folder.write("notes.txt", "no capture at all, only words\n");
    let empty = folder.write("empty", "");
    for (path, message) in [
        (folder.path("missing.pcap"), "missing.pcap: No such file"),
        (text, "notes.txt is not a capture: it looks like text"),
        (empty, "empty is not a capture: it looks like an empty file"),
    ] {
        fails("", &[&path], 1, message);
        // One bad file among good ones is known before anything is read.
        fails("", &[&capture(), &path], 1, message);
    }
}

/// A rules file with this many states.
fn rules_of(states: usize) -> String {
    let states = (0..states).map(|n| format!("[[state]]\nname = \"s{n}\"\ndoc = \"-\"\n"));
    let machine = "[[transition]]\nin = [\"absent\"]\ngo = \"s0\"\n";
    format!("flow_keys = [\"pair\"]\n{}{machine}", states.collect::<String>())
}

#[test]
fn rules_files_that_cannot_be_used_fail_with_1_and_say_where() {
    let folder = Folder::new();
    let sixteen = folder.write("sixteen.toml", rules_of(16));
    let output =
        acsm(&format!("replay -q --flow-key pair --rules {}", sixteen.display()), &[&capture()]);
    assert!(output.status.success(), "16 states are allowed: {}", stderr(&output));
    for (name, contents, message) in [
        ("empty.toml", String::new(), "empty.toml"),
        ("many.toml", rules_of(17), "16"),
        ("key.toml", format!("surprise = 1\n{}", rules_of(1)), "surprise"),
        ("syntax.toml", "flow_keys = [".to_owned(), "syntax.toml"),
        ("binary.toml", "\u{0}\u{1}\u{2}".to_owned(), "binary.toml"),
    ] {
        let path = folder.write(name, contents);
        fails(&format!("--rules {}", path.display()), &[&capture()], 1, message);
    }
    fails("--rules no/such/rules.toml", &[&capture()], 1, "no/such/rules.toml");
    let not_text = folder.path("latin1.toml");
    std::fs::write(&not_text, [0x61, 0xff, 0xfe]).unwrap();
    fails(&format!("--rules {}", not_text.display()), &[&capture()], 1, "latin1.toml");
    let directory = not_text.parent().unwrap().display().to_string();
    fails(&format!("--rules {directory}"), &[&capture()], 1, "directory");
}

#[test]
fn suppression_files_that_cannot_be_used_fail_with_1() {
    let folder = Folder::new();
    for (contents, message) in [
        ("[[suppress]]\nrule = \"no_such_rule\"\n", "no_such_rule"),
        ("[[suppress]]\nsource = [\"here\"]\n", "here"),
        ("[[suppress]]\nsauce = [\"192.0.2.0/24\"]\n", "sauce"),
        ("suppress = 7\n", "suppress"),
    ] {
        let path = folder.write("suppress.toml", contents);
        fails(&format!("--suppress {}", path.display()), &[&capture()], 1, message);
    }
    fails("--suppress no/such/list.toml", &[&capture()], 1, "no/such/list.toml");
}
