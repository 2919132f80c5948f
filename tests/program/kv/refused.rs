//! Wrong input and wrong usage: a message, the exit code, and the old file as it was.

use super::{Bench, tsv};
use crate::runner::{stderr, stdout};

#[test]
fn malformed_pairs_are_named_by_their_line() {
    let bench = Bench::new();
    bench.write("old.tsv", tsv(0..50));
    bench.done("create -o a.kv --values 150 old.tsv");
    let old = bench.read("a.kv");
    let long_key = format!("a\tb\n{}\tb\n", "k".repeat(1 << 20));
    let long_value = format!("a\tb\nb\t{}\n", "v".repeat(1 << 20));
    for (name, contents, problem) in [
        ("bad.tsv", "a\tb\nb\n", "bad.tsv: line 2: no tab"),
        ("bad.tsv", "a\tb\n\n\tb\n", "bad.tsv: line 3: a key is empty"),
        ("bad.tsv", &long_key, "bad.tsv: line 2: a key has 1048576 bytes"),
        ("bad.tsv", &long_value, "bad.tsv: line 2: a value has 1048576 bytes or more"),
        ("bad.csv", "a,b\na,b,c\n", "bad.csv: line 2: 3 fields"),
        ("bad.csv", "a,b\n\"a,b\n", "bad.csv: line 2: a quotation mark that is not closed"),
        ("bad.jsonl", "{\"key\":1,\"value\":2}\n{\"key\":}\n", "bad.jsonl: line 2: not a pair"),
        ("bad.jsonl", "{\"key\":[],\"value\":2}\n", "bad.jsonl: line 1: `key` is neither"),
    ] {
        bench.write(name, contents);
        let said = bench.failure(1, &format!("create -o a.kv {name}"));
        assert!(said.contains(problem), "{said}");
        assert!(bench.read("a.kv") == old, "{problem}");
        let format = name.split('.').next_back().unwrap();
        let output = bench.run_with_input(&format!("set a.kv - --format {format}"), contents);
        assert_eq!(output.status.code(), Some(1), "{problem}");
        assert!(stderr(&output).contains("standard input: line "), "{}", stderr(&output));
        assert!(bench.read("a.kv") == old, "{problem}");
    }
    assert_eq!(bench.temporary_files(), 0);
}

#[test]
fn keys_that_cannot_be_are_refused() {
    let bench = Bench::new();
    bench.write("a.tsv", "a\tx\nb\ty\n");
    bench.done("create -o a.kv a.tsv");
    for command in ["get", "delete"] {
        let mut empty = bench.command(command);
        let output = empty.args(["a.kv", "a", ""]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stderr(&output), "acsm: a key is empty\n");
    }
    // Answers before the line that is wrong are given.
    let output = bench.run_with_input("get a.kv -", "b\na\n\na\n");
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), "b\ty\na\tx\n".to_owned()));
    assert_eq!(stderr(&output), "acsm: standard input: line 3: a key is empty\n");
    let old = bench.read("a.kv");
    let output = bench.run_with_input("delete a.kv -", format!("a\n{}\n", "k".repeat(1 << 20)));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("line 2: a key has 1048576 bytes"));
    assert!(bench.read("a.kv") == old, "nothing is deleted");
    let almost = "k".repeat((1 << 20) - 1);
    assert!(bench.run_with_input("set a.kv -", format!("{almost}\tx\n")).status.success());
    let output = bench.run_with_input("get a.kv -", &almost);
    assert!(stdout(&output).ends_with("k\tx\n"));
}

#[test]
fn values_beyond_the_limit_are_refused() {
    let bench = Bench::new();
    bench.write("a.tsv", "a\t1\nb\t2\n");
    bench.done("create -o a.kv --store fcf a.tsv");
    let old = bench.read("a.kv");
    let said = bench.failure(1, "set a.kv c 3");
    assert!(said.contains("made for 2 different values, and all are in use; create it anew"));
    let output = bench.run_with_input("set a.kv -", "a\t2\nc\t3\n");
    assert!(stderr(&output).contains("standard input: line 2: the store was made for 2"));
    assert!(bench.read("a.kv") == old);
    let said = bench.failure(2, "create -o a.kv --pairs 10 --values 5k --codes greedy a.tsv");
    assert!(said.contains("greedy codes are enough for 4213; use --codes algebraic"), "{said}");
    let said = bench.failure(2, "create -o a.kv --pairs 10 --values 17M a.tsv");
    assert!(said.ends_with("algebraic codes are enough for 16777215\n"), "{said}");
    let said = bench.failure(2, "create -o a.kv --pairs 10 --values 17M --store fcf a.tsv");
    assert!(said.contains("an fcf takes at most 16777215"), "{said}");
}

#[test]
fn damaged_and_foreign_files_are_refused_and_kept() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..20));
    bench.done("create -o a.kv a.tsv");
    let good = bench.read("a.kv");
    let mut damaged = vec![vec![], b"no store at all".to_vec(), good[..good.len() / 2].to_vec()];
    damaged.push(good[..good.len() - 1].to_vec());
    damaged.push([good.as_slice(), b"more"].concat());
    for at in (0..good.len()).step_by(good.len() / 12) {
        let mut altered = good.clone();
        altered[at] ^= 0x10;
        damaged.push(altered);
    }
    for contents in damaged {
        bench.write("bad.kv", &contents);
        let commands = ["get bad.kv a", "set bad.kv a b", "delete bad.kv a", "info bad.kv --json"];
        for command in commands {
            let said = bench.failure(1, command);
            assert!(said.starts_with("acsm: bad.kv cannot be used as a store: "), "{said}");
        }
        assert!(bench.read("bad.kv") == contents);
    }
    bench.write("bad.kv", b"no store at all");
    for command in [
        "join a.kv bad.kv -o a.kv",
        "join bad.kv a.kv -o a.kv",
        "compress bad.kv -o a.kv",
        "create --like bad.kv -o a.kv a.tsv",
    ] {
        assert!(bench.failure(1, command).contains("bad.kv cannot be used as a store"));
        assert!(bench.read("a.kv") == good);
    }
    assert!(bench.failure(1, "get none.kv a").contains("cannot open the store none.kv; `acsm kv"));
}

#[test]
fn wrong_usage_has_exit_code_2() {
    let bench = Bench::new();
    bench.write("a.tsv", "a\tx\n");
    bench.done("create -o a.kv a.tsv");
    for line in [
        "create a.tsv",
        "create -o b.kv",
        "create -o b.kv --pairs 10",
        "create -o - a.tsv",
        "create -o b.kv --cells 100 a.tsv",
        "create -o b.kv --cells 100 --hashes 0 a.tsv",
        "create -o b.kv --cells 100 --hashes 4 --fp-rate 0.1 a.tsv",
        "create -o b.kv --fp-rate 0 a.tsv",
        "create -o b.kv --fp-rate 0.9 a.tsv",
        "create -o b.kv --pairs 0 --values 3 a.tsv",
        "create -o b.kv --pairs 1e18 --values 3 a.tsv",
        "create -o b.kv --like a.kv --pairs 10 a.tsv",
        "create -o b.kv --store fcf --codes greedy a.tsv",
        "create -o b.kv --store fcf --cells 100 --hashes 4 a.tsv",
        "create -o b.kv --format xml a.tsv",
        "get a.kv",
        "get a.kv a -",
        "set a.kv a",
        "set a.kv",
        "delete a.kv",
        "join a.kv -o b.kv",
        "join a.kv b.kv",
        "compress a.kv -o -",
        "info",
    ] {
        assert!(!bench.failure(2, line).is_empty(), "{line}");
    }
    assert!(!bench.path("b.kv").exists());
    bench.write("empty.tsv", "\n");
    assert!(bench.failure(1, "create -o b.kv empty.tsv").contains("empty.tsv has no pairs"));
    assert!(bench.failure(1, "create -o b.kv none.tsv").contains("cannot open none.tsv"));
    assert!(bench.failure(1, "create -o b.kv .").contains(". is a folder; pairs are in a file"));
    bench.done("create -o b.kv --pairs 10 --values 3 empty.tsv");
    assert_eq!(bench.json("info b.kv --json")["pairs"], 0);
}

/// A limit on the size of files acts as a full disk, without privileges.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_the_old_store() {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..5000));
    bench.write("few.tsv", tsv(0..10));
    bench.done("create -o a.kv few.tsv");
    bench.done("create -o large.kv a.tsv");
    let (old, large) = (bench.read("a.kv"), bench.read("large.kv"));
    let acsm = env!("CARGO_BIN_EXE_acsm");
    for command in [
        "create -o a.kv a.tsv",
        "set large.kv x 'class 1'",
        "delete large.kv 'key 1'",
        "compress large.kv -o a.kv",
    ] {
        let line = format!("ulimit -f 16; exec {acsm} kv {command}");
        let mut limited = std::process::Command::new("sh");
        let output = limited.args(["-c", &line]).current_dir(bench.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("was not saved to ") && said.contains("File too large"), "{said}");
        assert!(bench.read("a.kv") == old && bench.read("large.kv") == large, "{command}");
        assert_eq!(bench.temporary_files(), 0, "{command}");
    }
}
