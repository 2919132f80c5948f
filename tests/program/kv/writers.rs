//! Several processes that change one store, and what a killed one leaves behind.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use acsm::atomic_file::WriteLock;

use super::{Bench, tsv};

/// A store with room for more.
fn store() -> Bench {
    let bench = Bench::new();
    bench.write("a.tsv", tsv(0..20));
    bench.done("create -o a.kv --pairs 1k --values 200 a.tsv");
    bench
}

#[test]
fn no_change_is_lost_where_many_processes_write() {
    let bench = store();
    let start = |n: u32| -> Child {
        let command = match n {
            0..10 => format!("set -q a.kv new{n} value{n}"),
            _ => format!("set -q a.kv new{n} same"),
        };
        bench.command(&command).stdin(Stdio::null()).spawn().unwrap()
    };
    let started: Vec<Child> = (0..16).map(start).collect();
    for mut process in started {
        assert!(process.wait().unwrap().success());
    }
    for n in 0..10 {
        assert_eq!(bench.done(&format!("get a.kv new{n}")), format!("new{n}\tvalue{n}\n"));
    }
    assert_eq!(bench.json("info a.kv --json")["pairs"], 36);
    assert_eq!(bench.temporary_files(), 0);
}

#[test]
fn a_process_that_waits_says_so() {
    let bench = store();
    for command in
        ["set a.kv a b", "delete a.kv a", "compress a.kv -o a.kv", "create -o a.kv a.tsv"]
    {
        let lock = WriteLock::acquire(&bench.path("a.kv"), || panic!("nobody has it")).unwrap();
        let mut waiting = bench.command(command).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(waiting.stderr.take().unwrap());
        let mut said = said.lines().map(Result::unwrap);
        let wanted = "acsm: another process is changing a.kv: waiting";
        assert!(said.any(|line| line == wanted), "{command}");
        assert!(waiting.try_wait().unwrap().is_none(), "{command}");
        drop(lock);
        // What it says is read to the end, so that it can go on.
        said.for_each(drop);
        assert!(waiting.wait().unwrap().success(), "{command}");
    }
    // Whoever reads does not wait.
    let _lock = WriteLock::acquire(&bench.path("a.kv"), || panic!("nobody has it")).unwrap();
    bench.done("info a.kv");
    bench.run("get a.kv key");
}

#[test]
fn what_a_killed_process_left_is_no_hindrance() {
    let bench = store();
    bench.write(".a.kv.1-0.unfinished", "part of a store");
    bench.write(".a.kv.notes", "not ours");
    bench.done("set a.kv a b");
    assert_eq!(bench.done("get a.kv a"), "a\tb\n");
    assert!(!bench.path(".a.kv.1-0.unfinished").exists());
    assert_eq!(bench.temporary_files(), 1, "what is not ours stays");
}
