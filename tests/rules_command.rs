//! `acsm rules` as its users see it: output, exit codes, error chains.

use std::process::{Command, Output};

fn acsm(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_acsm")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn check_sums_up_a_good_file() {
    let output = acsm(&["rules", "check", "tcp-connection"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).starts_with("<tcp-connection>: 14 states, "));
    assert!(output.stderr.is_empty());
}

#[test]
fn check_tells_what_is_wrong_and_fails() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("bad.toml");
    std::fs::write(&path, "flow_keys = [\"pair\"]\n[[stat]]\n").unwrap();
    let output = acsm(&["rules", "check", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.starts_with("acsm: the rules cannot be used: "), "{told}");
    assert!(told.contains("bad.toml:2: unknown key `stat`, expected one of"), "{told}");
    let output = acsm(&["rules", "check", "no/such.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot read rules file `no/such.toml`: "));
}

#[test]
fn what_show_prints_can_be_checked() {
    let shown = acsm(&["rules", "show", "tcp-connection"]);
    assert_eq!(shown.status.code(), Some(0));
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, &shown.stdout).unwrap();
    assert_eq!(acsm(&["rules", "check", path.to_str().unwrap()]).status.code(), Some(0));
    let listed = acsm(&["rules", "list"]);
    assert_eq!(text(&listed.stdout).lines().count(), 5);
    assert_eq!(acsm(&["rules", "show", "nothing"]).status.code(), Some(1));
}
