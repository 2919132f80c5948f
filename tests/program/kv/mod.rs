//! `acsm kv` as its users see it: stores made, asked, changed, joined and compressed; what is refused.

mod changes;
mod create;
mod refused;
#[cfg(unix)]
mod writers;

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::runner::{Folder, stderr, stdout};

/// A folder in which commands run.
struct Bench(Folder);

impl Bench {
    fn new() -> Bench {
        Bench(Folder::new())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        self.0.write(name, contents);
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_acsm"));
        command.arg("kv").args(line.split_whitespace()).current_dir(self.path(""));
        command
    }

    /// Runs `acsm kv` with the words of a line.
    fn run(&self, line: &str) -> Output {
        self.command(line).stdin(Stdio::null()).output().expect("acsm runs")
    }

    /// The same with this on standard input.
    fn run_with_input(&self, line: &str, input: impl AsRef<[u8]>) -> Output {
        self.write("standard input", input);
        let input = File::open(self.path("standard input")).unwrap();
        self.command(line).stdin(input).output().expect("acsm runs")
    }

    /// What a run that must succeed prints.
    fn done(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        stdout(&output)
    }

    /// The document that a run prints.
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.done(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// What a run says that must fail with this exit code, and without data.
    fn failure(&self, code: i32, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{line}");
        stderr(&output)
    }

    /// Names of files that begin with a dot, as temporary ones do.
    fn temporary_files(&self) -> usize {
        let entries = fs::read_dir(self.path("")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with('.')).count()
    }
}

/// The value of a key in the tests.
fn value_of(key: u32) -> String {
    format!("class {}", key % 150)
}

/// Pairs of these keys as TSV.
fn tsv(keys: std::ops::Range<u32>) -> String {
    keys.map(|key| format!("key {key}\t{}\n", value_of(key))).collect()
}

/// The keys, one per line.
fn lines(keys: std::ops::Range<u32>) -> String {
    keys.map(|key| format!("key {key}\n")).collect()
}

#[test]
fn every_command_has_help_with_examples() {
    let bench = Bench::new();
    for command in ["create", "get", "set", "delete", "join", "compress", "info"] {
        let help = bench.done(&format!("{command} --help"));
        assert!(help.contains("Examples:\n  acsm kv "), "{command}");
    }
    let help = bench.done("--help");
    assert!(help.contains("maplets") && help.contains("Wrong: values"), "{help}");
}
